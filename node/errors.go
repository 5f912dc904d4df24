package node

import (
	"errors"
	"fmt"
)

// The classes of errors of Open and Run; the command's exit code goes by them.
var (
	ErrUsage   = errors.New("usage")   // flags, settings or seeds
	ErrStorage = errors.New("storage") // the data directory or the disk
	ErrCluster = errors.New("cluster") // joining or keeping a cluster
)

// classError gives err a class without changing its text.
type classError struct {
	class error
	err   error
}

func (e *classError) Error() string   { return e.err.Error() }
func (e *classError) Unwrap() []error { return []error{e.class, e.err} }

func storageError(doing string, err error) error {
	return &classError{ErrStorage, fmt.Errorf("%s: %w", doing, err)}
}

func clusterError(doing string, err error) error {
	return &classError{ErrCluster, fmt.Errorf("%s: %w", doing, err)}
}

func usageError(err error) error { return &classError{ErrUsage, err} }

// lockedError says that a living process uses the data directory.
type lockedError struct{ path, pid string }

func (e *lockedError) Error() string {
	if e.pid == "" {
		return fmt.Sprintf("the data directory %s is in use by another process: stop it, or give another --name or --data-dir", e.path)
	}
	return fmt.Sprintf("the data directory %s is in use by process %s: stop it, or give another --name or --data-dir", e.path, e.pid)
}

func (e *lockedError) Unwrap() error { return ErrStorage }
