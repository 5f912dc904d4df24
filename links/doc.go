// Package links decides where a URL goes: into this node's frontier, to the node that holds its
// partition, or into an outbox until that node can be reached. It carries links, and it makes a page
// done together with its links.
//
// # The way of a link
//
//	seed, page, outbox ── Router ──┬─ this node holds the partition: Store
//	                               ├─ another one does: Peers ── its Receiver ── its Store
//	                               └─ no node has acknowledged it: the outbox of its page
//
//	options.go    what the package needs of others
//	route.go      Router: one try to store links on the nodes that hold their partitions
//	ticket.go     what must be true before stored links may be called acknowledged
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
// A link is always behind a leased page, in an outbox, or in its owner's store (invariant I3). It
// is acknowledged, to a peer or to the caller that adds seeds, when the in-sync replicas of its
// partition have it, in the tenure in which it was stored. A batch of links is answered when its
// last partition is, at the latest after 3.5 s, and batches of one peer in order. So a silent
// replica delays the links of others until its own link is given up, 3 s later; from then on links
// that need its answer are refused at once.
//
// Before a page is done its links to other partitions are acknowledged, those that are held here as
// well, or they stand in the page's outbox. Its links to its own partition are in its own
// transaction, so a replica has both or neither.
//
// A node refuses no link for lack of a scope entry while entries may be missing: such a link waits
// in the outbox of its page and is judged there; a link of another node stays with that node.
//
// # Goroutines and queues
//
// Sender.Run is one goroutine, which sweeps the outboxes of the held partitions. A call of
// Router.Submit starts one for each batch that goes to another node, and waits for them. Everything
// else runs in its caller. The queues are in the table of package node: outbox, sent cache, incoming link batches.
//
// What this package needs of others it declares: Store (the frontier), Holdings (which partitions
// are here, by package handoff), Peers (which node holds the others, and calls to it), Scope (how entries
// come and go), Visits and Results (what else a finished page leads to), Start (how seeds set the
// crawl running). It decides no view and changes no setting.
package links
