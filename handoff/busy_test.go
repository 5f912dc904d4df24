package handoff

import (
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestBusyPartitionsKeepNoPlace: a partition whose visits do not end, as those of pages that find no room, stays where it is,
// and keeps no other from moving. It moves once its visits end.
func TestBusyPartitionsKeepNoPlace(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		a := w.nodes["a"] // holds everything
		if err := a.stop(); err != nil {
			t.Fatal(err)
		}
		visits := make(chan struct{})
		a.out, a.visits = 1, visits
		a.start()
		v := w.install(1, three...)
		time.Sleep(time.Minute)
		w.mu.Lock()
		busy := a.busy
		w.mu.Unlock()
		moved := 0
		for p := range crawl.Partition(memPartitions) {
			if v.Table.Owner(p) == "a" {
				continue
			}
			holds := a.store.Kept(p).State == Holding
			if isBusy := p == *busy; holds != isBusy {
				t.Errorf("partition %d, busy: %v, is here: %v", p, isBusy, holds)
			}
			if !holds {
				moved++
			}
		}
		if moved == 0 {
			t.Error("no other partition moves: the test tests nothing")
		}
		close(visits)
		w.awaitRest(v)
	})
}
