package output

import (
	"context"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/local/disk"
)

// patientArchive is an archive that waits for room on the disk.
type patientArchive struct {
	Archive
	hasSpace func(bytes int64) bool
	running  func() context.Context // no write waits beyond its end
	short    *shortage

	mu       sync.Mutex // guards promised
	promised int64      // bytes of all writes under way: one must not take the room of another
}

// Put waits for room, then stores the capture.
func (a *patientArchive) Put(
	ctx context.Context,
	c crawl.Capture,
) (ref crawl.ArchiveRef, err error) {
	err = a.withSpace(ctx, int64(len(c.RequestHead)+len(c.ResponseHead)+len(c.Body)), func() error {
		ref, err = a.Archive.Put(ctx, c)
		return err
	})
	return ref, err
}

// PutFailure waits for room, then stores why a URL was given up.
func (a *patientArchive) PutFailure(ctx context.Context, f crawl.Failure) error {
	return a.withSpace(ctx, int64(len(f.Reason)), func() error { return a.Archive.PutFailure(ctx, f) })
}

// withSpace calls write when there is room for it, and again if there was none after all:
// other programs fill the disk as well.
func (a *patientArchive) withSpace(ctx context.Context, bytes int64, write func() error) error {
	refused := false
	defer func() {
		if refused {
			a.short.end()
		}
	}()
	for {
		if a.promise(bytes) {
			err := write()
			a.mu.Lock()
			a.promised -= bytes
			a.mu.Unlock()
			if !disk.IsFull(err) {
				return err
			}
			if !refused {
				refused = true
				a.short.begin(time.Now())
			}
		}
		if err := disk.Pause(ctx, a.running()); err != nil {
			return err
		}
	}
}

// promise sets bytes aside; false: there are not as many.
func (a *patientArchive) promise(bytes int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.hasSpace(a.promised + bytes) {
		return false
	}
	a.promised += bytes
	return true
}
