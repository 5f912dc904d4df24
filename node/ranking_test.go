package node

import (
	"fmt"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/simweb"
)

// cashSums are sums over the ledgers of partitions, in units of cash.
type cashSums struct {
	minted, sent, received float64
	waiting, held          int // entries for other partitions; partitions
}

// cashOf sums the ledgers of all partitions.
func cashOf(t *testing.T, nodes ...*running) (sum cashSums) {
	t.Helper()
	const unit = 1 << 24
	for _, n := range nodes {
		for _, m := range n.front.Metas() {
			if m.State != frontier.Holder {
				continue
			}
			sum.held++
			l, err := n.front.Ledger(m.Partition)
			if err != nil {
				t.Fatal(err)
			}
			sum.minted += float64(l.Minted) / unit
			sum.sent += float64(l.Sent) / unit
			sum.received += float64(l.Received) / unit
			entries, err := n.front.Credits(m.Partition, frontier.OutboxKey{}, 1000, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			sum.waiting += len(entries)
		}
	}
	return sum
}

// TestImportanceOfThreeNodes checks that all cash that is sent between the partitions of three
// nodes is received once while partitions move to a node that joins, and that every node says the
// same of a URL.
func TestImportanceOfThreeNodes(t *testing.T) {
	t.Parallel()
	hosts, pages := 12, 12
	// credits flow until little is left to settle: with fewer pages that is sooner
	if testing.Short() {
		hosts, pages = 8, 8
	}
	web, srv := newWeb(t, simweb.Config{Seed: 5, Hosts: hosts, PagesPerHost: pages, PageBytes: 1000})
	start := func(name string, join ...string) *running {
		c := testConfig(t, name)
		c.DNS, c.Delay, c.Replication = []string{srv.DNS.String()}, 20*time.Millisecond, 2
		c.Priority, c.Join = "importance=1,depth=1", join
		return startNode(t, c)
	}
	first := start("a")
	second := start("b", first.Info().Gossip)
	converged(t, 2, first, second)
	seed(t, first, web)
	until(t, patience, func() string {
		if n := web.Progress(); n < hosts*pages/5 {
			return fmt.Sprintf("%d pages", n)
		}
		return ""
	})
	third := start("c", first.Info().Gossip)
	nodes := []*running{first, second, third}
	converged(t, 3, nodes...)
	finished(t, crawl.FinishExhausted, nodes...)
	until(t, patience, func() string {
		sum := cashOf(t, nodes...)
		if sum.held == 512 && sum.waiting == 0 && sum.sent == sum.received && sum.sent > 0 &&
			sum.minted >= float64(web.Progress())*3/4 {
			return ""
		}
		return fmt.Sprintf("%+v", sum)
	})
	until(t, patience, func() string {
		var said [3]crawl.LinksReport
		for i, n := range nodes {
			r, err := n.ExplainURL(t.Context(), seedsOf(web)[0].URL, 0)
			if err != nil {
				return err.Error()
			}
			said[i] = r.Links
			if l := r.Links; l.In == nil || l.Out == nil || l.Importance == nil || l.Rank == nil ||
				*l.In == 0 || *l.Out == 0 || *l.Importance < 1 || *l.Rank <= 0.1 || *l.Rank > 1 {
				return fmt.Sprintf("%s says %+v", n.name, l)
			}
			if *said[i].Importance != *said[0].Importance || *said[i].In != *said[0].In {
				return "the nodes differ"
			}
		}
		return ""
	})
}
