package cli

import (
	"errors"

	"crawlnode/cli/command"
	"crawlnode/node"
)

// exitCode is the code of an error of package node.
func exitCode(err error) int {
	switch {
	case err == nil:
		return command.ExitOK
	case errors.Is(err, node.ErrUsage):
		return command.ExitUsage
	case errors.Is(err, node.ErrNoRoom):
		return command.ExitSafety
	case errors.Is(err, node.ErrStorage):
		return command.ExitStorage
	case errors.Is(err, node.ErrCluster):
		return command.ExitCluster
	}
	return command.ExitError
}
