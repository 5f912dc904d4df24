// Package transfer connects package handoff, which moves and replicates partitions, to the rest of
// a node: the frontier, which stores partitions, and the peers, to which they are sent.
//
//	store.go      the frontier as handoff uses it; what the disk has at a start
//	found.go      the founder of a cluster gets its partitions
//	remains.go    what a node that is alone does with a frontier that has lost something
//	transport.go  handoff's calls and streams, over package peer
//	fences.go     views as handoff needs them, and which of them need the full fence
//	figures.go    figures of handoff and the frontier, for the status
//	reports.go    which partitions this node has, for people and for other members
//
// # A moving partition
//
// handoff decides, on its own goroutine; everything here is called from there or from a call of
// receiver's server passes that stream to Receive, handoff writes it to its own Store
// (BeginImport). receiver's server gives that stream to Receive, handoff writes it to its own Store
// (BeginImport). The frontier and the view decide whether the new holder may send a request, not
// this package. the new holder may send a request is asked of the frontier and the view, not here.
//
// # Concurrency
//
// This package starts no goroutine that outlives a call, and has no queue: streams and their bounds
// belong to handoff. Store and Transport have no state of their own. Fences is guarded by its
// mutex: membership writes to it, one follower of the views reads it.
package transfer
