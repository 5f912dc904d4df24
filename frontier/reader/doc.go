// Package reader reads a snapshot of a frontier's store. A Partition reads one generation
// of one partition, by relative keys; States, Sets and ReadBooks read the node's own range.
//
// It writes nothing and keeps no state. Whoever opens a snapshot closes it. One goroutine uses a
// Partition.
package reader
