package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// A store is opened before the blocks of its tables are verified, so that a node need not read
// all of it before its first request. Until then the tables are suspect, and three rules keep
// Badger's way with damaged blocks from doing harm:
//
//   - Nothing is read from a block that is not verified: Get and Iterate verify first the blocks
//     in which the keys may be.
//   - No compaction takes effect before all blocks are verified. It would leave out what is behind
//     a damaged block, and write the rest with good checksums.
//   - When a block is found to be damaged, the store has failed. Nothing is read or written any
//     more, as after a failed write, and the node ends with an error that names the file. The next
//     open verifies all before (mistrustFile), and refuses the store.
//
// A goroutine verifies the blocks that nobody asks for, and takes a third of a processor for it;
// when a compaction waits, or the store is closed, as much as it gets.

// unverified are the tables of a store that was just opened.
type unverified struct {
	// tables are nil once all are verified, and take no memory from then on.
	tables atomic.Pointer[[]*tableFile]
	// failed is called once, with the damage, before anybody else is told of it, and verified
	// once all blocks are good.
	failed   func(error)
	verified func()

	quit  chan struct{} // closed: end without having verified all
	hurry chan struct{} // closed: without pauses
	over  chan struct{} // closed when the goroutine has ended
	whole chan struct{} // closed when all blocks are good; never after a damage
	lost  chan struct{} // closed when a damage was found

	hurryOnce, quitOnce sync.Once
	failOnce            sync.Once
	err                 atomic.Pointer[error] // what was found
}

// unverifiedBytes is the memory for each block until all are verified: a number for its first key
// (8) and its place (4). As many blocks may be verified behind the crawl as fit into memory of the
// size of the cache of indexes; tables beyond are verified before the store is opened. A block has
// about a kilobyte when it is compressed.
const unverifiedBytes = 12

// openUnverified judges what Badger needs of the tables to open them, and leaves at most so many
// blocks to be verified later.
func openUnverified(
	opt badger.Options, tables map[uint64]badger.TableManifest, most int,
) (*unverified, error) {
	u := &unverified{
		quit: make(chan struct{}), hurry: make(chan struct{}), over: make(chan struct{}),
		whole: make(chan struct{}), lost: make(chan struct{}),
	}
	var mu sync.Mutex // guards later and blocks
	var later []*tableFile
	blocks := 0
	err := eachTable(opt, tables, func(t *tableFile) error {
		mu.Lock()
		fits := blocks+t.blocks() <= most
		if fits {
			blocks += t.blocks()
			later = append(later, t)
		}
		mu.Unlock()
		if fits {
			return nil
		}
		return t.verify(0, t.blocks())
	})
	u.tables.Store(&later)
	return u, err
}

// left are the tables that have blocks which may not be verified.
func (u *unverified) left() []*tableFile {
	if tables := u.tables.Load(); tables != nil {
		return *tables
	}
	return nil
}

// begin verifies all blocks in what background starts: a goroutine, which finish or abandon ends.
// When there are none it is over at once. It is called before Badger opens the store, which may
// wait for a compaction.
func (u *unverified) begin(background func(func()), failed func(error), verified func()) {
	u.failed, u.verified = failed, verified
	sweep := func() {
		defer close(u.over)
		u.sweep()
	}
	if len(u.left()) == 0 {
		sweep()
		return
	}
	background(sweep)
}

// sweepBlocks is how many blocks are verified between two pauses: some hundred kilobytes.
const sweepBlocks = 256

// sweep verifies all blocks. It pauses for twice as long as it works.
func (u *unverified) sweep() {
	for _, t := range u.left() {
		for from := 0; from < t.blocks(); from += sweepBlocks {
			began := time.Now()
			if err := t.verify(from, min(from+sweepBlocks, t.blocks())); err != nil {
				_ = u.fail(err) // whoever reads or writes gets it
			}
			if u.rest(2 * time.Since(began)) {
				return
			}
		}
	}
	u.verified()
	u.tables.Store(nil)
	close(u.whole)
}

// rest pauses, unless there is a hurry. It reports whether the sweep is to end: it was given up, or
// a damage was found, by whomever.
func (u *unverified) rest(pause time.Duration) (end bool) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-u.quit:
	case <-u.lost:
	case <-u.hurry:
	case <-timer.C:
	}
	select { // there may be a hurry as well
	case <-u.quit:
		return true
	case <-u.lost:
		return true
	default:
		return false
	}
}

// ensureKey verifies the blocks in which a key may be.
func (u *unverified) ensureKey(key []byte) error {
	return u.ensure(func(t *tableFile) (low, high uint64) {
		start := t.start(key)
		return start, start
	})
}

// ensurePrefix verifies the blocks in which keys with a prefix may be.
func (u *unverified) ensurePrefix(prefix []byte) error {
	return u.ensure(func(t *tableFile) (low, high uint64) {
		return t.start(prefix), t.lastStart(prefix)
	})
}

// ensure verifies the blocks in which keys of the starts that it asks for may be.
func (u *unverified) ensure(starts func(*tableFile) (low, high uint64)) error {
	for _, t := range u.left() {
		if t.left.Load() == 0 {
			continue
		}
		if err := t.verify(t.between(starts(t))); err != nil {
			return u.fail(err)
		}
	}
	return u.damage()
}

// fail records a damage, unless there is one, and returns the one that counts.
func (u *unverified) fail(err error) error {
	u.failOnce.Do(func() {
		err = fmt.Errorf("frontier: %w", err)
		u.failed(err)
		u.err.Store(&err)
		close(u.lost)
	})
	return u.damage()
}

// damage is what was found, nil so far.
func (u *unverified) damage() error {
	if err := u.err.Load(); err != nil {
		return *err
	}
	return nil
}

// isWhole reports whether all blocks are good.
func (u *unverified) isWhole() bool {
	select {
	case <-u.whole:
		return true
	default:
		return false
	}
}

// await holds up its caller until all blocks are good: for ever after a damage, or when the
// store is given up before.
func (u *unverified) await() {
	u.hurryOnce.Do(func() { close(u.hurry) })
	<-u.whole
}

// mostAtClose is how many blocks a stop waits for: a second's work of a slow disk.
const mostAtClose = 64 << 10

// finish ends the goroutine, and reports whether all blocks are good. It waits for that unless
// there are too many left.
func (u *unverified) finish() bool {
	left := int64(0)
	for _, t := range u.left() {
		left += t.left.Load()
	}
	if left > mostAtClose {
		u.abandon()
	}
	u.hurryOnce.Do(func() { close(u.hurry) })
	<-u.over
	return u.isWhole()
}

// abandon ends the goroutine, whether all blocks are verified or not.
func (u *unverified) abandon() {
	u.quitOnce.Do(func() { close(u.quit) })
	<-u.over
}

// These begin lines that Badger logs in each part of a compaction, before any of what it makes is
// used: the only places at which a compaction can be held up. The first one comes for each table
// that is made, and before its file is; the second one at the end, also of a part that has found
// no key at all, as when the first block of its only table is damaged. Tests of compactions
// (unverified_test.go) fail when another version has them elsewhere.
const (
	compactedFormat = "[%d] LOG Compact. Added "
	discardedFormat = "Discard stats: "
)

// compactionGate holds up compactions. It belongs to Badger's logger.
type compactionGate struct {
	badger.Logger
	tables *unverified
}

// Debugf is called by the goroutine that compacts, which holds no lock of the store then.
func (g compactionGate) Debugf(format string, args ...any) {
	if strings.HasPrefix(format, compactedFormat) || strings.HasPrefix(format, discardedFormat) {
		g.tables.await()
	}
	g.Logger.Debugf(format, args...)
}

// mistrustFile stands in the folder of a store while tables of it are not verified. It is there
// at an open when a block was found to be damaged, or when the process has died before: a damaged
// block may have been what it died of, in Badger. Then all is verified before the store is opened.
const mistrustFile = "MISTRUST"

// noteMistrust makes the file.
func noteMistrust(files *fileSync) error {
	err := WriteFile(filepath.Join(files.dir, mistrustFile), func(io.Writer) error { return nil })
	if err == nil {
		err = files.file(".")
	}
	return err
}

// endMistrust removes the file, if it is there.
func endMistrust(dir string) error {
	err := os.Remove(filepath.Join(dir, mistrustFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// mistrusted reports whether the file is there.
func mistrusted(dir string) (bool, error) {
	_, err := os.Stat(filepath.Join(dir, mistrustFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// failedIterator is one whose blocks could not be verified: wherever it is sent, it has that key,
// the value of which is the error. So nobody takes it for the end of the keys, nor for the end of
// some of them.
type failedIterator struct {
	err    error
	sought []byte // nil: nothing
}

func (i *failedIterator) Seek(key []byte)        { i.sought = append([]byte{}, key...) }
func (i *failedIterator) Valid() bool            { return i.sought != nil }
func (i *failedIterator) Next()                  { i.sought = nil }
func (i *failedIterator) Key() []byte            { return i.sought }
func (i *failedIterator) Value() ([]byte, error) { return nil, i.err }
func (i *failedIterator) Close()                 {}
