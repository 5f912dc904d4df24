package links

import (
	"context"

	"crawlnode/crawl"
	"crawlnode/handoff"
)

// ticket is the condition for calling stored links acknowledged: the in-sync replicas of their
// partitions have them, in the tenures in which they were stored.
type ticket struct {
	holdings Holdings
	tenures  []handoff.Tenure
	places   map[crawl.Partition]int // in tenures
	full     bool                    // seeds: as many replicas as the factor and the number of members allow
}

// newTicket notes the tenures, before the links are stored.
func (r *Router) newTicket(links []crawl.Routed) *ticket {
	t := &ticket{holdings: r.opts.Holdings, places: map[crawl.Partition]int{}}
	var ps []crawl.Partition
	for _, l := range links {
		t.full = t.full || l.Target.Via.Named()
		if _, known := t.places[l.Partition]; !known {
			t.places[l.Partition] = len(ps)
			ps = append(ps, l.Partition)
		}
	}
	t.tenures = r.opts.Holdings.Tenures(ps)
	return t
}

// acknowledged waits until the links are safe, or ctx ends, and returns the partitions whose links
// are. A silent replica holds up only its own partitions.
func (t *ticket) acknowledged(ctx context.Context) func(crawl.Partition) bool {
	errs := t.holdings.Wait(ctx, t.tenures, t.full)
	return func(p crawl.Partition) bool { return errs[t.places[p]] == nil }
}

// Copied notes the tenures of partitions before something is stored in them. The function that it returns waits until that is on the disks of
// their in-sync sets, or ctx ends, and says of which it is.
func (r *Router) Copied(ps []crawl.Partition) func(context.Context) func(crawl.Partition) bool {
	if !r.opts.Holdings.Replicated() {
		return func(context.Context) func(crawl.Partition) bool { return func(crawl.Partition) bool { return true } }
	}
	t := &ticket{holdings: r.opts.Holdings, places: map[crawl.Partition]int{}, tenures: r.opts.Holdings.Tenures(ps)}
	for i, p := range ps {
		t.places[p] = i
	}
	return t.acknowledged
}
