package recrawl

import (
	"sync"

	"crawlnode/recrawl/visits"
)

// maxRecent is how many of the newest revisits are remembered.
const maxRecent = 10000

// recentRevisits remembers which of the newest revisits of this node found a change. It is in
// memory alone: after a restart it is empty. Its methods may be called from any goroutine.
type recentRevisits struct {
	mu     sync.Mutex // guards the rest; held for moments
	ring   [maxRecent]bool
	n      int // entries in use
	next   int
	useful int // entries that are true
}

// add takes in a revisit. The oldest one is forgotten when there are maxRecent.
func (f *recentRevisits) add(changed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ring[f.next] { // false where no entry is yet
		f.useful--
	}
	f.ring[f.next] = changed
	if changed {
		f.useful++
	}
	f.next = (f.next + 1) % maxRecent
	f.n = min(f.n+1, maxRecent)
}

// read returns how many revisits are remembered, and how many of them found a change.
func (f *recentRevisits) read() (recent, useful int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(f.n), int64(f.useful)
}

// recentCopies sums up what the copies of the newest revisited pages were before, at most
// maxRecent. A revisit speaks of the time since the one before, so that in the sums each page
// counts by the time that has passed, however often it is visited. It is in memory alone. Its
// methods may be called from any goroutine.
type recentCopies struct {
	mu   sync.Mutex // guards the rest; held for moments
	ring [maxRecent]struct{ fresh, planned float32 }
	next int
	sum  visits.Copy
}

// add takes in a revisit; one that says nothing changes nothing.
func (r *recentCopies) add(c visits.Copy) {
	if !(c.Planned > 0) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := &r.ring[r.next]
	r.sum.Fresh -= float64(at.fresh)
	r.sum.Planned -= float64(at.planned)
	at.fresh, at.planned = float32(c.Fresh), float32(c.Planned)
	r.sum.Fresh += float64(at.fresh)
	r.sum.Planned += float64(at.planned)
	if r.next = (r.next + 1) % maxRecent; r.next == 0 {
		r.sum = visits.Copy{} // summed up anew, without what rounding has left
		for _, e := range r.ring {
			r.sum.Fresh += float64(e.fresh)
			r.sum.Planned += float64(e.planned)
		}
	}
}

// kept is which part of the planned freshness there was, 0 to 1; ok is false when nothing is known.
func (r *recentCopies) kept() (share float64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !(r.sum.Planned > 0) {
		return 0, false
	}
	return min(max(r.sum.Fresh/r.sum.Planned, 0), 1), true
}
