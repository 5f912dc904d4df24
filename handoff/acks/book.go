package acks

import (
	"context"
	"errors"
	"slices"
	"sync"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// ErrNotAcknowledged means that the partition is not held here any more, or in another
// tenure: nothing may be acknowledged.
var ErrNotAcknowledged = errors.New("handoff: the partition is not held here any more")

// ErrSilent means that a replica whose acknowledgement is needed does not answer. It
// will answer again or leave the set, but hardly soon.
var ErrSilent = errors.New("handoff: a replica whose acknowledgement is needed is silent")

// Tenure names the time in which this node holds a partition without a break.
type Tenure struct {
	P     crawl.Partition
	Epoch crawl.Epoch // 0: it is not held
}

// Tracker knows how far each in-sync replica is, and wakes the callers that wait for it. It
// is safe for concurrent use.
type Tracker struct {
	mu     sync.Mutex // guards all; held for moments
	parts  []part
	silent map[crawl.NodeID]bool // nodes that did not answer the last time
	closed bool
	free   []*Waiter // of callers that wait no more, at most maxFree; their channels are empty
}

// maxFree bounds the waiters that are kept for later callers.
const maxFree = 1024

// part is one partition. acked is kept while nothing can be acknowledged, too: links
// outlive a release that is refused.
type part struct {
	epoch    crawl.Epoch // of the tenure; 0: nothing can be acknowledged
	full     bool
	unsure   bool
	needed   []crawl.NodeID
	acked    map[crawl.NodeID]*acked // by open link
	waiters  []*Waiter
	confirms []confirm
}

// acked is how far a replica is, as far as its open link has told.
type acked struct {
	attempt uint64
	seq     crawl.Seq
}

// confirm waits for one link to have everything up to seq.
type confirm struct {
	a    machine.ConfirmLink
	seq  crawl.Seq
	done chan<- machine.ConfirmLink // capacity 1
}

// Waiter waits for one partition. It is the book's again once Await has returned.
type Waiter struct {
	seq  crawl.Seq
	full bool
	// capacity 1; receives one error when the wait is over, nil when all is acknowledged
	done chan error
}

// Done receives that error. It is for a caller that looks at more than one thing at a time, in
// place of Await.
func (w *Waiter) Done() <-chan error { return w.done }

// New returns a Tracker in which nothing can be acknowledged yet.
func New(partitions int) *Tracker {
	return &Tracker{parts: make([]part, partitions), silent: map[crawl.NodeID]bool{}}
}

// Wait begins to wait until everything up to seq is on the disks of the in-sync set;
// with full also until the set has as many members as factor and cluster allow. The
// Waiter is nil when that is so already; any other one is for one call of Await.
func (b *Tracker) Wait(t Tenure, seq crawl.Seq, full bool) (*Waiter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[t.P]
	if x.epoch == 0 || x.epoch != t.Epoch || b.closed {
		return nil, ErrNotAcknowledged
	}
	if x.satisfies(seq, full) {
		return nil, nil
	}
	for _, id := range x.needed {
		if !x.has(id, seq) && b.silent[id] {
			return nil, ErrSilent
		}
	}
	var w *Waiter
	if n := len(b.free); n > 0 {
		w, b.free[n-1] = b.free[n-1], nil
		b.free = b.free[:n-1]
	} else {
		w = &Waiter{done: make(chan error, 1)}
	}
	w.seq, w.full = seq, full
	x.waiters = append(x.waiters, w)
	return w, nil
}

// Await returns when what w waits for is over, nil when all is acknowledged, or with ctx's
// error when that ends first.
func (b *Tracker) Await(ctx context.Context, p crawl.Partition, w *Waiter) (err error) {
	select {
	case err = <-w.Done():
		b.mu.Lock()
	case <-ctx.Done():
		err = ctx.Err()
		b.mu.Lock()
		b.parts[p].leave(w)
	}
	defer b.mu.Unlock()
	if len(b.free) < maxFree {
		b.free = append(b.free, w)
	}
	return err
}

// Answered tells whether a node has answered the last call to it.
func (b *Tracker) Answered(id crawl.NodeID, answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answered {
		delete(b.silent, id)
	} else {
		b.silent[id] = true
	}
}

// has reports whether a replica is known to have everything up to seq.
func (x *part) has(id crawl.NodeID, seq crawl.Seq) bool {
	a := x.acked[id]
	return a != nil && a.seq >= seq
}

// leave forgets a Waiter whose caller has stopped waiting. Nothing is sent to it any more, and what
// was sent is dropped.
func (x *part) leave(w *Waiter) {
	x.waiters = slices.DeleteFunc(x.waiters, func(o *Waiter) bool { return o == w })
	select {
	case <-w.done:
	default:
	}
}

func (x *part) satisfies(seq crawl.Seq, full bool) bool {
	if x.unsure || full && !x.full {
		return false
	}
	return !slices.ContainsFunc(x.needed, func(id crawl.NodeID) bool { return !x.has(id, seq) })
}

func (x *part) wake() {
	x.waiters = slices.DeleteFunc(x.waiters, func(w *Waiter) bool {
		if !x.satisfies(w.seq, w.full) {
			return false
		}
		w.done <- nil
		return true
	})
}

// Set tells whose acknowledgement counts from now on.
func (b *Tracker) Set(a machine.SetAcks) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[a.P]
	x.epoch, x.full, x.unsure, x.needed = a.Epoch, a.Full, a.Unsure, a.Nodes
	x.wake()
}

// End ends all waits for a partition with ErrNotAcknowledged: its tenure is over.
func (b *Tracker) End(p crawl.Partition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts[p].end()
}

func (x *part) end() {
	for _, w := range x.waiters {
		w.done <- ErrNotAcknowledged
	}
	x.epoch, x.full, x.unsure, x.needed, x.waiters = 0, false, false, nil, nil
}

// Close ends all waits, and every later one.
func (b *Tracker) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for i := range b.parts {
		b.parts[i].end()
	}
}

// LinkOpened begins to count what a new link acknowledges; nothing is known of it yet.
func (b *Tracker) LinkOpened(id crawl.NodeID, p crawl.Partition, attempt uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[p]
	if x.acked == nil {
		x.acked = map[crawl.NodeID]*acked{}
	}
	x.acked[id] = &acked{attempt: attempt}
}

// Acknowledged tells that a replica has everything up to seq. It counts for nothing when
// the link is closed: the copy that it was about may be gone.
func (b *Tracker) Acknowledged(id crawl.NodeID, p crawl.Partition, attempt uint64, seq crawl.Seq) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[p]
	a := x.acked[id]
	if a == nil || a.attempt != attempt || seq <= a.seq {
		return
	}
	a.seq = seq
	x.wake()
	x.confirms = slices.DeleteFunc(x.confirms, func(c confirm) bool {
		if c.a.Node != id || c.a.Attempt != attempt || seq < c.seq {
			return false
		}
		c.done <- c.a
		return true
	})
}

// Confirm returns a channel that receives a once the link has everything up to seq, and
// is closed when the link fails; nil when the link has it.
func (b *Tracker) Confirm(a machine.ConfirmLink, seq crawl.Seq) <-chan machine.ConfirmLink {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[a.P]
	if k := x.acked[a.Node]; k != nil && k.attempt == a.Attempt && k.seq >= seq {
		return nil
	}
	done := make(chan machine.ConfirmLink, 1)
	if k := x.acked[a.Node]; k == nil || k.attempt != a.Attempt {
		close(done) // the link has failed meanwhile
		return done
	}
	x.confirms = append(x.confirms, confirm{a, seq, done})
	return done
}

// LinkClosed tells that a link is closed or has failed.
func (b *Tracker) LinkClosed(id crawl.NodeID, p crawl.Partition, attempt uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[p]
	if a := x.acked[id]; a == nil || a.attempt != attempt {
		return
	}
	delete(x.acked, id)
	x.confirms = slices.DeleteFunc(x.confirms, func(c confirm) bool {
		if c.a.Node != id || c.a.Attempt != attempt {
			return false
		}
		close(c.done)
		return true
	})
}
