package status

import (
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestWhatTheEndWaitsFor: nothing is queued and the crawl runs; both sentences for people say why.
func TestWhatTheEndWaitsFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(p *Picture)
		cause  string
		says   []string // nothing: the crawl simply runs
	}{
		"all idle":  {func(*Picture) {}, crawl.BottleneckNone, []string{"asked whether all work is done"}},
		"work":      {func(p *Picture) { p.Nodes[1].Block.Counters.Queued[3] = 1 }, crawl.BottleneckNone, nil},
		"a fetch":   {func(p *Picture) { p.Nodes[1].Block.InFlight = 1 }, crawl.BottleneckNone, nil},
		"finished":  {func(p *Picture) { p.Doc.State = crawl.CrawlFinished }, crawl.BottleneckNone, nil},
		"not whole": {func(p *Picture) { p.Alone = true }, crawl.BottleneckNone, nil},
		"minority":  {func(p *Picture) { p.Minority = true }, crawl.BottleneckNone, []string{"is unknown whether", "majority"}},
		"away": {func(p *Picture) {
			p.Nodes[1].lose(4)
			p.Nodes[0].Block.Offline, p.Nodes[0].Block.Counters.Outbox = 4, 7
			gone := memberOf("gone", 0)
			gone.Counts, gone.State, gone.GoneSince = false, crawl.NodeFailed, p.Now
			p.Nodes = append(p.Nodes, gone)
		}, crawl.BottleneckNone, []string{"cannot end", "4 partitions", "7 links wait for them", "restart gone", "nodes forget gone"}},
		"taken over":      {func(p *Picture) { p.Nodes[1].lose(3) }, crawl.BottleneckHandoff, []string{"3 partitions have a holder again"}},
		"silent and held": {func(p *Picture) { p.Nodes[1].Age = time.Minute }, crawl.BottleneckHandoff, []string{"6 partitions", "silent members: b"}},
		"silent":          {func(p *Picture) { p.Nodes[1].Age = time.Minute; p.take(1, 0, 6) }, crawl.BottleneckNone, []string{"the end waits for silent members", ": b"}},
		"moving": {func(p *Picture) {
			p.Nodes[0].Block.Handoff.PartitionsTotal, p.Nodes[0].Block.Handoff.PartitionsDone = 3, 1
		}, crawl.BottleneckHandoff, []string{"moving partitions"}},
		"outbox": {func(p *Picture) { p.Nodes[1].Block.Counters.Outbox = 5 }, crawl.BottleneckNone, []string{"5 links in outboxes"}},
		"seeds":  {func(p *Picture) { p.Nodes[1].Block.WhyNotIdle = "2 lists of seeds are being stored" }, crawl.BottleneckNone, []string{"waits for b: 2 lists"}},
	} {
		p := clusterOf(memberOf("a", 4), memberOf("b", 6))
		c.change(&p)
		s := Merge(p)
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
