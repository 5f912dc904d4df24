package node

import (
	"fmt"
	"testing"

	"crawlnode/crawl"
)

// TestRemovedSeeds: one node removes queued seeds of both, while the crawl is paused; the answers
// are by URL, nothing is queued any more, and the seeds can be added again.
func TestRemovedSeeds(t *testing.T) {
	t.Parallel()
	c := testConfig(t, "n1")
	a := startNode(t, c)
	until(t, patience, func() string { return notReady(a) })
	c = testConfig(t, "n2")
	c.Join = []string{a.Info().Gossip}
	b := startNode(t, c)
	until(t, patience, func() string { return notReady(b) })
	if _, err := a.ControlCrawl(t.Context(), crawl.ActionPause); err != nil {
		t.Fatal(err)
	}
	var seeds []crawl.Seed
	for i := range 40 {
		seeds = append(seeds, crawl.Seed{URL: fmt.Sprintf("http://s%d.test/", i)})
	}
	queued := func() int64 {
		x, y := a.front.Totals(), b.front.Totals()
		return x.QueuedTotal() + y.QueuedTotal()
	}
	for round := range 2 {
		until(t, patience, func() string {
			if r, err := b.AddSeeds(t.Context(), seeds); err != nil {
				return err.Error()
			} else if r.Accepted+r.Duplicates != len(seeds) {
				return fmt.Sprintf("%+v", r)
			}
			return ""
		})
		until(t, patience, func() string { // a partition on its way is counted by neither node
			if n := queued(); n != int64(len(seeds)) {
				return fmt.Sprintf("round %d: %d are queued", round, n)
			}
			if a.front.Totals().Seen == 0 || b.front.Totals().Seen == 0 {
				return "one of the nodes holds none of the hosts yet"
			}
			return ""
		})
		more := append(seeds[:len(seeds):len(seeds)], crawl.Seed{URL: "http://unknown.test/"},
			crawl.Seed{URL: "http://http://twice.test/", Line: 99})
		var report crawl.RemovalReport
		until(t, patience, func() (missing string) {
			var err error
			if report, err = a.RemoveSeeds(t.Context(), more); err != nil {
				missing = err.Error()
			}
			return missing
		})
		if report.Removed != len(seeds) || report.Unknown != 1 || len(report.Invalid) != 1 ||
			report.Invalid[0].Line != 99 || len(report.URLs) != len(seeds)+1 {
			t.Fatalf("round %d: %+v", round, report)
		}
		if n := queued(); n != 0 {
			t.Fatalf("round %d: %d are still queued", round, n)
		}
	}
}

// notReady is why a node cannot answer yet; "": it can.
func notReady(r *running) string {
	_, why := r.Ready()
	return why
}
