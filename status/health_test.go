package status

import (
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// reasonOf finds a health reason by its code.
func reasonOf(s *crawl.Status, code string) (crawl.HealthReason, bool) {
	for _, r := range s.Cluster.Health.Reasons {
		if r.Code == code {
			return r, true
		}
	}
	return crawl.HealthReason{}, false
}

// TestStepsOfAFailure follows one killed member through the texts for people.
func TestStepsOfAFailure(t *testing.T) {
	t.Parallel()
	excluded := func(p *Picture) *Node {
		b := &p.Nodes[1]
		b.Counts, b.State, b.GoneSince, b.Age = false, crawl.NodeFailed, noon.Add(-4*time.Second), 9*time.Second
		p.View, p.Since = 5, noon.Add(-4*time.Second)
		p.Change = crawl.ChangeStatus{Cause: new(crawl.CauseFailed), Node: new("b"), At: new(p.Since)}
		p.Nodes[0].Block.View, p.Nodes[2].Block.View = 5, 5
		return b
	}
	for _, c := range []struct {
		name    string
		change  func(p *Picture)
		served  int
		over    bool
		state   string
		message string
		reasons map[string]string // code: part of the message
		without []string
	}{
		{"before", func(*Picture) {}, 48, true, crawl.ClusterRunning, "every member serves its partitions", nil,
			[]string{crawl.ReasonNodeFailed, crawl.ReasonTakingOver, crawl.ReasonUnserved, crawl.ReasonOffline}},
		{"silent", func(p *Picture) { p.Nodes[1].Age, p.Nodes[1].State = 4*time.Second, crawl.NodeSuspect }, 32, false, crawl.ClusterRunning, "16 of 48 partitions are not served",
			map[string]string{crawl.ReasonTakingOver: "16 of 48 partitions are not served; they will be taken over if their members stay silent: b"}, []string{crawl.ReasonNodeFailed, crawl.ReasonUnserved}},
		{"excluded, promoting", func(p *Picture) {
			excluded(p)
			p.Nodes[0].Block.Promoting, p.Nodes[2].Block.Promoting = 10, 6
		}, 32, false, crawl.ClusterRebalancing, "16 partitions of a failed node are being taken over",
			map[string]string{crawl.ReasonTakingOver: "16 of 48 partitions are being taken over", crawl.ReasonNodeFailed: "crawlnode nodes forget b"}, []string{crawl.ReasonUnserved}},
		{"taken over, copies missing", func(p *Picture) {
			excluded(p)
			p.take(1, 0, 10)
			p.take(1, 2, 6)
			p.Nodes[0].Block.UnderReplicated, p.Nodes[0].Block.Repair = 12, crawl.RepairStatus{Active: true, PartitionsDone: 20, PartitionsTotal: 32}
		}, 48, true, crawl.ClusterRunning, "every partition is served; 12 lack a copy",
			map[string]string{crawl.ReasonUnderReplicated: "(repair: 20 of 32 done)", crawl.ReasonNodeFailed: "b has failed"}, []string{crawl.ReasonTakingOver, crawl.ReasonUnserved}},
		{"one copy", func(p *Picture) {
			excluded(p)
			p.take(1, 0, 10)
			p.take(1, 2, 6)
			p.Nodes[0].Block.UnderReplicated, p.Nodes[0].Block.SingleCopy = 12, crawl.SingleCopy{Partitions: 5, Seconds: 3.2}
			p.Nodes[2].Block.UnderReplicated, p.Nodes[2].Block.SingleCopy = 2, crawl.SingleCopy{Partitions: 2, Seconds: 7.4}
		}, 48, true, crawl.ClusterRunning, "every partition is served; 14 lack a copy",
			map[string]string{crawl.ReasonUnderReplicated: "7 have one copy only, the longest for 7 s"}, []string{crawl.ReasonUnserved}},
		{"all copies again", func(p *Picture) {
			excluded(p)
			p.take(1, 0, 10)
			p.take(1, 2, 6)
		}, 48, true, crawl.ClusterRunning, "every member serves its partitions",
			map[string]string{crawl.ReasonNodeFailed: "start it again"}, []string{crawl.ReasonUnderReplicated, crawl.ReasonUnserved}},
		{"forgotten", func(p *Picture) {
			b := excluded(p)
			b.Forgotten = true
			b.DeriveState(Departure{})
			p.take(1, 0, 10)
			p.take(1, 2, 6)
		}, 48, true, crawl.ClusterRunning, "every member serves its partitions", nil, []string{crawl.ReasonNodeFailed}},
		{"its copies were nowhere else", func(p *Picture) {
			excluded(p)
			p.Nodes[0].Block.Offline = 16
		}, 32, false, crawl.ClusterRunning, "not served",
			map[string]string{crawl.ReasonOffline: "restart b, or if it is gone for good: crawlnode nodes forget b"}, []string{crawl.ReasonTakingOver, crawl.ReasonUnserved}},
		{"some offline, some on their way", func(p *Picture) {
			excluded(p)
			p.Nodes[0].Block.Offline, p.Nodes[2].Block.Promoting = 6, 10
		}, 32, false, crawl.ClusterRebalancing, "10 partitions of a failed node",
			map[string]string{crawl.ReasonOffline: "6 partitions are offline", crawl.ReasonTakingOver: "10 of 48 partitions are being taken over"}, []string{crawl.ReasonUnserved}},
		{"nobody can exclude it", func(p *Picture) {
			p.Nodes[1].Age, p.Nodes[1].State, p.Since = time.Minute, crawl.NodeFailed, noon.Add(-time.Hour)
		}, 32, false,
			crawl.ClusterRunning, "not served", map[string]string{crawl.ReasonUnserved: "restart b, or if it is gone for good: crawlnode nodes forget b"}, []string{crawl.ReasonTakingOver}},
		{"this side is the minority", func(p *Picture) {
			p.Nodes[1].Age, p.Nodes[2].Age = time.Minute, time.Minute
			p.Minority, p.MinoritySince, p.Nodes[0].Block.NoLease = true, noon.Add(-50*time.Second), true
		}, 0, false, crawl.ClusterPausedMinority, "cannot reach a majority of the members (silent: b, c)",
			map[string]string{crawl.ReasonPausedMinority: "crawlnode nodes forget b"}, []string{crawl.ReasonUnserved, crawl.ReasonTakingOver}},
		{"a join, where the owner waits for what others pass on", func(p *Picture) {
			p.take(2, 0, 4)
			p.take(2, 1, 12)
			p.Nodes[2].Block.Promoting = 16
			p.Nodes[0].Block.Handoff.PartitionsTotal, p.Nodes[1].Block.Handoff.PartitionsTotal = 4, 12
			p.Change = crawl.ChangeStatus{Cause: new(crawl.CauseJoin), Node: new("c"), At: new(p.Since)}
		}, 48, false, crawl.ClusterRebalancing, "16 of 16 partitions are still moving", nil, []string{crawl.ReasonTakingOver, crawl.ReasonUnserved}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := clusterOf(memberOf("a", 16), memberOf("b", 16), memberOf("c", 16))
			c.change(&p)
			s := Merge(p)
			if s.Ring.Served != c.served || s.Cluster.State != c.state || !strings.Contains(s.Cluster.Message, c.message) {
				t.Errorf("served %d, %s: %q", s.Ring.Served, s.Cluster.State, s.Cluster.Message)
			}
			if got := ChangeOver(&p); got != c.over {
				t.Errorf("change over %v", got)
			}
			for code, want := range c.reasons {
				if r, ok := reasonOf(s, code); !ok || !strings.Contains(r.Message, want) || r.Since.IsZero() || r.Since.After(p.Now) {
					t.Errorf("%s: %+v, want %q", code, r, want)
				}
			}
			for _, code := range c.without {
				if r, ok := reasonOf(s, code); ok {
					t.Errorf("unexpected: %+v", r)
				}
			}
		})
	}
}

// TestSinceWhen checks that the time of a reason is the moment when the problem began.
func TestSinceWhen(t *testing.T) {
	t.Parallel()
	p := clusterOf(memberOf("a", 512), memberOf("b", 512))
	p.Nodes[1].Age = 7 * time.Second
	p.Nodes[0].Block.Handoff.Stuck = []crawl.StuckStatus{
		{Partition: 3, From: "a", To: "b", Reason: "later", Since: noon.Add(-time.Minute)},
		{Partition: 4, From: "a", To: "b", Reason: "no answer", Since: noon.Add(-time.Hour)},
	}
	s := Merge(p)
	if r, _ := reasonOf(s, crawl.ReasonTakingOver); !r.Since.Equal(noon.Add(-6 * time.Second)) { // then a report was missing
		t.Errorf("silent since %+v", r)
	}
	if r, _ := reasonOf(s, crawl.ReasonPartitionsStuck); !r.Since.Equal(noon.Add(-time.Hour)) || !strings.Contains(r.Message, `4 (from "a" to "b"): no answer`) {
		t.Errorf("stuck: %+v", r)
	}
}

// TestLeaseRunsOn subtracts the age of a node's report from its lease.
func TestLeaseRunsOn(t *testing.T) {
	t.Parallel()
	said := 7.5
	p := clusterOf(memberOf("a", 1), memberOf("b", 1), memberOf("c", 1))
	for i := range p.Nodes {
		left := said
		p.Nodes[i].Block.Node.LeaseRemainingSeconds = &left
	}
	p.Nodes[0].Age, p.Nodes[1].Age, p.Nodes[2].Age = 0, 2*time.Second, time.Minute
	s := Merge(p)
	for i, want := range []float64{7.5, 5.5, 0} {
		if got := *s.Nodes[i].LeaseRemainingSeconds; got != want {
			t.Errorf("%s: %v s, want %v", s.Nodes[i].Name, got, want)
		}
	}
}
