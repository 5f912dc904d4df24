package report

import (
	"runtime"
	"time"

	"crawlnode/scheduler/breadth"
)

// fetching counts the visits, of all open ones, of this node's own fetchers: what workers fetch
// takes none.
func (r *Reporter) fetching(open int) int { return max(open-r.Leased().Open, 0) }

// dueWithin is how far ahead a host's turn makes a node busy: two looks, which come each second, and late in an idle process.
const dueWithin = 2500 * time.Millisecond

// Busy reports whether pages are being fetched, by anybody, or a host has its turn soon.
func (r *Reporter) Busy(now time.Time) bool {
	d, _ := r.Node.Engine()
	return d != nil && (d.Busy() > 0 || d.Due(now.Add(dueWithin)))
}

// Load is what the number of fetchers follows.
func (r *Reporter) Load() (l breadth.Load) {
	if d, _ := r.Node.Engine(); d != nil {
		l.Busy, l.Ready = r.fetching(d.Busy()), int64(d.Counts().Ready)
	}
	cpu, machine, _ := r.meter.Strain()
	l.CPU, l.Machine = cpu/float64(runtime.GOMAXPROCS(0)), machine
	return l
}
