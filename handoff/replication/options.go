package replication

import (
	"context"
	"log/slog"

	"crawlnode/crawl"
	"crawlnode/handoff/acks"
	"crawlnode/handoff/hints"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// Sink takes the mutations of one partition, in order, from the goroutine that
// commits them. It must not block. False detaches it.
type Sink func(p crawl.Partition, m crawl.Mutation) bool

// Store is what is read of the node's partitions.
type Store interface {
	Kept(p crawl.Partition) machine.Kept
	// Generation numbers the copies that this node ever had of a partition: one that takes the
	// place of another has a higher one.
	Generation(p crawl.Partition) uint32
	// Size is about the size of a snapshot, in bytes.
	Size(p crawl.Partition) int64
	// Export opens a snapshot of what is here and attaches sink, when it is not
	// nil, to everything that follows it.
	Export(ctx context.Context, p crawl.Partition, sink Sink) (Export, error)
	// Attach attaches sink to a held partition whose last mutation is after, in
	// the epoch. It fails when the partition is not held or not exactly there.
	Attach(ctx context.Context, p crawl.Partition, epoch crawl.Epoch, after crawl.Seq, sink Sink) error
	// Listen attaches sink to a held partition of the epoch, and returns the number of
	// the last mutation before.
	Listen(ctx context.Context, p crawl.Partition, epoch crawl.Epoch, sink Sink) (crawl.Seq, error)
}

// Export is an outgoing copy.
type Export interface {
	Snapshot(ctx context.Context, chunkBytes int, f func([]crawl.Entry) error) error
	// Epoch and Seq name the last mutation that the snapshot holds.
	Epoch() crawl.Epoch
	Seq() crawl.Seq
	Close()
}

// Transport opens streams to other nodes.
type Transport interface {
	Open(ctx context.Context, to crawl.NodeID) (wire.Stream, error)
}

// Options configure Replicas. All fields are required.
type Options struct {
	Boot      crawl.Boot
	Store     Store
	Transport Transport
	// Call makes a call to another node and reads the answer into reply, unless that is nil.
	Call func(ctx context.Context, to crawl.NodeID, kind string, body, reply any) error
	// Post hands an event to the machine; it may block until ctx ends. It is called without
	// a lock, on the goroutines of this package.
	Post           func(ctx context.Context, e machine.Event) bool
	Acks           *acks.Tracker
	Hints          *hints.Log
	BytesPerSecond float64 // of all snapshots together
	Logger         *slog.Logger
}
