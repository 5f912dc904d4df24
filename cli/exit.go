package cli

import (
	"errors"

	"crawlnode/node"
)

// The exit codes.
const (
	exitOK          = 0   // done, or a limit that the user set
	exitError       = 1   // anything that has no code of its own
	exitUsage       = 2   // flags, settings or seeds
	exitStorage     = 3   // the data directory or the disk
	exitCluster     = 4   // joining or keeping a cluster
	exitInterrupted = 5   // stopped before the end; the same command goes on
	exitForced      = 130 // a second signal
)

// exitCode is the code of an error of package node.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, node.ErrUsage):
		return exitUsage
	case errors.Is(err, node.ErrStorage):
		return exitStorage
	case errors.Is(err, node.ErrCluster):
		return exitCluster
	}
	return exitError
}
