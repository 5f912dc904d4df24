package node

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"crawlnode/crawl"
)

// TestPauseBeforeFirstSeed pauses a cluster that has nothing to crawl yet. Seeds given to another
// node are taken and wait; only the order to resume starts the crawl.
func TestPauseBeforeFirstSeed(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 64)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		w.Header().Set("Content-Type", "text/html")
	}))
	t.Cleanup(site.Close)
	ctx := t.Context()
	c := testConfig(t, "a")
	c.AllowPorts = anyPort
	a := startNode(t, c)
	converged(t, 1, a)
	d := testConfig(t, "b")
	d.AllowPorts, d.Join = anyPort, []string{a.Info().Gossip}
	b := startNode(t, d)
	converged(t, 2, a, b)

	if r, err := a.ControlCrawl(ctx, crawl.ActionPause); err != nil || r.State != crawl.CrawlPaused {
		t.Fatalf("pause of an idle crawl: %+v, %v", r, err)
	}
	paused := func(n *running) string {
		if s := statusOf(t, n.Node); s.Crawl.State != crawl.CrawlPaused || n.mayCrawl() {
			return "it is " + s.Crawl.State
		}
		return ""
	}
	until(t, patience, func() string { return paused(b) })
	if r, err := b.AddSeeds(ctx, []crawl.Seed{{URL: site.URL + "/"}}); err != nil ||
		r.Accepted+r.Duplicates != 1 {
		t.Fatalf("seeds of a paused crawl: %+v, %v", r, err)
	}
	// Both nodes know that there is something to resume, and still rest.
	for _, n := range []*running{a, b} {
		until(t, patience, func() string {
			if n.doc.Current().Doc.Started == nil {
				return "it does not know of the seed"
			}
			return paused(n)
		})
		if s := statusOf(t, n.Node); len(s.Crawl.AllowedActions) != 3 ||
			s.Crawl.AllowedActions[1] != crawl.ActionResume {
			t.Errorf("allowed: %q", s.Crawl.AllowedActions)
		}
	}
	select {
	case path := <-asked:
		t.Errorf("%s was requested while the crawl was paused", path)
	default:
	}
	if r, err := a.ControlCrawl(ctx, crawl.ActionResume); err != nil || r.State != crawl.CrawlRunning {
		t.Fatalf("resume: %+v, %v", r, err)
	}
	for path := ""; path != "/"; {
		path = <-asked // robots.txt first; the test's deadline bounds the wait
	}
}
