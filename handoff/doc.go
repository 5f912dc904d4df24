// Package handoff decides and carries out who holds which partition: it keeps the replicas of what
// this node holds, moves partitions between living nodes, and promotes copies of the partitions of
// dead ones. The rules are in docs/ownership.md, which comments cite as "ownership rule 9".
//
// The Driver is one goroutine that owns the machine. It performs the machine's actions through
// small interfaces that handoff/transfer implements, and feeds the results back as events. Every
// step that must be durable is durable before the event that reports it, and is stored on the
// goroutine that installs views: no view can change between a decision and its write to the disk.
//
// # Packages
//
//	machine      decides: who holds which partition, which replicas count. Pure
//	replication  sends copies and mutations to the replicas of what this node holds
//	copies       takes and deletes the copies of what other nodes hold
//	hints        keeps what a silent replica misses, on disk
//	acks         which replicas must acknowledge a write, and the callers that wait for them
//	wire         the messages and calls between nodes
//
// The driver connects them. None of them knows the driver: events for the machine go through a
// function that it passes to them. Decision 0191 explains this division.
//
// # Files
//
//	driver.go   the loop: events in, actions out
//	perform.go  the actions
//	move.go     freezes, tokens, questions to all members
//	calls.go    calls from other nodes
//	answers.go  answers to questions about what this node holds, from memory
//	gate.go     which nodes may change the partitions and copies here
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
// A link carries one partition to one replica. Its states: opening (asks what the replica has),
// copying (a snapshot is on its way), following (the replica has the copy, and from now on nothing
// is acknowledged without it), up (it also has everything that was acknowledged before). The
// in-sync set of a partition is the holder and the replicas whose acknowledgement counts; only a
// replica whose link is up enters it. A change of the set is numbered (epoch, version) and takes
// effect when more than half of the view have stored it; until then, both sets must acknowledge.
// What is acknowledged is on the disks of all nodes of the set. Only a copy of the recorded set is
// promoted while a node of that set may return. If none may be promoted, the partition is offline:
// docs/operations.md has the five causes, and machine/promote.go their texts.
//
// The set on this node's disk may be a proposal that no other node knows. So after a start or a
// promotion a holder acknowledges nothing until more than half of the view have stored a set of its
// own. In each newer view it records the set again, and tells the members that have missed it,
// because those that know it may leave.
//
// Links go to the replicas that the table names, and to the owner when that is another node. So a
// move makes the new owner a replica and then passes a token to it. After a move the sender stays
// in the set; the new holder drops copies that the table does not name once those that it names are
// in sync.
//
// # A replica that falls silent
//
// After three seconds without an acknowledgement the links to a replica are given up, and the sets
// go on without it. Hints of what it misses are kept on disk until it is up to date, for the time
// of --catch-up. They are the history of the copy here: they outlive the process, and go on while
// the partition is passed on and comes back. A partition that is promoted in the place of a node
// that is away has hints from there on, for a copy that is exactly what was promoted. A node that
// returns adopts the running tenure where its copy is, and the hints are sent, if its copy is
// proved to be a beginning of the one here (ownership rule 16). Otherwise it is copied anew. A node
// that drains is treated so, too: its copies leave the sets and stay on its disk.
//
// # Promotion
//
// The owner of a partition that no node passes to it asks every member of the view, itself
// included. "I hold it" means that a normal move will follow. When all have answered "not I", and
// the fence of the view is over, the copy of the recorded set with the highest (epoch, sequence) is
// promoted, in the epoch of the view. A member that has answered accepts no mutation from a node
// that its view does not list, nor from one that has rejoined since the epoch (gate.go).
//
// The answer comes from memory (answers.go), also while the disk is full or does not respond: the
// driver publishes what may be answered before it performs any action. Only states that are being
// written, and releases that must be sealed on disk, have no answer until they are stored.
// Installing a view waits up to one second for the changes that were admitted before it; a change
// that takes longer is revoked, and its caller gets an error.
//
// A node that owns a partition and has no good copy of it asks for the best one of the set. That
// one may replace a copy of a later epoch: the holder of that epoch died before it had
// recorded a set, so it had acknowledged nothing, and no set counts what it sent. It replaces only
// the copy that was here when the copies were compared (copies.Wanted).
//
// A promotion is safe only if the newest set that the members know is the newest there is. More
// than half of a view have recorded it; when more than half of that view are gone since, it could
// be lost: then machine/history.go keeps the partition offline. One limit remains: members that
// have restarted remember no older views. If those that knew the newest set die one after the
// other, before it can be recorded in a newer view, and the others have restarted meanwhile, an
// older set may be taken for the newest.
//
// # Loss of power
//
// The store is synced only once a second. A node that knows that its machine lost power is no
// longer the holder of anything: the partitions that it held become copies. All its copies are
// unsure until a holder has continued from them or has replaced them. They are not promoted while
// another node of the set is away that may have more.
//
// Where a loss of power cannot be detected, a returning holder may have less than its replicas.
// Their copies are compared with what it found on its disk at the start, whatever it has written
// since; when one of them is ahead the holder yields, and that copy is promoted. While no replica
// can be reached the holder continues without them: then what was lost is lost.
//
// # Queues
//
// The packages below describe their own queues.
//
//	queue           filled by            emptied by       bound       when full
//	inbox           links, calls, views  Driver.Run       256 events  callers block
//	sets to record  machine              recorder         partitions  a newer one replaces it
//	sets to resend  recorder             recorder         partitions  a newer one replaces it
//	waiters         Wait                 acknowledgement  callers     end with their context
//
// # What it does not do
//
// It decides no view, grants no lease and opens no connection: bytes go through Transport. It does
// not merge what a node held alone on the losing side of --quorum=off.
package handoff
