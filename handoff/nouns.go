package handoff

import (
	"crawlnode/handoff/acks"
	"crawlnode/handoff/copies"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/replication"
	"crawlnode/handoff/wire"
)

// What callers of this package speak of is defined by the packages below it.
type (
	// State is what a partition is on this node.
	State = machine.State
	// Set is an in-sync set.
	Set = machine.Set
	// Kept is what the store has of a partition.
	Kept = machine.Kept
	// PartStatus is a partition that this node holds, is passing on, or should hold.
	PartStatus = machine.PartStatus
	// Loaded tells what is on the disk of a partition at start.
	Loaded = machine.Loaded
	// ViewInstalled tells that a newer view is durable here.
	ViewInstalled = machine.ViewInstalled
	// Limits bound how many tokens one node passes at a time.
	Limits = machine.Limits
	// Tenure names the time in which this node holds a partition without a break.
	Tenure = acks.Tenure
	// Sink takes the mutations of one partition from the goroutine that commits them.
	Sink = replication.Sink
	// Export is an outgoing copy.
	Export = replication.Export
	// Import is an arriving copy.
	Import = copies.Import
	// Stream carries messages both ways, in order.
	Stream = wire.Stream
)

// The states; machine.State explains them.
const (
	Absent   = machine.Absent
	Holding  = machine.Holding
	Freezing = machine.Freezing
	Released = machine.Released
)

// The errors of Wait; package acks explains them.
var (
	ErrNotAcknowledged = acks.ErrNotAcknowledged
	ErrSilent          = acks.ErrSilent
)
