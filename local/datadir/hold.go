package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Hold keeps nodes from using a data directory until release is called, and changes nothing in it.
// Several processes may hold it. The error says what is wrong with the directory, or that a
// process uses it, as a *LockedError. That it is no data directory is an ErrUsage: a wrong one was
// named.
func Hold(path string) (release func(), err error) {
	if _, err := os.Stat(filepath.Join(path, "VERSION")); err != nil {
		err = fmt.Errorf("read %s: this is not the data directory of a node: %w", path, err)
		// nothing will be written, so Failed's advice would mislead
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil, Usage(fmt.Errorf("%w; name a folder that crawlnode has made", err))
		}
		return nil, Class(ErrStorage, err)
	}
	if err := checkVersion(path); err != nil {
		return nil, err
	}
	lock, err := os.Open(filepath.Join(path, "lock"))
	if err != nil {
		return nil, Failed("open the data directory's lock", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &LockedError{path: path, pid: readLine(filepath.Join(path, "pid"))}
		}
		return nil, Failed("lock the data directory "+path, err)
	}
	return func() { _ = lock.Close() }, nil
}
