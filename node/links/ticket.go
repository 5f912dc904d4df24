package links

import (
	"context"

	"crawlnode/crawl"
	"crawlnode/handoff"
)

// ticket is what must be true before links that are stored here may be called
// acknowledged: that their partitions' in-sync replicas have them, in the tenures
// in which they were stored.
type ticket struct {
	holdings Holdings
	tenures  []handoff.Tenure
	places   map[crawl.Partition]int // in tenures
	full     bool                    // seeds: as many replicas as the factor and the members allow
}

// newTicket notes the tenures; it comes before the links are stored.
func (r *Router) newTicket(links []crawl.Routed) *ticket {
	t := &ticket{holdings: r.opts.Holdings, places: map[crawl.Partition]int{}}
	var ps []crawl.Partition
	for _, l := range links {
		t.full = t.full || l.Target.Via == crawl.ViaSeed
		if _, known := t.places[l.Partition]; !known {
			t.places[l.Partition] = len(ps)
			ps = append(ps, l.Partition)
		}
	}
	t.tenures = r.opts.Holdings.Tenures(ps)
	return t
}

// acknowledged waits until the links are safe, or ctx ends, and returns which
// partitions' are: a replica that is silent keeps only those from it that it
// should have.
func (t *ticket) acknowledged(ctx context.Context) func(crawl.Partition) bool {
	errs := t.holdings.Wait(ctx, t.tenures, t.full)
	return func(p crawl.Partition) bool { return errs[t.places[p]] == nil }
}
