package resources

import (
	"runtime/metrics"
	"testing"
)

// What lives counts once in the size of the heap beyond a bound, and five times below.
func TestCollectorBoundsGarbage(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for live, want := range map[uint64]int{
		0:          gcPercent,
		10 * mib:   gcPercent,
		75 * mib:   gcPercent,
		100 * mib:  300,
		150 * mib:  200,
		300 * mib:  100,
		600 * mib:  50,
		4096 * mib: leastGCPercent,
	} {
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

// Memory is given back when a burst of work is over, once, and not while it lasts or
// when there is little.
func TestRestGivesMemoryBack(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	at := heap{live: 100 * mib, objects: 150 * mib, free: 20 * mib}
	var r rest
	look := func(allocated uint64, times int) (over int) {
		for range times {
			at.allocated += allocated
			if r.over(at) {
				over++
				at.objects, at.free = at.live, 10*mib // as the collection leaves it
			}
		}
		return over
	}
	if look(0, 60) != 0 {
		t.Error("memory is given back for 70 MiB")
	}
	at.objects = 300 * mib
	if look(50*mib, 60) != 0 {
		t.Error("memory is given back while the node works")
	}
	if look(mib, restLooks-1) != 0 || look(mib, 1) != 1 {
		t.Error("memory is not given back after the work")
	}
	if look(mib, 60) != 0 {
		t.Error("memory is given back again, for nothing")
	}
	at.objects, at.free = 100*mib, 250*mib // a collection came by itself, and kept it all
	if look(mib, restLooks) != 1 {
		t.Error("memory that is free is not given back")
	}
}

// The runtime has what the collector looks at.
func TestCollectorReads(t *testing.T) {
	t.Parallel()
	c := &Collector{}
	for _, name := range heapMetrics {
		c.samples = append(c.samples, metrics.Sample{Name: name})
	}
	if h, ok := c.read(); !ok || h.objects == 0 || h.allocated < h.objects {
		t.Errorf("%+v, %v", h, ok)
	}
}
