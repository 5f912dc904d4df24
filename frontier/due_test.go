package frontier

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
	recrawl "crawlnode/recrawl/visits"
)

// testJudge counts: a page's Visits is how many there were, its host's Site how many of its pages
// are planned. A page that is missing twice in a row is forgotten.
type testJudge struct {
	off         atomic.Bool
	wait        func(*Page) time.Duration // nil: an hour
	conditional bool

	mu    sync.Mutex // guards the rest
	seen  []Page     // what Visited was told
	sums  int        // pages that count, as Replanned says
	times []time.Time
}

// next is the planner of the next process.
func (j *testJudge) next() *testJudge {
	return &testJudge{wait: j.wait, conditional: j.conditional}
}

func (j *testJudge) On() bool { return !j.off.Load() }

func (j *testJudge) Visited(k *Page, o *crawl.Outcome) Plan {
	j.mu.Lock()
	page := *k
	rec := *k.Record
	page.Record = &rec
	j.seen = append(j.seen, page)
	j.mu.Unlock()
	n, _ := strconv.Atoi(k.Record.Visits)
	p := j.plan(k, n+1)
	p.Visited = o.Kind != crawl.HostFailed && o.Kind != crawl.Refused
	switch {
	case o.Kind != crawl.Fetched || o.Status >= 500:
		p.Verdict = recrawl.Unknown
	case o.Status == 404:
		p.Verdict = recrawl.Gone
		if k.Record.Status == 404 {
			p.Forget, p.Site = "it is gone", j.plan(k, 0).Site
			p.Site = count(p.Site, -1)
		}
	case o.Status == 304 || o.Digest == k.Record.Digest:
		p.Verdict = recrawl.Unchanged
	default:
		p.Verdict = recrawl.Changed
	}
	return p
}

func (j *testJudge) plan(k *Page, visits int) Plan {
	p := Plan{
		Visits:   strconv.Itoa(visits),
		Wait:     time.Hour,
		Site:     k.Site,
		Estimate: Estimate{Weight: byte(visits), Flags: layout.DueVisit},
	}
	if j.wait != nil {
		p.Wait = j.wait(k)
	}
	if !k.Counted {
		p.Site = count(k.Site, 1)
	}
	return p
}

func count(site string, by int) string {
	n, _ := strconv.Atoi(site)
	return strconv.Itoa(n + by)
}

func (j *testJudge) Planned(k *Page) Plan {
	n, _ := strconv.Atoi(k.Record.Visits)
	return j.plan(k, n)
}

func (j *testJudge) Claimed(k *Page, changed time.Time) (Plan, bool) {
	p := j.Planned(k)
	p.Wait = time.Minute
	return p, changed.After(k.Record.FetchedAt)
}

func (j *testJudge) Conditional(*Page) bool { return j.conditional }

func (j *testJudge) Revisited(Revisit) {}

func (j *testJudge) Replanned(_ crawl.Partition, before, after *Estimate, at time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if before != nil {
		j.sums--
	}
	if after != nil {
		j.sums++
		j.times = append(j.times, at)
	}
}

// startJudged starts a frontier with a planner that holds partitions 0 to n-1 in epoch 1.
func startJudged(t testing.TB, kv storage.KV, n int, j Planner, o commit.Options) *running {
	t.Helper()
	r := startWith(t, kv, o, j)
	var ps []crawl.Partition
	for p := range n {
		ps = append(ps, crawl.Partition(p))
	}
	r.must(r.Found(t.Context(), ps, 1))
	return r
}

// visit completes the first queued URL of a host.
func (r *running) visit(p crawl.Partition, host string, o crawl.Outcome) {
	r.t.Helper()
	if o.FetchedAt.IsZero() {
		o.FetchedAt = time.Now()
	}
	r.must(r.Complete(r.t.Context(), Completion{Lease: r.lease(p, host), Outcome: o}))
}

func (r *running) dueAt(p crawl.Partition, until time.Time, n int) []Due {
	r.t.Helper()
	ds, err := r.Due(p, until, n)
	r.must(err)
	return ds
}

func (r *running) moveDue(ds []Due) int {
	r.t.Helper()
	n, err := r.MoveDue(r.t.Context(), ds)
	r.must(err)
	return n
}

// soon is when every page of a test is due.
func soon() time.Time { return time.Now().Add(365 * 24 * time.Hour) }

// good is an answer with content.
func good(digest byte) crawl.Outcome {
	return crawl.Outcome{
		Kind:    crawl.Fetched,
		Status:  200,
		Digest:  crawl.Digest{digest},
		ETag:    `"e1"`,
		Archive: crawl.ArchiveRef{File: "a.warc.gz", Offset: int64(digest)},
	}
}

// TestSitemapFilesAreNoRevisits: a sitemap file is read again when it is due, and that is not a
// visit of a page.
func TestSitemapFilesAreNoRevisits(t *testing.T) {
	t.Parallel()
	r := startJudged(t, storage.NewMemory(), 1, &testJudge{}, commit.Options{})
	const host = "h1.p0.test"
	l := link("http://h1.p0.test/sitemap.xml")
	l.Target.Via = crawl.ViaSitemapFile
	r.add(l)
	r.visit(0, host, good(1))
	if n := r.moveDue(r.dueAt(0, soon(), 9)); n != 1 {
		t.Fatalf("%d were moved", n)
	}
	r.visit(0, host, good(2))
	if c := r.Totals(); c.Revisits != 0 || c.Changed != 0 {
		t.Fatalf("counters: %+v", c)
	}
}

func TestPageComesBack(t *testing.T) {
	t.Parallel()
	j := &testJudge{conditional: true}
	r := startJudged(t, storage.NewMemory(), 1, j, commit.Options{})
	const url, host = "http://h1.p0.test/", "h1.p0.test"
	l := link(url)
	l.Target.Via, l.Target.Depth, l.Target.Band = crawl.ViaSitemap, 3, 2
	r.add(l)
	r.visit(0, host, good(1))
	r.check()
	at, ok, err := r.DueHead(0)
	r.must(err)
	if wait := time.Until(at); !ok || wait > time.Hour || wait < 50*time.Minute {
		t.Fatalf("due in %v, %v", wait, ok)
	}
	if ds := r.dueAt(0, time.Now(), 9); len(ds) != 0 {
		t.Fatalf("due before its time: %v", ds)
	}
	ds := r.dueAt(0, soon(), 9)
	if len(ds) != 1 || ds[0].Host != host || !ds[0].Visit() || ds[0].Epoch != 1 {
		t.Fatalf("due: %+v", ds)
	}
	if n := r.moveDue(ds); n != 1 {
		t.Fatalf("%d were moved", n)
	}
	if n := r.moveDue(ds); n != 0 {
		t.Fatalf("%d were moved twice", n)
	}
	r.check()
	it := r.lease(0, host).Item
	if !it.Revisit || it.Band != 0 || it.Depth != 3 || it.Via != crawl.ViaSitemap ||
		it.ETag != `"e1"` {
		t.Fatalf("item %+v", it)
	}
	r.visit(0, host, crawl.Outcome{Kind: crawl.Fetched, Status: 304, Conditional: true})
	rec := r.record(url)
	if rec.State != crawl.Done || rec.Digest != (crawl.Digest{1}) || rec.ETag != `"e1"` ||
		rec.Archive.Offset != 1 || rec.Visits != "2" {
		t.Fatalf("after 304: %+v", rec)
	}
	if c := r.Totals(); c.Revisits != 1 || c.NotModified != 1 || c.Unchanged != 1 ||
		c.Overdue[0] != 1 {
		t.Fatalf("counters: %+v", c)
	}
	if n := r.moveDue(r.dueAt(0, soon(), 9)); n != 1 {
		t.Fatalf("%d were moved", n)
	}
	r.visit(0, host, good(2))
	if c := r.Totals(); c.Revisits != 2 || c.Changed != 1 || c.Seen != 1 {
		t.Fatalf("counters: %+v", c)
	}
	if j.sums != 1 {
		t.Fatalf("the sums count %d pages", j.sums)
	}
	r.check()
}

// TestVisitWithoutValidators: a full visit is asked for without validators, which the record keeps.
func TestVisitWithoutValidators(t *testing.T) {
	t.Parallel()
	r := startJudged(t, storage.NewMemory(), 1, &testJudge{}, commit.Options{})
	r.add(link("http://h1.p0.test/"))
	r.visit(0, "h1.p0.test", good(1))
	r.moveDue(r.dueAt(0, soon(), 1))
	if it := r.lease(0, "h1.p0.test").Item; it.ETag != "" {
		t.Fatalf("item %+v", it)
	}
	r.visit(0, "h1.p0.test", crawl.Outcome{Kind: crawl.URLFailed})
	if rec := r.record("http://h1.p0.test/"); rec.ETag != `"e1"` {
		t.Fatalf("record %+v", rec)
	}
}

// TestFailedVisitKeepsThePage: whatever ends a revisit without an answer of the page, the last good
// record stays, and the page is planned again.
func TestFailedVisitKeepsThePage(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *running){
		"retries used up": func(r *running) {
			r.visit(0, "h1.p0.test", crawl.Outcome{Kind: crawl.URLFailed, Reason: "timeout"})
		},
		"rate limited": func(r *running) {
			r.visit(0, "h1.p0.test", crawl.Outcome{Kind: crawl.RateLimited, Status: 429})
		},
		"robots.txt forbids": func(r *running) {
			r.visit(0, "h1.p0.test", crawl.Outcome{Kind: crawl.Refused, Skip: crawl.SkipRobots})
		},
		"blocked": func(r *running) { r.visit(0, "h1.p0.test", crawl.Outcome{Kind: crawl.Blocked}) },
		"server error": func(r *running) {
			r.visit(0, "h1.p0.test", crawl.Outcome{
				Kind:    crawl.Fetched,
				Status:  500,
				Digest:  crawl.Digest{9},
				Archive: crawl.ArchiveRef{File: "error"},
			})
		},
		"host given up": func(r *running) {
			if n, err := r.FailHost(r.t.Context(), 0, "h1.p0.test", "host_dead: dns"); n != 1 || err != nil {
				r.t.Fatalf("%d failed, %v", n, err)
			}
		},
		"wanted by a person": func(r *running) {
			r.visit(0, "h1.p0.test", good(1))
			l := link("http://h1.p0.test/")
			l.Target.Again = true
			r.add(l)
			r.visit(0, "h1.p0.test", crawl.Outcome{Kind: crawl.URLFailed, Reason: "timeout"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := startJudged(t, storage.NewMemory(), 1, &testJudge{}, commit.Options{})
			r.add(link("http://h1.p0.test/"))
			r.visit(0, "h1.p0.test", good(1))
			before := r.record("http://h1.p0.test/")
			r.moveDue(r.dueAt(0, soon(), 1))
			end(r)
			r.check()
			rec := r.record("http://h1.p0.test/")
			if rec.State != crawl.Done || rec.Status != 200 || rec.Digest != before.Digest ||
				rec.Archive != before.Archive || rec.ETag != before.ETag || rec.Reason != "" {
				t.Errorf("record %+v", rec)
			}
			if len(r.dueAt(0, soon(), 2)) != 1 || r.Totals().Failed != 0 {
				t.Error("the page is not planned, or counts as failed")
			}
		})
	}
}

func TestForgottenPage(t *testing.T) {
	t.Parallel()
	j := &testJudge{}
	r := startJudged(t, storage.NewMemory(), 1, j, commit.Options{})
	const url, host = "http://h1.p0.test/", "h1.p0.test"
	r.add(link(url))
	r.visit(0, host, good(1))
	for range 2 {
		r.moveDue(r.dueAt(0, soon(), 1))
		r.visit(0, host, crawl.Outcome{Kind: crawl.Fetched, Status: 404})
	}
	rec := r.record(url)
	if rec.State != crawl.Failed || rec.Reason == "" || len(r.dueAt(0, soon(), 1)) != 0 ||
		j.sums != 0 {
		t.Fatalf("record %+v, the sums count %d pages", rec, j.sums)
	}
	if c := r.Totals(); c.Gone != 2 || c.Failed != 1 {
		t.Fatalf("counters %+v", c)
	}
	r.check()
	l := link(url)
	l.Target.Again = true
	if a := r.add(l); a[0] != Added {
		t.Fatalf("a person wants it: %v", a)
	}
	r.visit(0, host, good(3))
	r.check()
	if rec := r.record(url); rec.State != crawl.Done || len(r.dueAt(0, soon(), 1)) != 1 ||
		j.sums != 1 {
		t.Fatalf("record %+v", rec)
	}
}

// TestAgainTakesAPageOut: a page that a person wants is queued, and not due any more.
func TestAgainTakesAPageOut(t *testing.T) {
	t.Parallel()
	r := startJudged(t, storage.NewMemory(), 1, &testJudge{}, commit.Options{})
	l := link("http://h1.p0.test/")
	r.add(l)
	r.visit(0, "h1.p0.test", good(1))
	ds := r.dueAt(0, soon(), 1)
	l.Target.Again = true
	r.add(l)
	r.check()
	if _, ok, err := r.DueHead(0); ok || err != nil {
		t.Fatalf("a head: %v, %v", ok, err)
	}
	if n := r.moveDue(ds); n != 0 {
		t.Fatalf("%d were moved", n)
	}
	if it := r.lease(0, "h1.p0.test").Item; it.Revisit {
		t.Fatalf("item %+v", it)
	}
	r.visit(0, "h1.p0.test", good(1))
	if c := r.Totals(); c.Revisits != 0 || len(r.dueAt(0, soon(), 2)) != 1 {
		t.Fatalf("counters %+v", c)
	}
}

// TestClaimBringsAVisitForward: a link with a claim to a planned page has it planned anew; one to a
// page that is queued, or to one that its site says nothing new of, changes nothing.
func TestClaimBringsAVisitForward(t *testing.T) {
	t.Parallel()
	j := &testJudge{}
	r := startJudged(t, storage.NewMemory(), 1, j, commit.Options{})
	l := link("http://h1.p0.test/")
	r.add(l)
	r.visit(0, "h1.p0.test", good(1))
	left := func() time.Duration {
		r.check()
		at, ok, err := r.DueHead(0)
		r.must(err)
		if !ok {
			t.Fatal("the page is not planned")
		}
		return time.Until(at).Round(time.Minute)
	}
	l.Target.Claimed = time.Now().Add(-time.Hour)
	if a := r.add(l); a[0] != Known || left() != time.Hour {
		t.Errorf("an old claim: %v, due in %v", a, left())
	}
	l.Target.Claimed = time.Now().Add(time.Hour)
	if a := r.add(l, l); a[0] != Known || a[1] != Known || left() != time.Minute {
		t.Errorf("a new claim: %v, due in %v", a, left())
	}
	r.moveDue(r.dueAt(0, soon(), 1))
	if a := r.add(l); a[0] != Known {
		t.Errorf("a claim while it is queued: %v", a)
	}
	r.check()
	r.visit(0, "h1.p0.test", good(2))
	j.off.Store(true)
	if r.add(l); left() != time.Hour {
		t.Errorf("a claim while it is off: due in %v", left())
	}
}

func TestReplan(t *testing.T) {
	t.Parallel()
	wait := time.Hour
	j := &testJudge{wait: func(*Page) time.Duration { return wait }}
	r := startJudged(t, storage.NewMemory(), 1, j, commit.Options{})
	for i := range 3 {
		r.add(link(fmt.Sprintf("http://h1.p0.test/%d", i)))
		r.visit(0, "h1.p0.test", good(1))
	}
	wait = 10 * time.Hour
	ds := r.dueAt(0, soon(), 9)
	if n, err := r.Replan(t.Context(), ds[:2]); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	r.check()
	now := r.dueAt(0, soon(), 9)
	if len(now) != 3 || now[0].DueSlot != ds[2].DueSlot || time.Until(now[1].At) < 9*time.Hour {
		t.Fatalf("due %+v", now)
	}
	wait = 0
	if n, err := r.Replan(t.Context(), now); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	r.check()
	if c := r.Totals(); c.QueuedTotal() != 0 || j.sums != 3 || len(r.dueAt(0, time.Now(), 9)) != 3 {
		t.Fatalf("%d queued unpaid, sums %d", c.QueuedTotal(), j.sums)
	}
}

// TestPlannedMeetsEachPageOnce walks over all planned pages and plans them anew on the way, for
// later and for earlier: each is met once.
func TestPlannedMeetsEachPageOnce(t *testing.T) {
	t.Parallel()
	wait := time.Hour
	j := &testJudge{wait: func(*Page) time.Duration { return wait }}
	r := startJudged(t, storage.NewMemory(), 1, j, commit.Options{})
	const n = 9
	for i := range n + 3 {
		r.add(link(fmt.Sprintf("http://h%d.p0.test/", i)))
		if i < n {
			r.visit(0, fmt.Sprintf("h%d.p0.test", i), good(1))
		}
	}
	for _, wait = range []time.Duration{10 * time.Hour, time.Minute} {
		met := map[layout.Fingerprint]int{}
		var after DueCursor
		steps := 0
		for done := false; !done; steps++ {
			var pages []Due
			var err error
			pages, after, done, err = r.Planned(0, after, 2)
			r.must(err)
			for i := range pages {
				met[pages[i].Fingerprint]++
			}
			_, err = r.Replan(t.Context(), pages)
			r.must(err)
			if steps > 2*n {
				t.Fatalf("the walk has no end: %d pages met", len(met))
			}
		}
		for _, k := range met {
			if k != 1 || len(met) != n {
				t.Fatalf("met %v", met)
			}
		}
		for _, d := range r.dueAt(0, soon(), 2*n) {
			if left := time.Until(d.At); left > wait || left < wait-50*time.Second {
				t.Errorf("due in %v, want %v", left, wait)
			}
		}
	}
}

func TestPlanFirst(t *testing.T) {
	t.Parallel()
	j := &testJudge{}
	j.off.Store(true)
	r := startJudged(t, storage.NewMemory(), 1, j, commit.Options{})
	for i := range 5 {
		r.add(link(fmt.Sprintf("http://h%d.p0.test/", i)))
		if i < 4 {
			r.visit(0, fmt.Sprintf("h%d.p0.test", i), good(1))
		}
	}
	if _, ok, err := r.DueHead(0); ok || err != nil {
		t.Fatalf("planned while it is off: %v, %v", ok, err)
	}
	j.off.Store(false)
	var after DueCursor
	total := 0
	for done := false; !done; {
		var pages []Unplanned
		var err error
		pages, after, done, err = r.Unplanned(0, after, 2)
		r.must(err)
		for range 2 { // the second time nothing is left to do
			n, err := r.PlanFirst(t.Context(), pages)
			r.must(err)
			total += n
		}
	}
	if total != 4 || len(r.dueAt(0, soon(), 9)) != 4 {
		t.Fatalf("%d were planned", total)
	}
	r.check()
	j.off.Store(true)
	if n, err := r.MoveDue(t.Context(), r.dueAt(0, soon(), 9)); n != 0 || err != nil {
		t.Fatalf("moved while it is off: %d, %v", n, err)
	}
}

// TestSwitchedOff: a page that is in the queue when revisits are switched off ends as a planned
// one.
func TestSwitchedOff(t *testing.T) {
	t.Parallel()
	j := &testJudge{}
	r := startJudged(t, storage.NewMemory(), 1, j, commit.Options{})
	for i := range 2 {
		r.add(link(fmt.Sprintf("http://h%d.p0.test/", i)))
		r.visit(0, fmt.Sprintf("h%d.p0.test", i), good(1))
	}
	r.moveDue(r.dueAt(0, soon(), 2))
	j.off.Store(true)
	r.visit(0, "h0.p0.test", good(2))
	r.visit(0, "h1.p0.test", crawl.Outcome{Kind: crawl.URLFailed})
	r.add(link("http://h2.p0.test/"))
	r.visit(0, "h2.p0.test", good(2))
	r.check()
	if ds := r.dueAt(0, soon(), 9); len(ds) != 2 {
		t.Fatalf("due: %v", ds)
	}
}

// TestRevisitsAreRecounted: books that are made from the keys count the revisits that are queued.
func TestRevisitsAreRecounted(t *testing.T) {
	t.Parallel()
	r := startJudged(t, storage.NewMemory(), 1, &testJudge{}, commit.Options{})
	for i := range 3 {
		r.add(link(fmt.Sprintf("http://h%d.p0.test/", i)))
		r.visit(0, fmt.Sprintf("h%d.p0.test", i), good(1))
	}
	r.moveDue(r.dueAt(0, soon(), 2))
	v, err := r.w.Read(0)
	r.must(err)
	defer v.Close()
	m, err := v.Recount()
	r.must(err)
	if c := r.Totals(); m.Counters.QueuedRevisits != 2 || c.QueuedRevisits != 2 ||
		m.Counters.Queued != c.Queued || m.Counters.Seen != 3 {
		t.Errorf("recounted %+v", m.Counters)
	}
}

// TestDueNeedsTheEpoch: nothing is moved in another epoch than that in which it was read, and
// nothing of the piece.
func TestDueNeedsTheEpoch(t *testing.T) {
	t.Parallel()
	r := startJudged(t, storage.NewMemory(), 2, &testJudge{}, commit.Options{})
	for p := range 2 {
		r.add(link(fmt.Sprintf("http://h1.p%d.test/", p)))
		r.visit(crawl.Partition(p), fmt.Sprintf("h1.p%d.test", p), good(1))
	}
	ds := append(r.dueAt(0, soon(), 1), r.dueAt(1, soon(), 1)...)
	ds[1].Epoch++
	if n, err := r.MoveDue(t.Context(), ds); n != 0 || !errors.Is(err, ErrNotHolder) {
		t.Fatal(n, err)
	}
	if n, err := r.Replan(t.Context(), ds); n != 0 || !errors.Is(err, ErrNotHolder) {
		t.Fatal(n, err)
	}
	r.must(r.Freeze(t.Context(), 0))
	if n, err := r.MoveDue(t.Context(), ds[:1]); n != 0 || !errors.Is(err, ErrNotHolder) {
		t.Fatal(n, err)
	}
	r.become(0, layout.Copy)
	if _, err := r.Due(0, soon(), 1); !errors.Is(err, ErrNotHolder) {
		t.Fatal(err)
	}
	if _, _, err := r.DueHead(0); !errors.Is(err, ErrNotHolder) {
		t.Fatal(err)
	}
	r.check()
}

// TestOverlappingVisits: two pages of a host are completed at the same time. Neither loses what the
// other has added to the sums, and a repeated completion changes nothing.
//
//race:meets
func TestOverlappingVisits(t *testing.T) {
	t.Parallel()
	r := startJudged(t, storage.NewMemory(), 1, &testJudge{}, commit.Options{})
	const n = 40
	for i := range n {
		r.add(link(fmt.Sprintf("http://h1.p0.test/%d", i)))
	}
	q := r.load(0, "h1.p0.test", n)
	var wait sync.WaitGroup
	for _, it := range q.Items {
		for range 2 {
			wait.Go(func() {
				c := Completion{
					Lease:   crawl.Lease{Partition: 0, Epoch: 1, Host: "h1.p0.test", Item: it},
					Outcome: good(1),
				}
				if err := r.Complete(context.Background(), c); err != nil && !errors.Is(err, ErrStaleLease) {
					t.Error(err)
				}
			})
		}
	}
	wait.Wait()
	r.check()
	if ds := r.dueAt(0, soon(), 2*n); len(ds) != n {
		t.Fatalf("%d pages are planned", len(ds))
	}
}

// TestDueOrder compares Due, DueHead and the sums with a list, while pages are planned before and
// behind the head.
func TestDueOrder(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	j := &testJudge{
		wait: func(*Page) time.Duration { return time.Duration(rng.Int64N(int64(time.Hour))) },
	}
	r := startJudged(t, storage.NewMemory(), 1, j, commit.Options{})
	n := 0
	for range 300 {
		switch rng.IntN(3) {
		case 0:
			r.add(link(fmt.Sprintf("http://h%d.p0.test/%d", n%5, n)))
			r.visit(0, fmt.Sprintf("h%d.p0.test", n%5), good(1))
			n++
		case 1:
			r.moveDue(r.dueAt(0, soon(), rng.IntN(4)))
			for h := range 5 {
				for r.load(0, fmt.Sprintf("h%d.p0.test", h), 1).Queued > 0 {
					r.visit(0, fmt.Sprintf("h%d.p0.test", h), good(1))
				}
			}
		case 2:
			if _, err := r.Replan(t.Context(), r.dueAt(0, soon(), rng.IntN(3))); err != nil {
				t.Fatal(err)
			}
		}
		if l := link("http://h0.p0.test/0"); n > 0 && rng.IntN(9) == 0 { // a person wants it
			l.Target.Again = true
			r.add(l)
		}
		all, _, done, err := r.Planned(0, "", n+1)
		r.must(err)
		if !done {
			t.Fatal("the walk over all records has no end")
		}
		slices.SortFunc(all, func(a, b Due) int {
			return bytes.Compare(layout.AppendDueKey(nil, &a.DueSlot), layout.AppendDueKey(nil, &b.DueSlot))
		})
		queued := r.Totals()
		j.mu.Lock()
		sums := j.sums
		j.mu.Unlock()
		if sums != len(all) {
			t.Fatalf("the sums count %d pages, %d are planned", sums, len(all))
		}
		if len(all)+int(queued.QueuedTotal()) != n {
			t.Fatalf("%d planned, %d queued, of %d", len(all), queued.QueuedTotal(), n)
		}
		at, ok, err := r.DueHead(0)
		r.must(err)
		if ok != (len(all) > 0) || ok && !at.Equal(all[0].At) {
			t.Fatalf("head %v %v, first %+v", at, ok, all[:min(len(all), 1)])
		}
		if first := r.dueAt(0, soon(), 1); ok && first[0].DueSlot != all[0].DueSlot {
			t.Fatalf("first %+v, want %+v", first[0], all[0])
		}
	}
	r.check()
}

// TestElapsedIsOfTheTimeline: between two visits the planner is told what has passed on the
// partition's timeline, which a restart without a clock stops, and no wall clock moves.
func TestElapsedIsOfTheTimeline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		boot, wall         time.Duration
		machine            string
		elapsed, remaining time.Duration
		blurred            bool
	}{
		{"same run of the machine", time.Hour, time.Hour, "m1", time.Hour, 0, false},
		{"the wall clock jumped", 0, 5 * time.Hour, "m1", 0, time.Hour, false},
		{"another run: the time is missing", 0, 5 * time.Hour, "m2", 0, time.Hour, true},
		{"another run, and the wall clock went back", 0, -5 * time.Hour, "m2", 0, time.Hour, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			j := &testJudge{}
			m := storage.NewMemory()
			clock := &setClock{wall: day, boot: 10 * time.Hour}
			r := startJudged(t, m, 1, j, commit.Options{Clock: clock, Machine: "m1"})
			r.add(link("http://h1.p0.test/"))
			r.visit(0, "h1.p0.test", good(1))
			_ = r.stop()
			next := &testJudge{}
			r = startWith(t, m.Crash(), commit.Options{
				Clock:   &setClock{wall: day.Add(c.wall), boot: clock.boot + c.boot},
				Machine: c.machine,
			}, next)
			at, ok, err := r.DueHead(0)
			r.must(err)
			if rest := time.Until(at); !ok || (rest-c.remaining).Abs() > time.Minute {
				t.Errorf("due in %v, want %v", rest, c.remaining)
			}
			r.moveDue(r.dueAt(0, soon(), 1))
			r.visit(0, "h1.p0.test", good(1))
			if k := next.seen[0]; (k.Elapsed-c.elapsed).Abs() > time.Minute || k.Blurred != c.blurred {
				t.Errorf("elapsed %v, blurred %v", k.Elapsed, k.Blurred)
			}
		})
	}
}

// dueStory plans, moves, replans and forgets pages. It ends with the first error, which the crash
// makes.
func dueStory(ctx context.Context, f *Frontier) error {
	if err := f.Found(ctx, []crawl.Partition{0}, 1); err != nil {
		return err
	}
	links := make([]crawl.Routed, 5)
	for i := range links {
		links[i] = link(fmt.Sprintf("http://h%d.p0.test/%d", i%2, i))
	}
	if _, err := f.Add(ctx, links); err != nil {
		return err
	}
	outcomes := []crawl.Outcome{good(1), {Kind: crawl.Fetched, Status: 404}, {Kind: crawl.URLFailed},
		{Kind: crawl.Fetched, Status: 404}}
	for round, o := range outcomes {
		for h := range 2 {
			if err := completeAll(ctx, f, crawl.Host(fmt.Sprintf("h%d.p0.test", h)), o); err != nil {
				return err
			}
		}
		ds, err := f.Due(0, soon(), 4)
		if err != nil {
			return err
		}
		if _, err := f.Replan(ctx, ds[:min(len(ds), 2)]); err != nil {
			return err
		}
		if _, err := f.MoveDue(ctx, ds); err != nil {
			return err
		}
		l := link(fmt.Sprintf("http://h0.p0.test/%d", round))
		l.Target.Again = true
		if _, err := f.Add(ctx, []crawl.Routed{l}); err != nil {
			return err
		}
	}
	return f.Stamp(ctx, []crawl.Partition{0})
}

func completeAll(ctx context.Context, f *Frontier, host crawl.Host, o crawl.Outcome) error {
	q, err := f.Load(0, host, Cursor{}, 10)
	if err != nil {
		return err
	}
	for _, it := range q.Items {
		if err := f.Complete(ctx, Completion{
			Lease:   crawl.Lease{Partition: 0, Epoch: 1, Host: host, Item: it},
			Outcome: o,
		}); err != nil {
			return err
		}
	}
	return nil
}

// TestCrashWhilePlanning ends the process at each write: a page is among the due ones or in the
// queue, and the sums of its host count it once.
func TestCrashWhilePlanning(t *testing.T) {
	t.Parallel()
	for _, s := range storagetest.Stores {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			for at, ended := 0, false; !ended; at += crashStep(s.Name) {
				for _, applied := range []bool{false, true} {
					if s.Name == "memory" || applied == (at%2 == 0) {
						ended = crashPlanning(t, s.Open, at, applied)
					}
				}
			}
		})
	}
}

func crashPlanning(t *testing.T, open storagetest.Opener, at int, applied bool) bool {
	kv, reopen := open(t)
	if err := kv.Write([]storage.Entry{
		{Key: layout.NodeKey(layout.NodeVersion), Value: []byte{layout.FormatVersion}}}); err != nil {
		t.Fatal(err)
	}
	f := startWith(t, &storagetest.Faulty{KV: kv, Left: at, Applied: applied}, commit.Options{},
		&testJudge{})
	err := dueStory(t.Context(), f.Frontier)
	if runErr := f.stop(); err != nil && !errors.Is(runErr, storagetest.ErrInjected) {
		t.Fatalf("write %d: the story ended with %v, Run with %v", at, err, runErr)
	}
	next := startWith(t, reopen(), commit.Options{}, &testJudge{})
	next.check()
	if next.Totals().Seen > 0 { // it goes on
		for h := range 2 {
			next.must(completeAll(t.Context(), next.Frontier, crawl.Host(fmt.Sprintf("h%d.p0.test", h)),
				good(1)))
		}
		next.moveDue(next.dueAt(0, soon(), 9))
		next.check()
	}
	_ = next.stop()
	_ = next.w.KV.Close()
	return err == nil
}

// setClock is a clock that stands.
type setClock struct {
	wall time.Time
	boot time.Duration
}

func (c *setClock) Wall() time.Time         { return c.wall }
func (c *setClock) BootTime() time.Duration { return c.boot }

// fullOnce is a store whose disk is full for one write.
type fullOnce struct {
	storage.KV
	full atomic.Bool
}

func (f *fullOnce) Write(entries []storage.Entry) error {
	if f.full.Swap(false) {
		return storage.ErrNoSpace
	}
	return f.KV.Write(entries)
}

// TestMovesAreCountedOnce: a write that had to wait for space on the disk is made again, and its
// pages count once.
func TestMovesAreCountedOnce(t *testing.T) {
	t.Parallel()
	kv := &fullOnce{KV: storage.NewMemory()}
	r := startJudged(t, kv, 1, &testJudge{}, commit.Options{})
	for i := range 3 {
		r.add(link(fmt.Sprintf("http://h1.p0.test/%d", i)))
		r.visit(0, "h1.p0.test", good(1))
	}
	ds := r.dueAt(0, soon(), 9)
	kv.full.Store(true)
	if n := r.moveDue(ds); n != 3 || kv.full.Load() {
		t.Errorf("%d of 3 pages were moved", n)
	}
	r.check()
}
