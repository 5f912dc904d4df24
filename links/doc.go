// Package links routes URLs: into this node's frontier, to the node that holds their
// partition, or into an outbox until that node can be reached. It sends and receives links, and
// completes a page together with its links.
//
// # The route of a link
//
//	seed, page, outbox ── Router ──┬─ this node holds the partition: Store
//	                               ├─ another one does: Peers ── its Receiver ── its Store
//	                               └─ no node has acknowledged it: the outbox of its page
//
//	options.go    what the package needs of others
//	route.go      Router: one attempt to store links on the nodes that hold their partitions
//	ticket.go     what must be true before stored links are acknowledged
//	wire.go       a link as other nodes send it
//	judge.go      whether a link is admitted, and whether it opens its own scope
//	complete.go   Completer: the pipeline's Sink
//	outbox.go     Sender: sends what waits in the outboxes
//	receive.go    Receiver: stores what other nodes send
//	seeds.go      Seeder: stores submitted seeds
//	sentcache.go  links that were acknowledged recently, and are not sent again
//
// # Guarantees
//
// A link is always on a leased page, in an outbox, or in its owner's store (invariant I3). It is
// acknowledged, to a peer or to the caller that adds seeds, when the in-sync replicas of its
// partition have it, in the tenure in which it was stored. A batch of links is answered when all
// its partitions are acknowledged, at the latest after 3.5 s; batches of one peer are answered in
// order. So a silent replica delays the links of others until its own link is given up, after 3 s;
// from then on links that need its acknowledgement are refused at once.
//
// Before a page is done, its links to other partitions, including those that this node holds, are
// acknowledged or stand in the page's outbox. Its links to its own partition are in its own
// transaction, so a replica has both or neither.
//
// While scope entries may be missing on a node, it refuses no link for lack of one: such a link
// waits in the outbox of its page and is judged there; a link of another node stays with that node.
//
// # Goroutines and queues
//
// Sender.Run is one goroutine, which sweeps the outboxes of the held partitions. A call of
// Router.Submit starts one for each batch that goes to another node, and waits for them. Everything
// else runs in its caller. The queues are in the table of package node: outbox, sent cache,
// incoming link batches.
//
// The package declares interfaces for what it needs of others: Store (the frontier), Holdings
// (which partitions are here, by package handoff), Peers (which node holds the others, and calls to
// it), Scope (reads and adds entries), Visits and Results (other effects of a finished page), Start
// (seeds start the crawl). It decides no view and changes no setting.
package links
