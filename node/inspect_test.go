package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/peer"
)

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
	for _, e := range []*peer.Envelope{bad, {}, {Payload: []byte(`{"host":"a/b"}`)},
		{Payload: []byte(`{}`)}} {
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
			return *r.URL == base+"/" && r.Record.State == "done" && r.Record.Depth == 0 &&
				r.Record.Via == "seed" && *r.Record.Status == 200 &&
				r.Record.Archive != nil && r.Record.Archive.Offset > 0 &&
				strings.HasSuffix(r.Record.Archive.File, ".warc.gz") &&
				(r.Record.Archive.Node.Name == "n1" || r.Record.Archive.Node.Name == "n2") && // whoever held it then
				r.Robots.Verdict == crawl.RobotsSaysAllowed && r.Scope.Admit
		},
		"/a": func(r *crawl.URLReport) bool { return r.Record.State == "done" && r.Scope.Depth == 1 },
		"/private/b": func(r *crawl.URLReport) bool {
			return r.Record.State == "refused" && r.Robots.Verdict == crawl.RobotsSaysForbidden &&
				r.Robots.Rule == "Disallow: /private/" && strings.Contains(r.Summary, "Disallow: /private/")
		},
		"/x.zip": func(r *crawl.URLReport) bool {
			return r.Record == nil && !r.Scope.Admit && r.Scope.Reason == "out_of_scope" &&
				r.Scope.Rule == "exclude *.zip"
		},
		"/missing": func(r *crawl.URLReport) bool {
			return r.Record.State == "done" && *r.Record.Status == 404
		},
		"/never": func(r *crawl.URLReport) bool {
			return r.Record == nil && r.Scope.Admit && r.Unanswered == nil
		},
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
	for raw, reason := range map[string]string{
		"mailto:x":                             "scheme",
		"http://[":                             "invalid",
		base + "/" + strings.Repeat("x", 2083): "too_long",
	} {
		if r, err := n.ExplainURL(ctx, raw, -1); err != nil || r.URL != nil || r.Scope.Reason != reason ||
			r.Scope.Rule == "" {
			t.Errorf("%.20s: %+v, %v", raw, r, err)
		}
	}
	h, err := n.DescribeHost(ctx, "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	if h.Holder.Name != holder || h.Pages != 3 || h.Requests != 5 || h.Queued != 0 ||
		h.State != crawl.HostIdle || len(h.Robots) != 1 || h.Robots[0].Verdict != "rules" ||
		h.SuspiciousBudget != 10_000 {
		t.Errorf("%s of the host: %+v", n.name, h)
	}
	for _, name := range []string{"127.0.0.1:80", "http://127.0.0.1", "127.0.0.1?x", "a/b", "", "u@h",
		"a.test"} {
		if h, err := n.DescribeHost(ctx, name); !errors.Is(err, crawl.ErrUnknownHost) {
			t.Errorf("host %q: %+v, %v", name, h, err)
		}
	}
	return holder
}
