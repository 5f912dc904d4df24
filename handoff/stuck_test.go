package handoff

import (
	"strings"
	"testing"
	"time"
)

// TestStuckIsNoTakeOver: while the partitions of a failed node are taken over behind a
// full fence nothing is stuck; when another member does not answer they are, after
// stuckAfter, and the status has the reason and the time.
func TestStuckIsNoTakeOver(t *testing.T) {
	bubble(t, three, func(t *testing.T, w *memNet) {
		w.awaitRest(w.install(1, three...))
		b := w.nodes["b"] // takes over from c
		w.mu.Lock()
		w.nodes["c"].stopped = true
		w.mu.Unlock()
		v := w.install(2, "a", "b")
		for begun := time.Now(); !w.atRest(v); time.Sleep(100 * time.Millisecond) {
			if s := b.driver.Status(); len(s.Stuck) > 0 {
				t.Fatalf("%v into an ordinary take-over: %+v", time.Since(begun), s.Stuck[0])
			}
			if time.Since(begun) > time.Minute {
				t.Fatal("the take-over does not end")
			}
		}
	})
	bubble(t, three, func(t *testing.T, w *memNet) {
		w.awaitRest(w.install(1, three...))
		b := w.nodes["b"] // takes over from c
		w.mu.Lock()
		w.nodes["a"].stopped, w.nodes["c"].stopped = true, true
		w.mu.Unlock()
		begun := time.Now()
		w.install(2, "a", "b")
		time.Sleep(stuckAfter - 5*time.Second)
		if s := b.driver.Status(); s.Promoting == 0 || len(s.Stuck) > 0 {
			t.Fatalf("soon: %d partitions to be promoted, %d stuck %+v", s.Promoting, len(s.Stuck), s)
		}
		time.Sleep(15 * time.Second)
		s := b.driver.Status()
		if len(s.Stuck) == 0 {
			t.Fatalf("after %v: %d partitions to be promoted, none stuck", time.Since(begun), s.Promoting)
		}
		if x := s.Stuck[0]; x.Since.Before(begun) || x.Since.After(begun.Add(10*time.Second)) || !strings.Contains(x.Reason, "member a") {
			t.Errorf("%v after the view: %+v", time.Since(begun), x)
		}
	})
}
