package node

import (
	"errors"
	"fmt"

	"crawlnode/local/datadir"
)

// The classes of errors of Open and Run; the command's exit code goes by them.
var (
	ErrUsage   = datadir.ErrUsage      // flags, settings or seeds
	ErrStorage = datadir.ErrStorage    // the data directory or the disk
	ErrCluster = errors.New("cluster") // joining or keeping a cluster
	ErrNoRoom  = datadir.ErrNoRoom     // the ErrStorage of a disk without space
)

// ErrNotReady says that this node has not joined its cluster yet, ErrLeaving that it will take no
// part any more.
var ErrNotReady, ErrLeaving = errors.New("this node has not joined a cluster yet; ask a member, " +
	"or wait for /readyz"), errors.New("this node is leaving its cluster; ask another member")

func clusterError(doing string, err error) error {
	return datadir.Class(ErrCluster, fmt.Errorf("%s: %w", doing, err))
}

func usageError(err error) error { return datadir.Usage(err) }
