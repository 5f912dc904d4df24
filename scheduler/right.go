package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/scheduler/core"
)

// This file defines how the right to fetch begins and ends, outside and inside the loop.
// Requests are allowed in partitions that are held, and neither frozen nor dropped, while the
// node has its lease:
//
//	Hold     a partition was acquired: moved here, promoted, or found at the start
//	Freeze   it is about to move: open fetches get a moment, states are written
//	Resume   it does not move after all
//	Drop     another node has it: all ends at once, nothing is written
//	EndAll   the lease has ended, until Wake
//
// The right is checked when a visit is handed out, and by MayRequest again
// when its request is written.

// freezeGrace is how long open fetches may continue while their partition is being handed over
// (ownership rule 8).
const freezeGrace = 300 * time.Millisecond

// order is a change of a partition for the loop to carry out.
type order struct {
	kind      orderKind
	partition crawl.Partition
	epoch     crawl.Epoch // 0: that of the store
	floor     time.Time
	at        time.Time
}

type orderKind uint8

const (
	orderHold orderKind = iota
	orderResume
	orderDrop
)

// Hold starts the visits of a partition that was acquired. No host of it, known or new, is
// requested before floor plus its delay. After a promotion floor is the time when the last holder's
// right to fetch has ended, and may be in the future. The zero floor is now: the previous holder,
// possibly an earlier process of this node, may have made a request just before. Hold does not
// block.
func (d *Dispatcher) Hold(p crawl.Partition, epoch crawl.Epoch, floor time.Time) {
	d.give(order{kind: orderHold, partition: p, epoch: epoch, floor: floor, at: time.Now()})
}

// Resume undoes Freeze. For a partition that was never held, or was dropped, it is Hold, with the
// epoch of the store. It does not block.
func (d *Dispatcher) Resume(p crawl.Partition) {
	d.give(order{kind: orderResume, partition: p, at: time.Now()})
}

func (d *Dispatcher) give(o order) {
	d.activity.Add(1)
	d.mu.Lock()
	d.orders = append(d.orders, o)
	d.mu.Unlock()
	d.signal()
}

// Drop ends all fetches of p: when it returns, every open visit is cancelled and no request of p
// may start, not even one whose visit was handed out before. The state of p's hosts in memory is
// not written. Drop does not wait for the visits to be completed. Hold takes p up again.
func (d *Dispatcher) Drop(p crawl.Partition) {
	d.activity.Add(1)
	d.mu.Lock()
	d.barred[p]++
	d.orders = append(d.orders, order{kind: orderDrop, partition: p, at: time.Now()})
	open := d.openLocked(func(f *flight) bool { return f.partition == p })
	d.mu.Unlock()
	cancelAll(open, errTakenBack)
	d.signal()
}

// EndAll cancels all open visits and hands out no more until Wake: the lease has ended, for reason.
// When it returns, no request may start. The hosts keep their gaps, which count from the release of
// their visits.
func (d *Dispatcher) EndAll(reason error) {
	d.mu.Lock()
	d.halted.Store(true)
	open := d.openLocked(func(*flight) bool { return true })
	d.mu.Unlock()
	cancelAll(open, fmt.Errorf("%w: %w", errTakenBack, reason))
	d.signal()
}

// MayRequest reports whether a request of v may be written now.
func (d *Dispatcher) MayRequest(v crawl.Visit) bool {
	d.mu.Lock()
	f := d.flights[v.ID]
	d.mu.Unlock()
	return f != nil && d.o.Node.MayFetch(v.Partition) && f.ctx.Err() == nil &&
		(d.o.Turns == nil || d.o.Turns.MayWrite(v.Addr)) // last: it counts the request as made
}

// openLocked returns the visits that are not completed and for which is is true.
func (d *Dispatcher) openLocked(is func(*flight) bool) []*flight {
	var open []*flight
	for _, f := range d.flights {
		if is(f) {
			open = append(open, f)
		}
	}
	return open
}

func cancelAll(flights []*flight, cause error) {
	for _, f := range flights {
		f.cancel(cause)
	}
}

// Freeze hands out no more visits of p, and returns when all visits of p are completed and the
// hosts' politeness is in the store. Fetches that are open after 300 ms are cancelled. A partition
// without visits costs one message to the loop, and one without hosts in memory no write either.
// After an error p may be frozen: call Freeze again, or Resume. Call Resume only when Freeze has
// returned, or after its ctx has ended.
func (d *Dispatcher) Freeze(ctx context.Context, p crawl.Partition) error {
	quiet, done := make(chan struct{}), make(chan error, 1)
	idle := false
	err := d.call(ctx, func(now time.Time) {
		if idle = d.loop.freeze(now, p, quiet); idle {
			d.loop.drop(now, p, done)
		}
	})
	if err != nil {
		return err
	}
	if !idle {
		if err := d.awaitQuiet(ctx, p, quiet); err != nil {
			return err
		}
		if err := d.call(ctx, func(now time.Time) { d.loop.drop(now, p, done) }); err != nil {
			return err
		}
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-d.over:
		return ErrStopped
	}
}

// awaitQuiet waits for quiet, and cancels open fetches after the grace.
func (d *Dispatcher) awaitQuiet(
	ctx context.Context,
	p crawl.Partition,
	quiet <-chan struct{},
) error {
	grace := time.NewTimer(freezeGrace)
	defer grace.Stop()
	for {
		select {
		case <-quiet:
			return nil
		case <-grace.C:
			if err := d.call(ctx, func(time.Time) { d.loop.takeBack(p) }); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-d.over:
			return ErrStopped
		}
	}
}

// enter adds f to the flights, unless the right to fetch has just ended. Drop and EndAll also hold
// mu: they find f among the flights, or f is refused here.
func (l *loop) enter(v crawl.Visit, f *flight) bool {
	d := l.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.halted.Load() || d.barred[v.Partition] > 0 {
		return false
	}
	d.flights[v.ID] = f
	return true
}

// obey carries out an order.
func (l *loop) obey(now time.Time, o order) {
	if o.kind == orderDrop {
		l.yield(now, o)
		return
	}
	h := l.held[o.partition]
	known := h != nil
	if !known {
		h = &holding{partition: o.partition, frozen: true}
		l.held[o.partition] = h
	}
	before := h.acquired
	switch {
	case !o.floor.IsZero():
		h.acquired, h.taken = crawl.Latest(h.acquired, o.floor), crawl.Latest(h.taken, o.floor)
	case !known || h.dropped || o.kind == orderHold:
		// Nothing in memory guarantees the hosts' gaps.
		h.acquired, h.taken = crawl.Latest(h.acquired, o.at), crawl.Latest(h.taken, o.at)
	}
	if h.strays > 0 {
		h.awaited = &o
		return
	}
	if o.epoch == 0 {
		if m, ok := l.d.o.Store.Meta(o.partition); ok {
			o.epoch = m.Epoch
		}
	}
	h.epoch, h.frozen, h.dropped, h.lost = o.epoch, false, false, true
	if h.acquired.After(before) {
		l.core.Acquired(now, o.partition, h.acquired)
	}
	l.core.Unfreeze(now, o.partition)
	l.sweep(now, h)
}

// yield carries out a Drop. The visits are already cancelled, so later reports about p's hosts are
// obsolete. An answer that was cut off counts as ended at the Drop.
func (l *loop) yield(now time.Time, o order) {
	d := l.d
	h := l.held[o.partition]
	l.act() // results of earlier requests must not be taken for new ones
	open, _ := l.core.Open(o.partition)
	d.mu.Lock()
	if d.barred[o.partition]--; d.barred[o.partition] == 0 {
		delete(d.barred, o.partition)
	}
	for _, id := range open {
		if f := d.flights[id]; f != nil {
			f.stray = true
			f.state, _ = l.core.HostState(id) // the core forgets it below
			h.strays++
		}
	}
	d.mu.Unlock()
	if h == nil {
		return
	}
	h.frozen, h.awaited = true, nil
	h.acquired, h.taken = crawl.Latest(h.acquired, o.at), crawl.Latest(h.taken, o.at)
	l.forget(now, h)
}

// strayEnded notes that a visit whose partition was dropped is no longer open. A partition that
// came back is taken up when the last of them has ended: a host never has two open requests,
// whatever its delay.
func (l *loop) strayEnded(now time.Time, f *flight, requested bool) {
	if !f.stray {
		return
	}
	f.stray = false
	h := l.held[f.partition]
	h.strays--
	if requested {
		h.acquired, h.taken = crawl.Latest(h.acquired, now), crawl.Latest(h.taken, now)
	}
	if o := h.awaited; o != nil && h.strays == 0 {
		h.awaited = nil
		l.obey(now, *o)
	}
}

// freeze stops the visits of p and closes quiet when the last has ended. It reports whether it
// already has.
func (l *loop) freeze(now time.Time, p crawl.Partition, quiet chan struct{}) (idle bool) {
	h := l.held[p]
	if h == nil {
		close(quiet)
		return true
	}
	h.frozen, h.awaited = true, nil
	l.core.Freeze(now, p)
	l.act() // hosts that leave memory count from here on
	h.quiet = append(h.quiet, quiet)
	h.announceQuiet()
	return len(h.quiet) == 0
}

// drop takes all hosts of p, which is frozen and quiet, out of memory, and reports when their
// states are on disk. If the caller is gone by then, the states are written all the same, and until
// then no host comes back.
func (l *loop) drop(now time.Time, p crawl.Partition, done chan<- error) {
	h := l.held[p]
	switch {
	case h == nil:
		done <- nil
		return
	case !h.frozen || h.visits+h.leaving > 0:
		done <- fmt.Errorf("dispatch: partition %d was taken up again while it was being frozen", p)
		return
	}
	hosts := l.forget(now, h)
	if len(hosts) == 0 {
		done <- nil
		return
	}
	// The partition pauses until this is done, so it comes before all other work.
	l.diskJobs = slices.Insert(l.diskJobs, 0, l.diskJob(l.parking(hosts, true, done)))
}

// forget takes all hosts of h out of memory.
func (l *loop) forget(now time.Time, h *holding) []core.Parked {
	h.turn++
	h.passed, h.denied, h.dropped = nil, denials{}, true
	hosts := l.core.Drop(now, h.partition)
	for _, gone := range hosts {
		delete(l.causes, gone.Host)
	}
	return hosts
}

// takeBack cancels the open fetches of p.
func (l *loop) takeBack(p crawl.Partition) {
	open, _ := l.core.Open(p)
	for _, id := range open {
		if f := l.flight(id); f != nil {
			f.cancel(errTakenBack)
		}
	}
}
