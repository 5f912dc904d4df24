package recrawl

import "sync"

// maxRecent is how many of the newest revisits are remembered.
const maxRecent = 10000

// recentRevisits remembers which of the newest revisits of this node found a change. It is in memory
// alone: after a restart it is empty. Its methods may be called from any goroutine.
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
