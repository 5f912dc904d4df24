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

// tryBlocks is nil when a new file in dir could have so many bytes, or when that cannot be told
// without a file that a kill would leave behind.
func tryBlocks(dir string, size int64) error {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil //nolint:nilerr // this file system has no files without a name
	}
	file := os.NewFile(uintptr(fd), dir)
	defer file.Close()
	return SetAside(file, size)
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
