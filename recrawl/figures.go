package recrawl

import (
	"errors"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
)

// Figures are what people see of revisits on this node.
type Figures struct {
	// Waiting counts the pages whose visit or check has come and that wait for a place in the queue,
	// at most dueCounted.
	Waiting int64
	// Late is for how long the first of those has waited.
	Late time.Duration
	// Next is when the next page is due or planned anew; the zero time: there is none.
	Next time.Time
	// Price and Expected are those of Terms; Capacity is how many visits a second this node has for
	// revisits.
	Price, Capacity float64
	Expected        *float64
	// Fresh is the weight of this node's pages that are fresh when all are visited as the price asks.
	Fresh float64
}

// show brings the figures up to date. at is the first due time of all, if there is one.
func (k *Keeper) show(now, at time.Time, ok bool, s *crawl.Settings) error {
	f := *k.figures.Load()
	f.Next, f.Late = time.Time{}, 0
	switch {
	case ok && at.After(now):
		f.Next, f.Waiting = at, 0
	case ok:
		f.Next, f.Late, f.Waiting = at, now.Sub(at), max(f.Waiting, 1)
	default:
		f.Waiting = 0
	}
	if f.Waiting > 0 && now.Sub(k.dueAt) >= priceEvery {
		k.dueAt = now
		n, err := k.countDue(now)
		if err != nil {
			return err
		}
		f.Waiting = max(n, 1)
	}
	_, fetchers := k.o.Node.Fetchers()
	f.Capacity = k.measured.capacity(fetchers, s.RecrawlShare)
	t := k.terms.Load()
	f.Price, f.Expected, f.Fresh = t.Price, nil, 0
	if t.Known {
		f.Expected = &t.Expected
	}
	if share, ok := k.own.Expected(t.Cluster); ok {
		f.Fresh = share * k.own.Weight
	}
	k.figures.Store(&f)
	return nil
}

// countDue counts the entries whose time has come.
func (k *Keeper) countDue(now time.Time) (n int64, err error) {
	for p, at := range k.mover.heads.all() {
		if at.After(now) || n >= dueCounted {
			continue
		}
		due, err := k.o.Pages.Due(p, now, dueCounted-int(n))
		if err != nil && !errors.Is(err, frontier.ErrNotHolder) {
			return n, err
		}
		n += int64(len(due))
	}
	return n, nil
}

// Figures are those of the last turn.
func (k *Keeper) Figures() Figures { return *k.figures.Load() }

// Block is what the node says of revisits to the others. queued are the revisits in its queues.
func (k *Keeper) Block(now time.Time, queued int64) crawl.RevisitBlock {
	f := k.figures.Load()
	b := crawl.RevisitBlock{Due: f.Waiting + queued, Late: f.Late, Expected: f.Expected}
	b.Recent, b.Useful = k.recent.read()
	if share, ok := k.copies.kept(); ok && f.Fresh > 0 {
		b.FreshPlanned, b.FreshKept = f.Fresh, share*f.Fresh
	}
	if !f.Next.IsZero() {
		left := max(f.Next.Sub(now), 0)
		b.NextDue = &left
	}
	return b
}

// Expected is the freshness of the cluster's pages, as this node expects it by what its own visits
// have kept of the planned one; nil: it is not known.
func (k *Keeper) Expected() *float64 {
	f := k.figures.Load()
	share, ok := k.copies.kept()
	if f.Expected == nil || !ok {
		return f.Expected
	}
	e := *f.Expected * share
	return &e
}

// Pending counts the pages that are about to be moved into the queue, or planned anew: while there
// are some, the node has work.
func (k *Keeper) Pending(now time.Time) int64 {
	f := k.figures.Load()
	if f.Waiting == 0 && !f.Next.IsZero() && !f.Next.After(now) {
		return 1
	}
	return f.Waiting
}

// Visited counts the visits of due pages that have ended since the start of the process.
func (k *Keeper) Visited() int64 { return k.revisits.Load() }
