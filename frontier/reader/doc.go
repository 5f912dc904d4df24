// Package reader reads a snapshot of a frontier's store: a Partition reads one generation
// of one partition by relative keys, States, Sets and ReadBooks read the node's own range.
//
// It changes nothing and keeps nothing: whoever opens the snapshot closes it. A Partition
// is for one goroutine.
package reader
