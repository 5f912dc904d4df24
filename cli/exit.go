package cli

import (
	"errors"

	"crawlnode/node"
)

// The exit codes. exitMeanings says them to people.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitStorage     = 3
	exitCluster     = 4
	exitInterrupted = 5
	exitSafety      = 6
	exitForced      = 130
)

// exitMeanings are the exit codes in order.
var exitMeanings = []struct {
	code    int
	meaning string
}{
	{exitOK, "done, or a limit that the user set was reached"},
	{exitError, "an error that has no code of its own"},
	{exitUsage, "flags, settings or seeds"},
	{exitStorage, "the data directory or the disk"},
	{exitCluster, "joining or keeping a cluster, or an order that it refuses"},
	{exitInterrupted, "interrupted before the end; the same command goes on"},
	{exitSafety, "a limit that keeps the machine safe: the disk is nearly full, and stays so; with space there again the same command goes on"},
	{exitForced, "forced by a second signal; everything is on disk"},
}

// exitCode is the code of an error of package node.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, node.ErrUsage):
		return exitUsage
	case errors.Is(err, node.ErrNoRoom):
		return exitSafety
	case errors.Is(err, node.ErrStorage):
		return exitStorage
	case errors.Is(err, node.ErrCluster):
		return exitCluster
	}
	return exitError
}
