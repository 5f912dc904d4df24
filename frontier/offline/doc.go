// Package offline reads the frontiers of nodes that do not run, and changes nothing on their disks.
//
// A Store lists URLs as a running cluster does, in the order of package listing, and reads single
// records and hosts. It reads one or more folders. When several of them have a partition, it
// reads the newest one: a held partition first, then by epoch and sequence number. Copies, and
// partitions that were handed over, are read only on request: another node may have newer ones.
//
// The caller locks the data directories against a start of their nodes. One goroutine uses a Store.
// Its memory is bounded by the caches and by the size of the logs that a killed process has left.
package offline
