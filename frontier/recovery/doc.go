// Package recovery finds out, when a frontier starts, whether the store still has everything that
// was acknowledged.
//
// Load reads the node's own range and the sequence number and counters of each partition, and
// compares them with the high-water file (highwater.go), which stands beside the store and records
// the last sequence number and state of each partition. The result for a partition is one of
//
//	whole     the store has everything up to the mark
//	suspect   mutations, a change of state or the sequence number are missing, or the store
//	          is damaged somewhere: another copy must replace this one
//	unsure    the machine lost power: the last second may be missing
//
// A state that is older than the mark's is replaced by the mark's: a store that lost
// "released" must not hold the partition again. The results are on disk before Load
// returns, so they survive another restart.
//
// Load runs in the goroutine of its caller, before there is a writer. HighWater then
// belongs to the writer.
package recovery
