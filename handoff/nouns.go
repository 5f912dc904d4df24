package handoff

import "crawlnode/handoff/machine"

// What callers of this package speak of is defined by the machine.
type (
	// State is what a partition is on this node.
	State = machine.State
	// Set is an in-sync set.
	Set = machine.Set
	// Kept is what the store has of a partition.
	Kept = machine.Kept
	// PartStatus is a partition that this node holds, is passing on, or should hold.
	PartStatus = machine.PartStatus
	// Loaded tells what the disk says of a partition at start.
	Loaded = machine.Loaded
	// ViewInstalled tells that a newer view is durable here.
	ViewInstalled = machine.ViewInstalled
	// Limits bound how many tokens one node passes at a time.
	Limits = machine.Limits
)

// The states; machine.State explains them.
const (
	Absent   = machine.Absent
	Holding  = machine.Holding
	Freezing = machine.Freezing
	Released = machine.Released
)
