// Package handoff decides and carries out the moves of partitions between
// nodes. There is one kind of move between the living: make the new owner a
// replica (snapshot, then tail), freeze, let go durably, pass the token.
//
// The Machine decides. It is pure: events in, actions out, no clock, no I/O.
// The Driver is one goroutine that owns the machine; it performs actions
// through small interfaces that package node fills, and feeds what came of
// them back as events. Every step that must be durable is durable before the
// event that says so.
//
// # States of a partition on one node
//
//	Absent     this node has nothing of it
//	Holding    this node has the authority: it stores and fetches
//	Copying    Holding, while the new owner is being made a replica
//	Freezing   Holding, but no new visits; the running ones are being settled
//	Released   let go, durably, to one node in one view; the token is on its way
//	Importing  a copy arrives; it is worth nothing before the token
//
// # Legal moves
//
//	from       event                             to         actions
//	Holding    a view or a retry: owner is X     Copying    StartCopy
//	Copying    the copy is complete but a tail   Freezing   Freeze
//	Copying    broken, or a view changes it      Holding    AbortCopy
//	Freezing   frozen                            Freezing   StoreReleased
//	Freezing   release stored, in the same turn  Released   PassToken
//	Freezing   broken, or a view changes it      Holding    AbortCopy, Resume
//	Released   took                              Absent     Delete
//	Released   refused: the receiver is at n'>n  Holding    StoreHolder (which resumes)
//	Released   broken                            Released   StartCopy again (on retry)
//	any        released offer that I once took   same       Reply took
//	Absent     offer for my partition            Importing  Reply go on
//	Importing  token, still my view and mine     Holding    CommitImport, Reply took
//	Importing  token, but a newer view           Absent     AbortImport, Reply refused
//	Importing  broken                            Absent     AbortImport
//
// A release that is stored is never taken back by its node alone: only the
// receiver's word "I am at a newer view" makes it hold again. The driver stores
// releases and commits on the goroutine that installs views, so no view can
// change between the decision and the disk.
//
// # Bounds
//
// Two partitions out and two in at a time, with a byte rate for snapshots.
// Offers beyond that are answered "later" and made again by the driver's retry.
//
// What this package does not do yet: copies that stay (replicas), promotion of
// a dead holder's partition, fences. Their events join the machine's table;
// Seal and Offline join its states.
package handoff
