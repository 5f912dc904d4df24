package frontier

import "errors"

// Errors of a frontier.
var (
	// ErrStopped says that Run has ended; nothing was changed.
	ErrStopped = errors.New("frontier: stopped")
	// ErrNotHolder says that this node does not hold the partition, holds it
	// in another epoch than the lease, or has frozen it.
	ErrNotHolder = errors.New("frontier: the partition is not held here")
	// ErrStaleLease says that the leased URL left the queue meanwhile.
	ErrStaleLease = errors.New("frontier: the leased URL is no longer in the queue")
)
