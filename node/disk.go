package node

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
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

// writeReserve is the free space below which nothing is written to the archive:
// pages that were under way when the disk filled up wait.
const writeReserve = 32 << 20

// spaceAgain is how often what waits for space looks again.
const spaceAgain = 200 * time.Millisecond

// hasSpace reports whether the archive may write; what is not known is not judged.
func hasSpace(path string) bool {
	free, err := freeBytes(path)
	return err != nil || free >= writeReserve
}

// patientArchive is an archive that waits for space on the disk: its first failed
// write would end it for good.
type patientArchive struct {
	archiver
	path string
}

// Put waits for space, then stores the capture.
func (a patientArchive) Put(ctx context.Context, c crawl.Capture) (crawl.ArchiveRef, error) {
	if err := awaitSpace(ctx, a.path); err != nil {
		return crawl.ArchiveRef{}, err
	}
	return a.archiver.Put(ctx, c)
}

// awaitSpace waits until the archive may write, or ctx ends.
func awaitSpace(ctx context.Context, path string) error {
	for !hasSpace(path) {
		if !waitFor(ctx, spaceAgain) {
			return ctx.Err()
		}
	}
	return nil
}
