// Package transfer joins package handoff, which moves and replicates partitions, to the rest of a
// node: the frontier, where partitions are, and the peers, to which they go.
//
//	store.go      the frontier as handoff uses it; what the disk says at a start
//	found.go      the founder of a cluster gets its partitions
//	transport.go  handoff's calls and streams, carried by package peer
//	fences.go     views as handoff needs them, and which of them need the full fence
//	figures.go    what handoff and the frontier come to, for the status
//	reports.go    which partitions this node has, for people and for other members
//
// # A partition on its way
//
// handoff decides, on its own goroutine; everything here is called from there or from a call of
// another member. An outgoing copy is read from Store (Export) and goes over a Transport stream; the
// receiver's server gives that stream to Receive, handoff writes it to its own Store (BeginImport).
// Freeze, StoreReleased, the token (a call) and Promote follow in the order of the machine. Whether
// the new holder may send a request is asked of the frontier and the view, not here.
//
// # Concurrency
//
// This package starts no goroutine that outlives a call, and has no queue: streams and their bounds
// are handoff's. Store and Transport have no state of their own. Fences is guarded by its
// mutex: membership writes to it, one follower of the views reads it.
package transfer
