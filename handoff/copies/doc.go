// Package copies keeps the copies on this node of partitions that other nodes hold: it takes
// snapshots and mutations from their holders, lets a copy go on under a new tenure, and deletes
// copies that are not needed. Package replication is the other end.
//
// # What may change a copy
//
// Every change passes the Gate: the sender is a member of the installed view, by this boot, and
// has not joined anew since the epoch of the tenure. A holder's copy never takes the place of one
// of a later tenure, nor of a partition that is held here. A copy that this node has asked for, to
// promote it, follows another rule (wanted.go).
//
// # Deleting
//
// A replica that has left the in-sync set is told to drop its copy. That order may be lost or
// late. So it names the link after which it was given, and counts for nothing when a newer link was
// opened (marks.go). In addition a node asks the owners about copies that the table does not give
// it (drop.go); only a holder with a full set answers that they may go, and suspect copies stay.
//
// # Goroutines and queues
//
// This package starts no goroutine: it runs on those of the callers, one for each stream and call.
// It has no queue. One mutex guards the marks, one the wanted copies; both are held for moments.
// Marks.Alone lets one change of a partition's copy run at a time.
package copies
