package storage

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// preallocate gives a file its blocks, one more than size asks for.
func preallocate(file *os.File, size int64) error {
	err := unix.Fallocate(int(file.Fd()), 0, 0, size+1)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return fillZero(file, size+1)
	}
	return err
}

// SetAside gives a file blocks for a size that it may grow to: a full disk must not
// keep marks from being written. A file system without such a call does without.
func SetAside(file *os.File, size int64) error {
	err := unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}
