// Package commit is the one writer of a frontier: requests wait, are gathered into a group,
// and a group is one transaction of the store (group commit).
//
// # One goroutine
//
// Writer.Run is the one goroutine that changes anything: partitions, their filters, the
// store. Callers hand it a Request and wait. It applies the requests of a group one after
// the other to a Group, which shows each of them what those before it did. Nothing changes
// for readers before the group is committed.
//
//	queue            filled by            emptied by  bound           when full
//	requests         every changing call  Run         waiting callers callers block
//	waiting for disk Run, after commit    syncQueue   waiting callers callers block
//	held for space   Run, on a full disk  Run         waiting callers callers block, as long as they wait
//	fingerprints     Run, after commit    -           CacheEntries    old ones are overwritten
//	entries of hosts Run, after commit    -           2 cachedHosts   the older half of a partition's is dropped
//	dead generations Run, after commit    sweep       256 MiB         no copy begins to arrive
//	filters to make  Run                  rebuild     partitions      a partition waits once
//
// # Goroutines
//
//	Run        started by its caller; starts the others and waits for them
//	rebuild    makes Bloom filters that are missing or full (rebuild.go)
//	sweep      deletes the keys of dead generations (sweep.go)
//	sync       syncs the store for requests that must survive a loss of power (syncqueue.go)
//
// # Partitions
//
// A Partition is what the writer has of one partition in memory: its state, its filters,
// and the sinks that are handed its mutations. A Part is a partition in a group: a copy of
// the state, and the entries to be written. Each group that changes a partition raises its
// sequence number by one; what the group wrote of it is its mutation.
//
// # Books
//
// The sequence number and the counters of a partition are its books, which change with each mutation. A group that changes
// several partitions writes their books as one entry, a slot (books.go). What a slot still has that is nowhere else moves
// under the partitions' own keys before the slot is written anew, within the same transaction.
//
// # What it does not do
//
// It does not know what a request means: admitting and completing URLs, and what becomes of
// partitions, is the frontier's. It knows hosts, because the entry of a host and its place
// in the wake index must change together.
package commit
