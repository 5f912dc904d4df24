package node

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// silentSite is a web server that takes requests and does not answer them until the test ends: a
// crawl of it does not finish by itself.
func silentSite(t *testing.T) []crawl.Seed {
	t.Helper()
	ended := make(chan struct{})
	site := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-ended:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(site.Close)
	t.Cleanup(func() { close(ended) })
	return []crawl.Seed{{URL: site.URL + "/"}}
}

// TestOrdersToALoneNode refuses what would only do harm, and pauses and resumes.
func TestOrdersToALoneNode(t *testing.T) {
	t.Parallel()
	config := testConfig(t, "alone")
	config.AllowPorts = anyPort
	n := startNode(t, config)
	ctx := t.Context()
	converged(t, 1, n)
	if err := n.DrainMember(ctx, n.id); !errors.Is(err, crawl.ErrRefused) ||
		!strings.Contains(err.Error(), "no other active member") {
		t.Errorf("drain of the only node: %v", err)
	}
	if err := n.DrainMember(ctx, "nobody"); !errors.Is(err, crawl.ErrUnknownNode) {
		t.Errorf("drain of nobody: %v", err)
	}
	if err := n.ForgetMember(ctx, n.id); !errors.Is(err, crawl.ErrRefused) {
		t.Errorf("forget of itself: %v", err)
	}
	if err := n.ForgetMember(ctx, "nobody"); !errors.Is(err, crawl.ErrUnknownNode) {
		t.Errorf("forget of nobody: %v", err)
	}
	if _, err := n.ControlCrawl(ctx, crawl.ActionResume); !errors.Is(err, crawl.ErrRefused) {
		t.Errorf("resume of an idle crawl: %v", err)
	}
	if r, err := n.AddSeeds(ctx, silentSite(t)); err != nil || r.Accepted+r.Duplicates != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := n.spread.StartEverywhere(ctx); err != nil {
		t.Fatal(err)
	}
	if r, err := n.ControlCrawl(ctx, crawl.ActionPause); err != nil || r.State != crawl.CrawlPaused ||
		len(r.Untold) != 0 {
		t.Fatalf("pause: %+v %v", r, err)
	}
	s := statusOf(t, n.Node)
	if s.Cluster.State != crawl.ClusterPaused || s.Nodes[0].PausedReason == nil || n.mayCrawl() {
		t.Errorf("paused: %s, %+v", s.Cluster.State, s.Nodes[0])
	}
	if r, err := n.ControlCrawl(ctx, crawl.ActionResume); err != nil || r.State != crawl.CrawlRunning {
		t.Errorf("resume: %+v %v", r, err)
	}
}

// TestOrdersBetweenNodes gives orders at one node that are for another, or for
// all.
func TestOrdersBetweenNodes(t *testing.T) {
	t.Parallel()
	first := testConfig(t, "a")
	first.AllowPorts = anyPort
	a := startNode(t, first)
	converged(t, 1, a)
	join := func(name string) *running {
		c := testConfig(t, name)
		c.AllowPorts = anyPort
		c.Join = []string{a.Info().Gossip}
		return startNode(t, c)
	}
	b, c := join("b"), join("c")
	converged(t, 3, a, b, c)
	ctx := t.Context()
	if r, err := a.AddSeeds(ctx, silentSite(t)); err != nil || r.Accepted+r.Duplicates != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := a.spread.StartEverywhere(ctx); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		at     *running
		action string
		state  string
	}{{a, crawl.ActionPause, crawl.ClusterPaused}, {b, crawl.ActionResume, crawl.ClusterRunning},
		{b, crawl.ActionStop, crawl.ClusterFinished}} {
		r, err := step.at.ControlCrawl(ctx, step.action)
		if err != nil {
			t.Fatalf("%s: %+v %v", step.action, r, err)
		}
		if len(r.Untold) > 0 {
			t.Logf("%s: on a loaded machine %v did not answer in time; "+
				"the members compare their documents every second",
				step.action, r.Untold)
		}
		for _, n := range []*running{a, b, c} {
			until(t, patience, func() string { // a loaded machine may say "rebalancing" first
				if got := statusOf(t, n.Node).Cluster.State; got != step.state {
					return fmt.Sprintf("after %s node %s is %s, not %s", step.action, n.name, got, step.state)
				}
				return ""
			})
		}
	}
	if err := a.ForgetMember(ctx, b.id); !errors.Is(err, crawl.ErrRefused) {
		t.Errorf("forget of a node that answers: %v", err)
	}
	if err := a.DrainMember(ctx, b.id); err != nil {
		t.Fatal(err)
	}
	b.ended(t, patience)
	until(t, patience, func() string {
		s := statusOf(t, a.Node)
		if !s.Ring.Converged || s.Cluster.Members.Left != 1 {
			return fmt.Sprintf("%+v, %+v", s.Cluster.Members, s.Ring)
		}
		return leftLast(t, a, "b")
	})
	if err := a.DrainMember(ctx, b.id); !errors.Is(err, crawl.ErrRefused) ||
		!strings.Contains(err.Error(), "no member") {
		t.Errorf("drain of who has left: %v", err)
	}
}
