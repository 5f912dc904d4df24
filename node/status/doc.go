// Package status makes the status document: what /status, the dashboard and `crawlnode status` show
// of the whole cluster. It does no I/O, reads no clock and starts no goroutine; but for the Meter,
// which several goroutines may read while one samples, its functions are pure.
//
// A member is suspect after two seconds of silence, serves nothing after three or without a lease,
// and has failed when a view went on without it.
//
// A node gathers a Picture (package report): the last block of every node that it has ever heard of, with what
// gossip and the view say of that node. Merge makes the document of it in O(nodes):
//
//	ring.go      what is served, moving, or short of copies
//	health.go    the cluster's state, and the reasons that no single node can know
//	ending.go    what keeps a crawl without work from ending
//	lookout.go   events found by comparing one document with the next
//
// One node's own part is told here as well:
//
//	bottleneck.go  what holds it back, with the figure and what would help
//	rates.go       speeds, from totals that are sampled once a second
//
// Counters of a node that is gone stay in the totals of what was done; its queue, its fetches and
// its partitions do not. Invariant I10: making a status reads no URL and calls no node.
package status
