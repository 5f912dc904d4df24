package node

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// gcPercent lets the heap grow to five times what lives before it is collected.
	// A page leaves some 80 KB of garbage behind; at the usual 100 % the collector
	// took a tenth of the processor and /status waited behind it (99th percentile 80
	// ms instead of 50 at full speed). The memory limit bounds it.
	gcPercent = 400
	// maxGarbage bounds that growth: how much garbage there is follows from how fast a node
	// works, and not from how much lives. Without it each byte that lives cost five.
	maxGarbage = 300 << 20
	// leastGCPercent keeps the collector from running all the time with a large heap.
	leastGCPercent = 50
	// A node that has come to rest gives back what its work has left behind: when spareBytes
	// or more are garbage, or free and not given back, and for restLooks seconds it has
	// allocated so little that it would take restSeconds to need them again.
	restLooks   = 5
	restSeconds = 20
	spareBytes  = 100 << 20
)

// collector follows the heap with the runtime's percentage. It belongs to one goroutine;
// several in one process agree.
type collector struct {
	samples []metrics.Sample // of heapMetrics
	percent int
	rest    rest
}

// heapMetrics are what the collector looks at; the names of heap follow them.
var heapMetrics = [...]string{"/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes", "/memory/classes/heap/free:bytes", "/gc/heap/allocs:bytes"}

// heap is what the runtime says of it, in bytes.
type heap struct {
	live      uint64 // left by the last collection
	objects   uint64 // that live, or are garbage
	free      uint64 // without objects, and not given back to the system
	allocated uint64 // since the process began
}

// rest notices that a node has come to rest after work.
type rest struct {
	allocated uint64 // at the last look
	looks     int    // one after the other with little allocated in between
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

// newCollector follows --memory, unless the runtime's own variables say
// otherwise: whoever sets those knows better.
func newCollector(memoryBytes int64) *collector {
	if os.Getenv("GOMEMLIMIT") == "" {
		// The limit is soft, and memory outside the heap comes on top: a quarter is
		// left for both.
		debug.SetMemoryLimit(memoryBytes / 4 * 3)
	}
	if os.Getenv("GOGC") != "" {
		return nil
	}
	debug.SetGCPercent(gcPercent)
	c := &collector{percent: gcPercent}
	for _, name := range heapMetrics {
		c.samples = append(c.samples, metrics.Sample{Name: name})
	}
	return c
}

// look adapts the percentage to what the last collection left, and gives memory back
// when the node has come to rest. It is called once a second. A nil collector does nothing.
func (c *collector) look() {
	if c == nil {
		return
	}
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
func (c *collector) read() (h heap, ok bool) {
	metrics.Read(c.samples)
	for i, to := range [...]*uint64{&h.live, &h.objects, &h.free, &h.allocated} {
		if c.samples[i].Value.Kind() != metrics.KindUint64 {
			return h, false
		}
		*to = c.samples[i].Value.Uint64()
	}
	return h, true
}

// follow sets the percentage that goes with what lives.
func (c *collector) follow(live uint64) {
	percent := gcPercentFor(live)
	if apart := percent - c.percent; apart*apart*100 < c.percent*c.percent {
		return // within a tenth: setting it stops the world for a moment
	}
	c.percent = percent
	debug.SetGCPercent(percent)
}

// gcPercentFor is by how much the heap may grow, in percent of what lives.
func gcPercentFor(live uint64) int {
	return int(min(max(maxGarbage*100/max(live, 1), leastGCPercent), gcPercent))
}
