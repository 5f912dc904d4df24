// Package recovery finds out, when a frontier starts, what the store still has of what was
// acknowledged.
//
// Load reads the node's own range and the books of the partitions, and compares them with
// the high-water file (highwater.go), which says beside the store how far each partition
// had come. The outcome for a partition is one of
//
//	whole     the store has all that the mark says
//	suspect   mutations or changes of its state are missing, or its books, or the store
//	          is damaged somewhere: another copy must take its place
//	unsure    the machine lost power: the last second may be missing
//
// A state that is older than the mark's is replaced by the mark's: a store that lost
// "released" must not hold the partition again. What was found out is on disk before Load
// returns, so a second start knows it too.
//
// Load runs in the goroutine of its caller, before there is a writer. HighWater then
// belongs to the writer.
package recovery
