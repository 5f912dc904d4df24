// Package membership decides who is a member of the cluster, a sequence of
// numbered views, each decided by the members of the one before; and until when
// a member may fetch, its lease.
//
// Two layers, kept apart. Gossip (github.com/hashicorp/memberlist) finds nodes
// and suspects them; it decides nothing, because two halves of a split cluster
// each see the other die. Views decide: at most one view exists per number, on
// all nodes together and for ever, so everything that must never be held twice
// is tied to a view number.
//
// # The life of a membership
//
// Open loads the state file, raises the boot number and binds the gossip
// address. Run gossips, and then:
//
//	joining   this boot is in no view: the node looks for the cluster at the
//	          join addresses and those on its disk, for ever, and shows itself
//	          in gossip. A member that has heard it proposes a view that lists
//	          it. A node that was excluded is here again, with the same boot.
//	active    a view lists this boot: it votes, and the table may give it
//	          partitions.
//	draining  SetDraining: a view marks it and the table gives it nothing.
//	leaving   SetLeft, when it holds nothing any more: a view drops it.
//	left      it is about to end, in the view or out of it.
//
// founding.go says who founds a cluster, listed.go what is told of addresses that are
// of no use.
//
// A quick restart is a new boot: the old one is gone, and the new one is
// joining until a view lists it. It keeps the number of the view in which its
// id joined (Member.Since), unless it was excluded meanwhile.
//
// # How a view is decided
//
// Core is pure: events in, actions out, no clock, no I/O. plan.go compares the
// installed view with the nodes in sight and says which view should follow.
// paxos.go gets it decided, by single-decree Paxos for view n+1 among the
// members that have view n installed; the reachable member with the lowest id
// proposes, the others wait longer the higher they rank. core.go brings
// whoever is behind to the newest view: every message carries the sender's
// number, and each node greets one other a second, and all that it did not
// hear.
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
// Skipped, who takes over waits Fence from its own install of the view.
//
// # Proof of death
//
// prober.go. Of a boot of a node, for ever, and only each node's own
// observation: its process on this machine is gone (/proc, each 200 ms); or a
// connection to exactly that boot was ended by the other side (StreamEnded) and
// two connects to its address are then refused; or a higher boot of its id
// speaks. Never a time-out.
//
// A boot number is used once and by one process, unless a data directory was
// copied. A node that comes back with its data at another address is listed there,
// under its new boot. twin.go: a process with data looks for another one with its id
// before anybody hears of it, and ends when it finds one; one that a view has passed
// over ends; and whoever hears both takes no proof from the higher number.
//
// # Leases
//
// lease.go computes, leasing.go shares. Each second the node asks every member
// for its lease: LeaseAsked before the request is sent, Grant at the receiver,
// LeaseGranted with the answer. A lease needs grants of at least half of the
// view, its own included, and ends 8 s after the sending of the oldest request
// that counts, on a clock that runs while the process is stopped. A node grants
// only in the view it has installed and only until it has accepted a successor:
// so when a view that drops somebody is decided, its lease is running out. The
// loop takes the right to grant away before anybody can hear of an acceptance.
//
// standstill.go: renewals, their answers and a small call each 250 ms carry readings of
// the clocks. A node whose clock lost more than half a second against one that it was
// compared with stood still, as a virtual machine does that is paused: its lease ends
// at once, and comes back with what is asked for from then on. Between the end of the
// pause and the first message after it, nothing tells.
//
// stalled.go: a node whose disk does not answer asks for no lease and takes no part in
// decisions. It goes on granting, which counts as no sign of life.
//
// Snapshot.Minority says that a node has no lease and hears too few to get one.
//
// # Forgetting
//
// forget.go. Forget is an operator's oath that a node is gone. The id leaves
// the electorate of everybody who hears of it, and the next view bars it for
// ever: a barred node that comes back learns that and ends with ErrForgotten.
// An oath is taken back when the node speaks before a view bars it. A false
// oath can give two halves different views; no rule can mend that. Nor can two
// oaths at two sides of a cut: forget nodes at one member only.
//
// # Without a quorum
//
// With Options.QuorumOff any voters decide once all others are silent or dead
// in the proposer's own ears, and a lease needs no grants. Two views may then have one number; when their
// members meet, the higher digest wins, and who is not in it joins anew. It
// gives up "one crawler per host" in a split: each side crawls all of it.
//
// # Queues
//
//	gossip inbox   filled by memberlist's callbacks, emptied by the loop; the
//	               newest event for each node, so bounded by the nodes
//	packets        unbuffered, behind the sieve (sieve.go): what does not carry the
//	               cluster's label, or is not encrypted with its key, is dropped
//	               before anything is kept of it, and so is what is too much
//	streams        64 that come in, 4 MiB each, 8 MiB all together (transport.go)
//	calls, forgets unbuffered: Handle and Forget wait until the loop has answered
//	results        unbuffered: a call to another node waits for the loop; at
//	               most four calls to each node, more are dropped as if lost
//	proofs         unbuffered: the prober waits for the loop
//	heard          one entry for each node that asked for or granted a lease,
//	               taken by the loop each tick
//	watchers       one signal each; the state is in Snapshot
//	lease ended    one signal, for who aborts the fetches
//
// # What it does not do
//
// It does not say who holds a partition, and moves nothing. It does not send
// the requests for leases, and it aborts no fetch when a lease ends: node does
// both. Residual assumptions: the clocks of two machines run within 5 % of each
// other; disks are not rolled back or cloned; a process that closes its RPC
// listener has ended its last fetch.
package membership
