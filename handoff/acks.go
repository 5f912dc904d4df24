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
	open    bool
	full    bool
	needed  []crawl.NodeID
	acked   map[crawl.NodeID]crawl.Seq
	waiters []*waiter
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
	var waits []*waiter
	for _, p := range ps {
		seq := d.opts.Store.Kept(p).Seq
		w, err := d.acks.wait(p, seq, full)
		if err != nil {
			return err
		}
		if w != nil {
			waits = append(waits, w)
		}
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

// wait returns nil when there is nothing to wait for.
func (b *ackBook) wait(p crawl.Partition, seq crawl.Seq, full bool) (*waiter, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[p]
	if !x.open || b.closed {
		return nil, ErrNotAcknowledged
	}
	w := &waiter{seq: seq, full: full}
	if x.satisfies(w) {
		return nil, nil
	}
	w.done = make(chan error, 1)
	x.waiters = append(x.waiters, w)
	return w, nil
}

func (x *ackPart) satisfies(w *waiter) bool {
	if w.full && !x.full {
		return false
	}
	for _, id := range x.needed {
		if x.acked[id] < w.seq {
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
	x.open, x.full, x.needed = true, a.Full, a.Nodes
	x.wake()
}

// end lets everybody go with an error: nothing can be promised any more.
func (b *ackBook) end(p crawl.Partition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parts[p].end()
}

func (x *ackPart) end() {
	for _, w := range x.waiters {
		w.done <- ErrNotAcknowledged
	}
	*x = ackPart{}
}

func (b *ackBook) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for i := range b.parts {
		b.parts[i].end()
	}
}

// note says that a replica has everything up to seq.
func (b *ackBook) note(id crawl.NodeID, p crawl.Partition, seq crawl.Seq) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &b.parts[p]
	if x.acked == nil {
		x.acked = map[crawl.NodeID]crawl.Seq{}
	}
	if seq > x.acked[id] {
		x.acked[id] = seq
		x.wake()
	}
}

// forget says that nothing is known of a replica's copy any more.
func (b *ackBook) forget(id crawl.NodeID, p crawl.Partition) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.parts[p].acked, id)
}

// isFull reports whether a partition has all its copies.
func (b *ackBook) isFull(p crawl.Partition) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.parts[p].full
}
