// Package copies keeps the copies on this node of partitions that other nodes hold: it receives
// snapshots and mutations from their holders, lets a copy adopt a new tenure, and deletes
// copies that are not needed. Package replication is the other end.
//
// # What may change a copy
//
// Every change passes the Gate: the installed view lists the sender with this boot, and the sender
// has not rejoined since the epoch of the tenure. A holder's copy never replaces a copy
// of a later tenure, nor a partition that is held here. A copy that this node has asked for, to
// promote it, follows another rule (wanted.go).
//
// # Deleting
//
// A replica that has left the in-sync set is told to drop its copy. That order may be lost or late.
// So it names the link after which it was given, and is ignored when a newer link was opened
// (marks.go). In addition a node asks the owners about copies that the table does not assign to it
// (drop.go). Only a holder with a full set agrees that they may be deleted, and suspect copies
// stay.
//
// # Goroutines and queues
//
// This package starts no goroutine: it runs on those of the callers, one for each stream and call.
// It has no queue. One mutex guards the marks, one the wanted copies; neither is held during I/O.
// Marks.Alone lets one change of a partition's copy run at a time.
package copies
