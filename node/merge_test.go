package node

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/node/crawldoc"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// member makes one node of a picture in view 4.
func memberOf(name string, held int) nodePicture {
	b := crawl.NodeBlock{View: 4, Boot: 1}
	replica, pps := 0, 1.5
	b.Node = crawl.NodeStatus{ID: crawl.NodeID("id-" + name), Name: name, PagesPerSecond: &pps,
		Partitions: crawl.PartitionCounts{Held: &held, Replica: &replica}}
	b.Handoff.Stuck = []crawl.StuckStatus{}
	return nodePicture{block: b, heard: true, age: time.Second, state: crawl.NodeAlive, counts: true}
}

// clusterOf is a cluster at rest: the nodes hold all partitions.
func clusterOf(nodes ...nodePicture) picture {
	total := 0
	for i := range nodes {
		n := &nodes[i]
		n.held = make([]byte, 256)
		for range *n.block.Node.Partitions.Held {
			setBit(n.held, total)
			total++
		}
	}
	started, since := noon.Add(-time.Minute), noon.Add(-10*time.Second)
	return picture{now: noon, self: nodes[0].block.Node.ID, name: nodes[0].block.Node.Name, version: "1", cluster: "c", joined: true, view: 4, digest: "d",
		total: total, factor: 2, nodes: nodes, since: started,
		doc: &crawldoc.Document{Version: 2, State: crawl.CrawlRunning, Started: &started, RunSince: &since, RanFor: 10 * time.Second, Settings: testSettings()}}
}

// lose takes so many partitions from a node; nobody else has them.
func (n *nodePicture) lose(count int) { n.give(count, nil) }

// take gives so many partitions of one node to another.
func (p *picture) take(from, to, count int) { p.nodes[from].give(count, p.nodes[to].held) }

func (n *nodePicture) give(count int, to []byte) {
	for p := 8*len(n.held) - 1; p >= 0 && count > 0; p-- {
		if hasBit(n.held, p) {
			n.held[p/8] &^= 1 << (p % 8)
			count--
			if to != nil {
				setBit(to, p)
			}
		}
	}
}

func TestTotalsAreTheSumOfTheMembers(t *testing.T) {
	t.Parallel()
	a, b, gone := memberOf("b", 10), memberOf("a", 6), memberOf("gone", 3)
	for i, n := range []*nodePicture{&a, &b, &gone} {
		x := int64(1)
		n.block.Counters.Each(func(v *int64) { *v = x; x++ })
		n.block.InFlight = int64(i + 1)
		n.block.BytesInPerSecond = 100
		n.block.Hosts = crawl.HostCounts{InFlight: 1, Ready: 2, Waiting: 3, Backoff: 4, Frozen: 5}
		n.block.DNS.Lookups, n.block.Links.Forwarded, n.block.Output.WARCFiles = 7, 8, 9
		n.block.Output.IndexBytesTotal, n.block.Output.WARCBytesPerSecond, n.block.Output.RecordsPerSecond = 10, 11, 12
	}
	gone.counts, gone.state = false, crawl.NodeLeft
	p := clusterOf(a, b)
	p.nodes = append(p.nodes, gone)
	s := merge(p)
	one := a.block.Counters
	if s.Throughput.PagesTotal != 2*one.Pages || s.Frontier.SeenTotal != 2*one.Seen || s.Frontier.Queued != 2*one.QueuedTotal() || s.Fetch.Responses.C4xx != 2*one.Responses[2] ||
		s.Fetch.SkippedByReason.Trap != 2*one.Skipped[crawl.SkipTrap] || s.Fetch.ErrorsByCategory.Truncated != 2*one.Errors[crawl.ErrTruncated] ||
		s.Links.Found != 2*one.LinksFound || s.Output.RecordsTotal != 2*one.Captures || s.Frontier.Outbox != 2*one.Outbox {
		t.Errorf("not twice one member: %+v", s)
	}
	var errs int64
	for _, e := range one.Errors {
		errs += 2 * e
	}
	if s.Fetch.ErrorsTotal != errs || s.Frontier.InFlight != 3 || s.Frontier.Hosts.Frozen != 10 || s.DNS.Lookups != 21 || s.Links.Forwarded != 24 || s.Output.WARCFiles != 27 || s.Output.WARCFilesAway != 9 ||
		s.Output.IndexBytesTotal != 30 || s.Output.WARCBytesPerSecond != 22 || s.Output.RecordsPerSecond != 24 {
		t.Errorf("errors %d, in flight %d, hosts %+v", s.Fetch.ErrorsTotal, s.Frontier.InFlight, s.Frontier.Hosts)
	}
	if s.Throughput.PagesPerSecond.Now != 3 || s.Throughput.BytesInPerSecond.Now != 200 || s.Throughput.PagesPerSecond.Peak != 3 {
		t.Errorf("speeds %+v", s.Throughput)
	}
	if s.Crawl.RunningSeconds != 20 || s.Throughput.PagesPerSecond.Avg != float64(s.Throughput.PagesTotal)/20 {
		t.Errorf("running %v s, %v pages/s", s.Crawl.RunningSeconds, s.Throughput.PagesPerSecond.Avg)
	}
	var names []string
	for _, n := range s.Nodes {
		names = append(names, n.Name)
	}
	if !slices.Equal(names, []string{"a", "b", "gone"}) || s.Cluster.Members != (crawl.MemberCounts{Alive: 2, Left: 1}) {
		t.Errorf("nodes %q, members %+v", names, s.Cluster.Members)
	}
}

// TestTotalsOfTheDeadStay: what a node has done is still done when it is gone.
func TestTotalsOfTheDeadStay(t *testing.T) {
	t.Parallel()
	whole := func() picture {
		p := clusterOf(memberOf("a", 4), memberOf("b", 4))
		for i := range p.nodes {
			b := &p.nodes[i].block
			b.DNS = crawl.DNSStatus{Lookups: 1, Hits: 2, NegativeHits: 3, StaleServed: 4, Failures: 5}
			b.Links = crawl.LinkStatus{Local: 6, Forwarded: 7, SuppressedBySentCache: 8}
			b.Output = crawl.OutputStatus{WARCFiles: 9, WARCBytesTotal: 10, IndexBytesTotal: 11, DerivedFiles: 12, DerivedBytesTotal: 13, ContentUnansweredTotal: 14}
		}
		return p
	}
	before := merge(whole())
	for name, c := range map[string]struct {
		change     func(n *nodePicture)
		away, lost int64
	}{
		"silent":    {func(n *nodePicture) { n.age = time.Minute }, 9, 0},
		"failed":    {func(n *nodePicture) { n.state, n.counts = crawl.NodeFailed, false }, 9, 0},
		"left":      {func(n *nodePicture) { n.state, n.counts = crawl.NodeLeft, false }, 9, 0},
		"forgotten": {func(n *nodePicture) { n.state, n.counts, n.forgotten = crawl.NodeLeft, false, true }, 0, 9},
	} {
		p := whole()
		c.change(&p.nodes[1])
		after := merge(p)
		if after.DNS != before.DNS || after.Links != before.Links {
			t.Errorf("%s: dns %+v, links %+v, want %+v, %+v", name, after.DNS, after.Links, before.DNS, before.Links)
		}
		o := after.Output
		if o.WARCFilesAway != c.away || o.WARCFilesLost != c.lost || (o.WARCBytesAway > 0) != (c.away > 0) || (o.WARCBytesLost > 0) != (c.lost > 0) {
			t.Errorf("%s: %+v, want %d files away, %d lost", name, o, c.away, c.lost)
		}
		o.WARCFilesAway, o.WARCBytesAway, o.WARCFilesLost, o.WARCBytesLost = 0, 0, 0, 0
		if o != before.Output {
			t.Errorf("%s: output %+v, want %+v", name, o, before.Output)
		}
	}
}

func TestConverged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(p *picture)
		want   bool
		state  string
		level  string
	}{
		{"at rest", func(*picture) {}, true, crawl.ClusterRunning, crawl.HealthOK},
		{"not joined", func(p *picture) { p.joined = false }, false, crawl.ClusterJoining, crawl.HealthOK},
		{"this node drains", func(p *picture) { p.drains, p.nodes[0].state = true, crawl.NodeDraining }, false, crawl.ClusterDraining, crawl.HealthOK},
		{"another one drains", func(p *picture) { p.nodes[1].state = crawl.NodeDraining }, false, crawl.ClusterRunning, crawl.HealthOK},
		{"a block of the view before", func(p *picture) { p.nodes[1].block.View = 3 }, false, crawl.ClusterRunning, crawl.HealthOK},
		{"a partition on its way", func(p *picture) {
			p.nodes[0].block.Handoff.PartitionsTotal = 1
			p.nodes[1].lose(1)
		}, false, crawl.ClusterRebalancing, crawl.HealthOK},
		{"a partition that nobody has", func(p *picture) { p.nodes[1].lose(1) }, false, crawl.ClusterRunning, crawl.HealthCritical},
		{"a partition that nobody has, just now", func(p *picture) {
			p.nodes[1].lose(1)
			p.since = noon.Add(-5 * time.Second)
		}, false, crawl.ClusterRunning, crawl.HealthWarn},
		{"a member never heard of", func(p *picture) { p.nodes[1] = nodePicture{state: crawl.NodeAlive, counts: true} }, false, crawl.ClusterRunning, crawl.HealthCritical},
		{"a member silent for a minute", func(p *picture) { p.nodes[1].age, p.since = time.Minute, noon.Add(-time.Hour) }, false, crawl.ClusterRunning, crawl.HealthCritical},
		{"a member silent for three seconds", func(p *picture) { p.nodes[1].age = 3 * time.Second }, false, crawl.ClusterRunning, crawl.HealthWarn},
		{"a member late by one word", func(p *picture) { p.nodes[1].age = 2500 * time.Millisecond }, true, crawl.ClusterRunning, crawl.HealthOK},
		{"a member has failed", func(p *picture) { p.nodes[1].state = crawl.NodeFailed }, false, crawl.ClusterRunning, crawl.HealthWarn},
		{"a member without a lease", func(p *picture) { p.nodes[1].block.NoLease = true }, false, crawl.ClusterRunning, crawl.HealthCritical},
		{"this side is a minority", func(p *picture) {
			p.minority, p.minoritySince, p.nodes[0].block.NoLease, p.nodes[1].age = true, noon, true, time.Minute
		}, false, crawl.ClusterPausedMinority, crawl.HealthCritical},
		{"a minority of a finished crawl", func(p *picture) {
			p.minority, p.doc.State, p.doc.Reason = true, crawl.CrawlFinished, crawl.FinishStopped
		}, true, crawl.ClusterFinished, crawl.HealthCritical},
		{"a minority of a paused crawl", func(p *picture) { p.minority, p.doc.State = true, crawl.CrawlPaused }, true, crawl.ClusterPausedMinority, crawl.HealthCritical},
		{"taking over", func(p *picture) {
			p.nodes[0].block.Promoting = 3
			p.change = crawl.ChangeStatus{Cause: new(crawl.CauseFailed)}
			p.nodes[1].lose(3)
		}, false, crawl.ClusterRebalancing, crawl.HealthWarn},
		{"offline", func(p *picture) {
			p.nodes[0].block.Offline = 3
			p.nodes[1].lose(3)
		}, false, crawl.ClusterRunning, crawl.HealthCritical},
		{"two blocks name one partition, and nobody another", func(p *picture) {
			p.nodes[1].lose(1)
			setBit(p.nodes[1].held, 0)
		}, false, crawl.ClusterRunning, crawl.HealthCritical},
		{"copies are being made", func(p *picture) {
			p.nodes[0].block.UnderReplicated = 3
			p.nodes[0].block.Repair = crawl.RepairStatus{Active: true, PartitionsDone: 4, PartitionsTotal: 7}
		}, true, crawl.ClusterRunning, crawl.HealthWarn},
		{"excluded, and all is served", func(p *picture) {
			p.nodes = append(p.nodes, memberOf("x", 3))
			p.nodes[2].counts, p.nodes[2].state, p.nodes[2].goneSince = false, crawl.NodeFailed, noon
		}, true, crawl.ClusterRunning, crawl.HealthWarn},
		{"something is stuck", func(p *picture) { p.nodes[1].block.Handoff.Stuck = []crawl.StuckStatus{{Reason: "refused"}} }, true, crawl.ClusterRunning, crawl.HealthWarn},
		{"something was lost", func(p *picture) { p.nodes[1].block.Lost = 2 }, true, crawl.ClusterRunning, crawl.HealthWarn},
		{"somebody who left says something old", func(p *picture) {
			p.nodes = append(p.nodes, memberOf("x", 3))
			p.nodes[2].counts, p.nodes[2].state, p.nodes[2].block.View = false, crawl.NodeLeft, 2
		}, true, crawl.ClusterRunning, crawl.HealthOK},
		{"one node was asked for itself", func(p *picture) { p.nodes, p.alone = p.nodes[:1], true }, false, crawl.ClusterRunning, crawl.HealthOK},
		{"a warning", func(p *picture) { p.nodes[1].block.Reasons = []crawl.HealthReason{{Code: "insecure"}} }, true, crawl.ClusterRunning, crawl.HealthWarn},
		{"a full disk and a warning", func(p *picture) {
			p.nodes[1].block.Reasons = []crawl.HealthReason{{Code: "low_disk"}, {Code: "insecure"}}
		},
			true, crawl.ClusterRunning, crawl.HealthCritical},
		{"no second copies", func(p *picture) { p.nodes[0].block.UnderReplicated = 3 }, true, crawl.ClusterRunning, crawl.HealthWarn},
		{"paused", func(p *picture) { p.doc.State = crawl.CrawlPaused }, true, crawl.ClusterPaused, crawl.HealthOK},
		{"finished", func(p *picture) { p.doc.State, p.doc.Reason = crawl.CrawlFinished, crawl.FinishMaxPages }, true, crawl.ClusterFinished, crawl.HealthOK},
	} {
		p := clusterOf(memberOf("a", 10), memberOf("b", 6))
		c.change(&p)
		s := merge(p)
		if s.Ring.Converged != c.want || s.Cluster.State != c.state || s.Cluster.Health.Level != c.level {
			t.Errorf("%s: converged %v, state %s, health %+v", c.name, s.Ring.Converged, s.Cluster.State, s.Cluster.Health)
		}
		if s.Cluster.Message == "" || s.Crawl.Message == "" {
			t.Errorf("%s: a message is missing", c.name)
		}
		for _, r := range s.Cluster.Health.Reasons {
			if r.Code == "" || r.Code == "partitions_unserved" && (r.Message == "" || r.Since.IsZero()) {
				t.Errorf("%s: reason %+v", c.name, r)
			}
		}
	}
}

// No field of the document is missing, lists are never null, and what is known
// is a value.
func TestNoNullWhereSomethingIsKnown(t *testing.T) {
	t.Parallel()
	p := clusterOf(memberOf("a", 10))
	p.nodes[0].block.Handoff.Stuck, p.nodes[0].block.Reasons = nil, nil
	raw, err := json.Marshal(merge(p))
	if err != nil {
		t.Fatal(err)
	}
	var nulls []string
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case nil:
			nulls = append(nulls, at)
		case map[string]any:
			for k, x := range v {
				walk(at+"."+k, x)
			}
		case []any:
			for i, x := range v {
				walk(fmt.Sprintf("%s[%d]", at, i), x)
			}
		}
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	walk("", doc)
	// Known here: what a real block does not leave out; see TestBlockIsWhole.
	for _, at := range nulls {
		switch {
		case strings.HasPrefix(at, ".nodes[0]."), strings.HasPrefix(at, ".ring.last_change."), strings.HasPrefix(at, ".crawl.limits."), strings.HasPrefix(at, ".fetch.latency_seconds."):
		case at == ".ring.handoff.eta_seconds", at == ".crawl.finish_reason":
		default:
			t.Errorf("%s is null", at)
		}
	}
}

// A running node knows everything of itself.
func TestBlockIsWhole(t *testing.T) {
	t.Parallel()
	n := startNode(t, testConfig(t, "whole"))
	converged(t, 1, n)
	until(t, patience, func() string {
		st := statusOf(t, n.Node).Nodes[0]
		raw, err := json.Marshal(st)
		if err != nil {
			t.Fatal(err)
		}
		var fields map[string]any
		if err := json.Unmarshal(raw, &fields); err != nil {
			t.Fatal(err)
		}
		for k, v := range fields {
			if v == nil && k != "paused_reason" {
				return k + " is null"
			}
		}
		return ""
	})
	s, err := n.Status(t.Context(), true)
	if err != nil || len(s.Nodes) != 1 || s.ServedBy != "whole" {
		t.Errorf("the node alone: %+v, %v", s, err)
	}
	nodes, err := n.Nodes(t.Context())
	if err != nil || len(nodes) != 1 || nodes[0].ID != n.id {
		t.Errorf("nodes %+v, %v", nodes, err)
	}
}

func TestLimitsAreNullOrSet(t *testing.T) {
	t.Parallel()
	p := clusterOf(memberOf("a", 10))
	if l := merge(p).Crawl.Limits; l != (crawl.LimitStatus{}) {
		t.Errorf("limits that nobody set: %+v", l)
	}
	st := &p.doc.Settings
	st.MaxPages, st.MaxPagesPerHost, st.MaxDepth, st.MaxDuration = 1, 2, 3, 4*time.Second
	l := merge(p).Crawl.Limits
	if l.MaxPages == nil || *l.MaxPages != 1 || *l.MaxPagesPerHost != 2 || *l.MaxDepth != 3 || *l.MaxDurationSeconds != 4 {
		t.Errorf("limits %+v", l)
	}
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	p := clusterOf(memberOf("a", 10))
	if q := merge(p).Fetch.LatencySeconds; q.P50 != nil || q.P99 != nil {
		t.Errorf("quantiles of nothing: %+v", q)
	}
	c := &p.nodes[0].block.Counters
	for range 98 {
		c.Observe(9) // the bucket up to 10 ms
	}
	c.Observe(400)
	c.Observe(1 << 40)
	q := merge(p).Fetch.LatencySeconds
	if *q.P50 != 0.010 || *q.P90 != 0.010 || *q.P99 < 0.5 {
		t.Errorf("%v %v %v", *q.P50, *q.P90, *q.P99)
	}
	*c = crawl.Counters{}
	c.Observe(1 << 40)
	if q := merge(p).Fetch.LatencySeconds; *q.P50 != 60 {
		t.Errorf("beyond the last bound: %v", *q.P50)
	}
}

func TestBottleneckOfTheLongestQueue(t *testing.T) {
	t.Parallel()
	p := clusterOf(memberOf("a", 5), memberOf("b", 5), memberOf("c", 5))
	if b := merge(p).Bottleneck; b.Cause != crawl.BottleneckNone || b.Message == "" {
		t.Errorf("nothing queued: %+v", b)
	}
	for i, cause := range []string{crawl.BottleneckCPU, crawl.BottleneckPoliteness, crawl.BottleneckFetchers} {
		p.nodes[i].block.Bottleneck = crawl.BottleneckStatus{Cause: cause, Message: cause}
	}
	p.nodes[0].block.Counters.Queued[0] = 3
	p.nodes[1].block.Counters.Queued[7] = 5
	p.nodes[2].block.Counters.Queued[0] = 9
	p.nodes[2].counts = false
	if b := merge(p).Bottleneck; b.Cause != crawl.BottleneckPoliteness {
		t.Errorf("%+v", b)
	}
}

// Whoever waits for under_replicated to be 0 must not be told so while a
// partition is taken over, nor by a member that has not yet seen who is gone.
func TestUnderReplicated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(p *picture)
		want   int
	}{
		{"at rest", func(*picture) {}, 0},
		{"said by a holder", func(p *picture) { p.nodes[0].block.UnderReplicated = 3 }, 3},
		{"on their way to a node that joins", func(p *picture) {
			p.change = crawl.ChangeStatus{Cause: new(crawl.CauseJoin)}
			p.nodes[1].lose(5)
		}, 0},
		{"taken over", func(p *picture) {
			p.change = crawl.ChangeStatus{Cause: new(crawl.CauseFailed)}
			p.nodes[1].lose(5)
		}, 5},
		{"their holder is silent", func(p *picture) { p.nodes[1].age = time.Minute }, 16},
		{"a holder at the view before the failure", func(p *picture) {
			p.change = crawl.ChangeStatus{Cause: new(crawl.CauseFailed)}
			p.nodes[1].block.View = 3
		}, 16},
		{"a holder at the view before a join", func(p *picture) {
			p.change = crawl.ChangeStatus{Cause: new(crawl.CauseJoin)}
			p.nodes[1].block.View = 3
		}, 0},
		{"one node alone was asked", func(p *picture) { p.alone, p.nodes = true, p.nodes[:1] }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := clusterOf(memberOf("a", 16), memberOf("b", 16), memberOf("c", 16))
			c.change(&p)
			if got := merge(p).Ring.UnderReplicated; got != c.want {
				t.Errorf("%d under-replicated, want %d", got, c.want)
			}
		})
	}
}
