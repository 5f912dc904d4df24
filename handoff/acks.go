package handoff

import (
	"context"
	"errors"
	"slices"
	"sync"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// ErrNotAcknowledged is what Wait returns when the partition is not held here any
// more: nothing may be promised.
var ErrNotAcknowledged = errors.New("handoff: the partition is not held here any more")

// ErrSilent is what Wait returns when a replica whose word is needed does not
// answer: it will be heard again, or leave the set, but hardly soon.
var ErrSilent = errors.New("handoff: a replica whose acknowledgement is needed is silent")

// ackBook knows how far each in-sync replica is, and wakes those who wait for
// it. The driver says whose word counts, the links what they said.
type ackBook struct {
	mu     sync.Mutex // guards all; held for moments
	parts  []ackPart
	silent map[crawl.NodeID]bool // who did not answer the last time
	closed bool
}

type ackPart struct {
	epoch    crawl.Epoch // of the tenure; 0: nothing can be acknowledged
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
	a    machine.ConfirmLink
	seq  crawl.Seq
	done chan<- machine.ConfirmLink // capacity 1
}

// waiter waits for one partition.
type waiter struct {
	seq  crawl.Seq
	full bool
	done chan error // capacity 1
}

func newAckBook(partitions int) *ackBook {
	return &ackBook{parts: make([]ackPart, partitions), silent: map[crawl.NodeID]bool{}}
}

// Tenure names the time in which this node holds a partition without a break.
type Tenure struct {
	P     crawl.Partition
	Epoch crawl.Epoch // 0: it is not held
}

// Tenures names the running tenures of partitions, for Wait. Whoever stores
// something asks before: what was stored in one tenure is not acknowledged by the
// replicas of another, which may have begun without it.
func (d *Driver) Tenures(ps []crawl.Partition) []Tenure {
	ts := make([]Tenure, len(ps))
	for i, p := range ps {
		ts[i].P = p
		if k := d.opts.Store.Kept(p); k.State == Holding {
			ts[i].Epoch = k.Epoch
		}
	}
	return ts
}

// Wait returns when everything that is in the partitions now is on the disks of
// their in-sync sets: one error each, nil when it is. With full it also waits until
// a set has as many members as factor and cluster allow. The errors are
// ErrNotAcknowledged, also when another tenure runs by now, ErrSilent, and ctx's;
// what was to be acknowledged may be stored all the same.
func (d *Driver) Wait(ctx context.Context, ts []Tenure, full bool) []error {
	waits, errs := make([]*waiter, len(ts)), make([]error, len(ts))
	for i, t := range ts {
		k := d.opts.Store.Kept(t.P)
		if k.State != Holding || k.Epoch != t.Epoch {
			errs[i] = ErrNotAcknowledged
			continue
		}
		waits[i], errs[i] = d.acks.wait(t, k.Seq, full)
	}
	for i, w := range waits {
		if w == nil {
			continue
		}
		select {
		case errs[i] = <-w.done:
		case <-ctx.Done():
			d.acks.leave(ts[i].P, w)
			errs[i] = ctx.Err()
		}
	}
	return errs
}

// wait returns who must be waited for; nil when all is acknowledged.
func (b *ackBook) wait(t Tenure, seq crawl.Seq, full bool) (*waiter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[t.P]
	if x.epoch == 0 || x.epoch != t.Epoch || b.closed {
		return nil, ErrNotAcknowledged
	}
	w := &waiter{seq: seq, full: full}
	if x.satisfies(w) {
		return nil, nil
	}
	for _, id := range x.needed {
		if !x.has(id, seq) && b.silent[id] {
			return nil, ErrSilent
		}
	}
	w.done = make(chan error, 1)
	x.waiters = append(x.waiters, w)
	return w, nil
}

// leave forgets a waiter whose time is up.
func (b *ackBook) leave(p crawl.Partition, w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[p]
	x.waiters = slices.DeleteFunc(x.waiters, func(o *waiter) bool { return o == w })
}

// hear says whether a node has answered when it was last asked for something.
func (b *ackBook) hear(id crawl.NodeID, answered bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if answered {
		delete(b.silent, id)
	} else {
		b.silent[id] = true
	}
}

// has reports whether a replica is known to have everything up to seq.
func (x *ackPart) has(id crawl.NodeID, seq crawl.Seq) bool {
	a := x.acked[id]
	return a != nil && a.seq >= seq
}

func (x *ackPart) satisfies(w *waiter) bool {
	if x.unsure || w.full && !x.full {
		return false
	}
	return !slices.ContainsFunc(x.needed, func(id crawl.NodeID) bool { return !x.has(id, w.seq) })
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
func (b *ackBook) set(a machine.SetAcks) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[a.P]
	x.epoch, x.full, x.unsure, x.needed = a.Epoch, a.Full, a.Unsure, a.Nodes
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
	x.epoch, x.full, x.unsure, x.needed, x.waiters = 0, false, false, nil, nil
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
func (b *ackBook) confirm(a machine.ConfirmLink, seq crawl.Seq) <-chan machine.ConfirmLink {
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
