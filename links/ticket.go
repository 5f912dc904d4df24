package links

import (
	"context"
	"slices"

	"crawlnode/crawl"
	"crawlnode/handoff"
)

// ticket is the condition for calling stored links acknowledged: the in-sync replicas of their
// partitions have them, in the tenures in which they were stored. Its memory is used again after
// done.
type ticket struct {
	router  *Router
	tenures []handoff.Tenure
	errs    []error                 // of the tenures, after await
	places  map[crawl.Partition]int // in tenures; nil: there are few
	// seeds: as many replicas as the factor and the number of members allow
	full bool
}

// fewPartitions are found faster one by one than in a map. A page has links to some.
const fewPartitions = 16

// maxKeptTenures bounds the memory of a ticket that is kept.
const maxKeptTenures = 64

// newTicket notes the tenures, before the links are stored.
func (r *Router) newTicket(links []crawl.Routed) *ticket {
	t := r.blankTicket()
	for i := range links {
		l := &links[i]
		t.full = t.full || l.Target.Via.Named()
		if t.place(l.Partition) < 0 {
			t.add(l.Partition)
		}
	}
	return t
}

func (r *Router) blankTicket() *ticket {
	t, _ := r.tickets.Get().(*ticket)
	if t == nil {
		t = &ticket{router: r}
	}
	return t
}

func (t *ticket) add(p crawl.Partition) {
	if t.places == nil && len(t.tenures) == fewPartitions {
		t.places = make(map[crawl.Partition]int, 4*fewPartitions)
		for i, known := range t.tenures {
			t.places[known.P] = i
		}
	}
	if t.places != nil {
		t.places[p] = len(t.tenures)
	}
	t.tenures = append(t.tenures, t.router.opts.Holdings.Tenure(p))
}

// place is where a partition is in tenures; -1: nowhere.
func (t *ticket) place(p crawl.Partition) int {
	if t.places == nil {
		return slices.IndexFunc(t.tenures, func(known handoff.Tenure) bool { return known.P == p })
	}
	if i, known := t.places[p]; known {
		return i
	}
	return -1
}

// await waits until the links are safe, or ctx ends. A silent replica holds up only its own
// partitions.
func (t *ticket) await(ctx context.Context) {
	t.errs = slices.Grow(t.errs[:0], len(t.tenures))[:len(t.tenures)]
	t.router.opts.Holdings.Await(ctx, t.tenures, t.full, t.errs)
}

// safe reports, after await, whether the links of a partition are safe.
func (t *ticket) safe(p crawl.Partition) bool { return t.errs[t.place(p)] == nil }

// done gives the ticket back.
func (t *ticket) done() {
	if cap(t.tenures) > maxKeptTenures {
		return
	}
	clear(t.errs)
	t.tenures, t.errs, t.places, t.full = t.tenures[:0], t.errs[:0], nil, false
	t.router.tickets.Put(t)
}

// Copied notes the tenures of partitions before something is stored in them. The function that it
// returns waits until that is on the disks of their in-sync sets, or ctx ends, and says of which it
// is.
func (r *Router) Copied(ps []crawl.Partition) func(context.Context) func(crawl.Partition) bool {
	if !r.opts.Holdings.Replicated() {
		return func(context.Context) func(crawl.Partition) bool {
			return func(crawl.Partition) bool { return true }
		}
	}
	t := &ticket{router: r}
	for _, p := range ps {
		if t.place(p) < 0 {
			t.add(p)
		}
	}
	return func(ctx context.Context) func(crawl.Partition) bool {
		t.await(ctx)
		return t.safe
	}
}
