package handoff

import (
	"context"
	"errors"
	"slices"
	"sync"

	"crawlnode/crawl"
)

// ErrNotAcknowledged is what Wait returns when the partition is not held here any
// more: nothing may be promised.
var ErrNotAcknowledged = errors.New("handoff: the partition is not held here any more")

// ackBook knows how far each in-sync replica is, and wakes those who wait for
// it. The driver says whose word counts, the links what they said.
type ackBook struct {
	mu     sync.Mutex // guards all; held for moments
	parts  []ackPart
	closed bool
}

type ackPart struct {
	open     bool
	full     bool
	unsure   bool
	needed   []crawl.NodeID
	acked    map[crawl.NodeID]*acked // by open link, whoever holds
	waiters  []*waiter
	confirms []confirm
}

// acked is how far a replica is, as far as its running link knows.
type acked struct {
	attempt uint64
	seq     crawl.Seq
}

// confirm waits for one link to have everything up to seq.
type confirm struct {
	a    ConfirmLink
	seq  crawl.Seq
	done chan<- ConfirmLink // capacity 1
}

// waiter waits for one partition.
type waiter struct {
	seq  crawl.Seq
	full bool
	done chan error // capacity 1
}

func newAckBook(partitions int) *ackBook { return &ackBook{parts: make([]ackPart, partitions)} }

// Wait returns when everything that is in the partitions now is on the disks of
// their in-sync sets. With full it also waits until these sets have as many
// members as factor and cluster allow. It fails with ErrNotAcknowledged, or when ctx
// is over; what was to be acknowledged may be stored all the same.
func (d *Driver) Wait(ctx context.Context, ps []crawl.Partition, full bool) error {
	seqs := make([]crawl.Seq, len(ps))
	for i, p := range ps {
		seqs[i] = d.opts.Store.Kept(p).Seq
	}
	waits, err := d.acks.wait(ps, seqs, full)
	if err != nil {
		return err
	}
	for _, w := range waits {
		select {
		case err := <-w.done:
			if err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err() // who is woken later finds nobody, and does not block
		}
	}
	return nil
}

// wait returns those that must be waited for.
func (b *ackBook) wait(ps []crawl.Partition, seqs []crawl.Seq, full bool) ([]*waiter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range ps {
		if !b.parts[p].open || b.closed {
			return nil, ErrNotAcknowledged
		}
	}
	var waits []*waiter
	for i, p := range ps {
		w := &waiter{seq: seqs[i], full: full}
		if x := &b.parts[p]; !x.satisfies(w) {
			w.done = make(chan error, 1)
			x.waiters = append(x.waiters, w)
			waits = append(waits, w)
		}
	}
	return waits, nil
}

func (x *ackPart) satisfies(w *waiter) bool {
	if x.unsure || w.full && !x.full {
		return false
	}
	for _, id := range x.needed {
		if a := x.acked[id]; a == nil || a.seq < w.seq {
			return false
		}
	}
	return true
}

func (x *ackPart) wake() {
	x.waiters = slices.DeleteFunc(x.waiters, func(w *waiter) bool {
		if !x.satisfies(w) {
			return false
		}
		w.done <- nil
		return true
	})
}

// set says whose acknowledgement counts.
func (b *ackBook) set(a SetAcks) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[a.P]
	x.open, x.full, x.unsure, x.needed = true, a.Full, a.Unsure, a.Nodes
	x.wake()
}

// end lets everybody go with an error: nothing can be promised any more.
func (b *ackBook) end(p crawl.Partition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts[p].end()
}

// end keeps what the links have said: they outlive a release that is refused.
func (x *ackPart) end() {
	for _, w := range x.waiters {
		w.done <- ErrNotAcknowledged
	}
	x.open, x.full, x.unsure, x.needed, x.waiters = false, false, false, nil, nil
}

func (b *ackBook) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for i := range b.parts {
		b.parts[i].end()
	}
}

// follow begins to note what a new link says; nothing is known of it yet.
func (b *ackBook) follow(id crawl.NodeID, p crawl.Partition, attempt uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[p]
	if x.acked == nil {
		x.acked = map[crawl.NodeID]*acked{}
	}
	x.acked[id] = &acked{attempt: attempt}
}

// note says that a replica has everything up to seq. Words of links that are
// closed count for nothing: the copy that they spoke of may be gone.
func (b *ackBook) note(id crawl.NodeID, p crawl.Partition, attempt uint64, seq crawl.Seq) {
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

// confirm returns a channel that says when the link has everything up to seq;
// nil when it has.
func (b *ackBook) confirm(a ConfirmLink, seq crawl.Seq) <-chan ConfirmLink {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[a.P]
	if k := x.acked[a.Node]; k != nil && k.attempt == a.Attempt && k.seq >= seq {
		return nil
	}
	done := make(chan ConfirmLink, 1)
	if k := x.acked[a.Node]; k == nil || k.attempt != a.Attempt {
		close(done) // the link has failed meanwhile
		return done
	}
	x.confirms = append(x.confirms, confirm{a, seq, done})
	return done
}

// forget says that a link is closed.
func (b *ackBook) forget(id crawl.NodeID, p crawl.Partition, attempt uint64) {
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

// isFull reports whether a partition has all its copies.
func (b *ackBook) isFull(p crawl.Partition) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.parts[p].full
}
