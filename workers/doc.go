// Package workers serves the frontier to workers, that is to programs outside of the cluster that
// fetch pages. A worker asks any node for URLs, fetches them, and reports the results.
//
//	GET next      Front.NextURLs ─► this node's Desk, then the other nodes' ─► Desk.Next
//	POST results  Front.SettleURLs ─► by the holder of each host ─► Desk.Settle
//
//	dispatcher ─ feed ─► pipeline: robots, rules ─ Desk.Take ─► line ─► batch ─ Hold ─► lease
//
// # A lease
//
// A leased URL is a visit of the dispatcher that stays open: its host has no other visit, and its
// page permit is used. Package workers/leases, which is pure, has the rules. The visit ends in one
// of three ways, whichever removes it from Desk.open first:
//
//	result      the host's gap begins; links, record and retries are as for a page fetched here
//	expiry      it counts as a failed attempt (timeout), and the host's gap begins
//	withdrawal  its partition moves, the node stops or loses its own lease: the URL stays queued,
//	            and no node requests its host before the worker's lease has expired
//
// # Durability
//
// Before a worker gets a URL, the disks of the partition's in-sync set have a note that the URL's
// host must not be requested until the lease expires (Hold), with the lease and the URL
// (crawl.TagOf). So a host never has two crawlers, whichever nodes are killed. The rest of the
// lease is in memory. When its node was killed or its partition has moved, the Book of the present
// holder does not know a result's lease; that node reads the host's state and opens a visit for the
// URL, if the host is still held for this lease (Source.Adopt).
//
// A lease's id is opaque to workers. It has a random part, and the second in which the lease
// expires: after that, results that no node knows are refused (leaseOver).
//
// # Queues
//
//	queue         filled by    emptied by          bound               when full
//	line          Desk.Next    visits, patience    MaxWaiting          ErrBusy
//	open visits   the feed     results, deadlines  leases.Limits.Open  crawl.ErrTooManyLeased
//	results       Desk.Settle  the store           settlers at a time  the caller waits
package workers
