// Package guests gives URLs of other crawls than the cluster's own to the clients of the
// URLFrontier protocol, one node's part of it. The URLs are in the partitions of their hosts
// (frontier/guests); nobody but these clients fetches them.
//
//	GetURLs  Desk.Next: guests that are due ─ wishes ─► dispatcher: a visit of the host ─ pipeline:
//	         robots.txt, rules ─ Desk.Take ─► batch ─ Hold ─► lease
//	results  Desk.Put ─► the guest's record; the visit ends, and the host's gap begins
//
// So politeness is that of the host over all crawls: while a client has a guest nobody else
// requests its host, and the note of that is on the disks of the partition's in-sync set before the
// client gets it. A leased guest is a visit of the dispatcher that stays open. It ends with a
// result, with its lease, or because the node gives the host up; in the last two cases the guest is
// given out again when its lease is over: that stands in its record (guests.Table.Take).
//
// A result counts also when no lease is known for it: the lease has ended, or its node was killed.
// It is refused only while another lease of the same URL goes on.
//
// # Bounds
//
//	queue         filled by   emptied by            bound                   when full
//	wishes        Desk.Next   visits, patience      maxWishes               fewer hosts are tried
//	open visits   pipelines   results, deadlines    leases.Limits.Open      crawl.ErrTooManyLeased
//	shunned       failures    time                  maxShunned              all are forgotten
//	ends          the above   the store             one for each visit      -
package guests
