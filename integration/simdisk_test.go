package integration

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"crawlnode/frontier/storage"
	"crawlnode/membership"
)

// machineDisk is the disk of a member's machine: what is wrong with it, whichever
// process runs there.
type machineDisk struct {
	pace atomic.Int64 // the longest that one write takes, a time.Duration

	mu      sync.Mutex // guards the rest; held for memory only
	trouble map[faultKind]int
	changed chan struct{} // closed and replaced at every change
}

func newMachineDisk(pace time.Duration) *machineDisk {
	d := &machineDisk{trouble: map[faultKind]int{}, changed: make(chan struct{})}
	d.pace.Store(int64(pace))
	return d
}

// ail adds (1) or takes away (-1) a trouble of a kind; several may overlap.
func (d *machineDisk) ail(kind faultKind, by int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trouble[kind] += by
	close(d.changed)
	d.changed = make(chan struct{})
}

// has reports whether a trouble is there, and gives a channel that is closed when that
// may have changed.
func (d *machineDisk) has(kind faultKind) (bool, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.trouble[kind] > 0, d.changed
}

// sound reports whether nothing is wrong.
func (d *machineDisk) sound() bool {
	for _, kind := range []faultKind{fullDisk, frozenDisk, badDisk} {
		if ill, _ := d.has(kind); ill {
			return false
		}
	}
	return true
}

// thaw waits while the disk is frozen. A frozen disk blocks a process until it is thawed or the
// machine is gone, whatever the process does.
func (d *machineDisk) thaw(dead <-chan struct{}) error {
	for {
		frozen, changed := d.has(frozenDisk)
		if !frozen {
			return nil
		}
		select {
		case <-changed:
		case <-dead:
			return storage.ErrClosed
		}
	}
}

// errBadDisk is the error that a process gets from a failing disk.
func errBadDisk(op string) error { return &fs.PathError{Op: op, Path: "disk", Err: syscall.EIO} }

// free is the free space that the system reports.
func (d *machineDisk) free(string) (int64, error) {
	full, _ := d.has(fullDisk)
	if archive, _ := d.has(fullArchive); full || archive {
		return 10 << 20, nil
	}
	return 1 << 40, nil
}

// simDisk is a member's store for one process, with the faults of its disk. A node that
// acknowledges something before it is stored is detected when the process is killed meanwhile.
type simDisk struct {
	*storage.Memory
	machine *machineDisk
	sync    bool          // --sync: what Write returns for survives a loss of power
	onWrite func()        // called before each write, by the frontier's writer
	dead    chan struct{} // closed when the process was killed
	once    sync.Once     // closes hurried
	hurried chan struct{} // the node ends: a write does not wait for space

	mu     sync.Mutex // guards random
	random *rand.Rand
}

// Write waits for a frozen disk, and for space as the store on a real one does. On a
// failing one it fails, in half of the cases with everything stored.
func (d *simDisk) Write(entries []storage.Entry) error {
	d.onWrite()
	if err := d.space(); err != nil {
		return err
	}
	if err := d.turn(); err != nil {
		return err
	}
	bad, _ := d.machine.has(badDisk)
	if bad && d.draw() < 0.5 {
		return errBadDisk("write")
	}
	err := d.Memory.Write(entries)
	if err == nil && d.sync && !bad {
		err = d.Memory.Sync()
	}
	if err == nil && bad {
		return errBadDisk("write")
	}
	return err
}

// space waits while the disk is full, unless the node ends.
func (d *simDisk) space() error {
	for {
		full, changed := d.machine.has(fullDisk)
		if !full {
			return nil
		}
		select {
		case <-changed:
		case <-d.dead:
			return storage.ErrClosed
		case <-d.hurried:
			return fmt.Errorf("%w: the simulated one", storage.ErrNoSpace)
		}
	}
}

// Hurry makes writes fail that would wait for space: the node ends.
func (d *simDisk) Hurry() { d.once.Do(func() { close(d.hurried) }) }

// Room reports to the writer whether the disk is full.
func (d *simDisk) Room() error {
	if full, _ := d.machine.has(fullDisk); full {
		return fmt.Errorf("%w: the simulated one", storage.ErrNoSpace)
	}
	return nil
}

// WriteReserved goes into what was set aside while there was space.
func (d *simDisk) WriteReserved(entries []storage.Entry) error {
	if err := d.turn(); err != nil {
		return err
	}
	if bad, _ := d.machine.has(badDisk); bad {
		return errBadDisk("write")
	}
	return d.Memory.WriteReserved(entries)
}

// Touch is answered as a write is.
func (d *simDisk) Touch() error { return d.turn() }

// LostPower is false when every write was synced.
func (d *simDisk) LostPower() bool { return !d.sync && d.Memory.LostPower() }

// Sync fails on a failing disk.
func (d *simDisk) Sync() error {
	if err := d.turn(); err != nil {
		return err
	}
	if bad, _ := d.machine.has(badDisk); bad {
		return errBadDisk("fsync")
	}
	return d.Memory.Sync()
}

func (d *simDisk) draw() float64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.random.Float64()
}

// turn waits as long as one write takes, and while the disk is frozen.
func (d *simDisk) turn() error {
	if pace := time.Duration(d.machine.pace.Load()); pace > 0 {
		time.Sleep(time.Duration(d.draw() * float64(pace)))
	}
	return d.machine.thaw(d.dead)
}

// simState is the membership's small file on the same disk. Its space is kept free
// for it, so a full disk takes it.
type simState struct {
	membership.Storage
	disk *simDisk
}

// Save stores the document, or not, when the disk fails.
func (s simState) Save(doc []byte) error {
	if err := s.disk.machine.thaw(s.disk.dead); err != nil {
		return err
	}
	if bad, _ := s.disk.machine.has(badDisk); bad {
		return errBadDisk("write")
	}
	return s.Storage.Save(doc)
}
