// Package drain lets a node leave the cluster: its partitions move to the other members, and the
// next view does not list it.
//
//	drain.go      Drainer: the steps of a drain
//	together.go   the stop of all nodes, in which nothing moves
//
// # Steps
//
//	marked as draining in a view ─► partitions and copies move to the others ─► marked as left
//
// Copies move as well as partitions: while an in-sync set names a copy of this node, its partition
// would have too few copies without it. When the node cannot drain, because no other member is
// active or the time-out has passed, it stops with its data in place and stays a member: the same
// command resumes it.
//
// Before a stop with data in place no more visits are handed out and the open ones are awaited, so
// a planned stop repeats no fetch. A fifth of the time-out, at most 3 s, is reserved for that.
//
// When all nodes stop (Together) nothing moves: Leave ends the visits, waits for End, which is
// called when no member has an open visit, and returns with the data in place.
//
// Leave runs on the caller's goroutine; the other methods may be called from any. There is no
// queue.
package drain
