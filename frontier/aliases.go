package frontier

import (
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// The nouns of this package's methods that are defined below it.
type (
	// Options sets up a Frontier.
	Options = commit.Options
	// QueuedHost says that a host got new URLs, the best of them in Band.
	QueuedHost = commit.QueuedHost
	// Clock tells a frontier the time.
	Clock = commit.Clock
	// Sink is handed the mutations of a held partition.
	Sink = commit.Sink
	// Dead is what this node has on disk of copies that it does not use any more.
	Dead = commit.Dead
	// State says what a partition is to this node.
	State = layout.State
	// Meta is what this node knows of one partition.
	Meta = layout.Meta
	// SetRecord is this node's vote for a partition's in-sync set.
	SetRecord = layout.SetRecord
	// OutboxKey names a waiting link within the partition of its page.
	OutboxKey = layout.OutboxKey
	// Cursor is a place in a host's queues.
	Cursor = reader.Cursor
	// HostQueue is the head of a host's queues with all that politeness knows.
	HostQueue = reader.HostQueue
	// Wake is a host with queued URLs.
	Wake = reader.Wake
	// WakeCursor is a place in the wake index of a partition.
	WakeCursor = reader.WakeCursor
)

// The states of a partition.
const (
	Absent   = layout.Absent
	Holder   = layout.Holder
	Released = layout.Released
	Copy     = layout.Copy
)

// MaxPartition is the highest number that a partition may have.
const MaxPartition = layout.MaxPartition
