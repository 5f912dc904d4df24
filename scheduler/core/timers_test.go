package core

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestTimersFireInOrder sets, sets anew and stops timers at random, and compares with a list that
// is sorted.
func TestTimersFireInOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	start := time.Unix(1_000_000, 0)
	type entry struct{ owner, at, set int }
	var h timers
	all := make([]timer, 50)
	var want []entry
	for step := range 20_000 {
		owner := random.IntN(len(all))
		want = slices.DeleteFunc(want, func(e entry) bool { return e.owner == owner })
		if random.IntN(4) == 0 {
			h.stop(&all[owner])
		} else {
			at := random.IntN(20) // many are equal
			h.set(&all[owner], start.Add(time.Duration(at)))
			want = append(want, entry{owner, at, step})
		}
		slices.SortFunc(want, func(a, b entry) int {
			if a.at != b.at {
				return a.at - b.at
			}
			return a.set - b.set
		})
		if random.IntN(3) > 0 {
			continue
		}
		now := random.IntN(20)
		got := h.due(start.Add(time.Duration(now)))
		if len(want) == 0 || want[0].at > now {
			if got != nil {
				t.Fatalf("step %d: %+v fired, none was due", step, got)
			}
			continue
		}
		if got != &all[want[0].owner] || got.isSet() {
			t.Fatalf("step %d: %+v fired, want %+v", step, got, want[0])
		}
		want = want[1:]
		next := h.next()
		if len(want) == 0 != next.IsZero() ||
			len(want) > 0 && !next.Equal(start.Add(time.Duration(want[0].at))) {
			t.Fatalf("step %d: next is %v, want %+v", step, next, want)
		}
	}
}
