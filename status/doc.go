// Package status makes the status document of the whole cluster, which /status, the dashboard and
// `crawlnode status` show. It does no I/O, reads no clock and starts no goroutine. Its functions
// are pure, except those of the Meter and of Onsets, which several goroutines may use.
//
// A member is suspect after two seconds of silence, serves nothing after three or without a lease,
// and has failed when a view no longer lists it.
//
// A node collects a Picture (package report): the last block of every node that it knows, with the
// state of that node by gossip and the view. Merge makes the document from it in O(nodes):
//
//	ring.go      what is served, moving, or short of copies
//	health.go    the cluster's state, and the reasons that no single node can know
//	ending.go    what keeps a crawl without work from ending
//	lookout.go     events, from the differences between consecutive documents
//	onsets.go      since when each problem of the cluster has lasted
//
// Two files serve a node's own block and the cluster's document alike:
//
//	bottleneck.go  the main limit, with the figure and a remedy
//	rates.go       speeds, from totals that are sampled once a second
//
// Every figure of the whole cluster is computed here, once: the command line, the progress line,
// the dashboard and the metrics read the document. So figures agree: the rows of the members add up
// to the totals, no mean is above the peak, a node that is silent or gone has no speed, and
// sentences have the same figures as the tables.
//
// The counters of a node that is gone stay in the totals of finished work; its queue, its fetches
// and its partitions do not. Invariant I10: making a status reads no URL and calls no node.
package status
