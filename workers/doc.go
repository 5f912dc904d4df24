// Package workers serves the frontier to programs outside of the cluster that fetch pages: workers. A worker asks any node for
// URLs, fetches them, and reports what it has found.
//
//	GET next      Front.NextURLs ─► this node's Desk, then the other nodes' ─► Desk.Next
//	POST results  Front.SettleURLs ─► by the holder of each host ─► Desk.Settle
//
//	dispatcher ─ feed ─► pipeline: robots, rules ─ Desk.Take ─► line ─► batch ─ Hold ─► lease
//
// # A lease
//
// A leased URL is a visit of the dispatcher that stays open: its host has no other one, and its permit for a page is taken. What is decided about leases
// is in package workers/leases, which is pure. The visit ends in one of three ways, by whoever takes it out of Desk.open first:
//
//	its result     the host's gap begins; links, record and retries are those of a page that was fetched here
//	its lease      it counts as a failed attempt (timeout), and the host's gap begins
//	taken back     its partition moves, the node stops or loses its own lease: the URL stays queued, and
//	               its host is not requested until the worker's lease is over, by whoever holds it then
//
// # What survives
//
// Before a worker gets a URL, it is on the disks of the partition's in-sync set that the URL's host must not be requested
// until the lease is over (Hold), and for which lease and URL that is (crawl.TagOf). So a host never has two crawlers, whichever nodes are killed. The rest
// of the lease is in memory. When its node was killed or its partition has moved, a result is unknown to the Book of the node that has the partition
// now; that node looks into the host's state and opens a visit for the URL, if it is still held for this lease (Source.Adopt).
//
// A lease's id is opaque to workers. It has a random part, and the second of its end: results that no node answers for are refused after it (leaseOver).
//
// # Queues
//
//	queue         filled by    emptied by         bound                          when full
//	line          Desk.Next    visits, patience   MaxWaiting                     ErrBusy
//	open visits   the feed     results, deadlines leases.Limits.Open             crawl.ErrTooManyLeased
//	results       Desk.Settle  the store          settlers at a time             the caller waits
package workers
