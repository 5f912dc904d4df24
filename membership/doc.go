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
// By package consensus, which is pure: events in, actions out. loop.go is the
// one goroutine that owns its Core: it passes in what gossip, the prober, other
// nodes and time bring, and carries out what the core asks for, in order: a
// promise is on the disk before anybody hears of it.
//
// # Proof of death
//
// Package prober. Of a boot of a node, for ever, and only each node's own
// observation: its process on this machine is gone; or a connection to exactly
// that boot was ended by the other side (StreamEnded) and two connects to its
// address are then refused; or a higher boot of its id speaks. Never a time-out.
//
// A boot number is used once and by one process, unless a data directory was
// copied. A node that comes back with its data at another address is listed there,
// under its new boot. twin.go: a process with data looks for another one with its id
// before anybody hears of it, and ends when it finds one; one that a view has passed
// over ends; and whoever hears both takes no proof from the higher number.
//
// # Leases
//
// consensus.Lease computes, leasing.go shares the result. Each second the node asks
// every member for its lease: LeaseAsked before the request is sent, Grant at the
// receiver, LeaseGranted with the answer. It is measured on a clock that runs while the
// process is stopped. The loop takes the right to grant away before anybody can hear of
// an acceptance.
//
// Renewals, their answers and a small call each 250 ms carry readings of the clocks. A
// node whose own clock stood still (consensus.Standstill) loses its lease at once; it
// comes back with what is asked for from then on. Between the end of the pause and the
// first message after it, nothing tells.
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
