// Package consensus decides the sequence of numbered views, says who may be
// dropped from the next one, and computes until when a lease holds. It is the
// pure core of membership: no clock, no I/O, no goroutine, no lock. Time and
// randomness are arguments.
//
// Package membership drives it: it passes events in, carries the actions out
// in the order given, and owns gossip, disk and network.
//
//	Core        Step(Event) []Action: the next view, and the messages that decide it
//	Lease       until when one boot of one node may fetch
//	Standstill  whether this node's clock stood still
//
// # How a view is decided
//
// plan.go compares the installed view with the nodes that gossip shows and computes the
// next view. paxos.go runs single-decree Paxos for view n+1
// among the members that have view n installed; the reachable member with the lowest id
// proposes, and each other one waits longer the more lower ids are reachable. core.go
// brings every node that is behind to the newest view: each message carries the number of
// the sender's view, and each second each node sends a hello to one other node, and to all
// that it has not heard.
//
// delta.go tells views: who has the view before, by all that the sender knows, gets what changes in it.
// Who cannot use that says hello, as who has missed a view does, and gets the whole. So what a view
// costs grows with the members, not with their square. Nothing else depends on how a view was told: a
// delta names the digest of the view that it makes.
//
// quorum.go counts votes: more than half of view n, by id; or exactly half,
// none of them restarted since its boot in n, when the proposer has proof that
// every other member's boot is dead. So one of two nodes continues alone after the
// other was killed, but never when only the link between them is cut.
//
// What a core promises or accepts is on the disk before another node learns of it
// (Action Persist comes before the Sends that depend on it).
//
// # Which members are dropped
//
// liveness.go: a member that is proved dead is dropped at once; a silent one after 5 s
// in which nothing was heard from it, neither a message nor a request or grant of a lease.
// Silence is counted in ticks of the counting node, and restarts from zero after each install and
// after a standstill of that node. A view never drops its last living active member.
//
// silence.go: one node's opinion proves little, since only the link between the two may
// be cut. So a promise lists the nodes that its voter finds silent, and a member is
// dropped for silence only when more than half of the members find it silent: then too
// few are left to grant it a lease. An attempt with too few such opinions is repeated
// after 1 s, then after 5 s and then every 10 s, because it costs every voter a write to its
// disk; changes for other reasons do not wait. A proof of death, a leave and a forget need no
// opinions.
//
// So when two members do not reach each other, but each reaches a majority, both stay,
// keep what they hold, and renew their leases with the others. Until the cut heals, links
// from pages of the one to hosts of the other wait in the outbox, and each stops replicating to the
// other.
//
// An excluded node joins again when it is heard. If it was excluded for silence lately, half of the
// members or more must hear it, so that it is not excluded again at once. A node that
// is excluded repeatedly waits longer.
//
// View.Removed says for each dropped member whether its death was proved: then no node
// waits for its lease to expire. Otherwise, and whenever Install says Skipped, the new owner
// waits Fence from its own install of the view.
//
// forgotten.go: a forgotten id does not vote and is not counted; the next view bars it.
// duplicates.go: a member that hears two boots of one id does not take the higher one for a proof.
//
// # Leases
//
// lease.go: a lease needs grants of at least half of the view, the node's own
// included, and ends 8 s after the sending of the oldest request that counts. A
// node grants only in the view that it has installed, and only until it has
// accepted a successor (Core.Grants): so when a view that drops a member is
// decided, that member's lease is running out.
//
// standstill.go: if a node's clock falls more than half a second behind another node's,
// the machine stood still, like a paused virtual machine.
//
// # What it does not do
//
// It finds no nodes, sends nothing and writes nothing. It does not decide which node
// holds a partition. TestPureCores in the root of the module checks its purity.
package consensus
