package status

import (
	"math"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// waitingCluster are two members that wait for revisits: one asks the rounds.
func waitingCluster() Picture {
	p := clusterOf(memberOf("a", 10), memberOf("b", 6))
	p.Doc.Settings.Recrawl = crawl.RecrawlAdaptive
	soon, late := 90*time.Second, 4*time.Hour
	for i, next := range []*time.Duration{&late, &soon} {
		n := &p.Nodes[i]
		n.Block.Idle, n.Block.Revisits.NextDue = true, next
	}
	p.Nodes[1].Block.Waiting = true
	p.Waits = Waiting(p.Doc, p.Nodes)
	return p
}

// TestWaiting checks that the crawl waits only while revisits are on, a round has found so, and no member has
// anything to do since.
func TestWaiting(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(p *Picture)
		want   bool
	}{
		"all are idle":     {func(*Picture) {}, true},
		"revisits are off": {func(p *Picture) { p.Doc.Settings.Recrawl = crawl.RecrawlOff }, false},
		"paused":           {func(p *Picture) { p.Doc.State = crawl.CrawlPaused }, false},
		"one works":        {func(p *Picture) { p.Nodes[0].Block.Idle = false }, false},
		"one is silent":    {func(p *Picture) { p.Nodes[0].Age = time.Minute }, false},
		"no round said so": {func(p *Picture) { p.Nodes[1].Block.Waiting = false }, false},
		"a former member works": {func(p *Picture) {
			gone := memberOf("c", 0)
			gone.Counts = false
			p.Nodes = append(p.Nodes, gone)
		}, true},
	} {
		p := waitingCluster()
		c.change(&p)
		if got := Waiting(p.Doc, p.Nodes); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestWaitingIsShown checks state, actions, next due time and bottleneck of a crawl that waits.
func TestWaitingIsShown(t *testing.T) {
	t.Parallel()
	s := Merge(waitingCluster())
	due := noon.Add(89 * time.Second) // the member's block is a second old
	if s.Crawl.State != crawl.CrawlWaiting || !strings.Contains(s.Crawl.Message, "due in 1m29s, at 2026-01-01T12:01:29Z") || len(s.Crawl.AllowedActions) != 3 {
		t.Errorf("%+v", s.Crawl)
	}
	if f := s.Freshness; f.Mode != crawl.RecrawlAdaptive || f.NextDueAt == nil || !f.NextDueAt.Equal(due) {
		t.Errorf("%+v, want the next due time %v", f, due)
	}
	if b := s.Bottleneck; b.Cause != crawl.BottleneckNothingDue || !strings.Contains(b.Message, "--recrawl-interval") {
		t.Errorf("%+v", b)
	}
	p := waitingCluster()
	p.Waits = false
	if s := Merge(p); s.Crawl.State != crawl.CrawlRunning || s.Bottleneck.Cause == crawl.BottleneckNothingDue {
		t.Errorf("%s, %+v", s.Crawl.State, s.Bottleneck)
	}
}

// TestFreshness checks sums, quantiles, and that each node shows what it expects itself.
func TestFreshness(t *testing.T) {
	t.Parallel()
	p := waitingCluster()
	mine, theirs := 0.75, 0.5
	for i, e := range []*float64{&mine, &theirs} {
		b := &p.Nodes[i].Block
		b.Revisits.Due, b.Revisits.Expected = 7, e
		b.Revisits.Recent, b.Revisits.Useful = int64(10+20*i), 3 // 6 of 40
		b.Counters.Revisits, b.Counters.NotModified, b.Counters.Unchanged, b.Counters.Changed, b.Counters.Gone = 10, 3, 5, 4, 1
		b.Counters.Overdue[0], b.Counters.Overdue[crawl.NumOverdueBuckets-1] = 49, 1
	}
	f := Merge(p).Freshness
	if f.Due != 14 || f.RevisitsTotal != 20 || f.NotModifiedTotal != 6 || f.UnchangedTotal != 10 || f.ChangedTotal != 8 || f.GoneTotal != 2 || *f.Expected != mine || f.Useful == nil || *f.Useful != 0.15 {
		t.Errorf("%+v", f)
	}
	if q := f.OverdueSeconds; *q.P50 != 1 || *q.P99 != 30*24*3600 {
		t.Errorf("p50 %v, p99 %v", *q.P50, *q.P99)
	}
	p.Doc.Settings.Recrawl = ""
	if f := Merge(p).Freshness; f.Mode != crawl.RecrawlOff || f.Due != 0 || f.NextDueAt != nil || f.Expected != nil || f.Useful != nil || f.RevisitsTotal != 20 {
		t.Errorf("off: %+v", f)
	}
}

// TestExpectedByWhatWasKept checks that visits that come late lower what is expected, by the pages of
// each node, and that nodes which say nothing of it change nothing.
func TestExpectedByWhatWasKept(t *testing.T) {
	t.Parallel()
	type node struct{ planned, kept float64 }
	for name, c := range map[string]struct {
		nodes [2]node
		want  float64
	}{
		"nobody knows":           {[2]node{}, 0.8},
		"an older node":          {[2]node{{100, 75}, {}}, 0.6},
		"by pages":               {[2]node{{300, 300}, {100, 0}}, 0.6},
		"never above":            {[2]node{{100, 300}, {100, 100}}, 0.8},
		"a damaged figure":       {[2]node{{100, 50}, {100, -1e9}}, 0.4},
		"another damaged figure": {[2]node{{100, 50}, {-100, 50}}, 0.4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := waitingCluster()
			expected := 0.8
			for i, n := range c.nodes {
				r := &p.Nodes[i].Block.Revisits
				r.Expected, r.FreshPlanned, r.FreshKept = &expected, n.planned, n.kept
			}
			f := Merge(p).Freshness
			if f.Expected == nil || math.Abs(*f.Expected-c.want) > 1e-9 {
				t.Errorf("%v is expected, want %v", f.Expected, c.want)
			}
			if expected != 0.8 {
				t.Error("a node's block was changed")
			}
		})
	}
}
