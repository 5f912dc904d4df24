//race:marked

package recrawl

import (
	"container/heap"
	"encoding/binary"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/layout"
	"crawlnode/recrawl/judge"
	"crawlnode/recrawl/policy"
	"crawlnode/recrawl/policy/estimate"
	"crawlnode/recrawl/visits"
)

// This file has a simulated web, in virtual time, and one node that visits it again and again.
// Judge, price, sums and figures are the product's; frontier, network and clock are not. Pages
// change at random times. Freshness is not sampled but computed: a page that changes r times a
// second is fresh t seconds after a visit with probability exp(-rt), whatever was decided before.

// simWeb is a web, and how it is visited.
type simWeb struct {
	rates    []float64 // changes a second of each page; 0: never
	per      int       // so many pages in a row are of one host
	delay    func(host int) time.Duration
	capacity float64 // visits a second
	// refused is the share of capacity that the node believes to have and has not.
	refused  float64
	settings crawl.Settings
	// sitemap is what a host's sitemap says when a page has changed, which it is asked for each reads;
	// nil: there is none.
	sitemap func(p *simPage, now float64) (changed float64)
	reads   time.Duration
}

// simPage is a page, and what a frontier keeps of it.
type simPage struct {
	rate     float64
	host     int
	rec      crawl.Record
	counted  bool
	queued   bool
	at       float64 // when it is due, or its visit begins
	visit    bool    // it is visited then; else planned anew
	last     float64 // start of the newest visit
	estimate frontier.Estimate

	version uint64
	next    float64 // when it changes next
	changed float64 // when it has last changed
	stale   float64 // when its copy became stale; infinite: it is fresh
}

// follow brings a page up to a time.
func (p *simPage) follow(now float64, r *rand.Rand) {
	for p.next <= now {
		p.changed = p.next
		p.stale = min(p.stale, p.next)
		p.version++
		p.next += r.ExpFloat64() / p.rate
	}
}

// simHost is what a frontier keeps of a host.
type simHost struct {
	site  string
	state crawl.HostState
	free  float64 // when its next visit may begin
}

// simPages is all that a Keeper asks of a frontier here.
type simPages struct {
	Pages
	queued int64
}

func (p *simPages) Totals() (c crawl.Counters) {
	c.QueuedRevisits = p.queued
	return c
}

// simCrawl is a crawl of a simWeb.
type simCrawl struct {
	t     *testing.T
	web   *simWeb
	k     *Keeper
	j     *judge.Judge
	front simPages
	pages []*simPage
	hosts []simHost
	order []*simPage // a heap by at
	now   float64
	free  float64 // when a fetcher is free
	rnd   *rand.Rand

	from     float64 // what follows is of the time since
	revisits int
	useful   int
	still    int        // revisits of pages that never change
	fresh    [2]float64 // page seconds, of pages that never change and of others
	expected float64    // sum of what was expected at each price
	planned  float64    // the same, before what was kept of it
	prices   int
}

func (c *simCrawl) Len() int           { return len(c.order) }
func (c *simCrawl) Less(i, j int) bool { return c.order[i].at < c.order[j].at }
func (c *simCrawl) Swap(i, j int)      { c.order[i], c.order[j] = c.order[j], c.order[i] }
func (c *simCrawl) Push(any)           {}
func (c *simCrawl) Pop() any           { return nil }

// simSettings are the defaults with adaptive revisits.
func simSettings(worth float64) crawl.Settings {
	const day = 24 * time.Hour
	return crawl.Settings{
		Recrawl:         crawl.RecrawlAdaptive,
		RecrawlInterval: 7 * day,
		RecrawlMin:      time.Hour,
		RecrawlMax:      90 * day,
		RecrawlShare:    0.5,
		RecrawlWorth:    worth,
		Delay:           time.Second,
	}
}

// crawlOf begins a crawl of a web: all pages are queued.
func crawlOf(t *testing.T, w *simWeb, seed uint64) *simCrawl {
	const fetchers = 16
	c := &simCrawl{t: t, web: w, rnd: rand.New(rand.NewPCG(seed, 3))}
	b := &bench{now: &w.settings, fetchers: fetchers, members: []crawl.NodeID{"a"}}
	c.k = New(Options{
		Self:   "a",
		Boot:   7,
		Pages:  &c.front,
		Node:   b,
		Logger: slog.New(slog.DiscardHandler),
	})
	c.k.measured.took = fetchers / (w.capacity * (1 + w.refused))
	c.k.sums.follow(map[crawl.Partition]crawl.Epoch{0: 1})
	key, _, _ := c.k.sums.next(start, 0)
	c.k.sums.begin(0)
	c.k.sums.counted(start, key, &sum{})
	c.j = judge.New(c.k, b)
	c.hosts = make([]simHost, (len(w.rates)-1)/w.per+1)
	for h := range c.hosts {
		if w.delay != nil {
			c.hosts[h].state.CrawlDelay = w.delay(h)
		}
	}
	for i, rate := range w.rates {
		p := &simPage{
			rate:    rate,
			host:    i / w.per,
			queued:  true,
			visit:   true,
			changed: -1,
			next:    math.Inf(1),
		}
		if rate > 0 {
			p.next = c.rnd.ExpFloat64() / rate
		}
		p.at = c.slot(p)
		c.pages = append(c.pages, p)
	}
	c.order = append(c.order, c.pages...)
	heap.Init(c)
	return c
}

// slot is when the visit of a page that is queued now begins: hosts have their delay, the node its
// fetchers, and who comes first is first.
func (c *simCrawl) slot(p *simPage) float64 {
	h := &c.hosts[p.host]
	c.free = max(c.free, c.now)
	at := max(c.free, h.free)
	c.free += 1 / c.web.capacity
	h.free = at + max(c.web.settings.Delay, h.state.CrawlDelay).Seconds()
	return at
}

// run goes on until a time, with so many prices on the way.
func (c *simCrawl) run(until time.Duration, prices int) {
	end := until.Seconds()
	pause := (end - c.now) / float64(prices)
	read := math.Inf(1)
	if c.web.sitemap != nil {
		read = c.now
	}
	for next := c.now; ; {
		if at := c.order[0].at; read <= min(at, next, end) {
			c.now = read
			c.readSitemaps()
			read += c.web.reads.Seconds()
			continue
		}
		if at := c.order[0].at; min(at, next) >= end {
			break
		} else if at < next {
			c.now = at
			c.step(c.order[0])
			heap.Fix(c, 0)
			continue
		}
		c.now = next
		c.price()
		next += pause
	}
	c.now = end
}

// readSitemaps tells the judge what the sitemaps of all hosts say of pages that wait for their
// time.
func (c *simCrawl) readSitemaps() {
	for _, p := range c.pages {
		p.follow(c.now, c.rnd)
		if p.queued {
			continue
		}
		before := p.estimate
		if plan, ok := c.j.Claimed(c.page(p), start.Add(simSeconds(c.web.sitemap(p, c.now)))); ok {
			c.carryOut(p, &plan, &before)
		}
	}
	heap.Init(c)
}

// measure forgets what was counted, and counts from now on.
func (c *simCrawl) measure() {
	for _, p := range c.pages {
		c.count(p)
	}
	c.from, c.revisits, c.useful, c.still, c.fresh = c.now, 0, 0, 0, [2]float64{}
	c.expected, c.planned, c.prices = 0, 0, 0
}

// price does what a Keeper does each ten seconds.
func (c *simCrawl) price() {
	c.t.Helper()
	if c.k.publish(&c.web.settings) {
		t := c.k.market.terms(&c.k.own)
		c.k.terms.Store(&t)
	}
	if err := c.k.show(c.time(), time.Time{}, false, &c.web.settings); err != nil {
		c.t.Fatal(err)
	}
	if e := c.k.Expected(); e != nil {
		c.expected += *e
		c.planned += *c.k.Figures().Expected
		c.prices++
	}
}

func (c *simCrawl) time() time.Time { return start.Add(simSeconds(c.now)) }

func simSeconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// page is what the judge is told.
func (c *simCrawl) page(p *simPage) *frontier.Page {
	h := &c.hosts[p.host]
	return &frontier.Page{
		Record:  &p.rec,
		Counted: p.counted,
		Site:    h.site,
		Host:    h.state,
		Elapsed: simSeconds(c.now - p.last),
		Spread:  0.5,
	}
}

// step does what there is to do with a page now.
func (c *simCrawl) step(p *simPage) {
	switch {
	case p.queued:
		c.visit(p)
	case p.visit:
		p.queued = true
		c.front.queued++
		c.k.Replanned(0, &p.estimate, nil, time.Time{})
		p.at = c.slot(p)
	default:
		plan := c.j.Planned(c.page(p))
		c.carryOut(p, &plan, &p.estimate)
	}
}

// visit does what the frontier's writer does at the end of a visit.
func (c *simCrawl) visit(p *simPage) {
	revisit := p.counted
	p.follow(c.now, c.rnd)
	c.count(p)
	page := c.page(p)
	if !revisit {
		page.Elapsed = 0
	}
	o := crawl.Outcome{Kind: crawl.Fetched, Status: 200}
	binary.BigEndian.PutUint64(o.Digest[:], p.version+1)
	plan := c.j.Visited(page, &o)
	if revisit {
		c.front.queued--
		useful := plan.Verdict == visits.Changed
		c.j.Revisited(frontier.Revisit{Answered: true, Changed: useful, Copy: plan.Copy})
		c.revisits++
		if p.rate == 0 {
			c.still++
		}
		if useful {
			c.useful++
		}
	}
	p.rec.State, p.rec.Status, p.rec.Digest, p.rec.VisitedAt, p.rec.FetchedAt = crawl.Done, 200,
		o.Digest, start, c.time()
	p.stale = math.Inf(1)
	p.last, p.queued, p.counted = c.now, false, true
	c.carryOut(p, &plan, nil)
}

func (c *simCrawl) carryOut(p *simPage, plan *frontier.Plan, before *frontier.Estimate) {
	p.rec.Visits, c.hosts[p.host].site = plan.Visits, plan.Site
	p.visit = plan.Estimate.Flags&layout.DueVisit != 0
	p.at = c.now + max(plan.Wait.Seconds(), 1e-3)
	c.j.Replanned(0, before, &plan.Estimate, start.Add(simSeconds(p.at)))
	p.estimate = plan.Estimate
}

// count adds the freshness of a page since its last visit.
func (c *simCrawl) count(p *simPage) {
	from, to := max(p.last, c.from), c.now
	if to <= from || !p.counted {
		return
	}
	if p.rate == 0 {
		c.fresh[0] += to - from
		return
	}
	if c.web.sitemap != nil { // visits depend on what the page does
		c.fresh[1] += max(min(p.stale, to)-from, 0)
		return
	}
	c.fresh[1] += math.Exp(-p.rate*(from-p.last)) * -math.Expm1(-p.rate*(to-from)) / p.rate
}

// simResult is what was found since measure.
type simResult struct {
	visits   float64 // a second
	useful   float64 // share of the visits that found a change
	still    float64 // share of the visits of pages that never change
	fresh    float64 // of all pages
	changing float64 // of those that change
	expected float64
	planned  float64
}

func (c *simCrawl) result() (r simResult) {
	for _, p := range c.pages {
		c.count(p)
	}
	span, changing := c.now-c.from, 0.0
	for _, p := range c.pages {
		if p.rate > 0 {
			changing++
		}
	}
	r.visits = float64(c.revisits) / span
	r.still = float64(c.still) / max(float64(c.revisits), 1)
	r.useful = float64(c.useful) / max(float64(c.revisits), 1)
	r.fresh = (c.fresh[0] + c.fresh[1]) / span / float64(len(c.pages))
	r.changing = c.fresh[1] / span / max(changing, 1)
	if n := float64(c.prices); n > 0 {
		r.expected, r.planned = c.expected/n, c.planned/n
	}
	return r
}

// best is what known rates reach with so many visits a second, within the bounds, if no host must
// be left alone: the rule of one price (package policy), computed for each page.
func (w *simWeb) best(budget float64) (r simResult) {
	shortest, longest := w.settings.RecrawlMin.Seconds(), w.settings.RecrawlMax.Seconds()
	at := func(price float64) (r simResult) {
		changing := 0.0
		for _, rate := range w.rates {
			if rate == 0 {
				r.visits += 1 / longest
				r.fresh++
				continue
			}
			g := estimate.Known(rate)
			s := min(max(policy.Interval(g, price), shortest), longest)
			fresh := policy.Freshness(g, s)
			r.visits += 1 / s
			r.useful += -math.Expm1(-rate*s) / s
			r.fresh += fresh
			r.changing += fresh
			changing++
		}
		r.useful /= r.visits
		r.fresh /= float64(len(w.rates))
		r.changing /= max(changing, 1)
		return r
	}
	low, high := 1e-6, 1e12
	for high/low > 1.0005 {
		if mid := math.Sqrt(low * high); at(mid).visits > budget {
			low = mid
		} else {
			high = mid
		}
	}
	return at(high)
}

// equal is the freshness with equal intervals.
func (w *simWeb) equal(budget float64) (fresh float64) {
	for _, rate := range w.rates {
		if rate == 0 {
			fresh++
			continue
		}
		fresh += policy.Freshness(estimate.Known(rate), float64(len(w.rates))/budget)
	}
	return fresh / float64(len(w.rates))
}

// TestExpectedWhereHostsAreSlow checks that what is expected is what the pages have, where hosts do
// not allow as many visits as their pages are planned for, and where the node fetches less than it
// believes. The planned freshness alone is far from it.
func TestExpectedWhereHostsAreSlow(t *testing.T) {
	t.Parallel()
	gamma := func(r *rand.Rand) float64 { return r.ExpFloat64() } // shape 1
	for name, c := range map[string]struct {
		slow     time.Duration // delay of every second host
		capacity float64
		refused  float64
		off      float64 // by how much the planned freshness is too high, at least
	}{
		"half of the hosts are slow": {slow: 15 * time.Minute, capacity: 10, off: 0.04},
		"all is as planned":          {slow: time.Second, capacity: 10},
		"fewer visits than believed": {slow: time.Second, capacity: 0.025, refused: 3, off: 0.04},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(1, 9))
			w := &simWeb{per: 20, capacity: c.capacity, refused: c.refused, settings: simSettings(0.1)}
			w.settings.AllowNet = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			w.settings.RecrawlInterval, w.settings.RecrawlMin = 12*time.Hour, time.Minute
			w.delay = func(host int) time.Duration {
				if host%2 == 0 {
					return c.slow
				}
				return 0
			}
			for range 200 {
				w.rates = append(w.rates, gamma(r)/(8*3600))
			}
			crawl := crawlOf(t, w, 5)
			crawl.run(5*24*time.Hour, 50)
			crawl.measure()
			crawl.run(15*24*time.Hour, 50)
			got := crawl.result()
			t.Logf("%+v", got)
			if math.Abs(got.expected-got.fresh) > 0.02 {
				t.Errorf("%.4f is expected, %.4f of the pages are fresh", got.expected, got.fresh)
			}
			if got.planned < got.fresh+c.off {
				t.Errorf("%.4f is planned, %.4f of the pages are fresh: this web says nothing", got.planned,
					got.fresh)
			}
		})
	}
}

// TestSitemaps checks what the dates in sitemaps do, beside the same web without: pages of a site
// whose dates are right are visited less often, find more, and are as fresh. Dates that never move,
// or move each day, change nothing. A site that tells the truth until it is believed, and then
// never moves a date, hides changes only until it is found out.
func TestSitemaps(t *testing.T) {
	t.Parallel()
	const day, turn = 24 * time.Hour, 40
	honest := func(p *simPage, _ float64) float64 { return p.changed }
	of := func(sitemap func(*simPage, float64) float64) *simCrawl {
		r := rand.New(rand.NewPCG(2, 9))
		w := &simWeb{
			per:      20,
			capacity: 1,
			settings: simSettings(0.1),
			sitemap:  sitemap,
			reads:    6 * time.Hour,
		}
		for range 200 {
			w.rates = append(w.rates, r.ExpFloat64()/(3*86400))
		}
		c := crawlOf(t, w, 5)
		c.run(turn*day, 40)
		c.measure()
		return c
	}
	between := func(c *simCrawl, from, to time.Duration) simResult {
		if from > 0 {
			c.run((turn+from)*day, 10)
			c.measure()
		}
		c.run((turn+to)*day, 10)
		return c.result()
	}
	liar := func(p *simPage, now float64) float64 {
		if now < turn*day.Seconds() {
			return p.changed
		}
		return -1
	}
	without := between(of(nil), 0, 40)
	t.Logf("without %+v", without)
	for name, c := range map[string]struct {
		sitemap  func(p *simPage, now float64) float64
		from, to time.Duration // days after it is believed
		visits   [2]float64    // for each visit without a sitemap
		fresh    float64       // more than without, at least
	}{
		"right dates": {honest, 0, 40, [2]float64{0.5, 0.8}, 0.02},
		"dates that never move": {func(*simPage, float64) float64 { return -1 }, 0, 40,
			[2]float64{0.97, 1.03}, -0.01},
		"dates of the present": {func(_ *simPage, now float64) float64 { return now }, 0, 40,
			[2]float64{0.97, 1.03}, -0.01},
		"a liar is believed":  {liar, 0, 10, [2]float64{0.5, 0.9}, -0.06},
		"a liar is found out": {liar, 20, 40, [2]float64{0.95, 1.05}, -0.01},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := between(of(c.sitemap), c.from, c.to)
			t.Logf("%+v", got)
			if q := got.visits / without.visits; q < c.visits[0] || q > c.visits[1] {
				t.Errorf("%.2f visits for each without a sitemap, want %v", q, c.visits)
			}
			if got.fresh < without.fresh+c.fresh {
				t.Errorf("%.4f of the pages are fresh, %.4f without a sitemap", got.fresh, without.fresh)
			}
			if got.expected > got.fresh+0.02-min(c.fresh, 0) {
				t.Errorf("%.4f is expected, %.4f of the pages are fresh", got.expected, got.fresh)
			}
		})
	}
}
