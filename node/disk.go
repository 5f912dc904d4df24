package node

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"crawlnode/crawl"
	"crawlnode/node/datadir"
)

// lowDiskBytes is where fetching pauses: a store whose disk is full kills the
// process (its files are mapped), so the pause comes long before. It goes on
// when twice as much is free.
const lowDiskBytes = 128 << 20

// volume is a file system that the node writes to, as it was seen last.
type volume struct {
	path  string // of what the node keeps there
	free  int64  // bytes
	low   bool
	since time.Time // of low
}

// diskWatch knows the free space of the volumes that the node writes to.
type diskWatch struct {
	low   atomic.Bool                      // one of them is
	seen  atomic.Pointer[[]string]         // the paths of volumes; nil: nobody has looked
	spare atomic.Pointer[spaceLook]        // what hasSpace has found last
	ask   func(path string) (int64, error) // for free bytes; nil: the system
	fell  chan struct{}                    // cap 1: hasSpace has found less than lowDiskBytes

	mu      sync.Mutex // guards the rest
	volumes []volume   // those that could be asked, in the order of look's paths
}

// look reads the free space of the volumes that hold paths; true: the state
// changed between enough and low. A volume that cannot be asked is not judged.
func (d *diskWatch) look(paths ...string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	var seen []volume
	low := false
	for _, path := range paths {
		free, err := d.freeAt(path)
		if err != nil {
			continue
		}
		v := volume{path: path}
		if i := slices.IndexFunc(d.volumes, func(o volume) bool { return o.path == path }); i >= 0 {
			v = d.volumes[i]
		}
		was := v.low
		v.free, v.low = free, free < lowDiskBytes || was && free < 2*lowDiskBytes
		if v.low && !was {
			v.since = time.Now().UTC()
		}
		low = low || v.low
		seen = append(seen, v)
	}
	if len(seen) == 0 {
		return false
	}
	d.volumes = seen
	found := make([]string, len(seen))
	for i := range seen {
		found[i] = seen[i].path
	}
	d.seen.Store(&found)
	return d.low.Swap(low) != low
}

// freeAt is the free space of the volume that holds path now.
func (d *diskWatch) freeAt(path string) (int64, error) {
	if d.ask != nil {
		return d.ask(path)
	}
	return datadir.FreeBytes(path)
}

// paths are those that the last look has seen, one for each volume. It is asked for
// every page, so it costs next to nothing; what is mounted later is found by the next
// look.
func (d *diskWatch) paths() []string {
	if p := d.seen.Load(); p != nil {
		return *p
	}
	return nil
}

// free is the space for what lies at path; nil: not known.
func (d *diskWatch) free(path string) *int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range d.volumes {
		if v.path == path {
			return &v.free
		}
	}
	return nil
}

// short lists the volumes that are low.
func (d *diskWatch) short() []volume {
	d.mu.Lock()
	defer d.mu.Unlock()
	var low []volume
	for _, v := range d.volumes {
		if v.low {
			low = append(low, v)
		}
	}
	return low
}

// where names the volumes that are low.
func (d *diskWatch) where() string {
	var paths []string
	for _, v := range d.short() {
		paths = append(paths, v.path)
	}
	if len(paths) == 0 {
		return "" // there is space again by now
	}
	return " at " + strings.Join(paths, " and ")
}

// lookAtDisk pauses fetching when the disk is low, and lets it go on when it is not.
func (n *Node) lookAtDisk() {
	if n.disk.look(n.volumes()...) {
		n.documentChanged()
	}
}

// archiveFree is the space for archive files; nil: not known.
func (n *Node) archiveFree() *int64 {
	if free := n.disk.free(n.dir.Join("warc")); free != nil {
		return free
	}
	return n.disk.free(n.dir.Path())
}

// volumes are the paths to watch: the data directory, and the folders of the archive
// and of what is derived, where another volume is mounted there.
func (n *Node) volumes() []string {
	paths := []string{n.dir.Path()}
	for _, folder := range []string{"warc", "derived"} {
		if path := n.dir.Join(folder); !datadir.SameVolume(n.dir.Path(), path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// writeReserve is the free space below which nothing is written to the archive:
// pages that were under way when the disk filled up wait.
const writeReserve = 32 << 20

// spaceAgain is how often what waits for space looks again.
const spaceAgain = 200 * time.Millisecond

const (
	// plenty is the space beyond what is asked for with which a look at the volumes
	// counts for plentyFor. Nothing writes a gibibyte in so short a time.
	plenty    = 1 << 30
	plentyFor = 100 * time.Millisecond
)

// spaceLook is what a look at the volumes has found: the bytes that may be written.
type spaceLook struct {
	at    time.Time
	spare int64
}

// vouches reports whether so many bytes may be written at now without another look.
func (l *spaceLook) vouches(now time.Time, bytes int64) bool {
	return l != nil && now.Sub(l.at) < plentyFor && bytes <= l.spare-plenty
}

// hasSpace reports whether so many bytes may be written to the archive; what is not
// known is not judged. It is asked for each page, so the system is not while there
// is plenty: that took a call and three allocations. The first page that finds the disk
// low has it looked at: what is fetched until then may not find a place.
func (n *Node) hasSpace(bytes int64) bool {
	now := time.Now()
	if n.disk.spare.Load().vouches(now, bytes) {
		return true
	}
	paths := n.disk.paths()
	if paths == nil {
		paths = n.volumes() // nobody has looked yet
	}
	look := &spaceLook{at: now, spare: math.MaxInt64}
	for _, path := range paths {
		if free, err := n.disk.freeAt(path); err == nil {
			look.spare = min(look.spare, free-writeReserve)
		}
	}
	n.disk.spare.Store(look)
	if look.spare < lowDiskBytes-writeReserve && !n.disk.low.Load() {
		signal(n.disk.fell)
	}
	return bytes <= look.spare
}

// errNoSpace ends the wait for space when the node stops.
var errNoSpace = errors.New("the disk is nearly full and the node stops")

// isFull reports whether a write has failed for want of space, so that it is worth
// trying again.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }

// restForSpace waits for a moment before what wants space is tried again. Its error ends
// the waiting.
func restForSpace(ctx, running context.Context) error {
	select {
	case <-time.After(spaceAgain):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-running.Done():
		return errNoSpace
	}
}

// onceThereIsSpace does what wants space, again and again while the disk is full.
func onceThereIsSpace(ctx, running context.Context, do func() error) error {
	for {
		err := do()
		if !isFull(err) {
			return err
		}
		if err := restForSpace(ctx, running); err != nil {
			return err
		}
	}
}

// patientArchive is an archive that waits for space on the disk.
type patientArchive struct {
	archiver
	hasSpace func(bytes int64) bool
	running  func() context.Context // nobody waits beyond its end

	mu       sync.Mutex // guards promised
	promised int64      // bytes of what may be written now, all told: none may fill the disk for another
}

// Put waits for space, then stores the capture.
func (a *patientArchive) Put(ctx context.Context, c crawl.Capture) (ref crawl.ArchiveRef, err error) {
	err = a.withSpace(ctx, int64(len(c.RequestHead)+len(c.ResponseHead)+len(c.Body)), func() error {
		ref, err = a.archiver.Put(ctx, c)
		return err
	})
	return ref, err
}

// PutFailure waits for space, then stores why a URL was given up.
func (a *patientArchive) PutFailure(ctx context.Context, f crawl.Failure) error {
	return a.withSpace(ctx, int64(len(f.Reason)), func() error { return a.archiver.PutFailure(ctx, f) })
}

// withSpace calls write when there is space for it, and again when there was none after all:
// others fill the disk, too.
func (a *patientArchive) withSpace(ctx context.Context, bytes int64, write func() error) error {
	for {
		if a.promise(bytes) {
			err := write()
			a.mu.Lock()
			a.promised -= bytes
			a.mu.Unlock()
			if !isFull(err) {
				return err
			}
		}
		if err := restForSpace(ctx, a.running()); err != nil {
			return err
		}
	}
}

// promise sets bytes aside, if there are as many.
func (a *patientArchive) promise(bytes int64) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.hasSpace(a.promised + bytes) {
		return false
	}
	a.promised += bytes
	return true
}

// awaitSpace waits until so many bytes that are derived may be written, ctx ends, or
// the node stops.
func (n *Node) awaitSpace(ctx context.Context, bytes int64) error {
	for !n.hasSpace(bytes) {
		if err := restForSpace(ctx, n.running); err != nil {
			return err
		}
	}
	return nil
}
