package core

import "crawlnode/crawl"

// line is a first-in first-out queue of hosts with removal from anywhere. A host is in one
// line at most: the links are in the host.
type line struct {
	first, last *host
	n           int
	total       *int // of the lines that this one belongs to, or nil
}

func (l *line) push(h *host) {
	if h.line != nil {
		panic("BUG: host " + string(h.name) + " stands in two lines")
	}
	h.line, h.before, h.behind = l, l.last, nil
	if l.last != nil {
		l.last.behind = h
	} else {
		l.first = h
	}
	l.last = h
	l.n++
	if l.total != nil {
		*l.total++
	}
}

// insert puts h behind those that were held back before it.
func (l *line) insert(h *host) {
	if l.last == nil || l.last.heldSince < h.heldSince {
		l.push(h)
		return
	}
	at := l.first
	for at.heldSince < h.heldSince {
		at = at.behind
	}
	h.line, h.before, h.behind = l, at.before, at
	if at.before != nil {
		at.before.behind = h
	} else {
		l.first = h
	}
	at.before = h
	l.n++
}

func (l *line) remove(h *host) {
	if h.line != l {
		panic("BUG: host " + string(h.name) + " does not stand in this line")
	}
	if h.before != nil {
		h.before.behind = h.behind
	} else {
		l.first = h.behind
	}
	if h.behind != nil {
		h.behind.before = h.before
	} else {
		l.last = h.before
	}
	h.line, h.before, h.behind = nil, nil, nil
	l.n--
	if l.total != nil {
		*l.total--
	}
}

// lane has the ready hosts of one domain in one band.
type lane struct {
	line
	listed bool  // it is in its round
	behind *lane // there
}

// round has the lanes of a band that have hosts, in turn: however many hosts of one domain
// are ready, after one of them comes one of the next domain. Empty lanes are removed when
// their turn comes.
type round struct {
	first, last *lane
	n           int // hosts in all lanes
}

func (r *round) push(h *host, l *lane) {
	l.total = &r.n
	l.push(h)
	if !l.listed {
		r.list(l)
	}
}

func (r *round) list(l *lane) {
	l.listed, l.behind = true, nil
	if r.last != nil {
		r.last.behind = l
	} else {
		r.first = l
	}
	r.last = l
}

// pop takes out the host whose turn it is. There must be one.
func (r *round) pop() *host {
	for {
		l := r.first
		if r.first = l.behind; r.first == nil {
			r.last = nil
		}
		l.listed, l.behind = false, nil
		if l.n == 0 {
			continue
		}
		h := l.first
		l.remove(h)
		if l.n > 0 {
			r.list(l)
		}
		return h
	}
}

// bandQueue has the ready hosts, a line for each band, and divides the visits between the
// bands by self-clocked fair queueing (Golestani, 1994): the finish tag of each band's
// first host is one stride, the inverse of the band's share, after the one before it; the
// lowest tag is next. A band that was empty starts at the clock, so it accumulates no
// credit.
type bandQueue struct {
	rounds [crawl.Bands]round
	tag    [crawl.Bands]uint64
	stride [crawl.Bands]uint64
	clock  uint64 // the tag last served
}

func newBandQueue(shares [crawl.Bands]int) *bandQueue {
	q := &bandQueue{}
	for b, share := range shares {
		q.stride[b] = (1 << 20) / uint64(share)
	}
	return q
}

func (q *bandQueue) push(h *host, b crawl.Band) {
	r := &q.rounds[b]
	if r.n == 0 {
		q.tag[b] = max(q.tag[b], q.clock) + q.stride[b]
	}
	r.push(h, &h.domain.ready[b])
}

// pop takes the host whose turn it is out of the queue; nil when there is none.
func (q *bandQueue) pop() *host {
	best := -1
	for b := range q.rounds {
		if q.rounds[b].n > 0 && (best < 0 || q.tag[b] < q.tag[best]) {
			best = b
		}
	}
	if best < 0 {
		return nil
	}
	h := q.rounds[best].pop()
	q.clock = q.tag[best]
	if q.rounds[best].n > 0 {
		q.tag[best] += q.stride[best]
	}
	return h
}
