package report

import (
	"runtime"

	"crawlnode/node/breadth"
	"crawlnode/node/dispatch"
)

// fetching counts the visits of this node's own fetchers: what workers fetch takes none.
func (r *Reporter) fetching(d *dispatch.Dispatcher) int { return max(d.Busy()-r.Leased().Open, 0) }

// Load is what the number of fetchers follows.
func (r *Reporter) Load() (l breadth.Load) {
	if d, _ := r.Node.Engine(); d != nil {
		l.Busy, l.Ready = r.fetching(d), int64(d.Counts().Ready)
	}
	cpu, machine, _ := r.meter.Strain()
	l.CPU, l.Machine = cpu/float64(runtime.GOMAXPROCS(0)), machine
	return l
}
