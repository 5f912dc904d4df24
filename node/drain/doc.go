// Package drain is the polite end of a node: its partitions move to the other members, and a view
// goes on without it.
//
//	drain.go      Drainer: the steps of a drain
//	together.go   the stop of all nodes, in which nothing moves
//
// # Steps
//
//	marked as draining in a view ─► partitions and copies move to the others ─► marked as left
//
// Copies count as well as partitions: as long as an in-sync set names one, its partition has fewer
// copies without this node. When the node cannot drain, because no other member is active or the
// time is up, it stops with its data in place and stays a member: the same command resumes.
//
// Before a stop with data in place no more visits are handed out and the open ones are awaited, so
// a planned stop repeats no fetch. A fifth of the time-out, 3 s at most, is left for that.
//
// When all nodes stop (Together) nothing moves: Leave ends the visits, waits for End, which comes
// when no member has a visit open, and returns with the data in place.
//
// Leave runs on the caller's goroutine; the other methods may be called from any. There is no queue.
package drain
