package recrawl

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/recrawl/policy"
	"crawlnode/recrawl/policy/estimate"
)

// summaryOf is what a node with some pages says.
func summaryOf(count uint64, pages int, capacity float64, seed uint64) Summary {
	var d policy.Demand
	var p Pools
	r := rand.New(rand.NewPCG(seed, 1))
	for range pages {
		g := estimate.UnpackGamma([4]byte(estimate.Known(1 / (600 + 1e5*r.Float64())).Append(nil)))
		d.Add(g, 1)
		p[0].Add(g)
	}
	c := d.Curve(policy.Bounds{Min: time.Minute, Max: 90 * 24 * time.Hour}, 1, capacity)
	s := Summary{
		Version: policy.Version{Boot: 1, Count: count},
		Pages:   float64(pages),
		Curve:   c,
		Pools:   p,
	}
	read, err := DecodeSummary(s.Append(nil))
	if err != nil {
		panic(err)
	}
	return read
}

// TestEqualPrices checks that members that have the same summaries compute the same bits, whatever
// order and repeats they came in, and that a join and a death change the price at once.
func TestEqualPrices(t *testing.T) {
	t.Parallel()
	ids := []crawl.NodeID{"a", "b", "c"}
	var all []Summary // two of each
	for i := range 6 {
		all = append(all, summaryOf(uint64(i/3+1), 200+100*i, 1, uint64(i)))
	}
	var first Terms
	for seed := range uint64(20) {
		var m market
		r := rand.New(rand.NewPCG(seed, 2))
		for range 3 {
			for _, i := range r.Perm(len(all)) {
				m.put(ids[i%3], &all[i])
			}
		}
		var none policy.Curve
		got := m.terms(&none)
		if seed == 0 {
			first = got
		}
		if got != first {
			t.Fatalf("%+v is not %+v", got, first)
		}
	}
	if !(first.Price > 0) || first.Pools[0].Pages != 400+500+600+300 || !first.Known ||
		first.Capacity < 2.99 || first.Capacity > 3.01 || !(first.Usual > 0) {
		t.Errorf("%+v", first) // of the second ones: 500, 600 and 700 pages
	}
}

// TestJoinAndDeath checks that the price follows the members.
func TestJoinAndDeath(t *testing.T) {
	t.Parallel()
	var m market
	var none policy.Curve
	a, b := summaryOf(1, 1000, 0.05, 1), summaryOf(1, 0, 0.05, 2)
	m.put("a", &a)
	alone := m.terms(&none)
	m.put("b", &b) // it joins with its fetchers
	both := m.terms(&none)
	if both.Price >= alone.Price || both.Expected <= alone.Expected {
		t.Errorf("price %v and %v, fresh %v and %v", alone.Price, both.Price, alone.Expected,
			both.Expected)
	}
	if m.keep([]crawl.NodeID{"a", "b"}) || !m.keep([]crawl.NodeID{"a"}) || m.terms(&none) != alone {
		t.Errorf("after the death of b %+v, before it came %+v", m.terms(&none), alone)
	}
	// A late message of an earlier one changes nothing.
	old := summaryOf(0, 10, 50, 3)
	m.put("a", &old)
	if m.terms(&none) != alone {
		t.Error("an old summary counts")
	}
	again := summaryOf(1, 10, 50, 3)
	again.Version = policy.Version{Boot: 2, Count: 0} // it was started again
	m.put("a", &again)
	if m.terms(&none) == alone {
		t.Error("the summary of a later boot does not count")
	}
	// A node whose own pages want more than it can fetch raises its own price.
	c := summaryOf(1, 5000, 0.01, 4)
	if m.put("c", &c); m.terms(&c.Curve).Price <= m.terms(&none).Price ||
		m.terms(&c.Curve).Cluster != m.terms(&none).Cluster {
		t.Errorf("own price %v, the cluster's %v", m.terms(&c.Curve).Price, m.terms(&none).Price)
	}
}

// TestKeepersAgree lets three keepers exchange their summaries as heartbeats do: a round later all
// have the price of all pages; after a join and a death as well.
func TestKeepersAgree(t *testing.T) {
	t.Parallel()
	var keepers []*bench
	join := func(id crawl.NodeID, pages int) {
		b := newBench(t, 8, crawl.RecrawlAdaptive)
		b.o.Self, b.market.self = id, id
		for i := range pages {
			b.pages.add(crawl.Partition(i%8), crawl.Host(fmt.Sprint("h", i)), 1, 10*time.Hour)
		}
		keepers = append(keepers, b)
	}
	price := func(at time.Duration) (p float64) {
		t.Helper()
		var ids []crawl.NodeID
		for _, k := range keepers {
			ids = append(ids, k.o.Self)
		}
		for range 2 { // each makes its curve, then takes those of the others
			for _, k := range keepers {
				k.members = ids
				k.turnAt(at)
			}
			for _, from := range keepers {
				for _, to := range keepers {
					if from != to {
						if err := to.Take(from.o.Self, 1, from.Summary()); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
		}
		for _, k := range keepers {
			k.turnAt(at)
			if p == 0 {
				p = k.Terms().Cluster
			}
			if got := k.Terms(); got.Cluster != p {
				t.Errorf("%v: %s has the price %v, not %v", at, k.o.Self, got.Cluster, p)
			}
		}
		return p
	}
	join("a", 300)
	join("b", 300)
	for _, k := range keepers {
		k.fetchers, k.settings.RecrawlMin = 1, time.Second
	}
	two := price(time.Second)
	join("c", 0)
	keepers[2].settings.RecrawlMin = time.Second
	three := price(20 * time.Second)
	if three >= two {
		t.Errorf("price %v with two nodes, %v with a third one of 16 fetchers", two, three)
	}
	keepers = keepers[:2]
	if again := price(40 * time.Second); again <= three {
		t.Errorf("price %v after the death of the third, %v before", again, three)
	}
}

// TestSums checks that the sums are what a new count brings: through plans, moves, and plans during
// a count.
func TestSums(t *testing.T) {
	t.Parallel()
	var s sums
	held := map[crawl.Partition]crawl.Epoch{0: 1, 1: 1, shelves: 1} // 0 and 1,024 share a shelf
	if came, gone := s.follow(held); len(came) != 3 || len(gone) != 0 || !s.unsettled() {
		t.Fatalf("%v came, %v went", came, gone)
	}
	a, b := (&page{rate: 1e-3}).estimate(), (&page{rate: 1e-5, visit: true}).estimate()
	count := func(pages map[crawl.Partition][]frontier.Estimate, meanwhile func()) {
		for {
			key, ps, ok := s.next(start, time.Hour)
			if !ok {
				return
			}
			c := &sum{}
			for _, p := range ps {
				s.begin(p)
				for _, e := range pages[p] {
					c.add(&e, 1)
				}
			}
			meanwhile()
			s.counted(start, key, c)
		}
	}
	count(map[crawl.Partition][]frontier.Estimate{0: {a, a}, 1: {b}, shelves: {a}},
		func() { s.replanned(1, nil, &a); s.replanned(1, &a, nil) })
	want := func(when string, pages, known float64) {
		t.Helper()
		if all, _, uncounted := s.read(); all.pages != pages || all.pools[0].Pages != known ||
			uncounted != 0 || s.unsettled() {
			t.Errorf("%s: %v pages, %v known, %d partitions not counted; want %v pages", when, all.pages,
				all.pools[0].Pages, uncounted, pages)
		}
	}
	want("counted", 4, 4)
	s.replanned(0, &a, &b)
	s.replanned(1, &b, nil)
	want("replanned", 3, 3)
	s.replanned(77, nil, &a) // of a partition that is not here
	want("elsewhere", 3, 3)
	delete(held, 1)
	s.follow(held)
	want("one went", 3, 3)
	delete(held, shelves)
	if s.follow(held); !s.unsettled() {
		t.Error("what is left on the shelf is not counted again")
	}
	count(map[crawl.Partition][]frontier.Estimate{0: {a, b}}, func() { s.replanned(0, nil, &b) })
	want("counted again", 3, 3)
	held[0] = 2
	s.follow(held)
	count(nil, func() {})
	if all, _, _ := s.read(); all.pages != 0 {
		t.Errorf("%v pages of a partition that came empty", all.pages)
	}
	if _, _, ok := s.next(start.Add(time.Minute), time.Hour); ok {
		t.Error("it is counted again at once")
	}
	if _, _, ok := s.next(start.Add(2*time.Hour), time.Hour); !ok {
		t.Error("it is never counted again")
	}
}

// TestManyPartitions checks that a node of very many partitions keeps a bounded number of sums.
func TestManyPartitions(t *testing.T) {
	t.Parallel()
	var s sums
	held := map[crawl.Partition]crawl.Epoch{}
	for p := range crawl.Partition(3 * shelves) {
		held[p] = 1
	}
	s.follow(held)
	if len(s.shelves) != shelves {
		t.Errorf("%d shelves", len(s.shelves))
	}
}

func TestHeads(t *testing.T) {
	t.Parallel()
	var h heads
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	h.set(1, at(9), true)
	h.set(2, at(5), true)
	h.sooner(3, at(7))
	h.sooner(2, at(8)) // later than what is known
	h.sooner(1, at(1))
	h.set(4, at(0), true)
	h.set(4, time.Time{}, false)
	h.set(5, time.Time{}, false)
	for _, want := range []crawl.Partition{1, 2, 3} {
		p, _, ok := h.first()
		if p != want || !ok {
			t.Errorf("first %d, want %d", p, want)
		}
		h.set(p, time.Time{}, false)
	}
	if _, _, ok := h.first(); ok {
		t.Error("a head is left")
	}
}

// TestQueuedPagesCount checks that pages that are visited now want visits as the others do, also
// after a recount, and that the sums are right when they come back.
func TestQueuedPagesCount(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, crawl.RecrawlAdaptive)
	const n = 100
	b.pages.add(0, "h", n, 0)
	check := func(what string) {
		t.Helper()
		all, _, _ := b.sums.read()
		if want := float64(n - b.queued()); math.Abs(all.pages-want) > 1e-9 {
			t.Errorf("%s: the sums have %v pages, want %v", what, all.pages, want)
		}
		s, err := DecodeSummary(b.Summary())
		if err != nil || math.Abs(s.Pages-n) > 1e-3 || math.Abs(s.Curve.Weight-n) > 0.1 {
			t.Errorf("%s: %v pages of weight %v are told of, want %d; %v", what, s.Pages, s.Curve.Weight, n,
				err)
		}
	}
	b.turnAt(0)
	if b.turnAt(time.Second); b.queued() == 0 {
		t.Fatal("nothing was moved")
	}
	check("moved")
	b.turnAt(2 * countRest)
	b.turnAt(2*countRest + priceEvery)
	check("recounted")
	b.visit(n, 0)
	b.turnAt(2*countRest + 2*priceEvery)
	check("visited")
	for _, x := range b.pages.pages { // all at once
		x.queued = true
		e := x.estimate()
		b.Replanned(0, &e, nil, time.Time{})
	}
	old := string(b.Summary())
	if b.turnAt(2*countRest + 3*priceEvery); string(b.Summary()) != old || b.Terms().Price <= 0 {
		t.Error("the price is forgotten while all pages are visited")
	}
}

// TestPlansBeforeTheReadCountOnce checks that a page that is planned while another partition of its
// shelf is read, and is read afterwards, counts once, and that one that is planned behind the read
// is not lost.
func TestPlansBeforeTheReadCountOnce(t *testing.T) {
	t.Parallel()
	var s sums
	s.follow(map[crawl.Partition]crawl.Epoch{0: 1, shelves: 1}) // they share a shelf
	a := (&page{rate: 1e-3}).estimate()
	key, ps, _ := s.next(start, time.Hour)
	c := &sum{}
	s.begin(ps[0])
	s.replanned(ps[1], nil, &a)
	s.replanned(ps[0], nil, &a)
	s.begin(ps[1])
	c.add(&a, 1) // the page of ps[1] is read
	s.counted(start, key, c)
	if all, _, _ := s.read(); all.pages != 2 {
		t.Errorf("%v pages, want 2", all.pages)
	}
}
