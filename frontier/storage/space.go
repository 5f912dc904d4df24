package storage

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// The store's files are mapped into memory and sparse: a write for which the disk
// has no block left kills the process with SIGBUS, and nothing can catch that. So
// each write looks at the free space first. While there is less than what a write and
// the store's own housekeeping behind it may need, the writer keeps what needs space
// waiting and carries out the rest.

const (
	// ReserveBytes is the free space below which a store takes nothing new. It is below
	// that at which a node stops fetching, so that a store waits only when something else
	// fills the disk.
	ReserveBytes = 64 << 20
	// ReserveFiles is the number of further files below which the same holds: Badger cannot go on when it
	// may not make its next log, and its compactions make some hundred tables before they remove others.
	ReserveFiles = 256
	// SpaceAgain is how often the writer looks again while something waits for space.
	SpaceAgain = 200 * time.Millisecond
)

// ErrNoSpace says that the disk is full, and that nothing was changed.
var ErrNoSpace = errors.New("frontier: the disk is full")

// space is the free space of a store's volume.
type space struct {
	dir  string
	free func(dir string) (int64, error)
}

// room is nil when there is room for a write, ErrNoSpace when there is not, and any
// other error when there will be none.
func (s *space) room() error {
	free, err := s.free(s.dir)
	switch {
	case errors.Is(err, ErrNoSpace):
		return err
	case errors.Is(err, syscall.EROFS), errors.Is(err, syscall.EIO):
		return fmt.Errorf("frontier: %s: %w", s.dir, err)
	case err != nil || free >= ReserveBytes:
		return nil // what is not known is not judged
	}
	return fmt.Errorf("%w: %s has %d MiB left, a write needs %d", ErrNoSpace, s.dir, free>>20, ReserveBytes>>20)
}

// explain adds to an error of Badger, which passes on no causes, what the system says to a new file in the store's folder, or that
// few can be made there: then some may have been removed since.
func (s *space) explain(err error) error {
	if err == nil {
		return nil
	}
	file, cause := os.CreateTemp(s.dir, "try-*")
	if cause == nil {
		cause = errors.Join(file.Close(), os.Remove(file.Name()))
	}
	if _, few := s.free(s.dir); errors.Is(few, ErrNoSpace) {
		cause = fmt.Errorf("%w: %w", few, cmp.Or(cause, error(syscall.ENOSPC)))
	}
	if cause == nil {
		return err
	}
	return fmt.Errorf("%w: %w", cause, err)
}

// readOnly is the bit of a volume's flags that says so.
const readOnly = 1

func freeSpace(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, err
	}
	if st.Flags&readOnly != 0 {
		return 0, syscall.EROFS
	}
	if err := roomForFiles(dir, st.Files, st.Ffree); err != nil {
		return 0, err
	}
	return int64(st.Bavail) * int64(st.Bsize), nil
}

// roomForFiles is ErrNoSpace when a volume that has so many files at most has room for few more. A
// volume that gives no number has no limit.
func roomForFiles(dir string, most, more uint64) error {
	if most == 0 || more >= ReserveFiles {
		return nil
	}
	return fmt.Errorf("%w: %s has inodes for %d more files, a write needs %d (df -i)", ErrNoSpace, dir, more, ReserveFiles)
}
