package node

import (
	"errors"
	"fmt"

	"crawlnode/node/datadir"
)

// The classes of errors of Open and Run; the command's exit code goes by them.
var (
	ErrUsage   = errors.New("usage")   // flags, settings or seeds
	ErrStorage = datadir.ErrStorage    // the data directory or the disk
	ErrCluster = errors.New("cluster") // joining or keeping a cluster
	ErrNoRoom  = datadir.ErrNoRoom     // the ErrStorage of a disk without space
)

// ErrNotReady says that this node has not joined its cluster yet.
var ErrNotReady = errors.New("this node has not joined a cluster yet; ask a member, or wait for /readyz")

// classError gives err a class without changing its text.
type classError struct {
	class error
	err   error
}

func (e *classError) Error() string   { return e.err.Error() }
func (e *classError) Unwrap() []error { return []error{e.class, e.err} }

func clusterError(doing string, err error) error {
	return &classError{ErrCluster, fmt.Errorf("%s: %w", doing, err)}
}

func usageError(err error) error { return &classError{ErrUsage, err} }
