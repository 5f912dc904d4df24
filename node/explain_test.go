package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/peer"
	"crawlnode/scheduler"
)

// A host in every state that a person may meet.
func TestHostReport(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later := now.Add(time.Minute)
	queued := [crawl.Bands]int64{0, 2, 0, 1}
	sight := func(s scheduler.Status) *scheduler.Sight {
		return &scheduler.Sight{Status: s, Gap: time.Second, Addr: netip.MustParseAddr("127.0.0.1")}
	}
	for name, tc := range map[string]struct {
		info    frontier.HostInfo
		sight   *scheduler.Sight
		state   string
		says    string
		waits   bool
		backoff bool
	}{
		"nothing queued":    {frontier.HostInfo{}, nil, crawl.HostIdle, "nothing is queued", false, false},
		"on disk":           {frontier.HostInfo{Queued: queued}, nil, crawl.HostParked, "on disk", false, false},
		"in flight":         {frontier.HostInfo{}, sight(scheduler.InFlight), crawl.HostInFlight, "open", false, false},
		"ready":             {frontier.HostInfo{Queued: queued}, sight(scheduler.Ready), crawl.HostReady, "fetcher", false, false},
		"its delay":         {frontier.HostInfo{Queued: queued, State: crawl.HostState{NotBefore: later}}, sight(scheduler.Waiting), crawl.HostWaiting, "may start in 1m0s", true, false},
		"resolving":         {frontier.HostInfo{Queued: queued}, sight(scheduler.Resolving), crawl.HostLoading, "looked up", false, false},
		"over share":        {frontier.HostInfo{Queued: queued}, sight(scheduler.OverShare), crawl.HostOverShare, "share", false, false},
		"moving":            {frontier.HostInfo{Queued: queued}, sight(scheduler.Held), crawl.HostHeld, "change hands", false, false},
		"retry-after":       {frontier.HostInfo{Queued: queued, State: crawl.HostState{HoldUntil: later}}, nil, crawl.HostBackoff, "Retry-After", true, true},
		"429":               {frontier.HostInfo{Queued: queued, State: crawl.HostState{NotBefore: later, Backoff: time.Minute}}, sight(scheduler.Waiting), crawl.HostBackoff, "429 or 503", true, true},
		"a failure":         {frontier.HostInfo{Queued: queued, State: crawl.HostState{NotBefore: later, Failures: 2}}, nil, crawl.HostBackoff, "2 times in a row", true, true},
		"frozen":            {frontier.HostInfo{Queued: queued, State: crawl.HostState{FrozenUntil: later, Failures: 9}}, nil, crawl.HostFrozen, "frozen: 9 times", true, true},
		"thawed":            {frontier.HostInfo{Queued: queued, State: crawl.HostState{FrozenUntil: now.Add(-time.Second)}}, nil, crawl.HostParked, "on disk", false, false},
		"frozen, and empty": {frontier.HostInfo{State: crawl.HostState{FrozenUntil: later}}, nil, crawl.HostIdle, "nothing is queued, and it is frozen: 0 times", true, true},
		"failed, and empty": {frontier.HostInfo{State: crawl.HostState{NotBefore: later, Failures: 2}}, nil, crawl.HostIdle, "nothing is queued, and it is held back: 2 times", true, true},
	} {
		r := hostReport("a.test", &tc.info, tc.sight, now)
		if r.State != tc.state || !strings.Contains(r.Summary, tc.says) || (r.NextAllowedAt != nil) != tc.waits || (r.Politeness.BackoffReason != nil) != tc.backoff {
			t.Errorf("%s: %s, %q, next %v, %+v", name, r.State, r.Summary, r.NextAllowedAt, r.Politeness)
		}
		if tc.info.Queued == queued && r.Queued != 3 {
			t.Errorf("%s: %d queued", name, r.Queued)
		}
	}
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	reason, status, now := "robots.txt says Disallow: /", 200, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for want, r := range map[string]*crawl.URLReport{
		"it is refused (trap): again and again":                                                  {Scope: crawl.ScopeReport{Reason: "trap", Rule: "again and again"}},
		"what is stored of it is not known: n2 is away":                                          {Unanswered: &[]string{"n2 is away"}[0], Scope: crawl.ScopeReport{Admit: true}},
		"it was not found yet; it would be admitted":                                             {Scope: crawl.ScopeReport{Admit: true}},
		"it was not found yet; the scope would admit it, and robots.txt forbids it":              {Scope: crawl.ScopeReport{Admit: true}, Robots: crawl.RobotsReport{Verdict: crawl.RobotsSaysForbidden}},
		"it was not found yet; it would be admitted to the lowest band, under its host's budget": {Scope: crawl.ScopeReport{Admit: true, Suspicious: true}},
		"it was fetched at 2026-03-01T12:00:00Z and answered 200":                                {Record: &crawl.RecordReport{State: "done", Status: &status, FetchedAt: &now}},
		"it was given up: " + reason:                                                             {Record: &crawl.RecordReport{State: "failed", Reason: &reason}},
		"it was refused: " + reason:                                                              {Record: &crawl.RecordReport{State: "refused", Reason: &reason}},
		"it is queued in band 3, after 2 failed attempts, the last: too slow; crawlnode hosts show tells what its host waits for": {Record: &crawl.RecordReport{State: "queued", Band: 3, Attempts: 2, Reason: &[]string{"too slow"}[0]}},
		"it is queued in band 3, after 2 failed attempts; crawlnode hosts show tells what its host waits for":                     {Record: &crawl.RecordReport{State: "queued", Band: 3, Attempts: 2}},
	} {
		if got := summaryOf(r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Every node of two gives the same answer about a URL, whoever holds it.
func TestExplainFromAnyNode(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/robots.txt":
			_, _ = fmt.Fprint(w, "User-agent: crawlnode\nDisallow: /private/\nCrawl-delay: 0\n")
		case "/":
			_, _ = fmt.Fprint(w, `<a href=/a>a<a href=/private/b>b<a href=/x.zip>z<a href=/missing>m`)
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer site.Close()
	base := site.URL // of 127.0.0.1
	settings := func(c *config.Config) {
		c.Delay, c.Store, c.Exclude = 0, "warc", []string{"*.zip"}
	}
	c := testConfig(t, "n1")
	settings(&c)
	first := startNode(t, c)
	c = testConfig(t, "n2")
	settings(&c)
	c.Join = []string{first.Info().Gossip}
	second := startNode(t, c)
	nodes := []*running{first, second}
	converged(t, 2, nodes...)
	if _, err := first.DescribeHost(t.Context(), "127.0.0.1"); !errors.Is(err, crawl.ErrUnknownHost) {
		t.Errorf("before any seed: %v", err)
	}
	if _, err := second.AddSeeds(t.Context(), []crawl.Seed{{URL: base}}); err != nil {
		t.Fatal(err)
	}
	finished(t, crawl.FinishExhausted, nodes...)
	var holders []string
	for _, n := range nodes {
		holders = append(holders, judgeExplained(t, n, base))
	}
	if holders[0] != holders[1] {
		t.Errorf("the nodes name different holders: %v", holders)
	}
	bad := &peer.Envelope{Payload: []byte(`{"url":"HTTP://A"}`)}
	for _, e := range []*peer.Envelope{bad, {}, {Payload: []byte(`{"host":"a/b"}`)}, {Payload: []byte(`{}`)}} {
		if a, err := (handler{first.Node}).Explain(t.Context(), "x", e); err == nil {
			t.Errorf("the question %q was answered: %s", e.Payload, a.Payload)
		}
	}
}

// judgeExplained asks a node about each kind of URL, and returns the holder.
func judgeExplained(t *testing.T, n *running, base string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	holder := ""
	for path, check := range map[string]func(r *crawl.URLReport) bool{
		"": func(r *crawl.URLReport) bool {
			return *r.URL == base+"/" && r.Record.State == "done" && r.Record.Depth == 0 && r.Record.Via == "seed" && *r.Record.Status == 200 &&
				r.Record.Archive != nil && r.Record.Archive.Offset > 0 && strings.HasSuffix(r.Record.Archive.File, ".warc.gz") &&
				(r.Record.Archive.Node.Name == "n1" || r.Record.Archive.Node.Name == "n2") && // whoever held it then
				r.Robots.Verdict == crawl.RobotsSaysAllowed && r.Scope.Admit
		},
		"/a": func(r *crawl.URLReport) bool { return r.Record.State == "done" && r.Scope.Depth == 1 },
		"/private/b": func(r *crawl.URLReport) bool {
			return r.Record.State == "refused" && r.Robots.Verdict == crawl.RobotsSaysForbidden && r.Robots.Rule == "Disallow: /private/" && strings.Contains(r.Summary, "Disallow: /private/")
		},
		"/x.zip": func(r *crawl.URLReport) bool {
			return r.Record == nil && !r.Scope.Admit && r.Scope.Reason == "out_of_scope" && r.Scope.Rule == "exclude *.zip"
		},
		"/missing": func(r *crawl.URLReport) bool { return r.Record.State == "done" && *r.Record.Status == 404 },
		"/never":   func(r *crawl.URLReport) bool { return r.Record == nil && r.Scope.Admit && r.Unanswered == nil },
		"/r/r/r/r": func(r *crawl.URLReport) bool { return r.Record == nil && r.Scope.Reason == "trap" },
	} {
		r, err := n.ExplainURL(ctx, base+path, -1)
		if err != nil {
			t.Fatal(err)
		}
		if !check(r) {
			t.Errorf("%s of %s: %+v; record %+v", n.name, path, r, r.Record)
		}
		if r.Holder != nil {
			holder = r.Holder.Name
		}
	}
	for raw, reason := range map[string]string{"mailto:x": "scheme", "http://[": "invalid", base + "/" + strings.Repeat("x", 2083): "too_long"} {
		if r, err := n.ExplainURL(ctx, raw, -1); err != nil || r.URL != nil || r.Scope.Reason != reason || r.Scope.Rule == "" {
			t.Errorf("%.20s: %+v, %v", raw, r, err)
		}
	}
	h, err := n.DescribeHost(ctx, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if h.Holder.Name != holder || h.Pages != 3 || h.Requests != 5 || h.Queued != 0 || h.State != crawl.HostIdle || len(h.Robots) != 1 || h.Robots[0].Verdict != "rules" || h.SuspiciousBudget != 10_000 {
		t.Errorf("%s of the host: %+v", n.name, h)
	}
	for _, name := range []string{"127.0.0.1:80", "http://127.0.0.1", "127.0.0.1?x", "a/b", "", "u@h", "a.test"} {
		if h, err := n.DescribeHost(ctx, name); !errors.Is(err, crawl.ErrUnknownHost) {
			t.Errorf("host %q: %+v, %v", name, h, err)
		}
	}
	return holder
}
