package dashboard

import (
	"testing"

	"crawlnode/crawl"
)

// TestPartitionsInChangeShareRows: while a node is taken over, hundreds of partitions are in the
// same state. The list stays short and includes them all.
func TestPartitionsInChangeShareRows(t *testing.T) {
	t.Parallel()
	r := &crawl.RingReport{}
	a := crawl.NodeID("a")
	add := func(n int, p crawl.PartitionReport) {
		for range n {
			p.Partition = crawl.Partition(len(r.Partitions))
			r.Partitions = append(r.Partitions, p)
		}
	}
	held := crawl.PartitionReport{
		State:    crawl.PartitionHeld,
		Holder:   &a,
		Owner:    a,
		Replicas: []crawl.NodeID{"b"},
		InSync:   []crawl.NodeID{"a", "b"},
	}
	short := held
	short.InSync = []crawl.NodeID{"a"}
	promoting := crawl.PartitionReport{
		State:    crawl.PartitionPromoting,
		Owner:    a,
		Replicas: []crawl.NodeID{"b"},
	}
	add(10, held)
	add(300, short)
	for range 20 {
		add(2, promoting)
		add(1, held)
	}
	v := newRingView(r,
		&crawl.Status{Nodes: []crawl.NodeStatus{{ID: "a", Name: "n1"}, {ID: "b", Name: "n2"}}})
	if len(v.Attention) != 2 || v.More != 0 {
		t.Fatalf("%d rows and %d more, want 2 and none: %+v", len(v.Attention), v.More, v.Attention)
	}
	first, second := v.Attention[0], v.Attention[1]
	if first.Holder != "nobody" || first.Count != 40 ||
		first.Partitions != "310–311, 313–314, 316–317, 319–320, 322–323, 325–326 and 28 more" {
		t.Errorf("first row %+v", first)
	}
	if second.Holder != "n1" || second.Count != 300 || second.Partitions != "10–309" ||
		second.InSync != 1 || second.Want != 2 {
		t.Errorf("second row %+v", second)
	}

	for i := range 2 * maxAttention { // all different
		reason := string(rune('a' + i))
		other := promoting
		other.Reason = &reason
		add(3, other)
	}
	if v = newRingView(r, &crawl.Status{}); len(v.Attention) != maxAttention ||
		v.More != 300+3*(maxAttention+1) {
		t.Errorf("%d rows and %d partitions more, want %d and %d", len(v.Attention), v.More, maxAttention,
			300+3*(maxAttention+1))
	}
}
