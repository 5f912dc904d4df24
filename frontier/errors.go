package frontier

import (
	"errors"

	"crawlnode/frontier/commit"
)

// Errors of a Frontier.
var (
	// ErrStopped says that Run has ended; nothing was changed.
	ErrStopped = commit.ErrStopped
	// ErrNotHolder says that this node does not hold the partition, holds it
	// in another epoch than the lease, or has frozen it.
	ErrNotHolder = commit.ErrNotHolder
	// ErrStaleLease says that the leased URL left the queue meanwhile.
	ErrStaleLease = errors.New("frontier: the leased URL is no longer in the queue")
)
