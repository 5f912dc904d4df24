package replication

import (
	"cmp"
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

const (
	// maxQueued bounds the mutations that wait for one replica, in bytes; beyond
	// it the links are given up, and the replica is caught up from hints.
	maxQueued = 64 << 20
	// groupBytes closes a group; a single mutation may be larger.
	groupBytes = 1 << 20
	// eagerBytes is sent at once although another group is in flight.
	eagerBytes  = 256 << 10
	maxInFlight = 8
)

// StallTimeout is how long a replica may leave mutations unacknowledged before its
// links are given up. Until then no caller that waits for it gets an answer.
const StallTimeout = 3 * time.Second

// link carries one partition to one replica.
type link struct {
	r       *replica
	a       machine.OpenLink
	opened  machine.Found    // what was here when it was opened
	pending []crawl.Mutation // until the copy is there
	bytes   int
	room    int       // bound of bytes; 0: maxPending
	live    bool      // mutations go into the queue
	over    bool      // closed or failed
	upAt    crawl.Seq // the replica follows once this is acknowledged
	acked   crawl.Seq // the last one that was
	last    crawl.Seq // the last one that was queued, or that the copy had
	isUp    bool
	feeds   bool // over, but its sink adds to the hints
}

// sink takes a mutation from the frontier's writer.
func (l *link) sink(_ crawl.Partition, m crawl.Mutation) bool {
	r := l.r
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case l.feeds:
		l.feeds = r.rs.opts.Hints.Add(l.a.P, m)
		return l.feeds
	case l.over:
		return false
	case l.live:
		r.enqueue(item{l, m})
		return !l.over || l.feeds
	}
	l.pending = append(l.pending, m)
	if l.bytes += m.Bytes(); l.bytes > cmp.Or(l.room, maxPending) {
		r.fail(l)
		return false
	}
	return true
}

// enqueue adds a mutation to what is sent. r.mu is held.
func (r *replica) enqueue(it item) {
	if r.oldest.IsZero() {
		r.oldest = time.Now()
	}
	r.queue = append(r.queue, it)
	it.link.last = it.m.Seq
	if r.bytes += it.m.Bytes(); r.bytes > maxQueued {
		r.failAll()
	}
	crawl.Signal(r.send)
}

// fail gives a link up; workLoop tells the machine. r.mu is held.
func (r *replica) fail(l *link) {
	if l.over {
		return
	}
	l.over, l.pending = true, nil
	if r.links[l.a.P] == l {
		delete(r.links, l.a.P)
	}
	r.failed = append(r.failed, l)
	crawl.Signal(r.work)
	crawl.Signal(r.room) // a catch-up that waits for room ends
}

// failLinks gives links up, after a call that was not answered.
func (r *replica) failLinks(ls []*link) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range ls {
		r.fail(l)
	}
}

// failAll gives all links up, and keeps hints of what the replica misses. r.mu is held.
func (r *replica) failAll() {
	r.keepHints()
	for _, l := range r.links {
		r.fail(l)
	}
	r.queue, r.inFlight, r.bytes, r.oldest = nil, nil, 0, time.Time{}
}

// goLive lets a link's mutations go, now that the replica has everything up to
// seq.
func (r *replica) goLive(ctx context.Context, l *link, seq crawl.Seq) {
	r.mu.Lock()
	if l.over {
		r.mu.Unlock()
		return
	}
	l.live, l.upAt, l.acked, l.last = true, seq, seq, seq
	for _, m := range l.pending {
		if m.Seq > seq {
			l.upAt = m.Seq
			r.enqueue(item{l, m})
		}
	}
	l.pending = nil
	ready := l.upAt == seq && !l.over
	l.isUp = ready
	r.mu.Unlock()
	r.rs.opts.Acks.Acknowledged(r.id, l.a.P, l.a.Attempt, seq)
	if ready {
		r.follows(ctx, l)
	}
}

// follows tells that a replica has everything up to where its link began.
func (r *replica) follows(ctx context.Context, l *link) {
	r.rs.opts.Hints.CaughtUp(r.id, l.a.P)
	r.rs.opts.Post(ctx, machine.LinkFollows{P: l.a.P, Node: r.id, Attempt: l.a.Attempt})
}

// replace ends a link that listens already and returns one of the same attempt that does
// not; nil when it is over.
func (r *replica) replace(l *link) *link {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.over {
		return nil
	}
	l.over = true
	next := &link{r: r, a: l.a, opened: l.opened}
	next.a.Based = false
	r.links[l.a.P] = next
	return next
}
