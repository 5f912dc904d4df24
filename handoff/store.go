package handoff

import (
	"context"
	"errors"

	"crawlnode/crawl"
)

// ErrGap is what a Store says when a copy or a tail does not join what is there.
var ErrGap = errors.New("handoff: mutations are missing")

// Sink takes the mutations of one partition, in order, from the goroutine that
// commits them. It must not block. False detaches it.
type Sink func(p crawl.Partition, m crawl.Mutation) bool

// Store is the node's frontier as the driver needs it. An error of a method that
// stores a decision, other than that ctx is over, ends the driver: a disk that
// cannot keep a release cannot keep a promise.
type Store interface {
	Kept(p crawl.Partition) Kept
	// Size is about what a snapshot has, in bytes.
	Size(p crawl.Partition) int64
	// Export opens a snapshot of what is here and attaches sink, when it is not
	// nil, to everything that follows it.
	Export(ctx context.Context, p crawl.Partition, sink Sink) (Export, error)
	// Attach attaches sink to a held partition whose last mutation is after, in
	// the epoch; ErrGap when it is another.
	Attach(ctx context.Context, p crawl.Partition, epoch crawl.Epoch, after crawl.Seq, sink Sink) error
	// Listen attaches sink to a held partition of the epoch, and returns the number of
	// the last mutation before.
	Listen(ctx context.Context, p crawl.Partition, epoch crawl.Epoch, sink Sink) (crawl.Seq, error)
	// BeginImport makes room for a fresh copy of a partition that is not held.
	BeginImport(ctx context.Context, p crawl.Partition) (Import, error)
	// ApplyCopies applies mutations to copies; one error each, nil when the copy
	// has it.
	ApplyCopies(ctx context.Context, ms []crawl.CopyMutation) []error
	// AdoptCopy lets a copy go on under the tenure epoch; ErrGap when the copy is not
	// exactly at (from, seq).
	AdoptCopy(ctx context.Context, p crawl.Partition, from crawl.Epoch, seq crawl.Seq, epoch crawl.Epoch) error
	// Freeze makes the store refuse every change of p; Unfreeze undoes that.
	Freeze(ctx context.Context, p crawl.Partition) error
	Unfreeze(ctx context.Context, p crawl.Partition) error
	// These are on disk when they return, and fatal when they fail.
	StoreReleased(ctx context.Context, p crawl.Partition, to crawl.NodeID, view crawl.Epoch) error
	StoreHolder(ctx context.Context, p crawl.Partition) error
	StoreCopy(ctx context.Context, p crawl.Partition, suspect bool) error
	Promote(ctx context.Context, p crawl.Partition, epoch crawl.Epoch) error
	Found(ctx context.Context, p crawl.Partition, epoch crawl.Epoch) error
	PutSets(ctx context.Context, sets map[crawl.Partition]Set) error
	// Set is the newest record of a partition that PutSets was given.
	Set(p crawl.Partition) Set
	// Delete forgets a copy.
	Delete(ctx context.Context, p crawl.Partition) error
}

// Export is an outgoing copy.
type Export interface {
	Snapshot(ctx context.Context, chunkBytes int, f func([]crawl.Entry) error) error
	// Epoch and Seq name the last mutation that the snapshot holds.
	Epoch() crawl.Epoch
	Seq() crawl.Seq
	Close()
}

// Import is an arriving copy.
type Import interface {
	Put(ctx context.Context, es []crawl.Entry) error
	// Commit makes it the copy, in place of what was here.
	Commit(ctx context.Context, epoch crawl.Epoch) error
	Abort(ctx context.Context)
}

// Fetching is the node's dispatcher.
type Fetching interface {
	// Freeze hands out no more visits of p and returns when all were settled.
	Freeze(ctx context.Context, p crawl.Partition) error
	// Resume undoes Freeze.
	Resume(p crawl.Partition)
	// Drop ends everything of p at once.
	Drop(p crawl.Partition)
	// Hold starts the visits of a partition that was just acquired. With fenced
	// somebody else may have fetched its hosts a moment ago.
	Hold(p crawl.Partition, epoch crawl.Epoch, fenced bool)
}

// Transport carries bytes to other nodes; the other side gives them to
// HandleCall and HandleStream. A call has a deadline of its own.
type Transport interface {
	Call(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error)
	Open(ctx context.Context, to crawl.NodeID) (Stream, error)
}

// Stream carries messages both ways, in order. One goroutine may send while
// another receives.
type Stream interface {
	Send([]byte) error
	Recv() ([]byte, error)
	Close()
}
