package datadir

import (
	"errors"
	"fmt"
	"syscall"

	"crawlnode/local/files"
)

// The classes of this package's errors.
var (
	// ErrUsage is an error of what a person gave: flags, settings, seeds, files.
	ErrUsage = errors.New("usage")
	// ErrStorage is an error of the data directory or the disk.
	ErrStorage = errors.New("storage")
	// ErrNoRoom is the ErrStorage of a disk that is full or nearly full: once there is space the
	// same command works.
	ErrNoRoom = fmt.Errorf("%w: no room", ErrStorage)
)

// classError is an error with a class and its own text.
type classError struct {
	class error
	err   error
}

// Class gives err a class, which errors.Is finds, without changing its text.
func Class(class, err error) error { return &classError{class, err} }

func (e *classError) Error() string   { return e.err.Error() }
func (e *classError) Unwrap() []error { return []error{e.class, e.err} }

// Failed is the ErrStorage of err, with advice; doing names the failed action and its object. An
// ErrUsage, of a file that a flag names, stays one.
func Failed(doing string, err error) error {
	if errors.Is(err, ErrUsage) {
		return Usage(fmt.Errorf("%s: %w", doing, err))
	}
	if advice := diskAdvice(err); advice != "" {
		err = fmt.Errorf("%w; %s", err, advice)
	}
	class := ErrStorage
	if files.NoRoom(err) {
		class = ErrNoRoom
	}
	return Class(class, fmt.Errorf("%s: %w", doing, err))
}

// Usage gives err the class ErrUsage.
func Usage(err error) error { return Class(ErrUsage, err) }

// NoRoom gives err, which says what to do, the class ErrNoRoom.
func NoRoom(err error) error { return Class(ErrNoRoom, err) }

// Fatal reports whether err ends a node: an error of the disk, unless the disk is only full.
func Fatal(err error) bool { return errors.Is(err, ErrStorage) && !errors.Is(err, ErrNoRoom) }

// diskAdvice is the remedy for a disk error; "" when err already has one, or none is known.
func diskAdvice(err error) string {
	switch {
	case errors.Is(err, ErrStorage):
		return ""
	case errors.Is(err, syscall.EROFS):
		return "this file system is read-only: check the system's log, make it writable, " +
			"and run the same command again"
	case errors.Is(err, syscall.EIO):
		return "the disk fails: check the system's log; move the data to a good disk and run the same " +
			"command again; if the data is lost: crawlnode nodes forget"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "raise the limit of open files, such as by ulimit -n 4096, and run the same command again"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM),
		errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENOENT):
		return "give a --data-dir that this user may write to"
	case errors.Is(err, syscall.EDQUOT):
		return "free some space of this user's quota or have it raised, and run the same command again"
	case files.NoRoom(err):
		return "free some space, and run the same command again"
	}
	return ""
}

// LockedError says that a running process uses the data directory.
type LockedError struct{ path, pid string }

func (e *LockedError) Error() string {
	if e.pid == "" {
		return fmt.Sprintf("the data directory %s is in use by another process: stop it, "+
			"or give another --name or --data-dir", e.path)
	}
	return fmt.Sprintf(
		"the data directory %s is in use by process %s: stop it, or give another --name or --data-dir",
		e.path, e.pid)
}

// Path is the directory.
func (e *LockedError) Path() string { return e.path }

func (e *LockedError) Unwrap() error { return ErrStorage }

// StorageFirst is the error of a node that ended with err and whose store ended with broken.
// Each goroutine that uses a store that fails may be the first to end, and its error has no
// class.
func StorageFirst(err, broken error) error {
	if broken == nil || err == nil || errors.Is(err, ErrStorage) {
		return err
	}
	return Failed("the frontier", broken)
}
