package node

import "testing"

// What lives counts once in the size of the heap beyond a bound, and five times below.
func TestCollectorBoundsGarbage(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for live, want := range map[uint64]int{0: gcPercent, 10 * mib: gcPercent, 75 * mib: gcPercent, 100 * mib: 300, 150 * mib: 200,
		300 * mib: 100, 600 * mib: 50, 4096 * mib: leastGCPercent} {
		if got := gcPercentFor(live); got != want {
			t.Errorf("with %d MiB alive the heap may grow by %d %%, want %d %%", live/mib, got, want)
		}
	}
	const few, many = 82 * mib, 110 * mib
	heap := func(live uint64) uint64 { return live + live*uint64(gcPercentFor(live))/100 }
	if more := heap(many) - heap(few); more > many-few+4*mib {
		t.Errorf("%d MiB more alive make the heap %d MiB larger", (many-few)/mib, more/mib)
	}
}
