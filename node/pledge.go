package node

import (
	"context"

	"crawlnode/crawl"
	"crawlnode/handoff"
)

// pledge is what must be true before links that are stored here may be called
// acknowledged: that their partitions' in-sync replicas have them, in the tenures
// in which they were stored.
type pledge struct {
	node    *Node
	tenures []handoff.Tenure
	places  map[crawl.Partition]int // in tenures
	full    bool                    // seeds: as many replicas as the factor and the members allow
}

// pledge notes the tenures; it comes before the links are stored.
func (n *Node) pledge(links []crawl.Routed) *pledge {
	g := &pledge{node: n, places: map[crawl.Partition]int{}}
	var ps []crawl.Partition
	for _, l := range links {
		g.full = g.full || l.Target.Via == crawl.ViaSeed
		if _, known := g.places[l.Partition]; !known {
			g.places[l.Partition] = len(ps)
			ps = append(ps, l.Partition)
		}
	}
	g.tenures = n.engine.Load().moves.Tenures(ps)
	return g
}

// acknowledged waits until the links are safe, or ctx ends, and returns which
// partitions' are: a replica that is silent keeps only those from it that it
// should have.
func (g *pledge) acknowledged(ctx context.Context) func(crawl.Partition) bool {
	errs := g.node.engine.Load().moves.Wait(ctx, g.tenures, g.full)
	return func(p crawl.Partition) bool { return errs[g.places[p]] == nil }
}
