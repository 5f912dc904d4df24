package node

import (
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestWhatTheEndWaitsFor: nothing is queued, the crawl runs, and both sentences that a
// person reads say why.
func TestWhatTheEndWaitsFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(p *picture)
		cause  string
		says   []string // nothing: the crawl simply runs
	}{
		"all idle":  {func(*picture) {}, crawl.BottleneckNone, []string{"asked whether all is done"}},
		"work":      {func(p *picture) { p.nodes[1].block.Counters.Queued[3] = 1 }, crawl.BottleneckNone, nil},
		"a fetch":   {func(p *picture) { p.nodes[1].block.InFlight = 1 }, crawl.BottleneckNone, nil},
		"finished":  {func(p *picture) { p.doc.State = crawl.CrawlFinished }, crawl.BottleneckNone, nil},
		"not whole": {func(p *picture) { p.alone = true }, crawl.BottleneckNone, nil},
		"minority":  {func(p *picture) { p.minority = true }, crawl.BottleneckNone, []string{"cannot be told", "majority"}},
		"away": {func(p *picture) {
			p.nodes[1].lose(4)
			p.nodes[0].block.Offline, p.nodes[0].block.Counters.Outbox = 4, 7
			gone := memberOf("gone", 0)
			gone.counts, gone.state, gone.goneSince = false, crawl.NodeFailed, p.now
			p.nodes = append(p.nodes, gone)
		}, crawl.BottleneckNone, []string{"cannot end", "4 partitions", "7 links wait for them", "restart gone", "nodes forget gone"}},
		"taken over":      {func(p *picture) { p.nodes[1].lose(3) }, crawl.BottleneckHandoff, []string{"3 partitions have a holder again"}},
		"silent and held": {func(p *picture) { p.nodes[1].age = time.Minute }, crawl.BottleneckHandoff, []string{"6 partitions", "say nothing: b"}},
		"silent":          {func(p *picture) { p.nodes[1].age = time.Minute; p.take(1, 0, 6) }, crawl.BottleneckNone, []string{"the word of members", ": b"}},
		"moving": {func(p *picture) {
			p.nodes[0].block.Handoff.PartitionsTotal, p.nodes[0].block.Handoff.PartitionsDone = 3, 1
		}, crawl.BottleneckHandoff, []string{"on their way"}},
		"outbox": {func(p *picture) { p.nodes[1].block.Counters.Outbox = 5 }, crawl.BottleneckNone, []string{"5 links in outboxes"}},
		"seeds":  {func(p *picture) { p.nodes[1].block.WhyNotIdle = "2 lists of seeds are being stored" }, crawl.BottleneckNone, []string{"waits for b: 2 lists"}},
	} {
		p := clusterOf(memberOf("a", 4), memberOf("b", 6))
		c.change(&p)
		s := merge(p)
		if c.says == nil {
			if strings.Contains(s.Crawl.Message, "nothing is queued") {
				t.Errorf("%s: %q", name, s.Crawl.Message)
			}
			continue
		}
		for _, want := range append(c.says, "nothing is queued") {
			if !strings.Contains(s.Crawl.Message, want) || !strings.Contains(s.Bottleneck.Message, want) {
				t.Errorf("%s: %q and %q do not say %q", name, s.Crawl.Message, s.Bottleneck.Message, want)
			}
		}
		if s.Bottleneck.Cause != c.cause {
			t.Errorf("%s: the cause is %q, want %q", name, s.Bottleneck.Cause, c.cause)
		}
	}
}
