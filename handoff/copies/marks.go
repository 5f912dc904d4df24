package copies

import (
	"sync"

	"crawlnode/crawl"
)

// Sender is one boot of a node.
type Sender struct {
	ID   crawl.NodeID
	Boot crawl.Boot
}

// Mark is the newest link for which a copy here was looked at.
type Mark struct {
	From    Sender
	Attempt uint64
}

// Marks keep an order to drop a copy that comes late from deleting what was taken
// into a set again meanwhile. The zero value has none.
type Marks struct {
	mu    sync.Mutex // guards the rest; held for moments
	freed sync.Cond  // of taken; its L is set where it is used
	taken [64]bool   // by the partition's remainder: a copy is being adopted, replaced or deleted
	parts map[crawl.Partition]Mark
}

// Alone runs f while nothing else adopts, replaces or deletes the copy of p.
func (m *Marks) Alone(p crawl.Partition, f func()) {
	i := int(p) % len(m.taken)
	m.mu.Lock()
	m.freed.L = &m.mu
	for m.taken[i] {
		m.freed.Wait()
	}
	m.taken[i] = true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.taken[i] = false
		m.freed.Broadcast()
	}()
	f()
}

// Note tells that a link was opened. Code that deletes the copy reads the marks within
// Alone, so it either sees this one, or is over before the caller looks at the copy.
func (m *Marks) Note(p crawl.Partition, from Sender, attempt uint64) {
	m.Alone(p, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.parts == nil {
			m.parts = map[crawl.Partition]Mark{}
		}
		m.parts[p] = Mark{from, attempt}
	})
}

// Of returns the mark of a partition; false when there is none.
func (m *Marks) Of(p crawl.Partition) (Mark, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.parts[p]
	return k, ok
}

// MayDrop reports whether an order to drop the copy of p, under an attempt, is newer than
// every link that was noted.
func (m *Marks) MayDrop(p crawl.Partition, from Sender, attempt uint64) bool {
	last, ok := m.Of(p)
	return !ok || last.From == from && last.Attempt < attempt
}
