package linkrank

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/order"
	"crawlnode/importance/opic"
)

// foldTicks is how many ticks lie between two folds.
const foldTicks = 10

// asBuilt orders the queue as a node does: package order, with credits that are folded from time to
// time, and the default weights.
type asBuilt struct {
	c       *Crawl
	policy  *order.Policy
	base    []uint8
	level   []uint8
	link    []float64 // link part of the score at the last fold; negative: none yet
	sites   []opic.Sites
	waiting []uint32 // queued pages with credits that were not folded yet
	waits   []bool
}

func newAsBuilt(c *Crawl) *asBuilt {
	n := len(c.g.Links)
	b := &asBuilt{
		c:     c,
		base:  make([]uint8, n),
		level: make([]uint8, n),
		link:  make([]float64, n),
		waits: make([]bool, n),
		sites: make([]opic.Sites, c.g.Hosts),
	}
	for i := range b.link {
		b.link[i] = -1
	}
	b.policy = &order.Policy{
		Weights: opic.DefaultWeights,
		Cuts:    opic.EvenCuts,
		Scores:  &order.Scores{},
	}
	return b
}

// found gives a page its band when it is found.
func (b *asBuilt) found(page uint32) {
	t := crawl.Target{Depth: b.c.depth[page], Via: crawl.ViaLink}
	b.base[page], b.c.band[page], _ = b.policy.Admit(&t, time.Time{})
	b.credited(page)
}

func (b *asBuilt) credited(page uint32) {
	if !b.waits[page] {
		b.waits[page] = true
		b.waiting = append(b.waiting, page)
	}
}

// fold moves those pages that have got credits.
func (b *asBuilt) fold() {
	c := b.c
	next := *b.policy
	next.Ranks, next.Cuts, next.Typical = c.ranks, opic.CutsOf(next.Scores.Histogram()),
		next.Scores.Typical()
	b.policy = &next
	var changes []order.Change
	for _, page := range b.waiting {
		b.waits[page] = false
		a := c.account(page)
		if a == nil || c.fetched[page] {
			continue
		}
		h := &b.sites[c.g.Host[page]]
		h.Merge(&a.Sites)
		link := next.Link(a.Total(), h)
		changes = append(changes, order.Change{Before: b.link[page], Now: link})
		b.link[page] = link
		level, worth := next.Worth(b.level[page], link)
		if !worth {
			continue
		}
		b.level[page] = level
		if to, ok := next.Better(c.band[page], next.Score(b.base[page], link), int(c.moved[page])); ok {
			c.band[page] = to
			c.moved[page]++
			c.moves++
			c.put(page, a)
		}
	}
	b.waiting = b.waiting[:0]
	next.Scores.Linked(next.Typical, changes)
}
