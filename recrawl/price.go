package recrawl

import (
	"math"
	"slices"
	"strings"

	"crawlnode/crawl"
	"crawlnode/recrawl/policy"
)

// market has the newest summaries of all members, this node included, and the price that follows.
type market struct {
	self   crawl.NodeID
	curves policy.Curves
	pools  map[crawl.NodeID]versionedPools
}

type versionedPools struct {
	version policy.Version
	pages   float64
	pools   Pools
}

// put takes a summary, unless a newer one of that node is known.
func (m *market) put(id crawl.NodeID, s *Summary) {
	m.curves.Put(id, s.Version, s.Curve)
	old, ok := m.pools[id]
	if ok && (s.Version.Boot < old.version.Boot ||
		s.Version.Boot == old.version.Boot && s.Version.Count <= old.version.Count) {
		return
	}
	if m.pools == nil {
		m.pools = map[crawl.NodeID]versionedPools{}
	}
	m.pools[id] = versionedPools{s.Version, s.Pages, s.Pools}
}

// keep forgets the summaries of nodes that are no members, and reports whether there were some.
func (m *market) keep(members []crawl.NodeID) (changed bool) {
	m.curves.Keep(members)
	for id := range m.pools {
		if !slices.Contains(members, id) {
			delete(m.pools, id)
			changed = true
		}
	}
	return changed
}

// Terms are what a page's next visit depends on beside itself and its host. Equal summaries give
// equal terms on all nodes, but for Price.
type Terms struct {
	// Cluster is the price at which the pages of all members want as many visits as there are; Price
	// is that of this node, which is higher when its own pages want more than it can fetch.
	Cluster, Price float64
	// Pools are of all members' pages.
	Pools Pools
	// Usual is the mean interval between two visits of a page, in seconds; 0: there is no page.
	Usual float64
	// Ease is the share of --recrawl-worth that acts (policy.Curve.Ease).
	Ease float64
	// Expected is the freshness that the model expects; Known is false when there is no page.
	Expected float64
	Known    bool
	// Capacity is how many visits a second all members have for revisits.
	Capacity float64
}

// terms computes the terms from the newest summaries.
func (m *market) terms(own *policy.Curve) Terms {
	sum := m.curves.Sum()
	t := Terms{Cluster: sum.Price(), Capacity: sum.Capacity, Ease: sum.Ease()}
	t.Price = t.Cluster
	if own.Weight > 0 {
		t.Price = max(t.Price, own.Price())
	}
	t.Expected, t.Known = sum.Expected(t.Cluster)
	ids := make([]crawl.NodeID, 0, len(m.pools))
	for id := range m.pools {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b crawl.NodeID) int { return strings.Compare(string(a), string(b)) })
	pages := 0.0
	for _, id := range ids {
		of := m.pools[id]
		t.Pools.plus(&of.pools)
		pages += of.pages
	}
	if visits := visitsAt(&sum, t.Cluster); visits > 0 {
		t.Usual = pages / visits
	}
	return t
}

// visitsAt is how many visits a second the pages want at a price.
func visitsAt(c *policy.Curve, price float64) float64 {
	const least = -10 // log2 of the first price
	v := min(max(math.Log2(price)-least, 0), policy.Prices-1)
	k := min(int(v), policy.Prices-2)
	return c.Visits[k] + (v-float64(k))*(c.Visits[k+1]-c.Visits[k])
}

// scaled is c for so many times as many pages.
func scaled(c policy.Curve, times float64) policy.Curve {
	c.Weight *= times
	for k := range c.Visits {
		c.Visits[k] *= times
		c.Gain[k] *= times
	}
	return c
}

// rounded is c as other nodes read it, so that all compute with the same bits.
func rounded(c policy.Curve) policy.Curve {
	r, err := policy.DecodeCurve(c.Append(nil))
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return r
}
