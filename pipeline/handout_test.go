package pipeline

import (
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/scope"
)

// taker takes what is handed out.
type taker struct {
	refuses bool
	took    []crawl.Visit
}

func (t *taker) Take(v crawl.Visit) bool {
	if t.refuses {
		return false
	}
	t.took = append(t.took, v)
	return true
}

// handsOut is a bench whose pages are handed out.
func handsOut(t *testing.T, h *taker) *bench {
	t.Helper()
	b := newBench(t, scope.Options{})
	b.p = New(Options{
		Workers:   1,
		Source:    b,
		Sink:      b,
		Archive:   b,
		Contents:  b,
		Fetcher:   b,
		Elsewhere: b,
		Handout:   h,
		Rules:     func() *Rules { return &b.rules },
	})
	return b
}

// TestHandOutTakesPagesAlone: robots.txt and sitemap files are fetched by the node, and what
// robots.txt forbids is not handed out.
func TestHandOutTakesPagesAlone(t *testing.T) {
	t.Parallel()
	var h taker
	b := handsOut(t, &h)
	forbidden := func(v *crawl.Visit) {
		v.Robots = &crawl.Robots{
			Verdict: crawl.RobotsRules,
			Body:    []byte("User-agent: *\nDisallow: /no\n"),
			Fetched: time.Now(),
			Expires: time.Now().Add(time.Hour),
		}
	}
	b.serve("http://a.test/robots.txt", 404, "", "")
	b.visit("http://a.test/page")
	b.visit("http://a.test/no/page", forbidden)
	b.visit("http://a.test/unknown", func(v *crawl.Visit) { v.Robots = nil })
	b.visit("http://a.test/sitemap.xml", func(v *crawl.Visit) { v.Item.Via = crawl.ViaSitemapFile })
	if err := b.run(); err != nil {
		t.Fatal(err)
	}
	if len(h.took) != 1 || h.took[0].Item.URL.String() != "http://a.test/page" {
		t.Errorf("handed out: %v", h.took)
	}
	want := []string{
		"release refused", "complete refused",
		"fetch http://a.test/robots.txt", "release robots_fetched", "complete robots_fetched",
		"fetch http://a.test/sitemap.xml", "release fetched", "complete fetched",
	}
	if !slices.Equal(b.log, want) {
		t.Errorf("%q, want %q", b.log, want)
	}
}

// TestHandOutRefused: what nobody takes, or must not be requested any more, stays queued.
func TestHandOutRefused(t *testing.T) {
	t.Parallel()
	for _, lost := range []int{0, 1} {
		h := taker{refuses: lost == 0}
		b := handsOut(t, &h)
		b.lost = lost
		b.visit("http://a.test/page")
		if r, o := b.one(); r.Kind != crawl.Aborted || r.Requested || o.Kind != crawl.Aborted ||
			len(h.took) != 0 {
			t.Errorf("lost %d: %+v, %+v, took %d", lost, r, o, len(h.took))
		}
	}
}

// TestReports: what a report means for the host, the URL and the links.
func TestReports(t *testing.T) {
	t.Parallel()
	many := make([]string, MaxReportedLinks+5)
	for i := range many {
		many[i] = "/x"
	}
	for name, c := range map[string]struct {
		report   Report
		kind     crawl.Kind
		category crawl.ErrCategory
		wait     time.Duration
		targets  []string // as targets writes them
		found    int
		skipped  crawl.SkipCounts
	}{
		"page": {
			report: Report{Status: 200, Links: []string{"/b", "b", "http://a.test/b#part",
				"http://other.test/", "mailto:x@a.test", "http://"}, LinksFound: 9},
			found:   9,
			targets: []string{"http://a.test/b link d3 h0 b3"},
			skipped: crawl.SkipCounts{crawl.SkipOutOfScope: 1, crawl.SkipScheme: 1, crawl.SkipInvalid: 1},
		},
		"redirect": {
			report:  Report{Status: 301, Links: []string{"/moved", "/other"}},
			found:   1,
			targets: []string{"http://a.test/moved redirect d2 h1 b2"},
		},
		"error page":   {report: Report{Status: 404, Links: []string{"/b"}}},
		"not a status": {report: Report{Status: 999, Links: []string{"/b"}}},
		"rate limited": {
			report: Report{Status: 429, RetryAfter: time.Minute},
			kind:   crawl.RateLimited,
			wait:   time.Minute,
		},
		"for ever": {
			report: Report{Status: 503, RetryAfter: 1 << 62},
			kind:   crawl.RateLimited,
			wait:   maxRetryAfter,
		},
		"backwards": {
			report: Report{Status: 503, RetryAfter: -1, Took: -5, Bytes: -7},
			kind:   crawl.RateLimited,
		},
		"no answer": {
			report:   Report{Error: "it went away"},
			kind:     crawl.URLFailed,
			category: crawl.ErrOther,
		},
		"nothing": {kind: crawl.URLFailed, category: crawl.ErrOther},
		"timeout": {
			report:   Report{Error: "timeout: 30 s"},
			kind:     crawl.URLFailed,
			category: crawl.ErrTimeout,
		},
		"no name": {
			report:   Report{Error: "dns: no such host"},
			kind:     crawl.HostFailed,
			category: crawl.ErrDNS,
		},
		"other word": {
			report:   Report{Error: "dnsx: no such host"},
			kind:     crawl.URLFailed,
			category: crawl.ErrOther,
		},
		"too many links": {
			report:  Report{Status: 200, Links: many},
			found:   len(many),
			targets: []string{"http://a.test/x link d3 h0 b3"},
			skipped: crawl.SkipCounts{crawl.SkipTrap: 5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var h taker
			b := handsOut(t, &h)
			b.visit("http://a.test/page", func(v *crawl.Visit) { v.Item.Depth = 2 })
			if err := b.run(); err != nil {
				t.Fatal(err)
			}
			s := b.p.Answered(h.took[0], c.report)
			if !slices.Equal(b.log, []string{"release " + c.kind.String()}) ||
				s.Retried() != (c.kind != crawl.Fetched) {
				t.Errorf("after the answer: %q", b.log)
			}
			if err := b.p.Settle(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			r, o := b.one()
			if r.RetryAfter != c.wait || !r.Requested || r.Took < 0 || o.Kind != c.kind ||
				o.Category != c.category || o.Bytes < 0 {
				t.Errorf("%+v, %+v", r, o)
			}
			if o.LinksFound != c.found || o.Skipped != c.skipped {
				t.Errorf("%d links found, skipped %v", o.LinksFound, o.Skipped)
			}
			wantTargets(t, o.Targets, c.targets...)
		})
	}
}

// TestReturned: a visit that was not answered stays queued, and its host waits as long as a worker
// may still request it.
func TestReturned(t *testing.T) {
	t.Parallel()
	for _, failed := range []bool{false, true} {
		var h taker
		b := handsOut(t, &h)
		b.visit("http://a.test/page")
		if err := b.run(); err != nil {
			t.Fatal(err)
		}
		if err := b.p.Return(t.Context(), h.took[0], true, Held{
			For: time.Minute,
		}, failed, "why"); err != nil {
			t.Fatal(err)
		}
		want := crawl.Aborted
		if failed {
			want = crawl.URLFailed
		}
		if r, o := b.one(); r.Kind != want || o.Kind != want || !r.Requested ||
			r.RetryAfter != time.Minute || o.Reason != "why" {
			t.Errorf("%+v, %+v", r, o)
		}
	}
}
