package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
)

func (f *fakeNode) ExplainURL(_ context.Context, u string, depth int) (*crawl.URLReport, error) {
	if f.err != nil {
		return nil, f.err
	}
	return &crawl.URLReport{
		Input:  u,
		Robots: crawl.RobotsReport{Verdict: crawl.RobotsSaysUnknown},
		Scope:  crawl.ScopeReport{Rule: "asked at", Depth: depth},
	}, nil
}

func (f *fakeNode) DescribeHost(_ context.Context, host string) (*crawl.HostReport, error) {
	if host == "nobody.test" {
		return nil, fmt.Errorf("%w: no URL of %s was ever admitted", crawl.ErrUnknownHost, host)
	}
	return &crawl.HostReport{Host: crawl.Host(host), State: crawl.HostIdle}, f.err
}

func (f *fakeNode) Hosts(_ context.Context, sort string, limit int) (*crawl.HostsReport, error) {
	return &crawl.HostsReport{
		Sort:  sort,
		Hosts: []crawl.HostLine{{Host: "a.test", Partition: crawl.Partition(limit)}},
	}, f.err
}

func TestExplainPaths(t *testing.T) {
	t.Parallel()
	odd := "http://a.test/?x=1&y=%20#z ü"
	long := strings.Repeat("x", maxQuestion+1)
	for _, tc := range []struct {
		path string
		code int
		want string
	}{
		{"urls?url=" + url.QueryEscape(odd), 200, `"depth":-1`},
		{"urls?url=" + url.QueryEscape(odd), 200, `"input":"http://a.test/?x=1\u0026y=%20#z ü"`},
		{"urls?url=x&depth=3", 200, `"depth":3`},
		{"urls?url=x", 200, `"record":null`},
		{"urls?url=x&depth=-3", 400, "depth must be a number of links"},
		{"urls?url=x&depth=%1b", 400, `\\x1b`},
		{"urls?url=", 400, "ask with ?url=URL"},
		{"urls?url=" + long, 400, "ask with ?url=URL"},
		{"urls?url=x", 200,
			`"history":[],"next_visit_at":null,"change_interval_seconds":null,"referrer":null,"links":{"in":null,"out":null,"importance":null,"rank":null}}`},
		{"analysis/url?url=x", 200,
			`{"url":"x","normalizedUrl":null,"status":null,"fetchHistory":[],"robotsStatus":{"allowed":null,"rule":"","crawlDelay":null},"linkAnalysis":{"inboundLinks":null,"outboundLinks":null,"pageRank":null}}`},
		{"analysis/url", 400, "ask with ?url=URL"},
		{"analysis/host?host=a.test", 200,
			`"complete":true,"urlsDiscovered":2500,"urlsFetched":0,"urlsBlocked":0,"avgResponseTime":null,"errorRate":1,"robots":{"lastFetched":null,"crawlDelay":null,"blockedPaths":[]},"throughputHistory":[]}`},
		{"analysis/host", 400, "ask with ?host=HOST"},
		{"analysis/host?host=nobody.test", 404, "unknown host"},
		{"hosts/a.test", 200, `"robots":[]`},
		{"hosts/%5B::1%5D", 200, `"host":"[::1]"`},
		{"hosts/nobody.test", 404, "unknown host: no URL of nobody.test was ever admitted"},
		{"hosts", 200, `{"sort":"queued","hosts":[{"host":"a.test"`},
		{"hosts?sort=errors&limit=7", 200, `"sort":"errors","hosts":[{"host":"a.test","partition":7`},
		{"hosts?limit=101", 400, "limit must be a number from 1 to 100"},
		{"hosts?limit=0", 400, "limit must be a number from 1 to 100"},
		{"hosts?sort=%1b", 400, "sort must be one of queued, fetched, errors, backoff, latency, not "},
	} {
		w := ask(New(&fakeNode{}, Options{}), "GET", "/api/v1/"+tc.path, "")
		if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%.60s: %d %.300s; want %d %s", tc.path, w.Code, w.Body, tc.code, tc.want)
		}
		if tc.code != 200 && w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%.60s: %s", tc.path, w.Header().Get("Content-Type"))
		}
	}
	broken := New(&fakeNode{err: errors.New("not joined")}, Options{})
	for _, path := range []string{"urls?url=x", "hosts/a.test", "analysis/url?url=x",
		"analysis/host?host=a.test"} {
		if w := ask(broken, "GET", "/api/v1/"+path, ""); w.Code != 503 ||
			w.Header().Get("Retry-After") == "" {
			t.Errorf("%s of a node that has not joined: %d", path, w.Code)
		}
		if w := ask(broken, "POST", "/api/v1/"+path, ""); w.Code != 405 {
			t.Errorf("POST %s: %d", path, w.Code)
		}
	}
}

func ptr[T any](v T) *T { return &v }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestExplainTexts renders full and empty reports.
func TestExplainTexts(t *testing.T) {
	t.Parallel()
	full := &crawl.URLReport{
		Input: "x", Summary: "it was fetched", URL: ptr("http://a.test/x"),
		Host: ptr(crawl.Host("a.test")), Partition: ptr(crawl.Partition(7)),
		Owner: &crawl.NodeRef{ID: "1", Name: "n1"}, Holder: &crawl.NodeRef{ID: "2", Name: "n2\x1b"},
		Scope: crawl.ScopeReport{Admit: true, Rule: "scope host: on a seed's host", Depth: 2},
		Robots: crawl.RobotsReport{
			Verdict:   crawl.RobotsSaysAllowed,
			Rule:      "Allow: /x",
			Origin:    "http://a.test",
			Status:    ptr(200),
			FetchedAt: &noon,
		},
		Record: &crawl.RecordReport{
			State:     "done",
			Depth:     2,
			Band:      2,
			Via:       "link",
			Attempts:  1,
			NotBefore: &noon,
			Status:    ptr(200),
			Reason:    ptr("\x1b[2J"),
			FetchedAt: &noon,
			Archive: &crawl.ArchiveReport{
				Node:   crawl.NodeRef{Name: "n3"},
				File:   "f.warc.gz",
				Offset: 42,
				Length: 9,
			},
		},
		History: []crawl.VisitReport{
			{At: noon, Status: ptr(304), Milliseconds: ptr(int64(12)), Changed: ptr(false)},
			{At: noon, Status: ptr(200), Changed: ptr(true)},
			{At: noon},
		},
		NextVisitAt: ptr(noon.Add(time.Hour)), ChangeIntervalSeconds: ptr(86400 * 3.0),
		Referrer: ptr("http://a.test/\x1b"),
		Links: crawl.LinksReport{
			In:         ptr(int64(1234)),
			Out:        ptr(int64(2)),
			Importance: ptr(1.5),
			Rank:       ptr(0.75),
		},
		Render: &crawl.RenderReport{
			Decided:      crawl.RenderedPage,
			Reason:       "its root is empty",
			Milliseconds: 1234,
			Requests:     5,
		},
	}
	refused := &crawl.URLReport{
		Input: "mailto:x",
		Scope: crawl.ScopeReport{Reason: "scheme", Rule: "not an http or https URL"},
	}
	lost := &crawl.URLReport{
		Input:      "x",
		URL:        full.URL,
		Unanswered: ptr("n2 is away"),
		Partition:  full.Partition,
		Owner:      full.Owner,
	}
	host := &crawl.HostReport{
		Host:          "a.test",
		State:         crawl.HostBackoff,
		Summary:       "it is held back",
		NextAllowedAt: &noon,
		Queued:        1234,
		Politeness: crawl.PolitenessReport{
			GapSeconds:    ptr(2.5),
			BackoffReason: ptr("it answered 429"),
			Address:       ptr("127.0.0.1"),
			LastFailure:   &crawl.HostFailure{Category: "connect", Reason: "refused\x1b"},
		},
		Robots: []crawl.RobotsSummary{
			{Origin: "http://a.test", Verdict: "rules", Status: 200, FetchedAt: noon, ExpiresAt: noon}},
	}
	for name, tc := range map[string]struct {
		write func(*bytes.Buffer) error
		want  []string
	}{
		"a fetched URL": {func(b *bytes.Buffer) error { return plaintext.WriteURL(b, full) }, []string{
			"partition   7, owned by n1, held by n2\\x1b\n",
			"admitted: scope host: on a seed's host (at depth 2)", "allowed: Allow: /x",
			"answered 200 at 2026-03-01T12:00:00Z", "f.warc.gz on n3, offset 42, 9 bytes",
			`reason      \x1b[2J`, "1 failed attempts",
			"visits      2026-03-01T12:00:00Z: 304, 12 ms, unchanged\n",
			"            2026-03-01T12:00:00Z: 200, changed\n",
			"            2026-03-01T12:00:00Z: no answer\n",
			"next visit  2026-03-01T13:00:00Z", "changes     about every 3d",
			"found first on http://a.test/\\x1b",
			"links       1234 to it, 2 on it, importance 1.5, rank 0.750",
			"rendering   rendered: its root is empty; 1234 ms, 5 requests"}},
		"no URL": {func(b *bytes.Buffer) error { return plaintext.WriteURL(b, refused) },
			[]string{"mailto:x (no URL to crawl)", "refused, scheme: not an http or https URL\n"}},
		"a holder that is away": {func(b *bytes.Buffer) error { return plaintext.WriteURL(b, lost) },
			[]string{"held by nobody who is known", "not known: n2 is away"}},
		"the scope alone": {func(b *bytes.Buffer) error { return plaintext.WriteScope(b, full) },
			[]string{"http://a.test/x", "admitted: "}},
		"a host": {func(b *bytes.Buffer) error { return plaintext.WriteHost(b, host) }, []string{
			"backoff: it is held back", "1,234 queued", "gap         2.5s;", "held back   it answered 429",
			"address     127.0.0.1", "failure     connect: refused\\x1b",
			"http://a.test: rules, answered 200"}},
		"an empty host": {
			func(b *bytes.Buffer) error { return plaintext.WriteHost(b, &crawl.HostReport{}) },
			[]string{"next        at once", "gap         -;"},
		},
	} {
		var b bytes.Buffer
		if err := tc.write(&b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range tc.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, b.String())
			}
		}
		if strings.Contains(b.String(), "\x1b") {
			t.Errorf("%s has an escape sequence:\n%q", name, b.String())
		}
	}
}

// TestReportFields keeps the field names that programs read.
func TestReportFields(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		doc  any
		want string
	}{
		{crawl.URLReport{}, "holder host input owner partition record robots scope summary unanswered " +
			"url history next_visit_at change_interval_seconds referrer links render"},
		{crawl.RecordReport{}, "archive attempts band depth fetched_at hops not_before reason state status via"},
		{crawl.HostReport{}, "by_band holder host next_allowed_at owner pages partition politeness " +
			"queued requests robots state summary suspicious suspicious_budget"},
	} {
		b, err := json.Marshal(tc.doc)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(b, &fields); err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Fields(tc.want) {
			if _, ok := fields[name]; !ok {
				t.Errorf("%T lacks %s", tc.doc, name)
			}
		}
	}
}
