package frontier

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/listing"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// listAll reads all pages of a partition. between is called after each of them, and returns the
// frontier that goes on.
func (r *running) listAll(
	p crawl.Partition,
	q crawl.URLQuery,
	b listing.Budget,
	between func() *running,
) (lines []crawl.URLLine) {
	r.t.Helper()
	f, err := listing.Compile(q)
	r.must(err)
	for after := listing.Position(""); ; {
		page, err := r.List(r.t.Context(), p, &f, after, b)
		r.must(err)
		lines = append(lines, page.Lines...)
		if page.Done {
			return lines
		}
		if len(page.Lines) > b.Lines || page.Next <= after {
			r.t.Fatalf("a page of %d lines went from %q to %q", len(page.Lines), after, page.Next)
		}
		after = page.Next
		r = between()
	}
}

// urlsOf are the URLs of lines.
func urlsOf(lines []crawl.URLLine) (urls []string) {
	for i := range lines {
		urls = append(urls, lines[i].URL)
	}
	return urls
}

// TestList checks what a line says of a URL in each state, and the filters.
func TestList(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		r.add(link("http://h1.p0.test/done"), link("https://h1.p0.test:8443/Late?x=1"),
			link("http://h2.p0.test/inline"),
			link("http://h3.p0.test/skipped"), link("http://h4.p0.test/retried"),
			link("http://h30.p0.test/failed"))
		late := "timeout: no answer within 60s"
		for host, o := range map[string]Completion{
			"h1.p0.test": {Outcome: fetched},
			"h3.p0.test": {Outcome: crawl.Outcome{
				Kind:      crawl.Refused,
				Skip:      crawl.SkipRobots,
				Reason:    "robots.txt of http://h3.p0.test says Disallow: /",
				FetchedAt: day,
			}},
			"h4.p0.test": {
				Outcome: crawl.Outcome{Kind: crawl.URLFailed, Reason: late, FetchedAt: day},
				RetryAt: day,
			},
			"h30.p0.test": {Outcome: crawl.Outcome{Kind: crawl.URLFailed, Reason: late, FetchedAt: day}},
		} {
			o.Lease = r.lease(0, host)
			r.must(r.Complete(t.Context(), o))
		}
		one := listing.Budget{Lines: 1, Bytes: 1 << 20}
		same := func() *running { return r }
		got := map[string]string{}
		for _, l := range r.listAll(0, crawl.URLQuery{}, one, same) {
			text := l.State + fmt.Sprint(" ", l.Attempts, l.FetchedAt != nil, l.NotBefore != nil)
			if l.Status != nil {
				text += fmt.Sprint(" ", *l.Status)
			}
			if l.Cause != nil {
				text += " " + *l.Cause
			}
			got[l.URL] = text
		}
		storagetest.Compare(t, "lines", got, map[string]string{
			"http://h1.p0.test/done":           "done 0 true false 200",
			"https://h1.p0.test:8443/Late?x=1": "queued 0 false false",
			"http://h2.p0.test/inline":         "queued 0 false false",
			"http://h3.p0.test/skipped":        "skipped 0 true false robots",
			"http://h4.p0.test/retried":        "queued 1 false true timeout",
			"http://h30.p0.test/failed":        "failed 0 true false timeout",
		})
		for _, c := range []struct {
			q    crawl.URLQuery
			want []string
		}{
			{crawl.URLQuery{State: crawl.ListQueued}, []string{"https://h1.p0.test:8443/Late?x=1",
				"http://h2.p0.test/inline", "http://h4.p0.test/retried"}},
			{crawl.URLQuery{State: crawl.ListSkipped}, []string{"http://h3.p0.test/skipped"}},
			{crawl.URLQuery{Host: "H3.p0.test"}, []string{"http://h3.p0.test/skipped"}},
			{crawl.URLQuery{Host: "h2.p0.test"}, []string{"http://h2.p0.test/inline"}},
			{crawl.URLQuery{Host: "h2.p0.tes"}, nil},
			{crawl.URLQuery{Contains: "LATE"}, []string{"https://h1.p0.test:8443/Late?x=1"}},
			{crawl.URLQuery{Match: "prefix:h30.p0.test"}, []string{"http://h30.p0.test/failed"}},
			{crawl.URLQuery{Match: "*/in*"}, []string{"http://h2.p0.test/inline"}},
			{crawl.URLQuery{Status: "2xx"}, []string{"http://h1.p0.test/done"}},
			{crawl.URLQuery{Status: "200", State: crawl.ListFailed}, nil},
			{crawl.URLQuery{Status: "404"}, nil},
		} {
			if got := urlsOf(r.listAll(0, c.q, one, same)); !slices.Equal(got, c.want) {
				t.Errorf("%+v: %q, want %q", c.q, got, c.want)
			}
		}
		var all listing.Filter
		if _, err := r.List(t.Context(), 1, &all, "", one); !errors.Is(err, ErrNotHolder) {
			t.Errorf("a partition that is not here: %v", err)
		}
		r.must(r.Freeze(t.Context(), 0))
		r.become(0, layout.Released)
		if _, err := r.List(t.Context(), 0, &all, "", one); !errors.Is(err, ErrNotHolder) {
			t.Errorf("a partition that was handed over: %v", err)
		}
	})
}

// TestListModel lists while URLs are added and completed, while the partition moves and the process
// is killed: each URL that was there at the beginning is listed once, and none twice.
func TestListModel(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		m := newModel(t, rand.New(rand.NewPCG(seed, 1)),
			startHolding(t, kv, 3, commit.Options{CacheEntries: 64}))
		for n := range 400 { // hosts with one URL, between those of the model
			m.list(link(fmt.Sprintf("http://h%d.p0.test/only", 100+n)))
		}
		for range 60 {
			m.step(reopen)
		}
		for p := range crawl.Partition(3) {
			there := map[string]int{}
			for raw := range m.urls {
				if partitionOf(mustURL(raw)) == p {
					there[raw] = 0
				}
			}
			// A time that is always over leaves one piece of rows to a page.
			hasty := listing.Budget{
				Lines: 1 + m.rng.IntN(20),
				Bytes: math.MaxInt,
				Over:  func() bool { return m.rng.IntN(2) == 0 },
			}
			next := func() *running {
				// A second URL gives the first of a host, which was inline, a record.
				m.list(link(fmt.Sprintf("http://h%d.p0.test/second", 100+m.rng.IntN(400))))
				m.step(reopen)
				return m.r
			}
			known := map[string]bool{}
			for _, l := range m.r.listAll(p, crawl.URLQuery{}, hasty, next) {
				if known[l.URL] {
					t.Fatalf("%s is listed twice", l.URL)
				}
				known[l.URL] = true
				delete(there, l.URL)
			}
			if len(there) > 0 {
				t.Fatalf("partition %d: not listed: %v", p, there)
			}
		}
	})
}

// list adds a link to frontier and model.
func (m *model) list(l crawl.Routed) {
	m.t.Helper()
	if got, want := m.r.add(l)[0], m.expect(&l); got != want {
		m.t.Fatalf("%s is %v, want %v", l.Target.URL, got, want)
	}
}
