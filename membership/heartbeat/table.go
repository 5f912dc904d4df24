package heartbeat

import (
	"iter"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
)

// Report is the last heartbeat of another node.
type Report struct {
	Block crawl.NodeBlock
	Held  []byte // bitmap of partitions
	Heard time.Time
	// Number names Block, but for its vitals, and Held, as the boot counts them; 0: nothing does.
	Number uint64
}

// Table has the last report of each other node, and who holds which partition. NewTable makes it.
type Table struct {
	mu      sync.Mutex // guards reports
	reports map[crawl.NodeID]Report
	routes  atomic.Pointer[[]crawl.NodeID] // holder by partition, "" unknown
}

// NewTable makes an empty table.
func NewTable() *Table { return &Table{reports: map[crawl.NodeID]Report{}} }

// Holder is the other node that was the last to report that it holds p, or "".
func (t *Table) Holder(p crawl.Partition) crawl.NodeID {
	if r := t.routes.Load(); r != nil && int(p) < len(*r) {
		return (*r)[p]
	}
	return ""
}

// Put stores a report, unless it is late and of an earlier boot. The routes change only when the
// node holds other partitions than before: most reports repeat the last one.
func (t *Table) Put(id crawl.NodeID, report Report, partitions int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.reports[id]
	if old.Block.Boot > report.Block.Boot {
		return // a late message of an earlier boot
	}
	t.reports[id] = report
	routes := t.routes.Load()
	switch {
	case routes == nil || len(*routes) != partitions || frees(*routes, old.Held, report.Held, id):
		t.rebuildLocked(partitions) // another node may hold what id has no longer
	case !leadsTo(*routes, report.Held, id):
		next := slices.Clone(*routes)
		for p := range eachBit(report.Held, partitions) {
			next[p] = id
		}
		t.routes.Store(&next)
	}
}

// Keep forgets the holdings of all but the given members. The blocks stay, so that a node that
// left or failed is shown with its last data; they lose their number, so that a member that comes
// back says all of itself again.
func (t *Table) Keep(members map[crawl.NodeID]bool, partitions int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, r := range t.reports {
		if !members[id] && r.Held != nil {
			r.Held, r.Number = nil, 0
			t.reports[id] = r
		}
	}
	t.rebuildLocked(partitions)
}

func (t *Table) rebuildLocked(partitions int) {
	routes := make([]crawl.NodeID, partitions)
	newest := make([]time.Time, partitions)
	for id, r := range t.reports {
		for p := range eachBit(r.Held, partitions) {
			if routes[p] == "" || r.Heard.After(newest[p]) {
				routes[p], newest[p] = id, r.Heard
			}
		}
	}
	t.routes.Store(&routes)
}

// Last is the last report of a node.
func (t *Table) Last(id crawl.NodeID) Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reports[id]
}

// Number is the number of the last report of a boot; 0: it has none.
func (t *Table) Number(id crawl.NodeID, boot crawl.Boot) uint64 {
	if r := t.Last(id); r.Block.Boot == boot {
		return r.Number
	}
	return 0
}

// All returns a copy of the last reports.
func (t *Table) All() map[crawl.NodeID]Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := make(map[crawl.NodeID]Report, len(t.reports))
	for id, r := range t.reports {
		c[id] = r
	}
	return c
}

// SilentFor is how long ago the last report of a node came.
func (t *Table) SilentFor(id crawl.NodeID, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return now.Sub(t.reports[id].Heard)
}

// eachBit yields the bits that are set, as far as they are below limit.
func eachBit(b []byte, limit int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, left := range b {
			for ; left != 0; left &= left - 1 {
				if p := i*8 + bits.TrailingZeros8(left); p >= limit || !yield(p) {
					return
				}
			}
		}
	}
}

// frees reports whether id, which held was and holds now, gives up a partition whose route leads
// to it.
func frees(routes []crawl.NodeID, was, now []byte, id crawl.NodeID) bool {
	for p := range eachBit(was, len(routes)) {
		if routes[p] == id && !crawl.HasBit(now, p) {
			return true
		}
	}
	return false
}

// leadsTo reports whether the routes of all partitions in held lead to id.
func leadsTo(routes []crawl.NodeID, held []byte, id crawl.NodeID) bool {
	for p := range eachBit(held, len(routes)) {
		if routes[p] != id {
			return false
		}
	}
	return true
}
