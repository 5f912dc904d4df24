package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/frontiertest"
	"crawlnode/frontier/layout"
	"crawlnode/recrawl/policy"
	"crawlnode/recrawl/policy/estimate"
	recrawl "crawlnode/recrawl/visits"
	"crawlnode/web/urlnorm"
)

// A day is short here: the frontier's writer looks at the disk each second, also in a bubble.
const (
	realDay = 24 * time.Hour
	day     = time.Minute
	hour    = day / 24
)

// realWeek is week in days of 24 hours.
func realWeek() *Terms {
	t := week()
	t.Price *= 24 * 60
	t.Usual *= 24 * 60
	t.Rules.Interval *= 24 * 60
	t.Rules.Bounds = policy.Bounds{Min: time.Hour, Max: 90 * realDay}
	return t
}

func week() *Terms {
	return &Terms{
		Price: 2.5,
		Usual: 7 * day,
		Delay: time.Second,
		Rules: recrawl.Rules{Mode: recrawl.Adaptive, Interval: 7 * day,
			Bounds: policy.Bounds{Min: hour, Max: 90 * day}, ForgetAfter: 4},
	}
}

// crawler is a frontier with this package's judge, and the sums that it was told of.
type crawler struct {
	t     *testing.T
	front *frontier.Frontier
	terms *Terms
	// excluded are the pages that the scope excludes now.
	excluded map[string]bool

	mu    sync.Mutex
	sums  map[frontier.Estimate]int
	pages int
	told  []frontier.Revisit
}

func start(t *testing.T, terms *Terms) *crawler {
	c := &crawler{t: t, terms: terms, sums: map[frontier.Estimate]int{}}
	c.front = frontiertest.WithPlanner(t, New(c, c), 1, 0)
	return c
}

// A crawler is the Keeper and the Rules of its judge.

func (c *crawler) JudgeTerms() *Terms { return c.terms }

func (c *crawler) Replanned(
	_ crawl.Partition,
	before, after *frontier.Estimate,
	_ time.Time,
) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if before != nil {
		c.sums[counts(*before)]--
		c.pages--
	}
	if after != nil {
		c.sums[counts(*after)]++
		c.pages++
	}
}

func (c *crawler) Revisited(r frontier.Revisit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, r)
}

func (c *crawler) Excluded(it *crawl.Item) bool { return c.excluded[it.URL.String()] }

// by is a judge by some terms, in whose crawl nothing is excluded, and who tells nobody.
func by(terms *Terms) *Judge { return New(unheard{terms}, unheard{}) }

type unheard struct{ terms *Terms }

func (u unheard) JudgeTerms() *Terms       { return u.terms }
func (unheard) Revisited(frontier.Revisit) {}
func (unheard) Excluded(*crawl.Item) bool  { return false }

func (unheard) Replanned(crawl.Partition, *frontier.Estimate, *frontier.Estimate, time.Time) {}

// counts is what the sums look at.
func counts(e frontier.Estimate) frontier.Estimate {
	e.Flags &^= layout.DueVisit
	return e
}

func (c *crawler) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

func url(n int) urlnorm.URL {
	u, err := urlnorm.Parse(fmt.Sprintf("http://h.test/%d", n))
	if err != nil {
		panic(err)
	}
	return u
}

func (c *crawler) add(n int, again bool) {
	c.t.Helper()
	_, err := c.front.Add(c.t.Context(),
		[]crawl.Routed{{Target: crawl.Target{URL: url(n), Depth: 1, Band: 1, Again: again}}})
	c.must(err)
}

// visit completes the first queued page.
func (c *crawler) visit(o crawl.Outcome) crawl.Item {
	c.t.Helper()
	q, err := c.front.Load(0, "h.test", frontier.Cursor{}, 1)
	c.must(err)
	if len(q.Items) == 0 {
		c.t.Fatal("nothing is queued")
	}
	o.FetchedAt, o.Conditional = time.Now(), q.Items[0].ETag != ""
	c.must(c.front.Complete(c.t.Context(),
		frontier.Completion{Lease: crawl.Lease{Epoch: 1, Host: "h.test", Item: q.Items[0]}, Outcome: o}))
	return q.Items[0]
}

// move waits until the next page is due for its visit, and queues it.
func (c *crawler) move() {
	c.t.Helper()
	for range 100 {
		at, ok, err := c.front.DueHead(0)
		c.must(err)
		if !ok {
			c.t.Fatal("no page is planned")
		}
		time.Sleep(time.Until(at))
		ds, err := c.front.Due(0, time.Now(), 1)
		c.must(err)
		if ds[0].Visit() {
			n, err := c.front.MoveDue(c.t.Context(), ds)
			c.must(err)
			if n != 1 {
				c.t.Fatal("it was not moved")
			}
			return
		}
		_, err = c.front.Replan(c.t.Context(), ds)
		c.must(err)
	}
	c.t.Fatal("a page is planned again and again, and never visited")
}

func (c *crawler) record(n int) (crawl.Record, recrawl.Record) {
	c.t.Helper()
	rec, ok, err := c.front.Record(0, url(n))
	c.must(err)
	if !ok || rec.Visits == "" {
		return rec, recrawl.Record{}
	}
	r, rest, err := recrawl.Decode([]byte(rec.Visits))
	if err != nil || len(rest) > 0 {
		c.t.Fatal(err, len(rest))
	}
	return rec, r
}

func content(digest byte) crawl.Outcome {
	return crawl.Outcome{
		Kind:        crawl.Fetched,
		Status:      200,
		ContentType: "text/html; charset=utf-8",
		Digest:      [20]byte{digest},
		Text:        uint64(digest) * 0x0101010101010101,
		ETag:        fmt.Sprintf(`"%d"`, digest),
		Took:        30 * time.Millisecond,
	}
}

// TestUnchangedKeepsText: a page that was sent again and not read has the fingerprint that it had,
// so that a later change of its numbers alone is none, and another text is one.
func TestUnchangedKeepsText(t *testing.T) {
	t.Parallel()
	for _, visits := range []int{0, 1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			c := start(t, week())
			c.add(1, false)
			first := content(1)
			c.visit(first)
			for range visits {
				c.move()
				again := first
				again.Text, again.Unchanged = 0, true
				c.visit(again)
			}
			rec, r := c.record(1)
			if r.Text != first.Text || rec.Digest != first.Digest || len(r.Past) != 1+visits ||
				r.Past[0].Changed {
				t.Errorf("%d visits: %+v", visits, r)
			}
			c.move()
			numbers := content(2)
			numbers.Text = first.Text
			c.visit(numbers)
			if _, r = c.record(1); r.Past[0].Changed {
				t.Errorf("%d visits: other numbers are a change: %+v", visits, r)
			}
			c.move()
			c.visit(content(3))
			if _, r = c.record(1); !r.Past[0].Changed {
				t.Errorf("%d visits: another text is none: %+v", visits, r)
			}
		})
	}
}

// TestToldOfRevisits: the end of each visit of a page that was due is told: whether it was
// answered, whether it found a change, and for how long the copy was fresh before, which is less
// than planned when the visit is late. Other visits are not told.
func TestToldOfRevisits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terms := week()
		terms.Plain, terms.Usual, terms.Rules.ForgetAfter = terms.Price, 0, 0
		c := start(t, terms)
		c.add(1, false)
		c.visit(content(1)) // the first visit
		c.add(1, true)
		c.visit(content(1)) // a person wants it
		if len(c.told) != 0 {
			t.Errorf("%+v", c.told)
		}
		for i, v := range []struct {
			outcome           crawl.Outcome
			late              time.Duration
			answered, changed bool
		}{
			{crawl.Outcome{Kind: crawl.Fetched, Status: 304}, 0, true, false},
			{content(2), 30 * day, true, true},
			{content(2), 0, true, false},
			{crawl.Outcome{Kind: crawl.URLFailed}, 0, false, false},
			{crawl.Outcome{Kind: crawl.Fetched, Status: 404}, 0, true, true},
			{crawl.Outcome{Kind: crawl.Fetched, Status: 404}, 0, true, false},
			{content(2), 0, true, true}, // it is back
		} {
			c.move()
			time.Sleep(v.late)
			c.visit(v.outcome)
			c.mu.Lock()
			if len(c.told) != i+1 {
				t.Fatalf("visit %d: %d were told", i, len(c.told))
			}
			got := c.told[i]
			c.mu.Unlock()
			if got.Answered != v.answered || got.Changed != v.changed {
				t.Errorf("visit %d: %+v", i, got)
			}
			kept := got.Copy.Fresh / got.Copy.Planned
			switch gone := i >= 5; { // when the visit before found no page, there is no copy
			case gone:
				if got.Copy != (recrawl.Copy{}) {
					t.Errorf("visit %d: %+v", i, got.Copy)
				}
			case v.late > 0:
				if !(kept < 0.9 && kept > 0) {
					t.Errorf("visit %d: %v late, %+v", i, v.late, got.Copy)
				}
			case i == 4: // the visit before failed
			case !(kept > 0.98 && kept < 1.02):
				t.Errorf("visit %d: %+v", i, got.Copy)
			}
		}
	})
}

// TestLife: a page that never changes is visited at growing intervals, one that always changes
// as often as it is worth, and each visit is in the history.
func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, week())
		c.add(1, false)
		c.visit(content(1))
		var intervals []time.Duration
		for range 5 {
			_, r := c.record(1)
			intervals = append(intervals, r.Interval)
			due := time.Now().Add(r.Interval)
			c.move()
			if late := time.Since(due); late.Abs() > hour {
				t.Errorf("visited %v after its time", late)
			}
			c.visit(crawl.Outcome{Kind: crawl.Fetched, Status: 304})
		}
		for i := range intervals[1:] {
			if intervals[i+1] < intervals[i] {
				t.Errorf("intervals of a page that never changes: %v", intervals)
				break
			}
		}
		rec, r := c.record(1)
		if len(r.Past) != 6 || r.Past[5].Status != 200 || r.Past[0].Status != 304 || r.Past[0].Changed ||
			(r.Past[0].Before-intervals[4]).Abs() > hour {
			t.Errorf("history %+v", r.Past)
		}
		if rec.Digest != ([20]byte{1}) || time.Since(rec.VisitedAt) > time.Second {
			t.Errorf("record %+v", rec)
		}
		slow := r.Belief.Mean()
		for i := range 6 {
			c.move()
			c.visit(content(byte(10 * (i + 2))))
		}
		_, r = c.record(1)
		if !r.Past[0].Changed || r.Belief.Mean() < 2*slow {
			t.Errorf("believed to change each %.0f s, before each %.0f s: %+v", 1/r.Belief.Mean(), 1/slow,
				r.Past[0])
		}
		if n := c.front.Totals(); n.Revisits != 11 || n.NotModified != 5 || n.Unchanged != 5 ||
			n.Changed != 6 {
			t.Errorf("counters %+v", n)
		}
	})
}

// TestSumsFollowThePages compares the site's sums, and what Replanned has said, with the records.
func TestSumsFollowThePages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, week())
		rng := rand.New(rand.NewPCG(1, 2))
		const n = 12
		for i := range n {
			c.add(i, false)
		}
		for step := range 300 {
			q, err := c.front.Load(0, "h.test", frontier.Cursor{}, 1)
			c.must(err)
			if len(q.Items) == 0 {
				c.move()
				continue
			}
			switch rng.IntN(8) {
			case 0:
				c.visit(crawl.Outcome{Kind: crawl.Fetched, Status: 404})
			case 1:
				c.visit(crawl.Outcome{Kind: crawl.URLFailed, Reason: "timeout"})
			case 2:
				c.visit(crawl.Outcome{Kind: crawl.Refused, Skip: crawl.SkipRobots})
			case 3:
				c.visit(crawl.Outcome{Kind: crawl.Fetched, Status: 503})
			case 4:
				if _, err := c.front.FailHost(t.Context(), 0, "h.test", "dead"); err != nil {
					t.Fatal(err)
				}
				c.add(rng.IntN(n), true)
			default:
				c.visit(content(byte(rng.IntN(40))))
			}
			if step%10 == 0 {
				c.terms = week()
				c.terms.Price = math.Exp(rng.Float64()*6 - 2)
				c.add(rng.IntN(n), true)
			}
		}
		c.compare(n)
	})
}

func (c *crawler) compare(n int) {
	c.t.Helper()
	var want recrawl.Site
	pages := 0
	sums := map[frontier.Estimate]int{}
	for i := range n {
		rec, r := c.record(i)
		if rec.Visits == "" || rec.CheckAt.IsZero() {
			continue
		}
		want.Count(&r)
		if rec.State == crawl.Queued {
			continue // its site counts it, the sums do not
		}
		pages++
		sums[counts(estimateOf(&r, 0))]++
	}
	e := c.site()
	if math.Abs(e.Pool.Pages-want.Pool.Pages) > 1e-6 ||
		math.Abs(e.Pool.MeanLog-want.Pool.MeanLog) > 1e-6*math.Abs(want.Pool.MeanLog) ||
		math.Abs(e.Wanted-want.Wanted) > 1e-6*want.Wanted {
		c.t.Errorf("the site's sums are %+v, want %+v", e, want)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages != pages {
		c.t.Errorf("%d pages count, want %d", c.pages, pages)
	}
	for e, k := range c.sums {
		if k != sums[e] {
			c.t.Errorf("%d pages with %+v, want %d", k, e, sums[e])
		}
	}
}

// site asks the judge what it knows of the host: a page that is completed shows it.
func (c *crawler) site() recrawl.Site {
	c.t.Helper()
	text, err := c.front.Site(0, "h.test")
	c.must(err)
	s, err := recrawl.DecodeSite(text)
	c.must(err)
	return s
}

// TestGoneIsForgotten: a page that is missing is tried at growing distances, then not any more.
func TestGoneIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, week())
		c.add(1, false)
		c.visit(content(1))
		begun := time.Now()
		var at []time.Duration
		for range 4 {
			c.move()
			at = append(at, time.Since(begun).Round(day))
			c.visit(crawl.Outcome{Kind: crawl.Fetched, Status: 404})
			begun = time.Now()
		}
		rec, _ := c.record(1)
		if rec.State != crawl.Failed || rec.Reason == "" || at[1] != 7*day || at[2] != 14*day ||
			at[3] != 28*day {
			t.Errorf("%s %q, tried after %v", rec.State, rec.Reason, at)
		}
		if _, ok, _ := c.front.DueHead(0); ok {
			t.Error("it is planned")
		}
		c.compare(2)
	})
}

// TestFirstVisits: what is planned after the first visit, and when.
func TestFirstVisits(t *testing.T) {
	for name, tc := range map[string]struct {
		o     crawl.Outcome
		via   crawl.Via
		plan  bool
		kind  recrawl.Kind
		close time.Duration // until the next visit, about; 0: whatever it is worth
	}{
		"page": {o: content(1), plan: true},
		"404": {
			o:     crawl.Outcome{Kind: crawl.Fetched, Status: 404},
			plan:  true,
			close: 7 * day,
		},
		"410": {
			o:     crawl.Outcome{Kind: crawl.Fetched, Status: 410},
			plan:  true,
			close: 28 * day,
		},
		"500": {o: crawl.Outcome{Kind: crawl.Fetched, Status: 500}, plan: true},
		"sitemap": {o: crawl.Outcome{
			Kind:        crawl.Fetched,
			Status:      200,
			IsSitemap:   true,
			ContentType: "application/xml",
		}, plan: true, kind: recrawl.KindFeed},
		"feed": {
			o:    crawl.Outcome{Kind: crawl.Fetched, Status: 200, ContentType: "application/rss+xml"},
			plan: true,
			kind: recrawl.KindFeed,
		},
		"picture": {
			o:    crawl.Outcome{Kind: crawl.Fetched, Status: 200, ContentType: "image/png"},
			plan: true,
			kind: recrawl.KindFile,
		},
		"without a scheme": {
			o:     crawl.Outcome{Kind: crawl.Fetched, Status: 404},
			via:   crawl.ViaGuess,
			plan:  true,
			close: 7 * day,
		},
		"never answered": {o: crawl.Outcome{Kind: crawl.URLFailed}},
		"forbidden":      {o: crawl.Outcome{Kind: crawl.Refused}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t, week())
				_, err := c.front.Add(t.Context(),
					[]crawl.Routed{{Target: crawl.Target{URL: url(1), Via: tc.via}}})
				c.must(err)
				c.visit(tc.o)
				rec, r := c.record(1)
				if _, ok, _ := c.front.DueHead(0); ok != tc.plan || (rec.Visits != "") != tc.plan ||
					r.Kind != tc.kind {
					t.Errorf("planned %v: %+v, %+v", ok, rec, r)
				}
				if tc.close > 0 && (r.Interval-tc.close).Abs() > hour {
					t.Errorf("visited again after %v, want %v", r.Interval, tc.close)
				}
				// Who looks for pages without a plan later comes to the same end.
				pages, _, _, err := c.front.Unplanned(0, "", 9)
				c.must(err)
				_, err = c.front.PlanFirst(t.Context(), pages)
				c.must(err)
				if _, ok, _ := c.front.DueHead(0); ok != tc.plan {
					t.Errorf("planned later: %v", ok)
				}
				c.compare(2)
			})
		})
	}
}

// TestFixed: each page after one interval, without checks in between.
func TestFixed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terms := week()
		terms.Rules.Mode, terms.Rules.Interval = recrawl.Fixed, 3*day
		c := start(t, terms)
		c.add(1, false)
		c.visit(content(1))
		for i := range 4 {
			begun := time.Now()
			ds, err := c.front.Due(0, time.Now().Add(100*day), 1)
			c.must(err)
			if !ds[0].Visit() {
				t.Error("a check before the visit")
			}
			c.move()
			if d := time.Since(begun); (d - 3*day).Abs() > time.Second {
				t.Errorf("visit %d after %v", i, d)
			}
			c.visit(content(byte(i)))
		}
	})
}

// TestWithoutPrice: until the price is known, pages are planned at the usual interval.
func TestWithoutPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, price := range []float64{0, math.NaN(), -1} {
			terms := week()
			terms.Price = price
			c := start(t, terms)
			c.add(1, false)
			c.visit(content(1))
			if _, r := c.record(1); r.Interval != 7*day {
				t.Errorf("price %v: %v", price, r.Interval)
			}
		}
	})
}

// TestOverlappingHost: visits of one host that end at the same time all count.
func TestOverlappingHost(t *testing.T) {
	c := start(t, week())
	const n = 50
	for i := range n {
		c.add(i, false)
	}
	for range 3 {
		q, err := c.front.Load(0, "h.test", frontier.Cursor{}, n)
		c.must(err)
		var wait sync.WaitGroup
		for i, it := range q.Items {
			wait.Go(func() {
				o := content(byte(i))
				o.FetchedAt = time.Now()
				if err := c.front.Complete(t.Context(), frontier.Completion{
					Lease:   crawl.Lease{Epoch: 1, Host: "h.test", Item: it},
					Outcome: o,
				}); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		c.compare(n)
		ds, err := c.front.Due(0, time.Now().Add(400*day), n)
		c.must(err)
		if _, err := c.front.MoveDue(t.Context(), ds); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSwitchedOnLater: pages that were done before are planned over the interval, learn from their
// second visit on, and are spread.
func TestSwitchedOnLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terms := week()
		terms.Rules.Mode = recrawl.Off
		c := start(t, terms)
		const n = 40
		for i := range n {
			c.add(i, false)
			c.visit(content(1))
		}
		c.terms = week()
		pages, _, done, err := c.front.Unplanned(0, "", 2*n)
		c.must(err)
		if k, err := c.front.PlanFirst(t.Context(), pages); k != n || !done || err != nil {
			t.Fatal(k, done, err)
		}
		ds, err := c.front.Due(0, time.Now().Add(1000*day), 2*n)
		c.must(err)
		_, r := c.record(0)
		first, last := time.Until(ds[0].At), time.Until(ds[n-1].At)
		if last > r.Interval || last < r.Interval*8/10 || first > r.Interval/5 {
			t.Errorf("due between %v and %v; the interval is %v", first, last, r.Interval)
		}
		for range 2 {
			c.move()
			c.visit(content(200))
			c.compare(n)
		}
		if n := c.front.Totals(); n.Changed != 2 {
			t.Errorf("counters %+v", n)
		}
		known := 0
		for i := range n {
			if _, r := c.record(i); r.Known() {
				known++
			}
		}
		if known != 0 {
			t.Errorf(
				"%d pages have learnt from a visit of which it is not known how long ago the one before was",
				known)
		}
	})
}

// TestExcludedPagesAreParked: a page that is excluded leaves the plan, at its next visit or when
// all are planned anew. It stays known with what was learnt of it, and comes back when it is
// admitted again.
func TestExcludedPagesAreParked(t *testing.T) {
	for _, how := range []string{"at its visit", "planned anew"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := start(t, week())
				const n = 2
				for i := range n {
					c.add(i, false)
					c.visit(content(1))
				}
				c.move()
				c.visit(content(2))
				before := map[int]recrawl.Record{}
				for i := range n {
					_, before[i] = c.record(i)
				}
				c.excluded = map[string]bool{}
				for i := range n {
					c.excluded[url(i).String()] = true
				}
				if how == "at its visit" {
					for range n {
						c.move()
						c.visit(crawl.Outcome{
							Kind:   crawl.Refused,
							Skip:   crawl.SkipOutOfScope,
							Reason: "by the scope as it was changed",
						})
					}
				} else {
					ds, err := c.front.Due(0, time.Now().Add(1000*day), 2*n)
					c.must(err)
					if _, err = c.front.Replan(t.Context(), ds); err != nil || len(ds) != n {
						t.Fatal(len(ds), err)
					}
				}
				c.compare(0)
				for i := range n {
					rec, r := c.record(i)
					if rec.State != crawl.Done || rec.Status != 200 || !rec.CheckAt.IsZero() ||
						rec.VisitedAt.IsZero() {
						t.Errorf("page %d: %+v", i, rec)
					}
					if len(r.Past) != len(before[i].Past) || r.Belief != before[i].Belief {
						t.Errorf("page %d has learnt from a visit that was none: %+v, before %+v", i, r, before[i])
					}
				}
				planFirst := func(want int) {
					t.Helper()
					pages, _, done, err := c.front.Unplanned(0, "", 2*n)
					c.must(err)
					if k, err := c.front.PlanFirst(t.Context(), pages); len(pages) != n || k != want || !done ||
						err != nil {
						t.Fatal(len(pages), k, done, err)
					}
				}
				planFirst(0) // they are still excluded
				if _, ok, err := c.front.DueHead(0); ok || err != nil {
					t.Error("an excluded page is due", err)
				}
				delete(c.excluded, url(0).String())
				delete(c.excluded, url(1).String())
				planFirst(n)
				c.compare(n)
				c.move()
				c.visit(content(3))
				c.compare(n)
			})
		})
	}
}

// TestSettingsChangeBeforeTheFirstKnownVisit: pages that were done before, and are planned anew
// before they are visited again, stay spread over the interval, and are visited at the end of it at
// the latest.
func TestSettingsChangeBeforeTheFirstKnownVisit(t *testing.T) {
	for _, mode := range []recrawl.Mode{recrawl.Fixed, recrawl.Adaptive} {
		synctest.Test(t, func(t *testing.T) {
			terms := week()
			terms.Rules.Mode = recrawl.Off
			c := start(t, terms)
			const n = 40
			for i := range n {
				c.add(i, false)
				c.visit(content(1))
			}
			c.terms = week()
			pages, _, _, err := c.front.Unplanned(0, "", 2*n)
			c.must(err)
			_, err = c.front.PlanFirst(t.Context(), pages)
			c.must(err)
			next := week()
			// far from the usual interval: there would be checks
			next.Rules.Mode, next.Rules.Interval, next.Usual = mode, 10*day, hour
			c.terms = next
			ds, _, _, err := c.front.Planned(0, "", 2*n)
			c.must(err)
			_, err = c.front.Replan(t.Context(), ds)
			c.must(err)
			ds, err = c.front.Due(0, time.Now().Add(1000*day), 2*n)
			c.must(err)
			if len(ds) != n {
				t.Fatalf("%v: %d pages are planned", mode, len(ds))
			}
			_, r := c.record(0)
			first, last := time.Until(ds[0].At), time.Until(ds[n-1].At)
			if last > r.Interval || last < r.Interval*8/10 || first > r.Interval/5 {
				t.Errorf("%v: due between %v and %v; the interval is %v", mode, first, last, r.Interval)
			}
			for i := range ds {
				if !ds[i].Visit() {
					t.Fatalf("%v: a check before a visit of which nothing is known", mode)
				}
			}
		})
	}
}

// TestSwitchedOffKeepsPlans: while it is off, a page that was queued ends with its old interval.
func TestSwitchedOffKeepsPlans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t, week())
		c.add(1, false)
		c.visit(content(1))
		c.move()
		_, before := c.record(1)
		c.terms = &Terms{}
		c.visit(content(100))
		_, after := c.record(1)
		if after.Interval != before.Interval || len(after.Past) != 2 || !after.Past[0].Changed {
			t.Errorf("before %+v, after %+v", before, after)
		}
		c.add(2, false)
		c.visit(content(2))
		if rec, _ := c.record(2); rec.Visits != "" {
			t.Error("a page is planned while it is off")
		}
		c.compare(3)
	})
}

// TestEvidence: what the answers say of the site's dates and validators.
func TestEvidence(t *testing.T) {
	dated := func(digest byte, mod string) crawl.Outcome {
		o := content(digest)
		o.LastMod = mod
		return o
	}
	const monday, tuesday = "Mon, 02 Nov 2026 10:00:00 GMT", "Tue, 03 Nov 2026 10:00:00 GMT"
	lies := content(9)
	lies.ETag = content(1).ETag
	for name, tc := range map[string]struct {
		first, second     crawl.Outcome
		conditional       bool
		dates, validators recrawl.Claims
	}{
		"a date that moved with the page": {dated(1, monday), dated(9, tuesday), false,
			recrawl.Claims{Hits: 1}, recrawl.Claims{Hits: 1}},
		"a date that moved alone": {dated(1, monday), dated(1, tuesday), false,
			recrawl.Claims{Alarms: 1}, recrawl.Claims{Quiet: 1}},
		"a date that stayed": {dated(1, monday), dated(9, monday), false,
			recrawl.Claims{Misses: 1}, recrawl.Claims{Hits: 1}},
		"not modified proves nothing": {dated(1, monday),
			crawl.Outcome{Kind: crawl.Fetched, Status: 304}, true, recrawl.Claims{}, recrawl.Claims{}},
		"a validator that never moves": {content(1), lies, false, recrawl.Claims{},
			recrawl.Claims{Misses: 1}},
		"validators were sent, so no audit": {content(1), content(9), true, recrawl.Claims{},
			recrawl.Claims{}},
		"an error says nothing": {dated(1, monday),
			crawl.Outcome{Kind: crawl.Fetched, Status: 500, LastMod: tuesday}, false, recrawl.Claims{},
			recrawl.Claims{}},
	} {
		t.Run(name, func(t *testing.T) {
			j := by(realWeek())
			rec := crawl.Record{Item: crawl.Item{URL: url(1)}, State: crawl.Queued}
			p := j.Visited(&frontier.Page{Record: &rec}, &tc.first)
			rec = crawl.Record{
				Item:   crawl.Item{URL: url(1), ETag: tc.first.ETag, LastModified: tc.first.LastMod},
				State:  crawl.Queued,
				Status: 200,
				Digest: tc.first.Digest,
				Visits: p.Visits,
			}
			tc.second.Conditional = tc.conditional
			p = j.Visited(&frontier.Page{Record: &rec, Counted: true, Site: p.Site, Elapsed: realDay},
				&tc.second)
			s, err := recrawl.DecodeSite(p.Site)
			if err != nil || s.Dates != tc.dates || s.Validators != tc.validators {
				t.Errorf("dates %+v, validators %+v, %v", s.Dates, s.Validators, err)
			}
		})
	}
}

// TestRedirect: a redirect has changed when its target has, whatever its payload.
func TestRedirect(t *testing.T) {
	to := func(n int, payload byte) *crawl.Outcome {
		return &crawl.Outcome{
			Kind:    crawl.Fetched,
			Status:  301,
			Digest:  [20]byte{payload},
			Targets: []crawl.Target{{URL: url(n), Via: crawl.ViaRedirect}},
		}
	}
	page := content(1)
	for name, tc := range map[string]struct {
		first, second *crawl.Outcome
		want          recrawl.Verdict
	}{
		"the same target":   {to(2, 1), to(2, 1), recrawl.Unchanged},
		"another payload":   {to(2, 1), to(2, 9), recrawl.Unchanged},
		"another target":    {to(2, 1), to(3, 1), recrawl.Changed},
		"a page became one": {&page, to(3, 1), recrawl.Changed},
		"it became a page":  {to(3, 1), &page, recrawl.Changed},
		"target is not told": {to(3, 1),
			&crawl.Outcome{Kind: crawl.Fetched, Status: 301, Digest: [20]byte{1}}, recrawl.Unchanged},
	} {
		t.Run(name, func(t *testing.T) {
			j := by(realWeek())
			if name == "it became a page" {
				tc.first.Digest = [20]byte{7}
			}
			rec := crawl.Record{Item: crawl.Item{URL: url(1)}, State: crawl.Queued}
			p := j.Visited(&frontier.Page{Record: &rec}, tc.first)
			rec = crawl.Record{
				Item:   crawl.Item{URL: url(1)},
				State:  crawl.Queued,
				Status: tc.first.Status,
				Digest: tc.first.Digest,
				Visits: p.Visits,
			}
			if p = j.Visited(&frontier.Page{
				Record:  &rec,
				Counted: true,
				Site:    p.Site,
				Elapsed: realDay,
			}, tc.second); p.Verdict != tc.want {
				t.Errorf("it is %v", p.Verdict)
			}
		})
	}
}

// TestTrustedDate: where the dates have proved right, a change is dated.
func TestTrustedDate(t *testing.T) {
	var site recrawl.Site
	for i := range 60 {
		site.Dates = site.Dates.Check(i%2 == 0, i%2 == 0)
	}
	o := content(9)
	o.FetchedAt = time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	o.LastMod = "Thu, 19 Nov 2026 00:00:00 GMT"
	r := recrawl.Record{
		Weight:   1,
		Interval: 9 * realDay,
		Text:     1,
		Belief:   estimate.Gamma{Shape: 1, Rate: 1e6},
	}
	rec := crawl.Record{
		Item:   crawl.Item{URL: url(1), LastModified: "Sun, 01 Nov 2026 00:00:00 GMT"},
		Status: 200,
		Digest: [20]byte{1},
		Visits: string(r.Append(nil)),
	}
	p := by(realWeek()).Visited(&frontier.Page{
		Record:  &rec,
		Counted: true,
		Site:    string(site.Append(nil)),
		Elapsed: 10 * realDay,
	}, &o)
	got, _, err := recrawl.Decode([]byte(p.Visits))
	if err != nil || got.Stats.Dated != 1 || math.Abs(got.Stats.Quiet-realDay.Seconds()) > 60 {
		t.Errorf("%+v, %v", got.Stats, err)
	}
}

// TestClaims: a claim brings the visit forward once, and the next visit checks it.
func TestClaims(t *testing.T) {
	var site recrawl.Site
	for i := range 60 {
		site.Sitemap = site.Sitemap.Check(i%2 == 0, i%2 == 0)
	}
	fetched := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	r := recrawl.Record{Weight: 1, Interval: 30 * realDay, Belief: estimate.UnpackGamma(
		[4]byte(estimate.Gamma{Shape: 3, Rate: 3 * 30 * realDay.Seconds()}.Append(nil)))}
	rec := crawl.Record{
		Item:      crawl.Item{URL: url(1)},
		State:     crawl.Done,
		Status:    200,
		Digest:    [20]byte{1},
		FetchedAt: fetched,
		Visits:    string(r.Append(nil)),
	}
	page := frontier.Page{
		Record:  &rec,
		Counted: true,
		Site:    string(site.Append(nil)),
		Elapsed: realDay,
	}
	j := by(realWeek())
	if p, ok := j.Claimed(&page, fetched.Add(-time.Hour)); !ok || p.Wait < 10*realDay {
		t.Errorf("an old date: %v, %v", p.Wait, ok)
	}
	p, ok := j.Claimed(&page, fetched.Add(time.Hour))
	got, _, err := recrawl.Decode([]byte(p.Visits))
	if !ok || err != nil || !got.Moved || !got.Listed || got.Interval > 27*realDay || p.Visited {
		t.Fatalf("%+v, %+v, %v", p, got, err)
	}
	rec.Visits, page.Site = p.Visits, p.Site
	if _, ok := j.Claimed(&page, fetched.Add(2*time.Hour)); ok {
		t.Error("a second claim changes the plan")
	}
	o := content(1)
	o.Digest = rec.Digest
	p = j.Visited(&page, &o)
	s, err := recrawl.DecodeSite(p.Site)
	if err != nil || s.Sitemap.Alarms != 1 {
		t.Errorf("%+v, %v", s.Sitemap, err)
	}
	if got, _, _ := recrawl.Decode([]byte(p.Visits)); got.Moved || !got.Listed {
		t.Errorf("%+v", got)
	}
}

// TestListedAsUnchanged: a page that a proved site lists with an old date waits longer, and the
// plan is written again only when the silence has grown. Its next visit shows whether the site was
// right.
func TestListedAsUnchanged(t *testing.T) {
	var proved recrawl.Site
	for i := range 60 {
		proved.Sitemap = proved.Sitemap.Check(i%2 == 0, i%2 == 0)
	}
	fetched := time.Date(2026, 11, 10, 15, 0, 0, 0, time.UTC)
	belief := estimate.UnpackGamma(
		[4]byte(estimate.Gamma{Shape: 3, Rate: 3 * 30 * realDay.Seconds()}.Append(nil)))
	for name, c := range map[string]struct {
		site    recrawl.Site
		date    time.Time
		before  recrawl.Record
		elapsed time.Duration
		told    bool
		silent  time.Duration
	}{
		"an old date": {proved, fetched.Add(-time.Hour), recrawl.Record{}, 8 * realDay,
			true, 8 * realDay},
		"a day": {proved, fetched.Truncate(realDay), recrawl.Record{Listed: true},
			8 * realDay, false, 0},
		"the day before": {proved, fetched.Truncate(realDay).Add(-realDay),
			recrawl.Record{Listed: true}, 8 * realDay, false, 0},
		"two days before": {proved, fetched.Truncate(realDay).Add(-2 * realDay),
			recrawl.Record{Listed: true}, 8 * realDay, true, 8 * realDay},
		"soon after the visit": {proved, fetched.Add(-time.Hour), recrawl.Record{Listed: true},
			time.Hour, false, 0},
		"soon after the last time": {proved, fetched.Add(-time.Hour),
			recrawl.Record{Listed: true, Silent: 7 * realDay}, 8 * realDay, false, 0},
		"a page that is gone": {proved, fetched.Add(-time.Hour),
			recrawl.Record{Listed: true, Misses: 1}, 8 * realDay, false, 0},
		"a change was claimed": {proved, fetched.Add(-time.Hour),
			recrawl.Record{Listed: true, Moved: true}, 8 * realDay, false, 0},
		"a change is claimed after": {proved, fetched.Add(time.Hour),
			recrawl.Record{Listed: true, Silent: 7 * realDay}, 8 * realDay, true, 0},
		"a site without proof": {recrawl.Site{}, fetched.Add(-time.Hour), recrawl.Record{Listed: true},
			8 * realDay, true, 8 * realDay},
	} {
		r := c.before
		r.Weight, r.Interval, r.Belief = 1, 20*realDay, belief
		rec := crawl.Record{
			Item:      crawl.Item{URL: url(1)},
			State:     crawl.Done,
			Status:    200,
			Digest:    [20]byte{1},
			FetchedAt: fetched,
			Visits:    string(r.AppendAll(nil)),
		}
		page := frontier.Page{
			Record:  &rec,
			Counted: true,
			Site:    string(c.site.Append(nil)),
			Elapsed: c.elapsed,
		}
		j := by(realWeek())
		p, told := j.Claimed(&page, c.date)
		if told != c.told {
			t.Errorf("%s: told is %v", name, told)
		}
		if !told {
			continue
		}
		got, err := recrawl.DecodeAll([]byte(p.Visits))
		if err != nil || got.Silent != c.silent {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		plain := c.site
		plain.Sitemap = recrawl.Claims{}
		page.Site = string(plain.Append(nil))
		without, err := recrawl.DecodeAll([]byte(j.Planned(&page).Visits))
		if longer := got.Interval > without.Interval; err != nil ||
			longer != (c.silent > 0 && c.site.Sitemap.Proved()) {
			t.Errorf("%s: the interval is %v, %v without the site's word", name, got.Interval,
				without.Interval)
		}
		// The visit finds a change: a silence that covers most of the time before it was a lie.
		rec.Visits, page.Site, page.Elapsed = p.Visits, p.Site, c.elapsed+realDay
		o := content(2)
		site, err := recrawl.DecodeSite(j.Visited(&page, &o).Site)
		if lied := site.Sitemap.Misses > c.site.Sitemap.Misses; err != nil || lied != (c.silent > 0) {
			t.Errorf("%s: %+v became %+v", name, c.site.Sitemap, site.Sitemap)
		}
	}
}

// TestAheadOfTheHost: a page is due earlier than its interval says by the answer's duration and the
// wait for its host, as far as the shortest interval allows, and with fixed intervals not at all.
func TestAheadOfTheHost(t *testing.T) {
	host := crawl.HostState{Latency: 2 * time.Second}
	for name, c := range map[string]struct {
		mode   recrawl.Mode
		wanted float64
		min    time.Duration
		want   time.Duration
	}{
		"a host of one page":  {recrawl.Adaptive, 0, time.Hour, 2 * time.Second},
		"half of its time":    {recrawl.Adaptive, 1.0 / 12, time.Hour, 5 * time.Second},
		"fixed":               {recrawl.Fixed, 1.0 / 12, time.Hour, 0},
		"no shorter interval": {recrawl.Adaptive, 1.0 / 12, 30 * realDay, 0},
		"not yet worth it":    {recrawl.Adaptive, 1.0 / 12, time.Hour, -1},
	} {
		t.Run(name, func(t *testing.T) {
			terms := realWeek()
			if c.want < 0 { // the price is next to nothing, so the interval is the one that is worth a visit
				terms.Rules.Bounds.Worth, terms.Price, c.want = 0.1, 1e-3, 0
			}
			terms.Rules.Mode, terms.Rules.Bounds.Min, terms.Usual = c.mode, c.min, 0
			r := recrawl.Record{Weight: 1, Interval: realDay, Text: 1}
			rec := crawl.Record{
				Item:   crawl.Item{URL: url(1)},
				Status: 200,
				Digest: [20]byte{1},
				Visits: string(r.Append(nil)),
			}
			site := recrawl.Site{Wanted: c.wanted}
			o := content(1)
			o.Took = 2 * time.Second
			p := by(terms).Visited(
				&frontier.Page{Record: &rec, Host: host, Site: string(site.Append(nil)), Elapsed: realDay}, &o)
			got, _, err := recrawl.Decode([]byte(p.Visits))
			if err != nil {
				t.Fatal(err)
			}
			if ahead := got.Interval - p.Wait; (ahead - c.want).Abs() > 2*time.Millisecond {
				t.Errorf("it is due %v ahead of its interval of %v, want %v", ahead, got.Interval, c.want)
			}
		})
	}
}

// TestHostThatIsTooSlow: a host whose pages want more visits than its delay allows pays more.
func TestHostThatIsTooSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		terms := week()
		terms.Delay, terms.Usual, terms.Price = 10*time.Second, 0, 0.02
		terms.Rules.Bounds.Min = time.Second
		c := start(t, terms)
		const n = 30
		for i := range n {
			c.add(i, false)
			c.visit(content(1))
		}
		if s := c.site(); s.Wanted < 1.0/10 {
			t.Fatalf("the pages want %v visits a second", s.Wanted)
		}
		for range 600 {
			c.move()
			c.visit(crawl.Outcome{Kind: crawl.Fetched, Status: 304})
		}
		if s := c.site(); s.Wanted > 2.0/10 || s.Factor < 1.1 {
			t.Errorf("the pages want %v visits a second, of %v, at %v times the price", s.Wanted, 1.0/10,
				s.Factor)
		}
	})
}

// FuzzJudge: whatever stands in the store, the judge answers, with what can be read again.
func FuzzJudge(f *testing.F) {
	r := recrawl.Record{Weight: 1, Interval: day, Past: []recrawl.Past{{Status: 200}}}
	var s recrawl.Site
	f.Add(string(r.Append(nil)), string(s.Append(nil)), 200, int64(day), true, uint8(0))
	f.Add("", "", 404, int64(-1), false, uint8(3))
	f.Add("x", "y", 999, int64(math.MaxInt64), true, uint8(1))
	f.Fuzz(func(
		t *testing.T,
		visits, site string,
		status int,
		elapsed int64,
		counted bool,
		kind uint8,
	) {
		rec := crawl.Record{
			Item:   crawl.Item{URL: url(1)},
			State:  crawl.Done,
			Visits: visits,
			Status: status,
		}
		page := frontier.Page{Record: &rec, Site: site, Counted: counted, Elapsed: time.Duration(elapsed)}
		o := crawl.Outcome{Kind: crawl.Kind(kind % 8), Status: status}
		for _, terms := range []*Terms{week(), {}} {
			j := by(terms)
			for _, p := range []frontier.Plan{j.Visited(&page, &o), j.Planned(&page)} {
				if _, err := recrawl.DecodeSite(p.Site); err != nil && p.Visits != "" {
					t.Fatal(err)
				}
				if _, _, err := recrawl.Decode([]byte(p.Visits)); err != nil && p.Visits != "" {
					t.Fatal(err)
				}
			}
			j.Claimed(&page, time.Unix(0, elapsed))
			j.Conditional(&page)
		}
	})
}

func BenchmarkVisited(b *testing.B) {
	terms := week()
	terms.Plain = terms.Price
	j := by(terms)
	o := content(1)
	rec := crawl.Record{Item: crawl.Item{URL: url(1)}, State: crawl.Queued}
	page := frontier.Page{Record: &rec}
	b.ReportAllocs()
	for b.Loop() {
		p := j.Visited(&page, &o)
		rec.Visits, rec.Status, page.Site, page.Counted, page.Elapsed = p.Visits, 200, p.Site, true, day
	}
}

// TestWeights: an important page is visited again sooner; what is not known of a page does not
// change what was known, and without weights all are alike.
func TestWeights(t *testing.T) {
	visit := func(terms *Terms, weight float64, before string) recrawl.Record {
		o := content(3)
		rec := crawl.Record{Item: crawl.Item{URL: url(1)}, Visits: before}
		p := by(terms).Visited(
			&frontier.Page{Record: &rec, Counted: before != "", Weight: weight, Elapsed: day}, &o)
		got, _, err := recrawl.Decode([]byte(p.Visits))
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	weighted := week()
	weighted.Weighted = true
	much, little := visit(weighted, 1, ""), visit(weighted, 0.1, "")
	if much.Interval >= little.Interval || math.Abs(little.Weight-0.1) > 0.01 {
		t.Errorf("intervals %v, %v; weight %v", much.Interval, little.Interval, little.Weight)
	}
	if again := visit(weighted, 0, string(little.Append(nil))); again.Weight != little.Weight {
		t.Errorf("weight %v became %v", little.Weight, again.Weight)
	}
	if first := visit(weighted, 0, ""); first.Weight != 1 {
		t.Errorf("the first weight is %v", first.Weight)
	}
	if alike := visit(week(), 0.1, string(little.Append(nil))); alike.Weight != 1 {
		t.Errorf("without weights it weighs %v", alike.Weight)
	}
}

// TestRulesOfAPage checks that each page is planned by the rules for its URL: at its first visit,
// at later ones, and when it is planned without a visit.
func TestRulesOfAPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		terms := week()
		terms.Rules.Mode = recrawl.Fixed
		interval := 2 * day
		terms.Of = func(it *crawl.Item) (recrawl.Rules, time.Duration) {
			r := terms.Rules
			if it.URL == url(1) {
				r.Interval = interval
			} else if it.URL != url(2) {
				t.Errorf("the rules of %q are asked for", it.URL)
			}
			return r, terms.Delay
		}
		c := start(t, terms)
		for n, want := range map[int]time.Duration{1: 2 * day, 2: 7 * day} {
			c.add(n, false)
			c.visit(content(byte(n)))
			if _, r := c.record(n); r.Interval != want {
				t.Errorf("page %d has the interval %v, want %v", n, r.Interval, want)
			}
		}
		c.move()
		c.visit(content(1))
		if _, r := c.record(1); r.Interval != 2*day || len(r.Past) != 2 {
			t.Errorf("after its second visit: %+v", r)
		}
		interval = 3 * day
		ds, err := c.front.Due(0, time.Now().Add(100*day), 10)
		c.must(err)
		_, err = c.front.Replan(c.t.Context(), ds)
		c.must(err)
		for n, want := range map[int]time.Duration{1: 3 * day, 2: 7 * day} {
			if _, r := c.record(n); r.Interval != want {
				t.Errorf("planned anew, page %d has the interval %v, want %v", n, r.Interval, want)
			}
		}
	})
}

// TestDelayOfAHost checks that a site's price follows the delay that rules give its host.
func TestDelayOfAHost(t *testing.T) {
	t.Parallel()
	m := matter{Page: &frontier.Page{}, terms: week(), delay: 30 * time.Second}
	if m.turn() != 30*time.Second {
		t.Errorf("a visit keeps the host for %v", m.turn())
	}
}
