package handoff

import (
	"context"
	"errors"

	"crawlnode/crawl"
	"crawlnode/handoff/copies"
	"crawlnode/handoff/replication"
)

// ErrGap is what a Store returns when a copy or a sink does not join what is there.
var ErrGap = errors.New("handoff: mutations are missing")

// Store is the node's frontier as this package and those below it need it. An error of a
// method that stores a decision, other than that ctx is over, ends the driver: a disk that
// cannot keep a release cannot keep a promise.
type Store interface {
	replication.Store
	copies.Store
	// Freeze makes the store refuse every change of p; Unfreeze undoes that.
	Freeze(ctx context.Context, p crawl.Partition) error
	Unfreeze(ctx context.Context, p crawl.Partition) error
	// These, and StoreCopy, are on disk when they return, and fatal when they fail.
	StoreReleased(ctx context.Context, p crawl.Partition, to crawl.NodeID, view crawl.Epoch) error
	StoreHolder(ctx context.Context, p crawl.Partition) error
	Promote(ctx context.Context, p crawl.Partition, epoch crawl.Epoch) error
	Found(ctx context.Context, p crawl.Partition, epoch crawl.Epoch) error
	PutSets(ctx context.Context, sets map[crawl.Partition]Set) error
	// Set is the newest record of a partition that PutSets was given.
	Set(p crawl.Partition) Set
}

// Fetching is the node's dispatcher.
type Fetching interface {
	// Freeze hands out no more visits of p and returns when all have ended.
	Freeze(ctx context.Context, p crawl.Partition) error
	// Resume undoes Freeze.
	Resume(p crawl.Partition)
	// Drop ends everything of p at once.
	Drop(p crawl.Partition)
	// Hold starts the visits of a partition that was just acquired. Another node may have
	// fetched from its hosts a moment ago, so each host waits for its delay first.
	Hold(p crawl.Partition, epoch crawl.Epoch)
}

// Transport carries bytes to other nodes; the other side gives them to
// HandleCall and HandleStream. A call has a deadline of its own.
type Transport interface {
	Call(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error)
	Open(ctx context.Context, to crawl.NodeID) (Stream, error)
}
