package scheduler

import "crawlnode/crawl"

// line is a first-in first-out queue of hosts with removal from anywhere. A
// host stands in one line at most: the links are in the host.
type line struct {
	first, last *host
	n           int
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
}

// bandQueue holds the ready hosts, a line for each band, and shares the visits
// out between the bands by self-clocked fair queueing (Golestani, 1994): each
// band's first host has a finish tag that lies one stride, the inverse of the
// band's share, behind the one before it; the lowest tag is next. A band that
// was empty starts at the clock, so it saves nothing up.
type bandQueue struct {
	lines  [crawl.Bands]line
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
	l := &q.lines[b]
	if l.n == 0 {
		q.tag[b] = max(q.tag[b], q.clock) + q.stride[b]
	}
	l.push(h)
}

// pop takes the host whose turn it is out of the queue; nil when there is none.
func (q *bandQueue) pop() *host {
	best := -1
	for b := range q.lines {
		if q.lines[b].n > 0 && (best < 0 || q.tag[b] < q.tag[best]) {
			best = b
		}
	}
	if best < 0 {
		return nil
	}
	h := q.lines[best].first
	q.lines[best].remove(h)
	q.clock = q.tag[best]
	if q.lines[best].n > 0 {
		q.tag[best] += q.stride[best]
	}
	return h
}
