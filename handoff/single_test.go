package handoff

import (
	"testing"
	"time"

	"crawlnode/handoff/replication"
)

// TestSingleCopy: while a replica is silent, the status tells how many partitions have
// only one copy, and for how long.
func TestSingleCopy(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		v := w.install(1, three...)
		w.awaitRest(v)
		a := w.nodes["a"]
		for _, id := range three {
			if s := w.nodes[id].driver.Status(); s.SingleCopy != 0 || s.SingleFor != 0 {
				t.Errorf("%s at rest: %d partitions, for %v", id, s.SingleCopy, s.SingleFor)
			}
		}
		stop := w.load()
		time.Sleep(time.Second)
		w.mu.Lock()
		w.nodes["b"].stopped, w.nodes["c"].stopped = true, true
		w.mu.Unlock()
		time.Sleep(replication.StallTimeout + 10*time.Second)
		s := a.driver.Status()
		if s.SingleCopy == 0 || s.SingleCopy != s.UnderReplicated || s.SingleFor < 9*time.Second || s.SingleFor > 11*time.Second {
			t.Errorf("ten seconds after the links were given up: %d of %d partitions have one copy, for %v", s.SingleCopy, s.Held, s.SingleFor)
		}
		w.mu.Lock()
		w.nodes["b"].stopped, w.nodes["c"].stopped = false, false
		w.mu.Unlock()
		stop()
		w.awaitRest(v)
		if s := a.driver.Status(); s.SingleCopy != 0 || s.SingleFor != 0 {
			t.Errorf("afterwards: %d partitions, for %v", s.SingleCopy, s.SingleFor)
		}
	})
}

// TestLoneNodeLacksNoCopy: a cluster of one has no place for a second copy, so no partition is
// reported to have too few, not even while its first sets are being recorded.
func TestLoneNodeLacksNoCopy(t *testing.T) {
	bubble(t, three[:1], func(t *testing.T, w *memNet) {
		a := w.nodes[three[0]]
		v := w.install(1, three[0])
		most := 0
		for !w.atRest(v) {
			most = max(most, a.driver.Status().UnderReplicated)
			time.Sleep(time.Microsecond)
		}
		if held := a.driver.Status().Held; most > 0 || held != memPartitions {
			t.Errorf("%d partitions had too few copies; %d are held", most, held)
		}
	})
}
