package status

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/settings/crawldoc"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// memberOf makes one node of a Picture in view 4.
func memberOf(name string, held int) Node {
	b := crawl.NodeBlock{View: 4, Boot: 1}
	replica, pps := 0, 1.5
	b.Node = crawl.NodeStatus{ID: crawl.NodeID("id-" + name), Name: name, PagesPerSecond: &pps,
		Partitions: crawl.PartitionCounts{Held: &held, Replica: &replica}}
	b.Handoff.Stuck = []crawl.StuckStatus{}
	return Node{Block: b, Heard: true, Age: time.Second, State: crawl.NodeAlive, Counts: true}
}

// clusterOf is a cluster at rest: the nodes hold all partitions.
func clusterOf(nodes ...Node) Picture {
	total := 0
	for i := range nodes {
		n := &nodes[i]
		n.Held = make([]byte, 256)
		for range *n.Block.Node.Partitions.Held {
			crawl.SetBit(n.Held, total)
			total++
		}
	}
	started, since := noon.Add(-time.Minute), noon.Add(-10*time.Second)
	return Picture{Now: noon, Self: nodes[0].Block.Node.ID, Name: nodes[0].Block.Node.Name, Version: "1", Cluster: "c", Joined: true, View: 4, Digest: "d",
		Total: total, Factor: 2, Nodes: nodes, Since: started,
		Doc: &crawldoc.Document{Version: 2, State: crawl.CrawlRunning, Started: &started, RunSince: &since, RanFor: 10 * time.Second}}
}

// lose takes count partitions from a node; then they have no holder.
func (n *Node) lose(count int) { n.give(count, nil) }

// take moves count partitions from one node to another.
func (p *Picture) take(from, to, count int) { p.Nodes[from].give(count, p.Nodes[to].Held) }

func (n *Node) give(count int, to []byte) {
	for p := 8*len(n.Held) - 1; p >= 0 && count > 0; p-- {
		if crawl.HasBit(n.Held, p) {
			n.Held[p/8] &^= 1 << (p % 8)
			count--
			if to != nil {
				crawl.SetBit(to, p)
			}
		}
	}
}

func TestTotalsAreTheSumOfTheMembers(t *testing.T) {
	t.Parallel()
	a, b, gone := memberOf("b", 10), memberOf("a", 6), memberOf("gone", 3)
	for i, n := range []*Node{&a, &b, &gone} {
		x := int64(1)
		n.Block.Counters.Each(func(v *int64) { *v = x; x++ })
		n.Block.InFlight = int64(i + 1)
		n.Block.BytesInPerSecond = 100
		n.Block.Hosts = crawl.HostCounts{InFlight: 1, Ready: 2, Waiting: 3, Backoff: 4, Frozen: 5}
		n.Block.DNS.Lookups, n.Block.Links.Forwarded, n.Block.Output.WARCFiles = 7, 8, 9
		n.Block.Output.IndexBytesTotal, n.Block.Output.WARCBytesPerSecond, n.Block.Output.RecordsPerSecond = 10, 11, 12
	}
	gone.Counts, gone.State = false, crawl.NodeLeft
	p := clusterOf(a, b)
	p.Nodes = append(p.Nodes, gone)
	s := Merge(p)
	one := a.Block.Counters
	if s.Throughput.PagesTotal != 2*one.Pages || s.Frontier.SeenTotal != 2*one.Seen || s.Frontier.Queued != 2*one.QueuedTotal() || s.Fetch.Responses.C4xx != 2*one.Responses[2] ||
		s.Fetch.SkippedByReason.Trap != 2*one.Skipped[crawl.SkipTrap] || s.Fetch.ErrorsByCategory.Truncated != 2*one.Errors[crawl.ErrTruncated] ||
		s.Links.Found != 2*one.LinksFound || s.Output.RecordsTotal != 2*one.Captures || s.Frontier.Outbox != 2*one.Outbox {
		t.Errorf("not twice one member: %+v", s)
	}
	var errs int64
	for _, e := range one.Errors {
		errs += 2 * e
	}
	if s.Fetch.ErrorsTotal != errs || s.Frontier.InFlight != 2 || s.Frontier.Hosts.Frozen != 10 || s.DNS.Lookups != 21 || s.Links.Forwarded != 24 || s.Output.WARCFiles != 27 || s.Output.WARCFilesAway != 9 ||
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

// TestTotalsOfTheDeadStay: the finished work of a node still counts when it is gone.
func TestTotalsOfTheDeadStay(t *testing.T) {
	t.Parallel()
	whole := func() Picture {
		p := clusterOf(memberOf("a", 4), memberOf("b", 4))
		for i := range p.Nodes {
			b := &p.Nodes[i].Block
			b.DNS = crawl.DNSStatus{Lookups: 1, Hits: 2, NegativeHits: 3, StaleServed: 4, Failures: 5}
			b.Links = crawl.LinkStatus{Local: 6, Forwarded: 7, SuppressedBySentCache: 8}
			b.Output = crawl.OutputStatus{WARCFiles: 9, WARCBytesTotal: 10, IndexBytesTotal: 11, DerivedFiles: 12, DerivedBytesTotal: 13, ContentUnansweredTotal: 14, Upload: crawl.UploadStatus{QueuedFiles: 15, BytesTotal: 16, FailedTotal: 17, BehindSeconds: 18}}
		}
		return p
	}
	before := Merge(whole())
	for name, c := range map[string]struct {
		change     func(n *Node)
		away, lost int64
	}{
		"silent":    {func(n *Node) { n.Age = time.Minute }, 9, 0},
		"failed":    {func(n *Node) { n.State, n.Counts = crawl.NodeFailed, false }, 9, 0},
		"left":      {func(n *Node) { n.State, n.Counts = crawl.NodeLeft, false }, 9, 0},
		"forgotten": {func(n *Node) { n.State, n.Counts, n.Forgotten = crawl.NodeLeft, false, true }, 0, 9},
	} {
		p := whole()
		c.change(&p.Nodes[1])
		after := Merge(p)
		if after.DNS != before.DNS || after.Links != before.Links {
			t.Errorf("%s: dns %+v, links %+v, want %+v, %+v", name, after.DNS, after.Links, before.DNS, before.Links)
		}
		o := after.Output
		if o.WARCFilesAway != c.away || o.WARCFilesLost != c.lost || (o.WARCBytesAway > 0) != (c.away > 0) || (o.WARCBytesLost > 0) != (c.lost > 0) {
			t.Errorf("%s: %+v, want %d files away, %d lost", name, o, c.away, c.lost)
		}
		o.WARCFilesAway, o.WARCBytesAway, o.WARCFilesLost, o.WARCBytesLost = 0, 0, 0, 0
		if !reflect.DeepEqual(o, before.Output) {
			t.Errorf("%s: output %+v, want %+v", name, o, before.Output)
		}
	}
}

func TestConverged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(p *Picture)
		want   bool
		state  string
		level  string
	}{
		{"at rest", func(*Picture) {}, true, crawl.ClusterRunning, crawl.HealthOK},
		{"not joined", func(p *Picture) { p.Joined = false }, false, crawl.ClusterJoining, crawl.HealthOK},
		{"this node drains", func(p *Picture) { p.Drains, p.Nodes[0].State = true, crawl.NodeDraining }, false, crawl.ClusterDraining, crawl.HealthOK},
		{"this node has left", func(p *Picture) { p.Drains, p.Joined, p.Nodes[0].State = true, false, crawl.NodeLeft }, false, crawl.ClusterDraining, crawl.HealthOK},
		{"another one drains", func(p *Picture) { p.Nodes[1].State = crawl.NodeDraining }, false, crawl.ClusterRunning, crawl.HealthOK},
		{"a block of the view before", func(p *Picture) { p.Nodes[1].Block.View = 3 }, false, crawl.ClusterRunning, crawl.HealthOK},
		{"a partition on its way", func(p *Picture) {
			p.Nodes[0].Block.Handoff.PartitionsTotal = 1
			p.Nodes[1].lose(1)
		}, false, crawl.ClusterRebalancing, crawl.HealthOK},
		{"a partition that nobody has", func(p *Picture) { p.Nodes[1].lose(1) }, false, crawl.ClusterRunning, crawl.HealthCritical},
		{"a partition that nobody has, just now", func(p *Picture) {
			p.Nodes[1].lose(1)
			p.Since = noon.Add(-5 * time.Second)
		}, false, crawl.ClusterRunning, crawl.HealthWarn},
		{"a member never heard of", func(p *Picture) { p.Nodes[1] = Node{State: crawl.NodeAlive, Counts: true} }, false, crawl.ClusterRunning, crawl.HealthCritical},
		{"a member silent for a minute", func(p *Picture) { p.Nodes[1].Age, p.Since = time.Minute, noon.Add(-time.Hour) }, false, crawl.ClusterRunning, crawl.HealthCritical},
		{"a member silent for three seconds", func(p *Picture) { p.Nodes[1].Age = 3 * time.Second }, false, crawl.ClusterRunning, crawl.HealthWarn},
		{"a member late by one word", func(p *Picture) { p.Nodes[1].Age = 2500 * time.Millisecond }, true, crawl.ClusterRunning, crawl.HealthOK},
		{"a member has failed", func(p *Picture) { p.Nodes[1].State = crawl.NodeFailed }, false, crawl.ClusterRunning, crawl.HealthWarn},
		{"a member without a lease", func(p *Picture) { p.Nodes[1].Block.NoLease = true }, false, crawl.ClusterRunning, crawl.HealthCritical},
		{"this side is a minority", func(p *Picture) {
			p.Minority, p.MinoritySince, p.Nodes[0].Block.NoLease, p.Nodes[1].Age = true, noon, true, time.Minute
		}, false, crawl.ClusterPausedMinority, crawl.HealthCritical},
		{"a minority of a finished crawl", func(p *Picture) {
			p.Minority, p.Doc.State, p.Doc.Reason = true, crawl.CrawlFinished, crawl.FinishStopped
		}, true, crawl.ClusterFinished, crawl.HealthCritical},
		{"a minority of a paused crawl", func(p *Picture) { p.Minority, p.Doc.State = true, crawl.CrawlPaused }, true, crawl.ClusterPausedMinority, crawl.HealthCritical},
		{"taking over", func(p *Picture) {
			p.Nodes[0].Block.Promoting = 3
			p.Change = crawl.ChangeStatus{Cause: new(crawl.CauseFailed)}
			p.Nodes[1].lose(3)
		}, false, crawl.ClusterRebalancing, crawl.HealthWarn},
		{"offline", func(p *Picture) {
			p.Nodes[0].Block.Offline = 3
			p.Nodes[1].lose(3)
		}, false, crawl.ClusterRunning, crawl.HealthCritical},
		{"two blocks name one partition, and nobody another", func(p *Picture) {
			p.Nodes[1].lose(1)
			crawl.SetBit(p.Nodes[1].Held, 0)
		}, false, crawl.ClusterRunning, crawl.HealthCritical},
		{"copies are being made", func(p *Picture) {
			p.Nodes[0].Block.UnderReplicated = 3
			p.Nodes[0].Block.Repair = crawl.RepairStatus{Active: true, PartitionsDone: 4, PartitionsTotal: 7}
		}, true, crawl.ClusterRunning, crawl.HealthWarn},
		{"excluded, and all is served", func(p *Picture) {
			p.Nodes = append(p.Nodes, memberOf("x", 3))
			p.Nodes[2].Counts, p.Nodes[2].State, p.Nodes[2].GoneSince = false, crawl.NodeFailed, noon
		}, true, crawl.ClusterRunning, crawl.HealthWarn},
		{"something is stuck", func(p *Picture) { p.Nodes[1].Block.Handoff.Stuck = []crawl.StuckStatus{{Reason: "refused"}} }, true, crawl.ClusterRunning, crawl.HealthWarn},
		{"something was lost", func(p *Picture) { p.Nodes[1].Block.Lost = 2 }, true, crawl.ClusterRunning, crawl.HealthWarn},
		{"somebody who left says something old", func(p *Picture) {
			p.Nodes = append(p.Nodes, memberOf("x", 3))
			p.Nodes[2].Counts, p.Nodes[2].State, p.Nodes[2].Block.View = false, crawl.NodeLeft, 2
		}, true, crawl.ClusterRunning, crawl.HealthOK},
		{"one node was asked for itself", func(p *Picture) { p.Nodes, p.Alone = p.Nodes[:1], true }, false, crawl.ClusterRunning, crawl.HealthOK},
		{"a warning", func(p *Picture) { p.Nodes[1].Block.Reasons = []crawl.HealthReason{{Code: "insecure"}} }, true, crawl.ClusterRunning, crawl.HealthWarn},
		{"a full disk and a warning", func(p *Picture) {
			p.Nodes[1].Block.Reasons = []crawl.HealthReason{{Code: "low_disk"}, {Code: "insecure"}}
		},
			true, crawl.ClusterRunning, crawl.HealthCritical},
		{"no second copies", func(p *Picture) { p.Nodes[0].Block.UnderReplicated = 3 }, true, crawl.ClusterRunning, crawl.HealthWarn},
		{"paused", func(p *Picture) { p.Doc.State = crawl.CrawlPaused }, true, crawl.ClusterPaused, crawl.HealthOK},
		{"finished", func(p *Picture) { p.Doc.State, p.Doc.Reason = crawl.CrawlFinished, crawl.FinishMaxPages }, true, crawl.ClusterFinished, crawl.HealthOK},
	} {
		p := clusterOf(memberOf("a", 10), memberOf("b", 6))
		if c.level == crawl.HealthCritical { // it has been so for long
			p.Began = map[string]time.Time{crawl.ReasonTakingOver: noon.Add(-takeOverPatience)}
		}
		c.change(&p)
		s := Merge(p)
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

// No field of the document is missing, lists are never null, and known figures have a value.
func TestNoNullWhereSomethingIsKnown(t *testing.T) {
	t.Parallel()
	p := clusterOf(memberOf("a", 10))
	p.Nodes[0].Block.Handoff.Stuck, p.Nodes[0].Block.Reasons = nil, nil
	raw, err := json.Marshal(Merge(p))
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
	// Figures that are known here because a real block contains them; see TestBlockIsWhole.
	for _, at := range nulls {
		switch {
		case strings.HasPrefix(at, ".nodes[0]."), strings.HasPrefix(at, ".ring.last_change."), strings.HasPrefix(at, ".crawl.limits."), strings.HasPrefix(at, ".fetch.latency_seconds."), strings.HasPrefix(at, ".freshness."), strings.HasPrefix(at, ".index.seconds."), strings.HasPrefix(at, ".render.seconds."), at == ".render.browser":
		case at == ".ring.handoff.eta_seconds", at == ".crawl.finish_reason", at == ".crawl.ended_at":
		default:
			t.Errorf("%s is null", at)
		}
	}
}

func TestLimitsAreNullOrSet(t *testing.T) {
	t.Parallel()
	p := clusterOf(memberOf("a", 10))
	if l := Merge(p).Crawl.Limits; l != (crawl.LimitStatus{}) {
		t.Errorf("limits that nobody set: %+v", l)
	}
	st := &p.Doc.Settings
	st.MaxPages, st.MaxPagesPerHost, st.MaxDepth, st.MaxDuration = 1, 2, 3, 4*time.Second
	l := Merge(p).Crawl.Limits
	if l.MaxPages == nil || *l.MaxPages != 1 || *l.MaxPagesPerHost != 2 || *l.MaxDepth != 3 || *l.MaxDurationSeconds != 4 {
		t.Errorf("limits %+v", l)
	}
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	p := clusterOf(memberOf("a", 10))
	if q := Merge(p).Fetch.LatencySeconds; q.P50 != nil || q.P99 != nil {
		t.Errorf("quantiles of nothing: %+v", q)
	}
	c := &p.Nodes[0].Block.Counters
	for range 98 {
		c.Observe(9) // the bucket up to 10 ms
	}
	c.Observe(400)
	c.Observe(1 << 40)
	q := Merge(p).Fetch.LatencySeconds
	if *q.P50 != 0.010 || *q.P90 != 0.010 || *q.P99 < 0.5 {
		t.Errorf("%v %v %v", *q.P50, *q.P90, *q.P99)
	}
	*c = crawl.Counters{}
	c.Observe(1 << 40)
	if q := Merge(p).Fetch.LatencySeconds; *q.P50 != 60 {
		t.Errorf("beyond the last bound: %v", *q.P50)
	}
}

func TestBottleneckOfTheLongestQueue(t *testing.T) {
	t.Parallel()
	p := clusterOf(memberOf("a", 5), memberOf("b", 5), memberOf("c", 5))
	if b := Merge(p).Bottleneck; b.Cause != crawl.BottleneckNone || b.Message == "" {
		t.Errorf("nothing queued: %+v", b)
	}
	for i, cause := range []string{crawl.BottleneckCPU, crawl.BottleneckPoliteness, crawl.BottleneckFetchers} {
		p.Nodes[i].Block.Bottleneck = crawl.BottleneckStatus{Cause: cause, Message: cause}
	}
	p.Nodes[0].Block.Counters.Queued[0] = 3
	p.Nodes[1].Block.Counters.Queued[7] = 5
	p.Nodes[2].Block.Counters.Queued[0] = 9
	p.Nodes[2].Counts = false
	if b := Merge(p).Bottleneck; b.Cause != crawl.BottleneckPoliteness {
		t.Errorf("%+v", b)
	}
	p.Doc.State, p.Doc.Reason = crawl.CrawlFinished, crawl.FinishMaxPages // nothing holds a crawl back that has ended
	if b := Merge(p).Bottleneck; b.Cause != crawl.BottleneckNone || !strings.Contains(b.Message, "ended: max_pages") || !strings.Contains(b.Message, "8 URLs") {
		t.Errorf("a crawl that has ended: %+v", b)
	}
}

// A client that waits for under_replicated to be 0 must not see 0 while a partition is taken over,
// nor from a member that has not yet seen which node is gone.
func TestUnderReplicated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(p *Picture)
		want   int
	}{
		{"at rest", func(*Picture) {}, 0},
		{"said by a holder", func(p *Picture) { p.Nodes[0].Block.UnderReplicated = 3 }, 3},
		{"on their way to a node that joins", func(p *Picture) {
			p.Change = crawl.ChangeStatus{Cause: new(crawl.CauseJoin)}
			p.Nodes[1].lose(5)
		}, 0},
		{"taken over", func(p *Picture) {
			p.Change = crawl.ChangeStatus{Cause: new(crawl.CauseFailed)}
			p.Nodes[1].lose(5)
		}, 5},
		{"their holder is silent", func(p *Picture) { p.Nodes[1].Age = time.Minute }, 16},
		{"a holder without a lease, and one that is silent", func(p *Picture) {
			p.Nodes[0].Block.NoLease, p.Nodes[0].Block.UnderReplicated = true, 16 // not served, and counted by their holder
			p.Nodes[1].Age = time.Minute
		}, 32},
		{"a holder at the view before the failure", func(p *Picture) {
			p.Change = crawl.ChangeStatus{Cause: new(crawl.CauseFailed)}
			p.Nodes[1].Block.View = 3
		}, 16},
		{"a holder at the view before a join", func(p *Picture) {
			p.Change = crawl.ChangeStatus{Cause: new(crawl.CauseJoin)}
			p.Nodes[1].Block.View = 3
		}, 0},
		{"one node alone was asked", func(p *Picture) { p.Alone, p.Nodes = true, p.Nodes[:1] }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := clusterOf(memberOf("a", 16), memberOf("b", 16), memberOf("c", 16))
			c.change(&p)
			if got := Merge(p).Ring.UnderReplicated; got != c.want {
				t.Errorf("%d under-replicated, want %d", got, c.want)
			}
		})
	}
}

// TestWebhooksAreAdded: the receivers of several nodes are one row each.
func TestWebhooksAreAdded(t *testing.T) {
	t.Parallel()
	early, late, why := time.Unix(10, 0), time.Unix(20, 0), "refused"
	var o crawl.OutputStatus
	addWebhooks(&o, []crawl.WebhookStatus{{Webhook: "a", EventsTotal: 1, Queued: 2, LostTotal: 3, ErrorsTotal: 4, BehindSeconds: 5, LostAt: &early}, {Webhook: "b"}})
	addWebhooks(&o, []crawl.WebhookStatus{{Webhook: "a", EventsTotal: 10, Queued: 20, LostTotal: 30, ErrorsTotal: 40, BehindSeconds: 4, Error: &why, FailsSince: &early, LostAt: &late}})
	want := crawl.WebhookStatus{Webhook: "a", EventsTotal: 11, Queued: 22, LostTotal: 33, ErrorsTotal: 44, BehindSeconds: 5, Error: &why, FailsSince: &early, LostAt: &late}
	if len(o.Webhooks) != 2 || o.Webhooks[0] != want || o.Webhooks[1].Webhook != "b" {
		t.Errorf("%+v", o.Webhooks)
	}
}
