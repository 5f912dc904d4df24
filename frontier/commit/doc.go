// Package commit is the one writer of a frontier (group commit): it collects waiting requests into
// a group and writes each group as one transaction of the store.
//
// # One goroutine
//
// Writer.Run is the one goroutine that changes anything: partitions, their filters, the
// store. Callers hand it a Request and wait. It applies the requests of a group one after
// the other to a Group, which shows each of them what those before it did. Nothing changes
// for readers before the group is committed.
//
//	queue            filled by            emptied by  bound            when full
//	requests         every changing call  Run         waiting callers  callers block
//	waiting for sync Run, after commit    syncQueue   waiting callers  callers block
//	held for space   Run, on a full disk  Run         waiting callers  callers block
//	fingerprints     Run, after commit    -           CacheEntries     old ones are overwritten
//	host entries     Run, after commit    -           2 cachedHosts    half of a partition's go
//	dead generations Run, after commit    sweep       256 MiB          no import begins
//	filters to make  Run                  rebuild     partitions       each waits once
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
// A Partition is the writer's in-memory state of one partition: its state, its filters,
// and the sinks that are handed its mutations. A Part is a partition within a group: a copy of
// the state, and the entries to be written. Each group that changes a partition raises its
// sequence number by one; the entries of the partition in that group are its mutation.
//
// # Books
//
// The books of a partition are its sequence number and its counters, which change with each
// mutation. A group that changes several partitions writes their books as one entry, a slot
// (books.go). Before a slot is overwritten, the books that only it contains are copied to the
// partitions' own keys, within the same transaction.
//
// # What it does not do
//
// It does not know what a request means: package frontier admits and completes URLs and changes the
// states of partitions. It knows hosts, because the entry of a host and its position in the wake
// index must change together.
package commit
