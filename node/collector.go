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
)

// collector follows the heap with the runtime's percentage. It belongs to one goroutine;
// several in one process agree.
type collector struct {
	live    []metrics.Sample
	percent int
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
	return &collector{live: []metrics.Sample{{Name: "/gc/heap/live:bytes"}}, percent: gcPercent}
}

// look adapts the percentage to what the last collection left. A nil collector leaves it.
func (c *collector) look() {
	if c == nil {
		return
	}
	metrics.Read(c.live)
	if c.live[0].Value.Kind() != metrics.KindUint64 {
		return
	}
	percent := gcPercentFor(c.live[0].Value.Uint64())
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
