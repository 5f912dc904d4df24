// Package due finds the pages whose next visit has come, in a snapshot of the frontier's store, and says what
// the frontier and whoever plans those visits need of each other.
//
//	judge.go  what the frontier asks of the judge of visits, and is answered
//	read.go   reads of the table of due pages, and of the done pages that are not in it
//	count.go  the counters of revisits
//	heads.go  where that table begins, without a walk over what was deleted there
//
// It writes nothing: the frontier does. Heads is for many goroutines and locks itself; a read is for one. Nothing
// here knows the clock: times are on the partition's timeline until a reader.Partition gives them to this process.
package due
