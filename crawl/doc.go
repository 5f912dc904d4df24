// Package crawl has the data types that all packages of crawlnode share: hosts,
// partitions, targets, records, leases, outcomes, host states, counters,
// settings and the status document.
//
// It has no behaviour beyond what a type needs to be printed, summed or
// encoded: no goroutine, no I/O, no clock. A type belongs here when two
// packages that may not import each other exchange it. Signal is the one exception: nearly
// every package wakes a goroutine with it.
//
// The life of a URL, in these terms:
//
//	Target   a canonical URL on its way to the node that owns its host
//	Item     an admitted Target that waits in its host's queue
//	Lease    the right to fetch one Item, bound to a partition and its epoch
//	Outcome  the result of the fetch
//	Record   what the frontier stores about the URL afterwards
package crawl
