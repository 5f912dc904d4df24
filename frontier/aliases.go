package frontier

import (
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// The nouns of this package's methods that are defined below it.
type (
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
