// Package crawl holds the nouns that every room of crawlnode speaks: hosts,
// partitions, targets, records, leases, outcomes, host states, counters,
// settings and the status document.
//
// It holds no behaviour beyond what a noun needs to be printed, added up or
// written to disk: no goroutine, no I/O, no clock. A type stands here when two
// rooms that may not import each other have to hand it over.
//
// The life of a URL, in these words:
//
//	Target   a canonical URL on its way to the node that owns its host
//	Item     a Target that was admitted and waits in its host's queue
//	Lease    the right to fetch one Item, bound to a partition and its epoch
//	Outcome  what became of the fetch
//	Record   what the frontier remembers of the URL afterwards
package crawl
