package search

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
)

// TestStalledNodesDoNotHoldTheAnswer: a node that takes calls and answers none costs the first
// question hedgeAfter, and the following ones nothing, as its replica is asked. What nobody else
// has is waited for as long as for a busy node, once: then the node is known to hang, and what only
// it has is missing in the coverage. Nodes that are only busy are waited for each time.
func TestStalledNodesDoNotHoldTheAnswer(t *testing.T) {
	const never = time.Hour
	for _, c := range []struct {
		name          string
		takes         map[crawl.NodeID]time.Duration // an answer of a node, in each step
		want          string
		first, second time.Duration
	}{
		{"none", nil, "h0/ h1/ h2/ 1.00", 0, 0},
		{"its replica answers", map[crawl.NodeID]time.Duration{"b": never}, "h0/ h1/ h2/ 1.00", hedgeAfter, 0},
		{"two, and one partition is with nobody else",
			map[crawl.NodeID]time.Duration{"b": never, "c": never}, "h0/ h1/ 0.67", callTime,
			hedgeAfter + alone},
		// Two more steps, in which c is waited for at once.
		{"one, and a busy one", map[crawl.NodeID]time.Duration{"b": never, "c": time.Second},
			"h0/ h1/ h2/ 1.00", callTime/2 + 3500*time.Millisecond, hedgeAfter + 3*time.Second},
		{"one, and a very busy one", map[crawl.NodeID]time.Duration{"b": time.Second, "c": never},
			"h0/ h1/ h2/ 1.00", callTime/2 + 3500*time.Millisecond, callTime/2 + 3500*time.Millisecond},
		{"both are busy", map[crawl.NodeID]time.Duration{
			"b": 600 * time.Millisecond,
			"c": 700 * time.Millisecond,
		}, "h0/ h1/ h2/ 1.00", 3 * time.Second, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				nodes, dead := threeNodes(t, nil)
				for _, n := range nodes {
					call := n.cluster.call
					n.cluster.call = func(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error) {
						answer := time.NewTimer(c.takes[to])
						defer answer.Stop()
						select {
						case <-answer.C:
							return call(ctx, to, payload)
						case <-ctx.Done():
							return nil, ctx.Err()
						}
					}
				}
				if len(dead) > 0 {
					t.Fatal("no node is dead here")
				}
				s := NewSearcher(nodes["a"].Indexer)
				for i, most := range []time.Duration{c.first, c.second} {
					began := time.Now()
					r, err := s.Search(t.Context(), crawl.SearchQuery{Query: "apple", Page: 1, Size: 10})
					if err != nil {
						t.Fatal(err)
					}
					var links []string
					for _, h := range r.Results {
						links = append(links, strings.TrimPrefix(h.Link, "http://"))
					}
					slices.Sort(links)
					if got, covered := strings.Join(links, " "),
						c.want[len(c.want)-4:]; got+" "+covered != c.want ||
						r.Coverage < 0.66 || (covered == "1.00") != (r.Coverage == 1) {
						t.Errorf("question %d finds %q, coverage %.2f, want %q", i, got, r.Coverage, c.want)
					}
					if took := time.Since(began); took > most {
						t.Errorf("question %d took %v, want at most %v", i, took, most)
					}
				}
			})
		})
	}
}

// TestSlowTogether: nodes that are all slow are waited for, a multiple of the time of the faster
// half.
func TestSlowTogether(t *testing.T) {
	for _, c := range []struct {
		name  string
		times []time.Duration
		late  int
		took  time.Duration
	}{
		{"alone", []time.Duration{400 * time.Millisecond}, 0, 400 * time.Millisecond},
		{"alone and too slow", []time.Duration{time.Second}, 1, alone},
		{"all slow", []time.Duration{400 * time.Millisecond, time.Second}, 0, time.Second},
		{"one much slower", []time.Duration{200 * time.Millisecond, 2 * time.Second, 300 * time.Millisecond}, 1, 800 * time.Millisecond},
		{"all too slow", []time.Duration{4 * time.Second, 5 * time.Second}, 2, callTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, p := newPatience(t.Context(), len(c.times))
				late := make(chan bool, len(c.times))
				for _, d := range c.times {
					go func() {
						answer := time.NewTimer(d)
						defer answer.Stop()
						select {
						case <-answer.C:
							p.answered()
							late <- false
						case <-ctx.Done():
							late <- true
						}
					}()
				}
				n := 0
				for range c.times {
					if <-late {
						n++
					}
				}
				if took := time.Since(began); n != c.late || took != c.took {
					t.Errorf("%d were late after %v, want %d after %v", n, took, c.late, c.took)
				}
				p.stop()
			})
		})
	}
}
