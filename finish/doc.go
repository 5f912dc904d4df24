// Package finish ends the crawl: when no work is left, when its time limit has passed, and when
// --max-pages pages have been fetched. It does not end the process; node does, when this
// package has stored a crawl document that says "finished".
//
// # No work left
//
// A link is always on a leased page, in an outbox, or in its owner's store. So the crawl has
// ended when two rounds in a row find every member of the view idle, with the same boots and the
// same activity: work under way during the first round would have made a member active before
// the second. The member with the lowest id runs the rounds. No election is needed: two nodes that
// run them at the same time reach the same result.
//
//	rounds.go   the Finisher: its rounds, and what two of them must agree on
//	verdict.go  why the crawl ends; how the members learn of it
//	work.go     what keeps one node from being idle
//
// While known pages are revisited, a crawl does not end by itself. Two idle rounds then mean that
// it waits until a page is due: Finisher.Waiting, which is part of this node's block
// (status.Waiting). The crawl document is not changed by that, nor when a page becomes due
// (decision 0218). Only limits and operators end the crawl.
//
// # The page limit
//
// Page permits keep --max-pages exact over the whole cluster. The holder of partition 0 grants them
// in blocks. A node needs a permit for each page, and a visit that ends without a page returns its
// permit back.
//
//	permits.go  the permits of this node, taken by its visits
//	granter.go  what the holder of partition 0 grants
//
// Grants are not written to disk. The node that acquires partition 0 counts again: the pages done,
// by the partitions' own counters, and the unused permits, as every member reports them in a block
// that it made after the acquisition. It counts only while no partition moves and the members
// together hold all partitions, because the pages of a partition that is being taken over are in
// nobody's count. Until every member has reported, and while a partition is offline, only what was
// counted before is granted. Anything uncertain counts as an unused permit, so a count may be too
// high, never too low. When nothing is left to grant, the count is repeated; that also recovers the
// permits of a crashed node.
//
// A lowered limit makes all unused permits void. A node that knows the new limit must not get
// permits under the old one, from a granter that does not know it yet. So a request names the
// version of its document, and a granter with an older one grants nothing.
//
// # Goroutines and queues
//
// Two goroutines, both started and awaited by node: Permits.Run asks for permits, Finisher.Run runs
// the rounds; the calls of a round are awaited before the next begins. Every method may be called
// from any goroutine. Mutexes are never held during a call. The only queue is one signal of
// capacity 1 that permits are needed.
package finish
