package resources

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// gcPercent lets the heap grow to five times the live heap before it is collected.
	// A page leaves some 80 KB of garbage behind; at the usual 100 % the collector
	// took a tenth of the processor and /status waited behind it (99th percentile 80
	// ms instead of 50 at full speed). The memory limit bounds it.
	gcPercent = 400
	// maxGarbage bounds that growth: the amount of garbage follows from how fast a node
	// works, not from the size of its live heap. Without the bound each live byte cost five.
	maxGarbage = 300 << 20
	// leastGCPercent keeps the collector from running all the time with a large heap.
	leastGCPercent = 50
	// An idle node returns memory to the system: when spareBytes or more are garbage, or free
	// and not returned yet, and for restLooks seconds it has allocated so little that it would
	// need restSeconds to use them again.
	restLooks   = 5
	restSeconds = 20
	spareBytes  = 100 << 20
)

// Collector sets the runtime's GC percentage by the size of the live heap. It belongs to one
// goroutine; several in one process come to the same percentage.
type Collector struct {
	samples  []metrics.Sample // of heapMetrics
	percent  int
	rest     rest
	latitude *latitude // how late timers may be
}

// heapMetrics are what the collector reads; the fields of heap are in the same order.
var heapMetrics = [...]string{"/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes",
	"/memory/classes/heap/free:bytes", "/gc/heap/allocs:bytes"}

// heap is one reading of heapMetrics, in bytes.
type heap struct {
	live      uint64 // left by the last collection
	objects   uint64 // live ones and garbage
	free      uint64 // without objects, and not returned to the system
	allocated uint64 // since the process began
}

// rest finds out that a node has become idle after work.
type rest struct {
	allocated uint64 // at the last look
	looks     int    // in a row with little allocated between them
}

// over reports whether the work is over and its garbage worth a collection.
func (r *rest) over(h heap) bool {
	spare := h.objects - min(h.live, h.objects) + h.free
	if (h.allocated-r.allocated)*restSeconds > max(spare, spareBytes) {
		r.looks = 0
	} else {
		r.looks++
	}
	r.allocated = h.allocated
	if r.looks < restLooks || spare < spareBytes {
		return false
	}
	r.looks = 0
	return true
}

// NewCollector limits the process to --memory, unless the runtime's own variables are set:
// an operator who sets GOMEMLIMIT or GOGC knows better. With GOGC it returns nil.
func NewCollector(memoryBytes int64) *Collector {
	if os.Getenv("GOMEMLIMIT") == "" {
		// The limit is soft, and memory outside the heap is not counted: a quarter is
		// left for both.
		debug.SetMemoryLimit(memoryBytes / 4 * 3)
	}
	if os.Getenv("GOGC") != "" {
		return nil
	}
	debug.SetGCPercent(gcPercent)
	c := &Collector{percent: gcPercent, latitude: &timers}
	for _, name := range heapMetrics {
		c.samples = append(c.samples, metrics.Sample{Name: name})
	}
	return c
}

// Look adapts the percentage to the live heap of the last collection, and returns memory to the
// system when the node is idle; busy: pages are being fetched, or soon. It is called once a second.
// A nil Collector does nothing.
func (c *Collector) Look(busy bool) {
	if c == nil {
		return
	}
	c.latitude.look(busy)
	h, ok := c.read()
	if !ok {
		return
	}
	c.follow(h.live)
	if c.rest.over(h) {
		debug.FreeOSMemory()
	}
}

// read reads heapMetrics; false when this runtime has others.
func (c *Collector) read() (h heap, ok bool) {
	metrics.Read(c.samples)
	for i, to := range [...]*uint64{&h.live, &h.objects, &h.free, &h.allocated} {
		if c.samples[i].Value.Kind() != metrics.KindUint64 {
			return h, false
		}
		*to = c.samples[i].Value.Uint64()
	}
	return h, true
}

// follow sets the percentage for a live heap of so many bytes.
func (c *Collector) follow(live uint64) {
	percent := gcPercentFor(live)
	if apart := percent - c.percent; apart*apart*100 < c.percent*c.percent {
		return // within a tenth: setting it stops the world for a moment
	}
	c.percent = percent
	debug.SetGCPercent(percent)
}

// gcPercentFor is by how much the heap may grow, in percent of the live heap.
func gcPercentFor(live uint64) int {
	return int(min(max(maxGarbage*100/max(live, 1), leastGCPercent), gcPercent))
}
