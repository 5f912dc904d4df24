// Package due finds the pages whose next visit is due, in a snapshot of the frontier's store. It
// also declares Planner, which plans these visits for the frontier.
//
//	judge.go  Planner: what the frontier asks it, and its answers
//	read.go   reads the table of due pages, and the done pages that are not in it
//	count.go  the counters of revisits
//	heads.go  the first entry of that table, without iterating over deleted entries
//
// It writes nothing: the frontier does. Heads has its own lock and may be used by many goroutines;
// a read has one. The package reads no clock: times are on the partition's timeline until a
// reader.Partition converts them to times of this process.
package due
