package status

import (
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// crawling is a cluster of three nodes of which each has fetched and queued a thousand times its
// number.
func crawling() Picture {
	p := clusterOf(memberOf("a", 16), memberOf("b", 16), memberOf("c", 16))
	for i := range p.Nodes {
		b, n := &p.Nodes[i].Block, int64(i+1)
		b.Counters.Pages, b.Counters.Bytes, b.Counters.Queued[2] = 1000*n, 5000*n, 1000*n
		b.Node.Queued, b.Node.PagesTotal = new(1000*n), new(n) // what this process has fetched
		b.Node.Fetchers = crawl.FetcherCounts{Busy: new(4 * int(n)), Max: new(64)}
		b.InFlight, b.BytesInPerSecond = 4*n, 500
		b.Hosts = crawl.HostCounts{InFlight: 4 * n, Waiting: 20 * n}
		b.Load = &crawl.NodeLoad{CPU: 0.2, Machine: 0.5, Processors: 2}
	}
	return p
}

// TestNodesAgreeWithTheirSum: the rows of the nodes add up to the totals, whatever each process has
// done since it started, and a node that is silent or gone has no speed.
func TestNodesAgreeWithTheirSum(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                  string
		change                func(*Picture)
		pages, queued, flying int64
		speed                 float64
	}{
		{"all are alive", func(*Picture) {}, 6000, 6000, 24, 4.5},
		{"one is silent", func(p *Picture) { p.Nodes[2].Age = 7 * time.Second }, 6000, 6000, 12, 3},
		{"one has failed, and counts until a view goes on", func(p *Picture) {
			p.Nodes[2].Age, p.Nodes[2].State = 7*time.Second, crawl.NodeFailed
		}, 6000, 6000, 12, 3},
		{"one was excluded", func(p *Picture) {
			p.Nodes[2].Age, p.Nodes[2].State, p.Nodes[2].Counts = time.Minute, crawl.NodeFailed, false
		}, 3000, 3000, 12, 3},
		{"one has left a moment ago", func(p *Picture) {
			p.Nodes[2].State, p.Nodes[2].Counts = crawl.NodeLeft, false
		}, 3000, 3000, 12, 3},
		{"one is back, and no view has it", func(p *Picture) { p.Nodes[2].Counts = false }, 3000, 3000, 12, 3},
		{"one was never heard of", func(p *Picture) { p.Nodes[2] = Node{Counts: true, State: crawl.NodeAlive} }, 3000, 3000, 12, 3},
	} {
		p := crawling()
		c.change(&p)
		s := Merge(p)
		var pages, queued, busy int64
		var speed float64
		for _, n := range s.Nodes {
			if n.PagesTotal != nil {
				pages, queued, busy = pages+*n.PagesTotal, queued+*n.Queued, busy+int64(*n.Fetchers.Busy)
				speed += *n.PagesPerSecond
			}
		}
		if pages != c.pages || s.Throughput.PagesTotal != c.pages || queued != c.queued || s.Frontier.Queued != c.queued ||
			speed != c.speed || s.Throughput.PagesPerSecond.Now != c.speed {
			t.Errorf("%s: pages %d of %d, queued %d of %d, %v of %v a second; want %d, %d, %v", c.name, pages, s.Throughput.PagesTotal,
				queued, s.Frontier.Queued, speed, s.Throughput.PagesPerSecond.Now, c.pages, c.queued, c.speed)
		}
		if s.Frontier.InFlight != c.flying || s.Frontier.Hosts.InFlight != c.flying || busy != c.flying {
			t.Errorf("%s: in flight %d, hosts %d, fetchers %d; want %d", c.name, s.Frontier.InFlight, s.Frontier.Hosts.InFlight, busy, c.flying)
		}
	}
}

// TestPeakIsNeverBelow: no mean is above the peak, also of pages that were fetched before this
// process started, and what another node has seen counts.
func TestPeakIsNeverBelow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*Picture)
		want   float64
	}{
		{"the highest that was seen", func(p *Picture) { p.Rates.Pages = crawl.Rate{Peak: 400} }, 400},
		{"another node has seen more", func(p *Picture) { p.Nodes[1].Block.Peaks.Pages = 500 }, 500},
		{"the average, of earlier processes", func(p *Picture) { p.Rates.Pages = crawl.Rate{Avg1m: 6.4, Peak: 6.4} }, 300},
		{"the last minute", func(p *Picture) { p.Rates.Pages.Avg1m = 450 }, 450},
		{"now", func(p *Picture) { p.Nodes[0].Block.Node.PagesPerSecond = new(700.0) }, 703},
		{"of one node, which has seen no other", func(p *Picture) {
			p.Nodes[0].Block.Peaks.Pages, p.Nodes, p.Alone = 500, p.Nodes[:1], true
		}, 50},
		{"in the first tenth of a second", func(p *Picture) {
			p.Doc.RanFor, p.Doc.RunSince = 0, new(noon.Add(-100*time.Millisecond))
		}, 6000},
	} {
		p := crawling()
		c.change(&p)
		r := Merge(p).Throughput.PagesPerSecond
		if r.Peak != c.want || r.Peak < r.Avg || r.Peak < r.Avg1m || r.Peak < r.Now {
			t.Errorf("%s: %+v, want a peak of %v", c.name, r, c.want)
		}
	}
}

// TestSpeedAfterTheEnd: a crawl that has ended stands, although the last seconds were before the
// end.
func TestSpeedAfterTheEnd(t *testing.T) {
	t.Parallel()
	for _, state := range []string{crawl.CrawlFinished, crawl.CrawlIdle} {
		p := crawling()
		p.Doc.State, p.Doc.Reason = state, crawl.FinishMaxPages
		p.Nodes[0].Block.Output.WARCBytesPerSecond, p.Nodes[0].Block.Output.RecordsPerSecond = 5, 6
		s := Merge(p)
		now := s.Throughput.PagesPerSecond.Now + s.Throughput.BytesInPerSecond.Now + s.Output.WARCBytesPerSecond + s.Output.RecordsPerSecond
		for _, n := range s.Nodes {
			now += *n.PagesPerSecond
		}
		if now != 0 || *p.Nodes[0].Block.Node.PagesPerSecond == 0 {
			t.Errorf("%s: %+v, %+v, %v", state, s.Throughput, s.Output, now)
		}
	}
}

// TestBottleneckOfTheCluster: its figures are those that stand beside it, and one member's limit
// names the member.
func TestBottleneckOfTheCluster(t *testing.T) {
	t.Parallel()
	busy := func(n *Node) { n.Block.Load.CPU, n.Block.Hosts.Ready = 0.9, 500 }
	for _, c := range []struct {
		name   string
		change func(*Picture)
		cause  string
		says   string
	}{
		{"all wait", func(*Picture) {}, crawl.BottleneckPoliteness,
			"120 hosts with queued URLs wait for their delay, 24 are in flight"},
		{"all wait beside other programs", func(p *Picture) {
			for i := range p.Nodes {
				p.Nodes[i].Block.Load.CPU, p.Nodes[i].Block.Load.Machine = 0.8, 1
			}
		}, crawl.BottleneckPoliteness, "120 hosts"},
		{"a dead node says something", func(p *Picture) { busy(&p.Nodes[2]); p.Nodes[2].Age = 5 * time.Second },
			crawl.BottleneckPoliteness, "60 hosts with queued URLs wait for their delay, 12 are in flight"},
		{"the node with half of the queue is busy", func(p *Picture) { busy(&p.Nodes[2]); p.Nodes[2].Block.Counters.Queued[0] = 1 },
			crawl.BottleneckCPU, "c: this process keeps 2 processors busy to 90 %"},
		{"a node with less is busy", func(p *Picture) { busy(&p.Nodes[1]) }, crawl.BottleneckPoliteness, "24 are in flight, 500 are ready"},
		{"one node is alone, and busy", func(p *Picture) { busy(&p.Nodes[0]); p.Nodes = p.Nodes[:1] },
			crawl.BottleneckCPU, "this process keeps 2 processors busy to 90 %"},
		{"a disk is low", func(p *Picture) {
			p.Nodes[2].Block.Load.Short = []string{"only 5 MiB are free at /d"}
			p.Nodes[2].Block.Counters.Queued[0] = 1
		},
			crawl.BottleneckDisk, "c: only 5 MiB"},
		{"paused", func(p *Picture) { p.Doc.State = crawl.CrawlPaused }, crawl.BottleneckNone,
			"no fetching although 6000 URLs are queued: the crawl was paused"},
		{"ended", func(p *Picture) { p.Doc.State, p.Doc.Reason = crawl.CrawlFinished, crawl.FinishStopped }, crawl.BottleneckNone,
			"the crawl has ended: stopped; 6000 URLs are still queued"},
		{"ended, and nothing is left", func(p *Picture) {
			p.Doc.State, p.Doc.Reason = crawl.CrawlFinished, crawl.FinishExhausted
			for i := range p.Nodes {
				p.Nodes[i].Block.Counters.Queued = [crawl.Bands]int64{}
			}
		}, crawl.BottleneckNone, "the crawl has ended: frontier_exhausted; nothing is queued"},
		{"members of an earlier release", func(p *Picture) {
			for i := range p.Nodes {
				p.Nodes[i].Block.Load = nil
				p.Nodes[i].Block.Bottleneck = crawl.BottleneckStatus{Cause: crawl.BottleneckDNS, Message: "names"}
			}
		}, crawl.BottleneckDNS, "c: names"},
	} {
		p := crawling()
		c.change(&p)
		if got := Merge(p).Bottleneck; got.Cause != c.cause || !strings.HasPrefix(got.Message, c.says) && !strings.Contains(got.Message, ", "+c.says) &&
			!strings.Contains(got.Message, c.says) {
			t.Errorf("%s: %s: %q, want %s: %q", c.name, got.Cause, got.Message, c.cause, c.says)
		}
	}
}

// TestOnsets: a trouble began when it was first seen, and not at the last change of members.
func TestOnsets(t *testing.T) {
	t.Parallel()
	var o Onsets
	look := func(p Picture, after time.Duration) map[string]time.Time {
		p.Now, p.Began = noon.Add(after), o.Began()
		s := Merge(p)
		o.Note(&p, s)
		since := map[string]time.Time{}
		for _, r := range s.Cluster.Health.Reasons {
			since[r.Code] = r.Since
		}
		return since
	}
	silent := func() Picture {
		p := crawling()
		p.Nodes[2].Age = 4 * time.Second
		return p
	}
	if got := look(crawling(), 0); len(got) != 0 {
		t.Errorf("of a cluster that is well: %v", got)
	}
	got := look(silent(), 10*time.Second)
	for _, code := range []string{crawl.ReasonTakingOver, crawl.ReasonUnderReplicated} {
		if want := noon.Add(7 * time.Second); !got[code].Equal(want) { // a report was missing then
			t.Errorf("%s since %v, want %v", code, got[code], want)
		}
	}
	excluded := silent()
	excluded.Nodes[2].Counts, excluded.Nodes[2].State, excluded.Nodes[2].GoneSince = false, crawl.NodeFailed, noon.Add(12*time.Second)
	excluded.Nodes[0].Block.UnderReplicated = 9
	got = look(excluded, 13*time.Second)
	if !got[crawl.ReasonUnderReplicated].Equal(noon.Add(7*time.Second)) || !got[crawl.ReasonTakingOver].Equal(noon.Add(7*time.Second)) {
		t.Errorf("after the exclusion: %v", got)
	}
	for range 2 { // nobody has taken them over: the same trouble, which now needs a person
		got = look(excluded, 50*time.Second)
		if !got[crawl.ReasonUnserved].Equal(noon.Add(7 * time.Second)) {
			t.Errorf("after long: %v", got)
		}
	}
	if got := look(crawling(), time.Minute); len(got) != 0 {
		t.Errorf("repaired: %v", got)
	}
	excluded.Nodes[0].Block.UnderReplicated = 1
	if got := look(excluded, 2*time.Minute); !got[crawl.ReasonUnderReplicated].Equal(noon.Add(2 * time.Minute)) {
		t.Errorf("again: %v", got)
	}
}
