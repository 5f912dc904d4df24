// Package offline reads the frontiers of nodes that do not run, and changes nothing on their disks.
//
// A Store lists URLs as a running cluster does, in the order of package listing, and reads single
// records and hosts. It reads one or more folders; of a partition that several of them have it
// reads the newest: held partitions first, then by epoch and sequence. Copies, and partitions that
// were handed over, are read only when that is asked for: another node may have newer ones.
//
// The caller locks the data directories against a start of their nodes. A Store is for one
// goroutine. Its memory is bounded by the caches and by the logs that a killed process has left.
package offline
