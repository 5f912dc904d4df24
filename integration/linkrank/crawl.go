package linkrank

import (
	"cmp"
	"container/heap"
	"math/rand/v2"
	"slices"

	"crawlnode/crawl"
	"crawlnode/importance/opic"
)

// Order says by what queued pages are ordered.
type Order string

// The orders.
const (
	BreadthFirst Order = "breadth-first"
	ByCash       Order = "exact order of the live measure"
	ByBands      Order = "eight bands, the best first"
	ByShares     Order = "eight bands, with shares 8:7:...:1"
	ByScore      Order = "default weights of importance, authority and depth, bands with shares"
	AsBuilt      Order = "as built: package frontier/order, folds every ten seconds"
	Omniscient   Order = "by the PageRank of the whole graph"
)

// Config is one simulated crawl.
type Config struct {
	Order   Order
	Nodes   int
	Rate    int     // pages of all nodes in a tick, at most one of each host
	Settles float64 // pages that settle for each page that is fetched
	Seed    uint64
	Oracle  []float64 // the exact ranks, for Omniscient
}

const (
	partitions = 64
	// leastFloor bounds from below what must be pending for a page to settle.
	leastFloor = opic.Unit / 1024
)

// Crawl is a simulated crawl.
type Crawl struct {
	g       *Graph
	cfg     Config
	r       *rand.Rand
	books   []*opic.Book
	hosts   []host
	fetched []bool
	known   []bool
	band    []crawl.Band // of queued pages
	count   int          // pages fetched
	settled int
	moves   int

	tick   int
	served []int // tick in which a host was served last
	nodes  []node
	ranks  *opic.Ranks // of the tick before, over all books
	cuts   opic.Cuts
	scores opic.Histogram // of queued pages, when they were put into their bands
	scored []float64      // of each queued page, as it is counted in scores
	next   uint64         // number of the next place in a queue
	depth  []int          // of known pages
	moved  []uint8        // how often a queued page was moved
	built  *asBuilt       // with AsBuilt
	sites  []opic.HostSites
}

// node is what one node does beside its books.
type node struct {
	due    []uint32        // pages that should settle, in order
	inDue  map[uint32]bool // the same
	least  opic.Cash       // what must be pending
	budget float64         // of pages that may settle
	ready  []uint32        // its hosts with queued pages
	rota   int             // for shares
}

// place is a queued page; stale ones are passed over.
type place struct {
	page uint32
	key  float64 // larger first
	seq  uint64
}

// host is the queue of one host.
type host []place

func (h host) Len() int { return len(h) }
func (h host) Less(i, j int) bool {
	return h[i].key > h[j].key || h[i].key == h[j].key && h[i].seq < h[j].seq
}
func (h host) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

// Push adds a place.
func (h *host) Push(x any) { *h = append(*h, x.(place)) }

// Pop takes the last place away.
func (h *host) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// NewCrawl begins a crawl with the seeds.
func NewCrawl(g *Graph, cfg Config) *Crawl {
	n := len(g.Links)
	c := &Crawl{
		g:       g,
		cfg:     cfg,
		r:       rand.New(rand.NewPCG(cfg.Seed, 1)),
		hosts:   make([]host, g.Hosts),
		fetched: make([]bool, n),
		known:   make([]bool, n),
		band:    make([]crawl.Band, n),
		served:  make([]int, g.Hosts),
		nodes:   make([]node, cfg.Nodes),
		cuts:    opic.EvenCuts,
		scored:  make([]float64, n),
		depth:   make([]int, n),
		moved:   make([]uint8, n),
		sites:   make([]opic.HostSites, g.Hosts),
	}
	c.ranks = (&opic.Histogram{}).Ranks()
	if cfg.Order == AsBuilt {
		c.built = newAsBuilt(c)
	}
	for i := range c.nodes {
		c.nodes[i] = node{inDue: map[uint32]bool{}, least: opic.Unit / 4}
	}
	for i := range partitions {
		b := opic.NewBook(crawl.Partition(i))
		b.OnCredit = c.credited
		c.books = append(c.books, b)
	}
	for i := range c.served {
		c.served[i] = -1
	}
	for _, s := range g.Seeds {
		c.found(s, &opic.Account{})
	}
	return c
}

// partitionOf spreads hosts over the partitions.
func (c *Crawl) partitionOf(page uint32) crawl.Partition {
	return crawl.Partition(c.g.Host[page] * 2654435761 >> 26 % partitions)
}

func (c *Crawl) nodeOf(page uint32) *node { return &c.nodes[int(c.partitionOf(page))%len(c.nodes)] }

func (c *Crawl) account(page uint32) *opic.Account {
	return c.books[c.partitionOf(page)].Accounts[opic.URL(page)]
}

// credited notes that a page's cash has changed.
func (c *Crawl) credited(u opic.URL, a *opic.Account) {
	page := uint32(u)
	switch {
	case !c.known[page]:
		c.found(page, a)
	case !c.fetched[page]:
		c.rescore(page, a)
	default:
		if n := c.nodeOf(page); !n.inDue[page] && a.Due(n.least) {
			n.inDue[page] = true
			n.due = append(n.due, page)
		}
	}
}

// found queues a page.
func (c *Crawl) found(page uint32, a *opic.Account) {
	c.known[page] = true
	if c.built != nil {
		c.built.found(page)
		c.put(page, a)
		return
	}
	c.scored[page] = c.score(page, a)
	c.band[page] = c.cuts.Band(c.scored[page])
	opic.CountScore(&c.scores, c.scored[page], 1)
	c.put(page, a)
}

// score is that of a queued page: its rank, and with ByScore what else is known.
func (c *Crawl) score(page uint32, a *opic.Account) float64 {
	rank := c.ranks.Rank(a.Total())
	if c.cfg.Order != ByScore {
		return rank
	}
	w := opic.DefaultWeights
	w.Change, w.Freshness = 0, 0 // nothing is known of them here
	return w.Score(opic.Signals{
		Importance: rank,
		Authority:  opic.Authority(c.sites[c.g.Host[page]].Count()),
		Depth:      opic.Depth(c.depth[page]),
	})
}

// put gives a page a place in its host's queue; an older place is stale from now on.
func (c *Crawl) put(page uint32, a *opic.Account) {
	key := 0.0
	switch c.cfg.Order {
	case ByCash:
		key = float64(a.Total())
	case ByBands, ByShares, ByScore, AsBuilt:
		key = -float64(c.band[page])
	case Omniscient:
		key = c.cfg.Oracle[page]
	}
	h := &c.hosts[c.g.Host[page]]
	if len(*h) == 0 {
		n := c.nodeOf(page)
		n.ready = append(n.ready, c.g.Host[page])
	}
	c.next++
	heap.Push(h, place{page, key, c.next})
}

// rescore moves a queued page that has gained cash.
func (c *Crawl) rescore(page uint32, a *opic.Account) {
	switch c.cfg.Order {
	case AsBuilt:
		c.built.credited(page)
	case ByCash:
		c.put(page, a)
	case ByBands, ByShares, ByScore:
		score := c.score(page, a)
		if band, ok := c.cuts.Better(c.band[page], score, c.moved[page]); ok {
			c.moved[page]++
			c.moves++
			opic.CountScore(&c.scores, c.scored[page], -1)
			opic.CountScore(&c.scores, score, 1)
			c.band[page], c.scored[page] = band, score
			c.put(page, a)
		}
	}
}

// stale reports whether a place is not the page's any more.
func (c *Crawl) stale(p *place) bool {
	return c.fetched[p.page] || (c.cfg.Order == ByBands || c.cfg.Order == ByShares ||
		c.cfg.Order == ByScore || c.cfg.Order == AsBuilt) && p.key != -float64(c.band[p.page])
}

// head is the best queued page of a host.
func (c *Crawl) head(id uint32) (place, bool) {
	h := &c.hosts[id]
	for len(*h) > 0 {
		if !c.stale(&(*h)[0]) {
			return (*h)[0], true
		}
		heap.Pop(h)
	}
	return place{}, false
}

// Tick lets a second pass. It returns false when nothing is queued.
func (c *Crawl) Tick() bool {
	c.tick++
	any := false
	for i := range c.nodes {
		n := &c.nodes[i]
		rate := (c.cfg.Rate + i) / len(c.nodes)
		for _, id := range c.choose(n, rate) {
			p, ok := c.head(id)
			if !ok {
				continue
			}
			any = true
			heap.Pop(&c.hosts[id])
			c.served[id] = c.tick
			c.fetch(p.page)
			n.budget += c.cfg.Settles
		}
		c.settle(n)
	}
	c.deliver()
	c.sum()
	return any
}

// choose lists the hosts that a node visits in this tick.
func (c *Crawl) choose(n *node, rate int) []uint32 {
	type head struct {
		host uint32
		key  float64
		seq  uint64
	}
	var heads []head
	n.ready = slices.DeleteFunc(n.ready, func(id uint32) bool {
		p, ok := c.head(id)
		if ok {
			heads = append(heads, head{id, p.key, p.seq})
		}
		return !ok
	})
	slices.SortFunc(heads, func(a, b head) int {
		if c.cfg.Order == BreadthFirst {
			return cmp.Compare(a.seq, b.seq)
		}
		return cmp.Or(cmp.Compare(b.key, a.key), cmp.Compare(c.served[a.host], c.served[b.host]),
			cmp.Compare(a.seq, b.seq))
	})
	var hosts []uint32
	if c.cfg.Order != ByShares && c.cfg.Order != ByScore && c.cfg.Order != AsBuilt {
		for _, h := range heads[:min(rate, len(heads))] {
			hosts = append(hosts, h.host)
		}
		return hosts
	}
	var bands [crawl.Bands][]uint32
	for _, h := range heads {
		bands[int(-h.key)] = append(bands[int(-h.key)], h.host)
	}
	for left := min(rate, len(heads)); left > 0; {
		n.rota++
		b := shares[n.rota%len(shares)]
		if len(bands[b]) == 0 {
			continue
		}
		hosts = append(hosts, bands[b][0])
		bands[b] = bands[b][1:]
		left--
	}
	return hosts
}

// shares is the rota of the bands: of 36 turns the best has 8, the last one.
var shares = func() (turns []int) {
	for round := range crawl.Bands {
		for b := range crawl.Bands - round {
			turns = append(turns, b)
		}
	}
	return turns
}()

// fetch fetches a page.
func (c *Crawl) fetch(page uint32) {
	c.fetched[page] = true
	c.count++
	if c.built == nil {
		opic.CountScore(&c.scores, c.scored[page], -1)
	}
	links := make([]opic.Target, len(c.g.Links[page]))
	for i, t := range c.g.Links[page] {
		links[i] = opic.Target{Partition: c.partitionOf(t), URL: opic.URL(t)}
	}
	site := opic.SiteOf(uint64(c.g.Host[page]+1) * 0x9e3779b97f4a7c15)
	for _, t := range c.g.Links[page] {
		if !c.known[t] && (c.depth[t] == 0 || c.depth[page]+1 < c.depth[t]) {
			c.depth[t] = c.depth[page] + 1
		}
		if c.g.Host[t] != c.g.Host[page] {
			c.sites[c.g.Host[t]].Add(site)
		}
	}
	c.books[c.partitionOf(page)].Visit(opic.URL(page), site, links)
}

// settle lets due pages settle, within the budget. The threshold follows the number of those that
// wait, so the budget goes to those with the most.
func (c *Crawl) settle(n *node) {
	for n.budget >= 1 && len(n.due) > 0 {
		page := n.due[0]
		n.due = n.due[1:]
		delete(n.inDue, page)
		if c.account(page).Due(n.least) {
			c.books[c.partitionOf(page)].Settle(opic.URL(page))
			c.settled++
			n.budget--
		}
	}
	rate := c.cfg.Rate / len(c.nodes)
	n.budget = min(n.budget, float64(c.cfg.Rate))
	if len(n.due) > 4*rate {
		n.least *= 2
	} else if len(n.due) < rate/2 {
		n.least = max(n.least*7/8, leastFloor)
	}
}

// deliver carries the parcels, one in eight of them twice.
func (c *Crawl) deliver() {
	for _, from := range c.books {
		for _, to := range c.books {
			p, ok := from.Outbox.Parcel(from.ID, to.ID, 1<<20)
			if !ok {
				continue
			}
			times := 1
			if c.r.IntN(8) == 0 {
				times = 2
			}
			for range times {
				seq, err := to.Apply(&p)
				if err != nil {
					panic("BUG: " + err.Error())
				}
				from.Outbox.Acknowledge(to.ID, seq)
			}
		}
	}
}

// sum makes what all nodes know of ranks and scores.
func (c *Crawl) sum() {
	if c.cfg.Order == BreadthFirst || c.cfg.Order == Omniscient {
		return
	}
	var all opic.Histogram
	for _, b := range c.books {
		all.Plus(&b.Ranks)
	}
	c.ranks, c.cuts = all.Ranks(), opic.CutsOf(&c.scores)
	if c.built != nil && c.tick%foldTicks == 0 {
		c.built.fold()
	}
}

// Rest lets pages settle without fetching, until none is due.
func (c *Crawl) Rest() (settled int) {
	before := c.settled
	for range 10_000 {
		for i := range c.nodes {
			n := &c.nodes[i]
			n.least = leastFloor
			n.due = n.due[:0]
			clear(n.inDue)
		}
		quiet := true
		for page := range c.g.Links {
			if a := c.account(uint32(page)); a != nil && a.Due(leastFloor) {
				c.books[c.partitionOf(uint32(page))].Settle(opic.URL(page))
				c.settled++
				quiet = false
			}
		}
		c.deliver()
		if quiet {
			break
		}
	}
	return c.settled - before
}

// Totals is the importance of each page, 0 of unknown ones.
func (c *Crawl) Totals() []float64 {
	x := make([]float64, len(c.g.Links))
	for page := range x {
		if a := c.account(uint32(page)); a != nil {
			x[page] = float64(a.Total())
		}
	}
	return x
}

// RankOf is the rank of each page, as every node computes it from the sum of the histograms.
func (c *Crawl) RankOf() []float64 {
	var all opic.Histogram
	for _, b := range c.books {
		all.Plus(&b.Ranks)
	}
	ranks := all.Ranks()
	x := c.Totals()
	for i, v := range x {
		x[i] = ranks.Rank(opic.Cash(v))
	}
	return x
}
