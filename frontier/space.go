package frontier

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// The store's files are mapped into memory and sparse: a write for which the disk
// has no block left kills the process with SIGBUS, and nothing can catch that. So
// each write looks at the free space first, and waits while there is less than
// what a write and the store's own housekeeping behind it may need.

const (
	// reserveBytes is below the space at which a node stops fetching, so that a
	// store waits only when something else fills the disk.
	reserveBytes = 64 << 20
	// spaceAgain is how often a waiting write looks again.
	spaceAgain = 200 * time.Millisecond
)

// ErrNoSpace says that the disk is full and the store was told not to wait.
var ErrNoSpace = errors.New("frontier: the disk is full")

// space is the free space of a store's volume.
type space struct {
	dir     string
	free    func(dir string) (int64, error)
	once    sync.Once
	hurried chan struct{} // closed by hurry
}

// await returns when there is room for a write; after hurry it fails instead of
// waiting.
func (s *space) await() error {
	for {
		free, err := s.free(s.dir)
		if err != nil || free >= reserveBytes {
			return nil // what is not known is not judged
		}
		select {
		case <-s.hurried:
			return fmt.Errorf("%w: %s has %d MiB left, a write needs %d", ErrNoSpace, s.dir, free>>20, reserveBytes>>20)
		case <-time.After(spaceAgain):
		}
	}
}

// hurry ends the waiting of this write and of all later ones.
func (s *space) hurry() { s.once.Do(func() { close(s.hurried) }) }

func freeSpace(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// Hurry makes writes fail that would wait for space on the disk: the node ends.
func (b *badgerKV) Hurry() { b.space.hurry() }

// hurried is a KV whose writes may wait.
type hurried interface{ Hurry() }
