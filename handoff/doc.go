// Package handoff decides and carries out who holds which partition: it keeps the replicas of
// what this node holds, moves partitions between living nodes, and promotes the copies of dead
// ones. The rules are in docs/ownership.md, which comments cite as "ownership rule 9"; nothing
// here is ever resumed on a guess.
//
// The Driver is one goroutine that owns the machine. It performs the machine's actions through
// small interfaces that package node fills, and feeds the results back as events. Every step
// that must be durable is durable before the event that reports it, and is stored on the
// goroutine that installs views: no view can change between a decision and the disk.
//
// # Packages
//
//	machine      decides: who holds which partition, which replicas count. Pure
//	replication  sends copies and mutations to the replicas of what this node holds
//	copies       takes and deletes the copies of what other nodes hold
//	hints        keeps what a silent replica misses, on disk
//	acks         who must acknowledge what is stored, and who waits for it
//	wire         the messages and calls between nodes
//
// The driver wires them. None of them knows the driver: events for the machine go through a
// function that it gives them. Decision 0191 says why the borders are there.
//
// # Files
//
//	driver.go   the loop: events in, actions out
//	perform.go  the actions
//	move.go     freezes, tokens, questions to all members
//	calls.go    calls from other nodes
//	answers.go  what this node answers about what it holds, from memory
//	gate.go     who may change what is here
//	record.go   in-sync sets, recorded with the members of the view
//	wait.go     callers that wait for acknowledgements
//	status.go, list.go, store.go, nouns.go
//
// # States of a partition on one node
//
// Absent, Holding, Freezing and Released. Package machine has their meaning and the table of
// legal moves.
//
// # Links and the in-sync set
//
// A link carries one partition to one replica: opening (what does it have?), copying (a snapshot
// is on its way), following (it has the copy, and nothing is acknowledged without it from here
// on), up (it also has all that was acknowledged before). The in-sync set of a partition is the
// holder and the replicas whose acknowledgement counts; only a replica that is up enters it. A
// change of the set is numbered (epoch, version), stored by more than half of the view, and counts
// from then on; while it is being recorded, both sets must acknowledge. What is acknowledged is on
// every disk of the set. Only a copy of the recorded set is promoted while a node of it may return.
// If none may be promoted, the partition is offline: docs/operations.md has the five causes, and
// machine/promote.go their texts.
//
// The set on this node's disk may be a proposal that no other node knows. So a holder acknowledges
// nothing after a start or a promotion until more than half have stored a set of its own. In each
// newer view it records the set again, and tells the members that have missed it, because those
// that know it may leave.
//
// Links go to the replicas that the table names, and to the owner when that is another node: so a
// move is making the new owner a replica, and a token. After a move the sender stays in the set;
// the new holder drops copies that the table does not name once those that it names are in sync.
//
// # A replica that falls silent
//
// After three seconds without an acknowledgement the links to a replica are given up, and the sets
// go on without it. Hints of what it misses are kept on disk until it is up to date, for five
// minutes or 256 MiB at the most. A partition that is promoted in the place of a node that is away
// has hints from its beginning: when that node returns with exactly what was promoted, it adopts
// the tenure and goes on. Otherwise the partition is copied anew.
//
// # Promotion
//
// The owner of a partition that no node passes to it asks every member of the view, itself
// included. "I hold it" means that a normal move will come. When all have answered "not I", and the
// fence of the view is over, the highest (epoch, sequence) among the copies of the recorded set
// becomes the content, in the epoch of the view. A member that has answered takes no mutation from
// a node that its view does not list, nor from one that has joined anew since the epoch: gate.go.
//
// The answer comes from memory (answers.go), also while the disk is full or does not answer: the
// driver publishes what may be answered before it carries anything out. Only what is on its way to
// the disk, and releases that must be sealed there, have no answer until they are stored.
// Installing a view waits for one second for the changes that were let in before it; a change that
// takes longer is revoked, and its caller gets an error.
//
// A node that owns a partition and has no good copy of it asks for the best one of the set. That
// one may take the place of a copy of a later epoch: the holder of that epoch died before it had
// recorded a set, so it had acknowledged nothing, and no set counts what it sent. It never takes
// the place of anything but what was here when the copies were compared (copies.Wanted).
//
// The newest set that the members know must be the newest there is. More than half of a view have
// recorded it; when more than half of that view are gone since, it could be lost: the machine
// (history.go there) then keeps the partition offline. One limit stays: members that have restarted
// remember no older views. If those that knew the newest set die one after the other, faster than
// it can be recorded in a view between, and the rest has restarted meanwhile, an older set may be
// taken for the newest.
//
// # Loss of power
//
// The store is synced once a second only. A node that knows that its machine lost power holds
// nothing any more: what it held are copies, and unsure, as those that it had are, until a holder
// has gone on from them or has replaced them. They are not promoted while another node of the set
// is away that may have more.
//
// Where that cannot be known, a holder that comes back may have less than its replicas. Their
// copies are compared with what it found on its disk at the start, whatever it has written since;
// when one of them is ahead it yields, and that copy is promoted. While no replica can be reached
// it goes on without them: then what was lost is lost.
//
// # Queues
//
// Those of the packages below are in their own pages.
//
//	queue           filled by            emptied by       bound       when full
//	inbox           links, calls, views  Driver.Run       256 events  callers block
//	sets to record  machine              recorder         partitions  the newest replaces the older
//	sets told late  recorder             recorder         partitions  the newest replaces the older
//	waiters         Wait                 acknowledgement  callers     they leave with their context
//
// # What it does not do
//
// It reads no clock but the driver's, decides no view, grants no lease and speaks no network: bytes
// go through Transport. It does not merge what a node held alone on the losing side of
// --quorum=off.
package handoff
