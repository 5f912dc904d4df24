// Package consensus decides the sequence of numbered views, says who may be
// dropped from the next one, and computes until when a lease holds. It is the
// pure core of membership: no clock, no I/O, no goroutine, no lock. Time and
// randomness are arguments.
//
// Package membership drives it: it passes events in, carries the actions out
// in the order given, and owns gossip, disk and network.
//
//	Core        Step(Event) []Action: which view follows, and what to tell whom
//	Lease       until when one boot of one node may fetch
//	Standstill  whether the node's own clock stood still
//
// # How a view is decided
//
// plan.go compares the installed view with the nodes in sight and says which
// view should follow. paxos.go gets it decided, by single-decree Paxos for view
// n+1 among the members that have view n installed; the reachable member with
// the lowest id proposes, the others wait longer the higher they rank. core.go
// brings every node that is behind to the newest view: each message carries the
// sender's number, and each node greets one other a second, and all that it did
// not hear.
//
// quorum.go counts votes: more than half of view n, by id; or exactly half,
// none of them restarted since its boot in n, when the proposer has proof that
// every other member's boot is dead. So the last of two goes on alone after the
// other was killed, and never after a mere cut.
//
// What a core promises or accepts is on the disk before anybody hears of it
// (Action Persist comes before the Sends that it justifies).
//
// # Who is dropped
//
// fate.go: a member that is proved dead, at once; one that is silent, after
// 5 s in which nothing was heard from it, neither a message nor a lease asked
// for or granted. Silence is counted in ticks of the node itself, and counted
// anew after each install and after the node itself stood still. A view never
// drops its last active member that lives.
//
// silence.go: one node's silence proves little, since the link between the two
// may be cut. So a promise says whom its voter finds silent, and a member is
// dropped for silence only when more than half of the members say so: then too
// few are left to grant it a lease. An attempt that finds too few is repeated
// after 1 s, then after 5 s and each 10 s, because it costs every voter a write
// to its disk; changes for other reasons do not wait. Proof, leave and forget
// ask nobody.
//
// So when two members do not reach each other, but each reaches a majority,
// both stay, keep what they hold, and renew their leases with the others. Links
// from pages of the one to hosts of the other wait in the outbox, and each gives
// up its copies at the other, until the cut heals.
//
// An excluded node joins anew when it is heard, by half of the members or more
// if it was excluded for silence of late: so it is not excluded at once again.
// One that is excluded again and again has to wait a little besides.
//
// View.Removed says for each one dropped whether its death was proved: then
// nobody has to wait for its lease to run out. Else, and whenever Install says
// Skipped, the new owner waits Fence from its own install of the view.
//
// forgotten.go: an id that an operator swore to be gone does not vote and does
// not count; the next view bars it. twins.go: a member that hears two boots of
// one id takes no proof from the higher one.
//
// # Leases
//
// lease.go: a lease needs grants of at least half of the view, the node's own
// included, and ends 8 s after the sending of the oldest request that counts. A
// node grants only in the view that it has installed, and only until it has
// accepted a successor (Core.Grants): so when a view that drops a member is
// decided, that member's lease is running out.
//
// standstill.go: a node whose clock lost more than half a second against one
// that it was compared with stood still, as a paused virtual machine does.
//
// # What it does not do
//
// It finds no nodes, sends nothing and writes nothing. It does not say who holds
// a partition. TestPureCores in the root of the module checks its purity.
package consensus
