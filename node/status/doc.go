// Package status makes the status document: what /status, the dashboard and `crawlnode status` show
// of the whole cluster. It does no I/O, reads no clock and starts no goroutine. Its functions are
// pure, except the Meter, which several goroutines may read while one samples.
//
// A member is suspect after two seconds of silence, serves nothing after three or without a lease,
// and has failed when a view went on without it.
//
// A node collects a Picture (package report): the last block of every node that it knows, with the
// state of that node by gossip and the view. Merge makes the document from it in O(nodes):
//
//	ring.go      what is served, moving, or short of copies
//	health.go    the cluster's state, and the reasons that no single node can know
//	ending.go    what keeps a crawl without work from ending
//	lookout.go   events found by comparing one document with the next
//
// The package also computes a node's own part:
//
//	bottleneck.go  its main limit, with the figure and a remedy
//	rates.go       speeds, from totals that are sampled once a second
//
// The counters of a node that is gone stay in the totals of finished work; its queue, its fetches
// and its partitions do not. Invariant I10: making a status reads no URL and calls no node.
package status
