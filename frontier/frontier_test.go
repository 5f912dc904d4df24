//race:marked

package frontier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
	"crawlnode/web/wall"
)

var (
	day = time.Date(2026, 11, 20, 12, 0, 0, 123456789, time.UTC)

	fetched = crawl.Outcome{
		Kind: crawl.Fetched, Status: 200, FetchedAt: day, Took: 30 * time.Millisecond, Bytes: 20_000,
		LinksFound: 3,
		Digest:     [20]byte{1, 2, 3}, ETag: `"e1"`, LastMod: "yesterday",
		Archive: crawl.ArchiveRef{Node: "n1", File: "f-1.warc.gz", Offset: 7, Length: 9},
	}
)

func TestAddLoadComplete(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		var news []commit.QueuedHost
		r := startHolding(t, kv, 2,
			commit.Options{OnQueued: func(q []commit.QueuedHost) { news = append(news, q...) }})
		a, b := link("http://h1.p0.test/a"), link("https://h1.p0.test:8443/b?x=1")
		b.Target.Band, b.Target.Via, b.Target.Depth, b.Target.Hops = 0, crawl.ViaRedirect, 4, 2
		got := r.add(a, b, a, link("http://h1.p7.test/"))
		if want := []Admission{Added, Added, Known, NotHolder}; !slices.Equal(got, want) {
			t.Fatalf("admissions = %v, want %v", got, want)
		}
		if want := []commit.QueuedHost{{Partition: 0, Host: "h1.p0.test", Band: 0}}; !slices.Equal(news,
			want) {
			t.Fatalf("news = %v, want %v", news, want)
		}
		if got := r.add(a); got[0] != Known {
			t.Fatalf("second Add = %v", got)
		}
		q := r.load(0, "h1.p0.test", 10)
		if len(q.Items) != 2 || q.More || q.Items[0].URL != b.Target.URL ||
			q.Items[1].URL != a.Target.URL {
			t.Fatalf("queue = %+v", q)
		}
		if it := q.Items[0]; it.Depth != 4 || it.Hops != 2 || it.Via != crawl.ViaRedirect ||
			it.Band != 0 || it.Seq != 1 {
			t.Fatalf("item = %+v", it)
		}
		lease := r.lease(0, "h1.p0.test")
		state := crawl.HostState{
			NotBefore:   day.Add(time.Second),
			Latency:     time.Second,
			Requests:    2,
			Pages:       1,
			CrawlDelay:  3,
			Backoff:     5,
			Failures:    1,
			FrozenUntil: day.Add(2),
			HoldUntil:   day.Add(3),
			LastTry:     true,
		}
		own := link("http://h2.p1.test/new")
		lost := link("http://h2.p6.test/lost")
		out := link("http://h2.p5.test/away")
		out.Target.Again, out.Target.Suspicious, out.Target.Via = true, true, crawl.ViaSeed
		r.must(r.Complete(t.Context(), Completion{
			Lease:   lease,
			Outcome: fetched,
			Host:    state,
			Own:     []crawl.Routed{own, a, lost},
			Outbox:  []crawl.Routed{out},
		}))
		r.check()
		if err := r.Complete(t.Context(), Completion{Lease: lease, Outcome: fetched}); !errors.Is(err,
			ErrStaleLease) {
			t.Fatalf("second Complete: %v", err)
		}

		for round := range 2 { // the second time after a crash
			rec := r.record(b.Target.URL.String())
			if rec.State != crawl.Done || rec.Status != 200 || !rec.FetchedAt.Equal(day) ||
				rec.Archive != fetched.Archive ||
				rec.Digest != fetched.Digest || rec.ETag != `"e1"` || rec.LastModified != "yesterday" ||
				rec.Depth != 4 {
				t.Fatalf("round %d: record = %+v", round, rec)
			}
			if rec := r.record("http://h2.p1.test/new"); rec.State != crawl.Queued || rec.Band != 1 {
				t.Fatalf("own link = %+v", rec)
			}
			s, queued, ok, err := r.Host(0, "h1.p0.test")
			if err != nil || !ok || !sameHost(s, state) || queued != [crawl.Bands]int64{1: 1} {
				t.Fatalf("host = %+v, %v, %v, %v", s, queued, ok, err)
			}
			entries, err := r.Outbox(0, layout.OutboxKey{}, 10)
			if err != nil || len(entries) != 2 || entries[0].Routed != out || entries[1].Routed != lost {
				t.Fatalf("outbox = %+v, %v", entries, err)
			}
			if next, err := r.Outbox(0, entries[0].Key, 10); err != nil || len(next) != 1 ||
				next[0] != entries[1] {
				t.Fatalf("outbox behind the first = %+v, %v", next, err)
			}
			c := r.Totals()
			if c.Pages != 1 || c.Bytes != 20_000 || c.Seen != 3 || c.Duplicates != 3 ||
				c.QueuedTotal() != 2 || c.Hosts != 2 ||
				c.Responses != [4]int64{1} || c.LinksFound != 3 || c.Captures != 1 || c.Outbox != 2 {
				t.Fatalf("counters = %+v", c)
			}
			r = r.crash(reopen, commit.Options{})
			r.check()
		}
		entries, _ := r.Outbox(0, layout.OutboxKey{}, 10)
		r.must(r.AckOutbox(t.Context(), append(entries, entries...)))
		r.check()
		if c := r.Totals(); c.Outbox != 0 {
			t.Fatalf("outbox after the acknowledgement: %d", c.Outbox)
		}
	})
}

// TestLinksOfCopiedPage: while a page's partition is copied, its links to other
// partitions wait in its outbox, which is copied with it; theirs may be copied elsewhere
// and later.
func TestLinksOfCopiedPage(t *testing.T) {
	t.Parallel()
	for _, copied := range []bool{false, true} {
		r := start(t, storage.NewMemory(), commit.Options{})
		r.must(r.Found(t.Context(), []crawl.Partition{0, 1}, 3))
		r.add(link("http://h1.p0.test/"))
		if tail := (&caught{}); copied {
			m := metaOf(t, r, 0)
			r.must(r.Attach(t.Context(), 0, m.Seq, m.Epoch, tail.sink))
		}
		same, other := link("http://h2.p0.test/"), link("http://h2.p1.test/")
		r.must(r.Complete(t.Context(),
			Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: fetched, Own: []crawl.Routed{same, other}}))
		entries, err := r.Outbox(0, layout.OutboxKey{}, 10)
		r.must(err)
		if waits := len(entries) == 1 && entries[0].Routed == other; waits != copied || len(entries) > 1 {
			t.Errorf("copied %t: the outbox has %+v", copied, entries)
		}
		if got := r.add(same, other); got[0] != Known || (got[1] == Known) == copied {
			t.Errorf("copied %t: the links were %v", copied, got)
		}
		r.check()
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	robots := &crawl.Robots{
		Origin:     "http://h1.p0.test",
		Verdict:    crawl.RobotsRules,
		Status:     200,
		Fetched:    day,
		Expires:    day.Add(time.Hour),
		Body:       []byte("User-agent: *\n"),
		CrawlDelay: time.Second,
	}
	retryAt := day.Add(10 * time.Second)
	for _, tc := range []struct {
		name    string
		outcome crawl.Outcome
		retryAt time.Time
		state   crawl.RecordState
		tries   int
		judge   func(c *crawl.Counters) bool
	}{
		{"refused", crawl.Outcome{Kind: crawl.Refused, Skip: crawl.SkipRobots, Reason: "robots.txt"},
			time.Time{}, crawl.RefusedForever, 0,
			func(c *crawl.Counters) bool { return c.Skipped[crawl.SkipRobots] == 1 && c.Pages == 0 }},
		{"failed once", crawl.Outcome{
			Kind:     crawl.URLFailed,
			Category: crawl.ErrTimeout,
			Reason:   "too slow",
		}, retryAt, crawl.Queued, 1,
			func(c *crawl.Counters) bool { return c.Errors[crawl.ErrTimeout] == 1 && c.Failed == 0 }},
		{"failed for good", crawl.Outcome{
			Kind:     crawl.URLFailed,
			Category: crawl.ErrTruncated,
			Reason:   "cut",
		}, time.Time{}, crawl.Failed, 0,
			func(c *crawl.Counters) bool { return c.Errors[crawl.ErrTruncated] == 1 && c.Failed == 1 }},
		{"blocked", crawl.Outcome{
			Kind:     crawl.Blocked,
			Category: crawl.ErrBlockedAddress,
			Reason:   "denied",
		}, time.Time{}, crawl.Failed, 0,
			func(c *crawl.Counters) bool {
				return c.Errors[crawl.ErrBlockedAddress] == 1 && c.Failed == 1 && c.Pages == 0
			}},
		{"rate limited", crawl.Outcome{Kind: crawl.RateLimited, Status: 429}, retryAt, crawl.Queued, 1,
			func(c *crawl.Counters) bool { return c.Responses[2] == 1 && c.Pages == 0 }},
		{"rate limited for good", crawl.Outcome{Kind: crawl.RateLimited, Status: 503}, time.Time{},
			crawl.Failed, 0,
			func(c *crawl.Counters) bool { return c.Responses[3] == 1 && c.Pages == 1 && c.Failed == 1 }},
		{"walled", crawl.Outcome{
			Kind:   crawl.RateLimited,
			Status: 403,
			Wall:   wall.Cloudflare,
			Reason: crawl.WallReason(wall.Cloudflare),
		}, retryAt, crawl.Queued, 1,
			func(c *crawl.Counters) bool {
				return c.Walls[wall.Cloudflare] == 1 && c.Pages == 0 && c.Failed == 0 && c.Captures == 0
			}},
		{"walled for good", crawl.Outcome{
			Kind:    crawl.RateLimited,
			Status:  200,
			Wall:    wall.Other,
			Reason:  crawl.WallReason(wall.Other),
			Archive: crawl.ArchiveRef{File: "f", Length: 1},
		}, time.Time{}, crawl.Failed, 0,
			func(c *crawl.Counters) bool {
				return c.Walls[wall.Other] == 1 && c.Failed == 1 && c.GivenUp[crawl.GaveUpBlocked] == 1 &&
					c.Captures == 1 && c.Texts == 0
			}},
		{"robots.txt walled",
			crawl.Outcome{Kind: crawl.HostFailed, Category: crawl.ErrOther, Wall: wall.Anubis}, time.Time{},
			crawl.Queued, 0,
			func(c *crawl.Counters) bool { return c.Walls[wall.Anubis] == 1 && c.Robots == 0 }},
		{"host failed", crawl.Outcome{Kind: crawl.HostFailed, Category: crawl.ErrDNS}, time.Time{},
			crawl.Queued, 0,
			func(c *crawl.Counters) bool { return c.Errors[crawl.ErrDNS] == 1 && c.Robots == 0 }},
		{"robots", crawl.Outcome{Kind: crawl.RobotsFetched, Robots: robots, Bytes: 14}, time.Time{},
			crawl.Queued, 0,
			func(c *crawl.Counters) bool { return c.Robots == 1 && c.Bytes == 14 && c.Pages == 0 }},
		{"aborted", crawl.Outcome{Kind: crawl.Aborted, Bytes: 14, LinksFound: 3}, time.Time{},
			crawl.Queued, 0,
			func(c *crawl.Counters) bool {
				return c.Bytes == 0 && c.LinksFound == 0 && c.Errors[crawl.ErrDNS] == 0
			}},
		{"no proxy", crawl.Outcome{Kind: crawl.Aborted, Category: crawl.ErrProxy, Reason: "proxy: down"},
			time.Time{}, crawl.Queued, 0,
			func(c *crawl.Counters) bool {
				return c.Errors[crawl.ErrProxy] == 1 && c.Failed == 0 && c.Retries == 0 && c.Pages == 0
			}},
		{"sitemap", crawl.Outcome{Kind: crawl.Fetched, Status: 200, IsSitemap: true}, time.Time{},
			crawl.Done, 0,
			func(c *crawl.Counters) bool { return c.Pages == 0 && c.Responses[0] == 1 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
			r.add(link("http://h1.p0.test/"))
			lease := r.lease(0, "h1.p0.test")
			r.must(r.Complete(t.Context(),
				Completion{Lease: lease, Outcome: tc.outcome, RetryAt: tc.retryAt}))
			r.check()
			rec := r.record("http://h1.p0.test/")
			if rec.State != tc.state || rec.Attempts != tc.tries {
				t.Errorf("record = %+v, want %v after %d attempts", rec, tc.state, tc.tries)
			}
			if said := tc.tries > 0 || tc.state != crawl.Queued; said && rec.Reason != tc.outcome.Reason ||
				!said && rec.Reason != "" {
				t.Errorf("its reason is %q", rec.Reason)
			}
			c := r.Totals()
			if !tc.judge(&c) {
				t.Errorf("counters = %+v", c)
			}
			q := r.load(0, "h1.p0.test", 10)
			if (len(q.Items) == 1) != (tc.state == crawl.Queued) {
				t.Errorf("queue = %+v", q.Items)
			}
			if tc.tries > 0 && (q.Items[0].Attempts != tc.tries || !q.Items[0].NotBefore.Equal(tc.retryAt) ||
				q.Items[0].Seq != lease.Item.Seq) {
				t.Errorf("item = %+v", q.Items[0])
			}
			if tc.outcome.Robots != nil && (len(q.Robots) != 1 ||
				string(q.Robots[0].Body) != string(robots.Body) || q.Robots[0].Origin != robots.Origin) {
				t.Errorf("robots = %+v", q.Robots)
			}
		})
	}
}

// TestWalledHosts: hosts that rest because of walls are counted, over completions and parking,
// until an answer shows that they let the crawl in; what is known of their walls is kept.
func TestWalledHosts(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 2, commit.Options{})
	r.add(link("http://h1.p0.test/"), link("http://h2.p0.test/"))
	walled := crawl.HostState{
		Requests:    8,
		Walls:       0xff,
		WalledSince: day,
		HoldUntil:   day.Add(crawl.WallRest),
	}
	want := func(n int64) {
		t.Helper()
		r.check()
		if c := r.Totals(); c.HostsWalled != n {
			t.Errorf("%d hosts, want %d", c.HostsWalled, n)
		}
	}
	o := crawl.Outcome{
		Kind:   crawl.RateLimited,
		Status: 403,
		Wall:   wall.Cloudflare,
		Reason: crawl.WallReason(wall.Cloudflare),
	}
	r.must(r.Complete(t.Context(),
		Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: o, Host: walled, RetryAt: day}))
	want(1)
	r.must(r.Park(t.Context(), []Parked{{Partition: 0, Host: "h1.p0.test", State: walled},
		{Partition: 0, Host: "h2.p0.test", State: walled}}))
	want(2)
	if s, _, ok, err := r.Host(0, "h2.p0.test"); err != nil || !ok || s.Walls != 0xff ||
		!s.WalledSince.Equal(day) || !s.HoldUntil.Equal(walled.HoldUntil) {
		t.Errorf("%+v, %v, %v", s, ok, err)
	}
	open := walled
	open.Requests, open.Walls, open.WalledSince = 9, 0x1fe, time.Time{}
	r.must(r.Park(t.Context(), []Parked{{Partition: 0, Host: "h2.p0.test", State: open}}))
	want(1)
}

func TestAgain(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	seed := link("http://h1.p0.test/")
	r.add(seed)
	seed.Target.Again = true
	if got := r.add(seed); got[0] != Known {
		t.Fatalf("again while it is queued: %v", got)
	}
	r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: fetched}))
	if got := r.add(seed, seed); got[0] != Added || got[1] != Known {
		t.Fatalf("again: %v", got)
	}
	r.check()
	lease := r.lease(0, "h1.p0.test")
	if lease.Item.ETag != `"e1"` || lease.Item.LastModified != "yesterday" {
		t.Fatalf("validators are missing: %+v", lease.Item)
	}
	// Not modified: the capture and the validators of the first fetch stay.
	r.must(r.Complete(t.Context(), Completion{
		Lease: lease,
		Outcome: crawl.Outcome{Kind: crawl.Fetched, Status: 304, FetchedAt: day.Add(time.Hour),
			Archive: crawl.ArchiveRef{File: "where nothing but a head is"}},
	}))
	rec := r.record("http://h1.p0.test/")
	if rec.State != crawl.Done || rec.Archive != fetched.Archive || rec.Digest != fetched.Digest ||
		rec.ETag != `"e1"` || !rec.FetchedAt.Equal(day.Add(time.Hour)) {
		t.Fatalf("record = %+v", rec)
	}
	// The same payload once more: its record refers to the first capture, which stays.
	r.add(seed)
	again := fetched
	again.Refers, again.Archive = true, crawl.ArchiveRef{File: "where no payload is"}
	r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: again}))
	if rec := r.record("http://h1.p0.test/"); rec.Archive != fetched.Archive ||
		rec.Status != fetched.Status {
		t.Fatalf("record of an unchanged page = %+v", rec)
	}
	r.add(seed)
	r.must(r.Complete(t.Context(), Completion{
		Lease:   r.lease(0, "h1.p0.test"),
		Outcome: crawl.Outcome{Kind: crawl.URLFailed, Reason: "gone"},
	}))
	if rec := r.record("http://h1.p0.test/"); rec.State != crawl.Failed ||
		rec.Archive != fetched.Archive {
		t.Fatalf("record after a failure = %+v", rec)
	}
	if c := r.Totals(); c.Seen != 1 || c.Hosts != 1 {
		t.Fatalf("counters = %+v", c)
	}
	r.check()
}

// TestOnlyKnown: what a person wants again without making it a seed is not admitted when it is
// unknown, and stays what it was.
func TestOnlyKnown(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	l := link("http://h1.p0.test/")
	l.Target.Again, l.Target.Depth = true, 1<<20
	if got := r.add(l); got[0] != Refused {
		t.Fatalf("unknown: %v", got)
	}
	if c := r.Totals(); c.Seen != 0 || c.Hosts != 0 {
		t.Fatalf("counters = %+v", c)
	}
	first := link("http://h1.p0.test/")
	first.Target.Depth, first.Target.Via = 3, crawl.ViaAsset
	r.add(first)
	r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: fetched}))
	if got := r.add(l); got[0] != Added {
		t.Fatalf("known: %v", got)
	}
	if it := r.lease(0, "h1.p0.test").Item; it.Depth != 3 || it.Via != crawl.ViaAsset ||
		it.ETag != `"e1"` {
		t.Errorf("%+v", it)
	}
	r.check()
}

func TestSuspiciousBudget(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1,
		commit.Options{SuspiciousPerHost: func() int64 { return 3 }})
	var links []crawl.Routed
	for i := range 5 {
		l := link(fmt.Sprintf("http://h1.p0.test/%d", i))
		l.Target.Suspicious = true
		links = append(links, l)
	}
	links = append(links, link("http://h1.p0.test/good"))
	if got, want := r.add(links...), []Admission{Added, Added, Added, Refused, Refused,
		Added}; !slices.Equal(got, want) {
		t.Fatalf("admissions = %v, want %v", got, want)
	}
	// A state that knows nothing of it does not set the count back.
	r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: fetched}))
	if s, _, _, _ := r.Host(0, "h1.p0.test"); s.Suspicious != 3 {
		t.Fatalf("suspicious = %d", s.Suspicious)
	}
	if c := r.Totals(); c.Skipped[crawl.SkipHostBudget] != 2 || c.Seen != 4 {
		t.Fatalf("counters = %+v", c)
	}
	r.check()
}

// TestCursorChain checks that a chain of Loads returns every entry once, with
// URLs that come and go meanwhile.
func TestCursorChain(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		n := 0
		addSome := func(count int) {
			var links []crawl.Routed
			for range count {
				l := link(fmt.Sprintf("http://h1.p0.test/%d", n))
				l.Target.Band = crawl.Band(n * 7 % crawl.Bands)
				links = append(links, l)
				n++
			}
			r.add(links...)
		}
		addSome(50)
		seen := map[string]int{}
		var cursor reader.Cursor
		for round := 0; ; round++ {
			q, err := r.Load(0, "h1.p0.test", cursor, 7)
			r.must(err)
			for i, it := range q.Items {
				seen[it.URL.String()]++
				if i > 0 && it.Band < q.Items[i-1].Band {
					t.Fatalf("band %d behind %d", it.Band, q.Items[i-1].Band)
				}
				kind := []crawl.Kind{crawl.Fetched, crawl.HostFailed, crawl.URLFailed}[i%3]
				r.must(r.Complete(t.Context(),
					Completion{Lease: crawl.Lease{Partition: 0, Epoch: 1, Host: "h1.p0.test", Item: it},
						Outcome: crawl.Outcome{Kind: kind, Status: 200}, RetryAt: day}))
			}
			cursor = q.Next
			if round == 3 {
				addSome(20)
			}
			if !q.More {
				break
			}
		}
		if len(seen) != n {
			t.Fatalf("%d of %d URLs were returned", len(seen), n)
		}
		for u, times := range seen {
			if times != 1 {
				t.Errorf("%s was returned %d times", u, times)
			}
		}
		r.check()
	})
}

func TestWaitingAndPark(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		for h := range 6 {
			l := link(fmt.Sprintf("http://h%d.p0.test/", h))
			l.Target.Band = crawl.Band(h % 2)
			r.add(l, link(fmt.Sprintf("http://h%d.p0.test/second", h)))
		}
		var parked []Parked
		for h := range 6 {
			parked = append(parked, Parked{
				Partition: 0,
				Host:      crawl.Host(fmt.Sprintf("h%d.p0.test", h)),
				State:     crawl.HostState{NotBefore: day.Add(-time.Duration(h) * time.Hour)},
			})
		}
		r.must(r.Park(t.Context(),
			append(parked, Parked{Partition: 0, Host: "nobody.test", State: crawl.HostState{}})))
		r.check()
		r = r.crash(reopen, commit.Options{})
		var order []string
		var from reader.WakeCursor
		for {
			ws, next, err := r.Waiting(0, from, 4)
			r.must(err)
			for _, w := range ws {
				order = append(order, string(w.Host[:2]))
				if w.NotBefore.Before(day.Add(-time.Duration(w.Host[1]-'0') * time.Hour)) {
					t.Errorf("%s may start at %v, too early", w.Host, w.NotBefore)
				}
			}
			if from = next; len(ws) < 4 {
				break
			}
		}
		if want := []string{"h4", "h2", "h0", "h5", "h3", "h1"}; !slices.Equal(order, want) {
			t.Fatalf("wake order = %v, want %v", order, want)
		}
		if err := r.Park(t.Context(), append(parked[:1:1], Parked{Partition: 9, Host: "x"})); !errors.Is(
			err, commit.ErrNotHolder) {
			t.Fatalf("Park of a foreign host: %v", err)
		}
	})
}

// TestParkOfAHostThatStays: after a crash its state is there, also the lease of a worker, and its
// place in the wake index is the old one.
func TestParkOfAHostThatStays(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		r.add(link("http://h1.p0.test/"), link("http://h1.p0.test/second"))
		before, _, err := r.Waiting(0, "", 4)
		r.must(err)
		state := crawl.HostState{Requests: 1, HoldUntil: day.Add(time.Hour), Lease: 7}
		r.must(r.Park(t.Context(),
			[]Parked{{Partition: 0, Host: "h1.p0.test", State: state, Stays: true}}))
		r.check()
		r = r.crash(reopen, commit.Options{})
		after, _, err := r.Waiting(0, "", 4)
		r.must(err)
		if s, _, ok, err := r.Host(0, "h1.p0.test"); err != nil || !ok || s.Lease != 7 ||
			s.HoldUntil.Sub(state.HoldUntil).Abs() > time.Minute {
			t.Errorf("state %+v, %v, %v", s, ok, err)
		}
		if len(after) != 1 || len(before) != 1 || !after[0].NotBefore.Equal(before[0].NotBefore) {
			t.Errorf("it waits at %+v, before at %+v", after, before)
		}
	})
}

// TestParkFindsTheHead checks that what was fetched in the wrong order leaves
// no tombstones in front of the next Load.
func TestParkFindsTheHead(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	for i := range 10 {
		r.add(link(fmt.Sprintf("http://h1.p0.test/%d", i)))
	}
	items := r.load(0, "h1.p0.test", 10).Items
	for i := 7; i >= 0; i-- {
		r.must(r.Complete(t.Context(),
			Completion{Lease: crawl.Lease{Epoch: 1, Host: "h1.p0.test", Item: items[i]}, Outcome: fetched}))
	}
	r.must(r.Park(t.Context(), []Parked{{Host: "h1.p0.test"}}))
	v, err := r.w.Read(0)
	r.must(err)
	defer v.Close()
	e, err := v.Host("h1.p0.test")
	if err != nil || e.Bands[1].Head != 9 {
		t.Fatalf("head = %+v, %v, want 9", e, err)
	}
	r.check()
}

func TestFailHost(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		var links []crawl.Routed
		for i := range 3*failPiece + 5 {
			l := link(fmt.Sprintf("http://h1.p0.test/%d", i))
			l.Target.Band = crawl.Band(i % crawl.Bands)
			links = append(links, l)
		}
		r.add(links...)
		lease := r.lease(0, "h1.p0.test")
		n, err := r.FailHost(t.Context(), 0, "h1.p0.test", "host_dead")
		if err != nil || n != len(links) {
			t.Fatalf("FailHost = %d, %v, want %d", n, err, len(links))
		}
		if rec := r.record("http://h1.p0.test/17"); rec.State != crawl.Failed ||
			rec.Reason != "host_dead" {
			t.Fatalf("record = %+v", rec)
		}
		if err := r.Complete(t.Context(), Completion{Lease: lease, Outcome: fetched}); !errors.Is(err,
			ErrStaleLease) {
			t.Fatalf("Complete of a failed URL: %v", err)
		}
		if c := r.Totals(); c.Failed != int64(n) || c.QueuedTotal() != 0 {
			t.Fatalf("counters = %+v", c)
		}
		r.check()
	})
}

func TestRobotsAreBounded(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	r.add(link("http://h1.p0.test/"))
	lease := r.lease(0, "h1.p0.test")
	for i := range layout.MaxRobots + 3 {
		origin := fmt.Sprintf("http://h1.p0.test:%d", 8000+i)
		if i == 0 {
			origin = "https://elsewhere.test" // it should not happen, and is kept as it is
		}
		r.must(r.Complete(t.Context(), Completion{
			Lease:   lease,
			Outcome: crawl.Outcome{Kind: crawl.RobotsFetched, Robots: &crawl.Robots{Origin: origin}},
		}))
		if q := r.load(0, "h1.p0.test", 1); q.Robots[len(q.Robots)-1].Origin != origin ||
			len(q.Robots) != min(i+1, layout.MaxRobots) {
			t.Fatalf("after %s: %d entries", origin, len(q.Robots))
		}
	}
	r.check()
}

// TestManyLinks completes a page with more links than one transaction takes.
func TestManyLinks(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 4, commit.Options{})
		r.add(link("http://h1.p0.test/"))
		var own, out []crawl.Routed
		for i := range 7_000 {
			own = append(own, link(fmt.Sprintf("http://h%d.p%d.test/%d", i%5000, i%4, i)))
			if i%4 == 0 {
				out = append(out, link(fmt.Sprintf("http://h1.p9.test/%d", i)))
			}
		}
		r.must(r.Complete(t.Context(),
			Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: fetched, Own: own, Outbox: out}))
		r.check()
		r = r.crash(reopen, commit.Options{})
		r.check()
		if c := r.Totals(); c.Seen != 7_001 || c.Outbox != 1_750 {
			t.Fatalf("counters = %+v", c)
		}
	})
}

// TestGroupsFitTheStore lets many callers wait with more than one transaction
// takes together.
//
//race:meets
func TestGroupsFitTheStore(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		r := startHolding(t, kv, 4, commit.Options{})
		entered, leave := make(chan struct{}), make(chan struct{})
		var callers sync.WaitGroup
		callers.Go(func() {
			err := r.change(context.Background(), func(group) error {
				close(entered)
				<-leave
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-entered
		long := strings.Repeat("x", 1000)
		for c := range 30 {
			callers.Go(func() {
				var links []crawl.Routed
				for i := range 100 {
					links = append(links, link(fmt.Sprintf("http://h%d.p%d.test/%s/%d", i, c%4, long, c)))
				}
				if _, err := r.Add(context.Background(), links); err != nil {
					t.Error(err)
				}
			})
		}
		close(leave)
		callers.Wait()
		if c := r.Totals(); c.Seen != 3000 {
			t.Fatalf("counters = %+v", c)
		}
		r.check()
	})
}

func TestFingerprintCollision(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	r.add(link("http://h1.p0.test/first"))
	// That of the host's only URL, which has no record yet.
	fp := layout.FingerprintOf("http://h1.p0.test/first")
	r.must(r.change(t.Context(), func(g group) error {
		pg := g.part(0)
		for i, raw := range []string{"http://h1.p0.test/a", "http://h1.p0.test/b",
			"http://h1.p0.test/a"} {
			l := link(raw)
			c := candidate{pg: pg, fp: fp, found: new(pg.lookup(l.Target.URL, fp))}
			if got, want := pg.admitOne(&l.Target, &c), []Admission{Added, Added, Known}[i]; got != want {
				t.Errorf("%s: %v, want %v", raw, got, want)
			}
		}
		return nil
	}))
	q := r.load(0, "h1.p0.test", 5)
	if len(q.Items) != 3 || q.Items[1].URL == q.Items[2].URL {
		t.Fatalf("queue = %+v", q.Items)
	}
	if rec := r.record("http://h1.p0.test/first"); rec.State != crawl.Queued || rec.Seq != 1 {
		t.Errorf("%+v", rec)
	}
}

func TestStoppedAndFrozen(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 2, commit.Options{})
	r.add(link("http://h1.p0.test/"))
	lease := r.lease(0, "h1.p0.test")
	r.must(r.Freeze(t.Context(), 0))
	if got := r.add(link("http://h1.p0.test/2"), link("http://h1.p1.test/")); got[0] != NotHolder ||
		got[1] != Added {
		t.Fatalf("Add into a frozen partition: %v", got)
	}
	if err := r.Complete(t.Context(), Completion{Lease: lease, Outcome: fetched}); !errors.Is(err,
		commit.ErrNotHolder) {
		t.Fatalf("Complete in a frozen partition: %v", err)
	}
	r.must(r.Unfreeze(t.Context(), 0))
	lease.Epoch = 2
	if err := r.Complete(t.Context(), Completion{Lease: lease, Outcome: fetched}); !errors.Is(err,
		commit.ErrNotHolder) {
		t.Fatalf("Complete of another epoch: %v", err)
	}
	r.must(r.stop())
	if _, err := r.Add(t.Context(), []crawl.Routed{link("http://h1.p1.test/late")}); !errors.Is(err,
		commit.ErrStopped) {
		t.Fatalf("Add after the end: %v", err)
	}
	r.check()
}

func TestStatesSurvive(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 3, commit.Options{})
		r.add(link("http://h1.p1.test/"))
		r.must(r.Transition(t.Context(), 1, func(m *layout.Meta) error {
			m.State, m.To, m.View, m.Sealed, m.Seq, m.Generation = layout.Released, "n2", 5, true, 999, 77
			return nil
		}))
		if err := r.Transition(t.Context(), 1,
			func(m *layout.Meta) error { m.State = layout.Absent; return nil }); err == nil {
			t.Fatal("a transition to absent went through")
		}
		if err := r.Transition(t.Context(), 2, func(*layout.Meta) error {
			return io.ErrUnexpectedEOF
		}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("the error of fn came back as %v", err)
		}
		if err := r.Delete(t.Context(), 0); err == nil {
			t.Fatal("a held partition was deleted")
		}
		r = r.crash(reopen, commit.Options{})
		m, _ := r.Meta(1)
		if m.State != layout.Released || m.To != "n2" || m.View != 5 || !m.Sealed || m.Seq != 1 ||
			m.Generation != 1 || m.Epoch != 1 {
			t.Fatalf("meta = %+v", m)
		}
		if c := r.Totals(); c.Seen != 0 {
			t.Fatalf("totals count a released partition: %+v", c)
		}
		r.must(r.Delete(t.Context(), 1))
		r = r.crash(reopen, commit.Options{})
		m, ok := r.Meta(1)
		if !ok || m.State != layout.Absent || m.MaxEpoch != 1 || m.Seq != 1 ||
			m.Counters != (crawl.Counters{}) {
			t.Fatalf("meta after Delete = %+v", m)
		}
		if _, err := r.Load(1, "h1.p1.test", reader.Cursor{}, 1); !errors.Is(err, commit.ErrNotHolder) {
			t.Fatalf("Load of a deleted partition: %v", err)
		}
		if err := r.Found(t.Context(), []crawl.Partition{1}, 1); err == nil {
			t.Fatal("founded again in an epoch that was held")
		}
		r.must(r.Found(t.Context(), []crawl.Partition{0, 1}, 2))
		if m, _ := r.Meta(0); m.Epoch != 1 {
			t.Fatalf("Found changed a held partition: %+v", m)
		}
		if got := r.add(link("http://h1.p1.test/")); got[0] != Added {
			t.Fatalf("the founded partition remembers: %v", got)
		}
		waitSwept(t, r, 1, 1)
		r.check()
	})
}

// waitSwept waits until a generation has left the store.
func waitSwept(t *testing.T, r *running, p crawl.Partition, gen uint32) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		snap, err := r.w.KV.Snapshot()
		r.must(err)
		n := len(storagetest.DumpSnapshot(t, snap, string(layout.AppendPrefix(nil, p, gen)))) +
			len(storagetest.DumpSnapshot(t, snap,
				string(layout.DeadKey(layout.Generation{Partition: p, Number: gen}))))
		snap.Close()
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d keys of partition %d, generation %d are left", n, p, gen)
		}
	}
}
