package node

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/status/inspect"
)

// Both nodes of two list the same host, whoever holds it, while it waits in memory.
func TestHostsFromAnyNode(t *testing.T) {
	t.Parallel()
	c := testConfig(t, "n1")
	c.Delay = time.Hour // so nobody asks it while this test looks
	first := startNode(t, c)
	c = testConfig(t, "n2")
	c.Delay, c.Join = time.Hour, []string{first.Info().Gossip}
	second := startNode(t, c)
	nodes := []*running{first, second}
	converged(t, 2, nodes...)
	if r, err := second.AddSeeds(t.Context(), []crawl.Seed{{URL: "http://127.0.0.1:8080/"},
		{URL: "http://127.0.0.1:8080/1"},
		{URL: "http://127.0.0.1:8080/2"}}); err != nil || r.Accepted+r.Duplicates != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, sort := range []string{crawl.SortQueued, crawl.SortFetched, crawl.SortLatency} {
		var holders []crawl.NodeRef
		for _, n := range nodes {
			until(t, patience, func() string {
				r, err := n.Hosts(t.Context(), sort, 10)
				if err != nil || len(r.Hosts) != 1 || r.Hosts[0].State != crawl.HostWaiting ||
					r.Hosts[0].Queued != 3 || r.Total != 1 || len(r.Unanswered) > 0 {
					return fmt.Sprintf("%s: %+v, %v", sort, r, err)
				}
				if l := r.Hosts[0]; l.Host != "127.0.0.1" || l.Pages != 0 || l.NextAllowedAt == nil ||
					r.InMemory != 1 {
					t.Errorf("%s: %+v", sort, r)
				}
				holders = append(holders, r.Hosts[0].Holder)
				return ""
			})
		}
		if holders[0] != holders[1] {
			t.Errorf("the nodes name different holders: %v", holders)
		}
	}
	for _, sort := range []string{crawl.SortErrors, crawl.SortBackoff} {
		until(t, patience, func() string { // no member takes longer than a second to look
			r, err := first.Hosts(t.Context(), sort, 10)
			if err != nil || len(r.Unanswered) > 0 {
				return fmt.Sprintf("%s: %+v, %v", sort, r, err)
			}
			if len(r.Hosts) > 0 {
				t.Errorf("%s: %+v", sort, r)
			}
			return ""
		})
	}
	if r, err := first.Hosts(t.Context(), "beauty", 10); !errors.Is(err, inspect.ErrBadQuestion) {
		t.Errorf("%+v, %v", r, err)
	}
	if a, err := (handler{first.Node}).Explain(t.Context(), "x", &peer.Envelope{
		Payload: []byte(`{"top":"beauty"}`),
	}); err == nil {
		t.Errorf("an order that there is not was answered: %s", a.Payload)
	}
}
