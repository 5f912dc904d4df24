// Package replication keeps the replicas of the partitions that this node holds: it sends copies
// and mutations to other nodes and reports what they have acknowledged. The machine decides which
// partition has a link to which node; package copies is the other end.
//
// # A link
//
// A link carries one partition to one replica. It is opened by a call that asks what copy is
// there (open.go). Then it continues in the cheapest way that is right:
//
//   - The copy has everything that is here: the link only listens to what follows.
//   - The copy is a beginning of what is here, and the hints cover the rest: it is caught up from
//     them (catchup.go).
//   - It is the very copy that the tenure began with: it adopts the tenure, and is caught up.
//   - Anything else, or nothing: a snapshot is sent (snapshot.go), and the mutations that come
//     meanwhile wait in memory and follow it.
//
// A copy that is ahead of this node in the same tenure has what was lost here (bases.go): the
// machine is told, and this node yields.
//
// # A replica that falls silent
//
// All mutations for a node go over one stream in groups, each of which it acknowledges (send.go).
// After StallTimeout without an acknowledgement its links are given up, and hints are kept of what
// it misses (package hints).
//
// # Files
//
//	replicas.go  what the driver orders: links, copies to send, to ask for, to drop
//	link.go      the life of a link; its queue
//	open.go      calls: what is there, adopt, drop, send
//	send.go      the stream of mutations, and its acknowledgements
//	copiers.go   which snapshot is made next
//	snapshot.go  one snapshot
//	catchup.go   hints kept for a silent replica, and sent to it
//	bases.go     what the disk held at the start: whether a copy has what was lost here
//
// # Goroutines and queues
//
// Each other node has one goroutine for mutations and one for calls, and while there is work
// copiers and one for hints. They end with the context of New, or when the node is no member any
// more. Replicas.mu comes before replica.mu. Both are held for moments: the frontier's writer
// takes the latter for each mutation.
//
//	queue            filled by            emptied by       bound           when full
//	mutations        frontier's writer    sendLoop         64 MiB a node   links are given up, hints
//	groups in flight sendLoop             acknowledgement  8 a node        the queue waits
//	behind a copy    frontier's writer    end of the copy  16 or 4 MiB     the link is given up
//	copies to make   links, other nodes   copiers          partitions      4 large, 16 small at once
//	copies behind    links                catchUpLoop      partitions      one at once for each node
//	calls to make    driver               workLoop         partitions      each is in it once
package replication
