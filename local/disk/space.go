package disk

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/local/datadir"
)

// LowBytes is the free space below which a node does not fetch. It goes on when twice as
// much is free.
const LowBytes = 128 << 20

// LowFiles is the number of further files (inodes) below which a node does not fetch: the store
// under the frontier needs some hundred while it compacts, and stops the node when it can make
// none. It goes on with twice as many.
const LowFiles = 512

// Volume is a file system that the node writes to, at the last look.
type Volume struct {
	Path  string    // of what the node keeps there
	Free  int64     // bytes
	Files *int64    // that can still be made there, when these are few; nil: enough
	Since time.Time // when it became low
	low   bool
	few   bool // of files
}

// Lacks says what is short of a volume that is low, for a sentence, and what ends that.
func (v Volume) Lacks() (lack, until string) {
	if v.Files != nil {
		return fmt.Sprintf("there are inodes for only %d more files at %s (df -i)", *v.Files, v.Path),
			fmt.Sprintf("remove some files there; it goes on when %d can be made", 2*LowFiles)
	}
	return fmt.Sprintf("only %d MiB are free at %s", v.Free>>20, v.Path), fmt.Sprintf(
		"free some space there; it goes on when %d MiB are free", 2*LowBytes>>20)
}

// Space knows the free space of the volumes that a node writes to. NewSpace makes it.
type Space struct {
	dir   *datadir.Dir
	ask   func(path string) (int64, error) // for free bytes; nil: the system
	files func(path string) (int64, bool)  // for inodes; nil: not judged
	low   atomic.Bool                      // one of the volumes is
	seen  atomic.Pointer[[]string]         // the paths of volumes; nil before the first look
	spare atomic.Pointer[spaceLook]        // what Has found last
	fell  chan struct{}                    // cap 1: Has found less than LowBytes

	mu      sync.Mutex // guards volumes
	volumes []Volume   // those that could be asked, in the order of look's paths
}

// NewSpace watches the volumes of a data directory. ask returns the free bytes of the volume that
// holds a path; nil: the system's figure.
func NewSpace(dir *datadir.Dir, ask func(path string) (int64, error)) *Space {
	d := &Space{dir: dir, ask: ask, fell: make(chan struct{}, 1)}
	if ask == nil {
		d.files = datadir.FreeFiles
	}
	return d
}

// Low reports whether a volume is low.
func (d *Space) Low() bool { return d.low.Load() }

// Fell signals that Has found less than LowBytes: Look then, at once.
func (d *Space) Fell() <-chan struct{} { return d.fell }

// Look reads the free space of all volumes; true: the state changed between enough and low.
func (d *Space) Look() bool { return d.look(d.paths()...) }

// look reads the free space of the volumes that hold paths; true: the state
// changed between enough and low. A volume that cannot be asked is not judged.
func (d *Space) look(paths ...string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	var seen []Volume
	low := false
	for _, path := range paths {
		free, err := d.freeAt(path)
		if err != nil {
			continue
		}
		v := Volume{Path: path}
		if i := slices.IndexFunc(d.volumes, func(o Volume) bool { return o.Path == path }); i >= 0 {
			v = d.volumes[i]
		}
		was := v.low
		v.Free, v.low = free, free < LowBytes || was && !v.few && free < 2*LowBytes
		v.Files, v.few = d.few(path, v.few)
		v.low = v.low || v.few
		if v.low && !was {
			v.Since = time.Now().UTC()
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
		found[i] = seen[i].Path
	}
	d.seen.Store(&found)
	return d.low.Swap(low) != low
}

// few is how many more files the volume of the data directory may have, if that is too few; was: it
// has been.
func (d *Space) few(path string, was bool) (*int64, bool) {
	if d.files == nil || path != d.dir.Path() { // an archive waits for inodes as for space
		return nil, false
	}
	n, limited := d.files(path)
	if !limited || n >= 2*LowFiles || !was && n >= LowFiles {
		return nil, false
	}
	return &n, true
}

// freeAt is the free space of the volume that holds path now.
func (d *Space) freeAt(path string) (int64, error) {
	if d.ask != nil {
		return d.ask(path)
	}
	return datadir.FreeBytes(path)
}

// Paths are those of the last look, one for each volume, the data directory first. It is called for
// every page, so it costs next to nothing; what is mounted later is found by the next look.
func (d *Space) Paths() []string {
	if p := d.seen.Load(); p != nil {
		return *p
	}
	return d.paths() // before the first look
}

// Free is the space of the data directory's volume; nil: not known.
func (d *Space) Free() *int64 { return d.free(d.dir.Path()) }

// free is the space for what is stored at path; nil: not known.
func (d *Space) free(path string) *int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, v := range d.volumes {
		if v.Path == path {
			return &v.Free
		}
	}
	return nil
}

// Short lists the volumes that are low.
func (d *Space) Short() []Volume {
	d.mu.Lock()
	defer d.mu.Unlock()
	var low []Volume
	for _, v := range d.volumes {
		if v.low {
			low = append(low, v)
		}
	}
	return low
}

// Where names the volumes that are low, for the end of a sentence.
func (d *Space) Where() string {
	var paths []string
	for _, v := range d.Short() {
		paths = append(paths, v.Path)
	}
	if len(paths) == 0 {
		return "" // there is space again by now
	}
	return " at " + strings.Join(paths, " and ")
}

// ArchiveFree is the space for archive files; nil: not known.
func (d *Space) ArchiveFree() *int64 {
	if free := d.free(d.dir.Join("warc")); free != nil {
		return free
	}
	return d.Free()
}

// paths are those to watch.
func (d *Space) paths() []string { return Volumes(d.dir.Path()) }

// Volumes are what a node writes to: its data directory, and the folders of the archive and of the
// derived outputs where another volume is mounted there, or a link leads to one.
func Volumes(dataDir string) []string {
	paths := []string{dataDir}
	for _, folder := range []string{"warc", "derived"} {
		if path := filepath.Join(dataDir, folder); !datadir.SameVolume(dataDir, path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// writeReserve is the free space below which nothing is written to the outputs: pages
// that were under way when the disk filled up wait.
const writeReserve = 32 << 20

const (
	// plenty is the space beyond what is asked for with which a look at the volumes
	// counts for plentyFor. Nothing writes a gibibyte in so short a time.
	plenty    = 1 << 30
	plentyFor = 100 * time.Millisecond
)

// spaceLook is the result of a look at the volumes: the bytes that may be written.
type spaceLook struct {
	at    time.Time
	spare int64
}

// vouches reports whether so many bytes may be written at now without another look.
func (l *spaceLook) vouches(now time.Time, bytes int64) bool {
	return l != nil && now.Sub(l.at) < plentyFor && bytes <= l.spare-plenty
}

// Has reports whether so many bytes may be written to the outputs. A volume that cannot be
// asked is not judged. Has is called for each page, so it does not call the system while there is
// plenty: that cost a call and three allocations. The first page that finds a volume low signals
// Fell; what is fetched until fetching pauses may have to wait for room.
func (d *Space) Has(bytes int64) bool {
	now := time.Now()
	if d.spare.Load().vouches(now, bytes) {
		return true
	}
	look := &spaceLook{at: now, spare: math.MaxInt64}
	for _, path := range d.Paths() {
		if free, err := d.freeAt(path); err == nil {
			look.spare = min(look.spare, free-writeReserve)
		}
	}
	d.spare.Store(look)
	if look.spare < LowBytes-writeReserve && !d.low.Load() {
		select {
		case d.fell <- struct{}{}:
		default:
		}
	}
	return bytes <= look.spare
}
