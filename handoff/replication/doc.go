// Package replication keeps the replicas of the partitions that this node holds: it sends copies
// and mutations to other nodes and reports what they have acknowledged. The machine decides which
// partition has a link to which node; package copies is the other end.
//
// # A link
//
// A link carries one partition to one replica. It is opened by a call that asks which copy the
// replica has (open.go). Then it continues in the cheapest correct way:
//
//   - The copy has everything that is here: only the mutations that follow are sent.
//   - The copy is proved to be a prefix of what is here, and the hints cover the rest: it is caught
//     up from them (catchup.go).
//   - So is a copy of another tenure: it adopts this one, and is caught up.
//   - Any other copy, or none: a snapshot is sent (snapshot.go); mutations wait in memory meanwhile
//     and follow it.
//
// A copy that is ahead of this node in the same tenure has what was lost here (bases.go): the
// machine gets an event, and this node yields.
//
// # A replica that falls silent
//
// All mutations for a node go over one stream in groups, each of which it acknowledges (send.go).
// After StallTimeout without an acknowledgement its links are given up, and the mutations that it
// misses are kept as hints (package hints).
//
// # Files
//
//	options.go   Options: what the package needs of others
//	replicas.go  the driver's orders: links, copies to send, to ask for, to drop
//	link.go      the life of a link; its queue
//	open.go      calls: which copy a replica has, adopt, drop, send
//	send.go      the stream of mutations, and its acknowledgements
//	copiers.go   which snapshot is made next
//	snapshot.go  one snapshot
//	catchup.go   hints kept for a silent replica, and sent to it
//	bases.go     the state of the disk at the start: whether a copy has what was lost here
//
// # Goroutines and queues
//
// For each other node there is one goroutine for mutations and one for calls, and while there is
// work, copiers and one for hints. They end with the context of New, or when the node is no longer
// a member. Replicas.mu is locked before replica.mu. Neither is held during I/O: the frontier's
// writer locks the latter for each mutation.
//
//	queue            filled by           emptied by       bound         when full
//	mutations        frontier's writer   sendLoop         64 MiB a node links given up; hints
//	groups in flight sendLoop            acknowledgement  8 a node      the queue waits
//	during a copy    frontier's writer   end of the copy  16 or 4 MiB   the link is given up
//	copies to make   links, other nodes  copiers          partitions    4 large, 16 small at once
//	copies behind    links               catchUpLoop      partitions    one at a time a node
//	calls to make    driver              workLoop         partitions    each is in it once
package replication
