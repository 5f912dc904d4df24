package storage

import (
	"sync"
	"time"
)

// This file gets the disk space of deleted keys back from Badger. A deleted key is one more
// entry in a young table; what it deletes goes when the two meet in a compaction, and
// those are begun only by tables that grow. A store at rest therefore keeps on disk
// what was deleted: after five copies that were given up, three times what it holds.
// Flatten compacts everything. It goes on beside reads and writes, but rewrites the
// store and, while much is written, finds no end; so it is for small stores, which it
// takes seconds, and for a disk that is nearly full, where fetching pauses. A large
// store that is written to gets there by its own compactions.
const (
	// compactLeast is the least that must have been deleted; compactShare, what part of
	// the store.
	compactLeast = 16 << 20
	compactShare = 4
	// compactMost is how large a store is compacted while the disk has space.
	compactMost = 256 << 20
	// compactSpare is what a compaction needs on disk beside a copy of the young tables.
	compactSpare = 48 << 20
	// compactPatience is how long a stop waits for a compaction.
	compactPatience = time.Second
)

// tightBytes is the free space below which a disk is nearly full: a node stops
// fetching at half of it.
const tightBytes = 256 << 20

// compaction is the one that runs.
type compaction struct {
	mu   sync.Mutex    // guards over
	over chan struct{} // closed when it is; nil: there was none
}

// begin starts f, unless one runs.
func (c *compaction) begin(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over != nil {
		select {
		case <-c.over:
		default:
			return false
		}
	}
	over := make(chan struct{})
	c.over = over
	go func() {
		defer close(over)
		f()
	}()
	return true
}

// await reports whether none runs any more, after at most patience.
func (c *compaction) await(patience time.Duration) bool {
	c.mu.Lock()
	over := c.over
	c.mu.Unlock()
	if over == nil {
		return true
	}
	select {
	case <-over:
		return true
	case <-time.After(patience):
		return false
	}
}

// storeSize is what a compaction is judged by, in bytes on disk.
type storeSize struct {
	young, all int64 // of tables: all levels but the last, and all
	free       int64 // of the disk; -1: not known
}

// worth reports whether a store should be compacted after so much was deleted.
func (s storeSize) worth(deleted int64) bool {
	tight := s.free >= 0 && s.free < tightBytes
	switch {
	case deleted == 0 || !tight && (deleted < compactLeast || deleted < s.all/compactShare):
		return false
	case s.all > compactMost && !tight:
		return false
	}
	return s.free < 0 || s.free > s.young+compactSpare
}

func (b *badgerKV) size() storeSize {
	s := storeSize{free: -1}
	levels := b.db.Levels()
	for i, l := range levels {
		s.all += l.Size
		if i < len(levels)-1 {
			s.young += l.Size
		}
	}
	if free, err := b.space.free(b.space.dir); err == nil {
		s.free = free
	}
	return s
}

// Compact implements compacter.
func (b *badgerKV) Compact(deleted int64) bool {
	if deleted == 0 || !b.size().worth(deleted) {
		return false
	}
	return b.begin(func() {
		if err := b.db.Flatten(1); err != nil {
			b.db.Opts().Logger.Warningf("a compaction failed: %v", err)
		}
	})
}

// MostDead is how many bytes may wait to be deleted before a copy may begin to arrive. On a
// disk that is nearly full it is little or nothing.
func (b *badgerKV) MostDead() int64 {
	free, err := b.space.free(b.space.dir)
	if err != nil {
		return MaxDeadBytes
	}
	return min(MaxDeadBytes, max(free-tightBytes, 0)/4)
}

// MaxDeadBytes is how much may wait to be deleted before another copy begins to
// arrive: copies that are given up again and again must not fill the disk.
const MaxDeadBytes = 256 << 20
