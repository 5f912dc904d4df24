// Package transfer connects package handoff, which moves and replicates partitions, to the rest of
// a node: the frontier, which stores partitions, and the peers, to which they are sent.
//
//	store.go      the frontier as handoff's Store; what the disk has at a start
//	found.go      gives the founder of a cluster its partitions
//	remains.go    what a lone node does with a frontier that has lost something
//	transport.go  handoff's calls and streams, over package peer
//	fences.go     views as handoff needs them, and which of them need the full fence
//	figures.go    figures of handoff and the frontier, for the status
//	reports.go    which partitions this node has, for people and for other members
//
// # A moving partition
//
// handoff decides, on its own goroutine; everything here is called from there or from a call of
// another node. The sender reads the partition with Store.Export and writes it to a stream of
// Transport. The receiver's server passes that stream to handoff (Receive), which writes it to its
// own Store (BeginImport). Freeze, StoreReleased, the token (a call) and Promote follow, in the
// order in which the machine returns them. Whether the new holder may send requests is not decided
// here.
//
// # Concurrency
//
// This package starts no goroutine that outlives a call, and has no queue: streams and their bounds
// belong to handoff. Store and Transport have no state of their own. A mutex guards Fences:
// membership writes to it, one goroutine that follows the views reads it.
package transfer
