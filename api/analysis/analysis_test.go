package analysis

import (
	"context"
	"errors"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/preferences"
)

func ptr[T any](v T) *T { return &v }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestStatus is the table of a URL's state in other words.
func TestStatus(t *testing.T) {
	t.Parallel()
	known := func(s crawl.RecordState) crawl.URLReport {
		return crawl.URLReport{URL: ptr("http://a/"), Record: &crawl.RecordReport{State: s.String()}}
	}
	again := known(crawl.Queued)
	again.Record.FetchedAt = new(time.Time)
	admit := crawl.ScopeReport{Admit: true}
	for name, tc := range map[string]struct {
		report crawl.URLReport
		want   string // "" is nil
	}{
		"queued":    {known(crawl.Queued), crawl.AnalysisPending},
		"revisit":   {again, crawl.AnalysisFetched},
		"done":      {known(crawl.Done), crawl.AnalysisFetched},
		"failed":    {known(crawl.Failed), crawl.AnalysisError},
		"refused":   {known(crawl.RefusedForever), crawl.AnalysisBlocked},
		"not found": {crawl.URLReport{URL: ptr("http://a/"), Scope: admit}, ""},
		"too deep": {crawl.URLReport{URL: ptr("http://a/"), Scope: crawl.ScopeReport{Reason: "depth"}},
			crawl.AnalysisBlocked},
		"robots.txt": {crawl.URLReport{
			URL:    ptr("http://a/"),
			Scope:  admit,
			Robots: crawl.RobotsReport{Verdict: crawl.RobotsSaysForbidden},
		}, crawl.AnalysisBlocked},
		"no URL":     {crawl.URLReport{Scope: crawl.ScopeReport{Reason: "invalid"}}, ""},
		"unanswered": {crawl.URLReport{URL: ptr("http://a/"), Unanswered: ptr("n2 is away")}, ""},
	} {
		got := ""
		if s := URL(&tc.report).Status; s != nil {
			got = *s
		}
		if got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	a := URL(&crawl.URLReport{
		Input:  "A",
		URL:    ptr("http://a/"),
		Record: &crawl.RecordReport{State: "done", Digest: ptr("sha1:X")},
		Robots: crawl.RobotsReport{
			Verdict:           crawl.RobotsSaysForbidden,
			Rule:              "Disallow: /",
			CrawlDelaySeconds: ptr(2.0),
		},
		History: []crawl.VisitReport{{At: noon, Status: ptr(304), Milliseconds: ptr(int64(7))},
			{At: noon.Add(-time.Hour), Status: ptr(200)}},
		Links: crawl.LinksReport{In: ptr(int64(3)), Importance: ptr(1.5), Rank: ptr(0.5)},
	})
	if a.URL != "A" || *a.NormalizedURL != "http://a/" || *a.RobotsStatus.Allowed ||
		*a.RobotsStatus.CrawlDelay != 2 {
		t.Errorf("%+v", a)
	}
	if h := a.FetchHistory; len(h) != 2 || *h[0].ContentHash != "sha1:X" || h[1].ContentHash != nil ||
		*h[0].ResponseTime != 7 {
		t.Errorf("history %+v", h)
	}
	if l := a.LinkAnalysis; *l.InboundLinks != 3 || l.OutboundLinks != nil || *l.PageRank != 1.5 {
		t.Errorf("links %+v", l)
	}
	if a := URL(&crawl.URLReport{
		Robots: crawl.RobotsReport{Verdict: crawl.RobotsSaysUnknown},
	}); a.RobotsStatus.Allowed != nil || a.FetchHistory == nil {
		t.Errorf("nothing known: %+v", a)
	}
}

// TestHost counts a host's URLs over two pages.
func TestHost(t *testing.T) {
	t.Parallel()
	minute := noon.Add(-10 * time.Minute)
	pages := [][]crawl.URLLine{
		{{State: crawl.ListDone, Status: ptr(200), FetchedAt: &minute},
			{State: crawl.ListDone, Status: ptr(404), FetchedAt: ptr(minute.Add(59 * time.Second))}},
		{{State: crawl.ListFailed}, {State: crawl.ListSkipped}, {State: crawl.ListQueued},
			{State: crawl.ListQueued, Status: ptr(200), FetchedAt: ptr(noon.Add(-2 * time.Hour))},
			{State: crawl.ListDone, Status: ptr(200), FetchedAt: ptr(noon.Add(-time.Minute))}},
	}
	list := func(_ context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
		if q.Host != "a.test" {
			t.Errorf("asked for %+v", q)
		}
		if q.After == "" {
			return &crawl.URLPage{URLs: pages[0], Next: ptr("more")}, nil
		}
		return &crawl.URLPage{URLs: pages[1]}, nil
	}
	r := &crawl.HostReport{Host: "a.test", Politeness: crawl.PolitenessReport{
		LatencySeconds:        1,
		AverageLatencySeconds: ptr(0.0125),
	},
		Robots: []crawl.RobotsSummary{
			{FetchedAt: noon.Add(-time.Hour), BlockedPaths: []string{"/a", "/b"}, CrawlDelaySeconds: 3},
			{FetchedAt: noon, BlockedPaths: []string{"/b", "/c"}},
		}}
	a, err := Host(t.Context(), r, list, noon)
	if err != nil {
		t.Fatal(err)
	}
	if !a.Complete || a.URLsDiscovered != 7 || a.URLsFetched != 4 || a.URLsBlocked != 1 ||
		*a.ErrorRate != 0.4 || *a.AvgResponse != 12.5 {
		t.Errorf("%+v, rate %v", a, *a.ErrorRate)
	}
	if h := a.Throughput; len(h) != 2 || !h[0].Timestamp.Equal(minute) || h[0].URLsPerMinute != 2 ||
		h[1].URLsPerMinute != 1 {
		t.Errorf("minutes %+v", h)
	}
	if o := a.Robots; !o.LastFetched.Equal(noon) || *o.CrawlDelay != 3 || len(o.BlockedPaths) != 3 {
		t.Errorf("robots %+v", o)
	}
}

// TestHostIsBounded: neither a host with too many URLs nor a partition that moves is counted for
// ever.
func TestHostIsBounded(t *testing.T) {
	t.Parallel()
	r := &crawl.HostReport{Host: "a.test"}
	many := func(context.Context, crawl.URLQuery) (*crawl.URLPage, error) {
		return &crawl.URLPage{URLs: make([]crawl.URLLine, crawl.MaxURLLines), Next: ptr("more")}, nil
	}
	a, err := Host(t.Context(), r, many, noon)
	if err != nil || a.Complete || a.URLsDiscovered != mostURLs || a.AvgResponse != nil ||
		a.ErrorRate != nil || a.Throughput == nil {
		t.Errorf("%+v, %v", a, err)
	}
	broken := errors.New("broken")
	if _, err := Host(t.Context(), r,
		func(context.Context, crawl.URLQuery) (*crawl.URLPage, error) { return nil, broken },
		noon); !errors.Is(err, broken) {
		t.Errorf("the error is %v", err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Host(over, r,
		func(ctx context.Context, _ crawl.URLQuery) (*crawl.URLPage, error) { return nil, ctx.Err() },
		noon); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// TestOwnersWord: what an owner said of the use of a page is told in a line, with the statements
// below it.
func TestOwnersWord(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, c := range []struct {
		said preferences.PagePreferences
		want string
	}{
		{preferences.PagePreferences{From: []string{}}, ""},
		{preferences.PagePreferences{Search: &yes, AITrain: &no, From: []string{"robots.txt: Content-Signal: search=yes, ai-train=no"}},
			"its owner says: search yes, ai-train no\n: robots.txt: Content-Signal: search=yes, " +
				"ai-train=no\n"},
		{preferences.PagePreferences{From: []string{"header: X-Robots-Tag: noimageai"}},
			"its owner says: neither yes nor no to a purpose that is known here\n: header: X-Robots-Tag: " +
				"noimageai\n"},
	} {
		got := ""
		for _, l := range Lines(&crawl.URLReport{Preferences: &c.said}) {
			got += l.Label + ": " + l.Text + "\n"
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
