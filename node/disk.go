package node

import (
	"sync"
	"sync/atomic"
	"time"
)

// lowDiskBytes is where fetching pauses: a store whose disk is full kills the
// process (its files are mapped), so the pause comes long before. It goes on
// when twice as much is free.
const lowDiskBytes = 128 << 20

// diskWatch knows the free space of the data directory's volume.
type diskWatch struct {
	low atomic.Bool

	mu    sync.Mutex // guards the rest
	bytes *int64     // nil: not known
	since time.Time
}

// look reads the free space; true: the state changed between enough and low.
func (d *diskWatch) look(path string) bool {
	free, err := freeBytes(path)
	if err != nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.bytes = &free
	low := free < lowDiskBytes || d.low.Load() && free < 2*lowDiskBytes
	if low && !d.low.Load() {
		d.since = time.Now().UTC()
	}
	return d.low.Swap(low) != low
}

func (d *diskWatch) free() *int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.bytes
}

func (d *diskWatch) lowSince() (time.Time, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.since, d.low.Load()
}
