// Package guests keeps the URLs of other crawls than the cluster's own, for clients of the
// URLFrontier protocol: which there are, what the clients have said of them, and when each may be
// given out. It knows no leases and no politeness (package workers/guests).
//
// A guest is in a queue, that is in what its crawl has of its host. It is active while it waits to
// be given out, now or at a date, and completed otherwise.
//
//	Put     a discovered guest that is new, or a result: completed, or active again at a date
//	Due     finds queues with guests whose time has come; nothing changes
//	Take    the guest is given out: it stays away until its lease ends
//	Delete  guests of a queue, of a crawl, or that are old
//
// All that changes is a mutation of its partition by the one writer (frontier/commit), as for any
// other URL: so it is durable, replicated and moved as these are. The keys are in
// frontier/layout/guests.go.
//
// # Where queues wait
//
// A queue stands once in the index of those that wait, at a time that is never later than that of
// its first guest, and maybe earlier: a guest that leaves does not move its queue. Due reads the
// first guest of each queue whose time has come; if there is none it says where the queue belongs,
// and Settle moves it there, unless a guest has come since.
//
// # Bounds
//
// A partition has at most MaxCrawls crawls. Put and Delete are cut into pieces that fit into a
// transaction. Nothing is kept in memory.
package guests
