package commit

import "errors"

// Errors of a Writer.
var (
	// ErrStopped says that Run has ended; nothing was changed.
	ErrStopped = errors.New("frontier: stopped")
	// ErrNotHolder says that this node does not hold the partition, holds it
	// in another epoch than the lease, or has frozen it.
	ErrNotHolder = errors.New("frontier: the partition is not held here")
)
