// Package membership decides which nodes are members of the cluster, as a sequence of numbered
// views, each decided by the members of the one before. It also gives each member a lease, the time
// until which it may fetch.
//
// Gossip discovers nodes and suspects failed ones. It decides nothing, because each half of a split
// cluster sees the other one as dead. Views decide: for each number there is only one view, on all
// nodes and for ever. So everything that must never be held twice is tied to a view number.
//
//	membership             this package: Run's loop connects the parts below
//	membership/consensus   pure: decides views, computes leases
//	membership/gossip      memberlist, its packets and metadata
//	membership/join        tries the addresses of other nodes again and again
//	membership/prober      looks for proof that a member is dead
//	membership/storage     the state file
//
// # The life of a membership
//
// Open loads the state file, raises the boot number and binds the gossip address. Run
// starts gossip, and then this boot has one of these statuses:
//
//	joining   no view lists it. The node tries the join addresses and those on its
//	          disk, for ever, and announces itself by gossip. A member that has heard it,
//	          and whose call it has answered, proposes a view that lists it: a node
//	          with a wrong address would be given partitions that never arrive. A
//	          node that was excluded is joining again, with the same boot.
//	active    a view lists it: it votes, and the table may give it partitions.
//	draining  after SetDraining: a view marks it, and the table gives it nothing.
//	leaving   after SetLeft, when it holds nothing any more: a view drops it.
//	left      it is about to end, whether a view still lists it or not.
//
// founding.go decides which node founds a cluster. joining.go gives package join its
// addresses and reports those that are unusable.
//
// A quick restart is a new boot: the old one is gone, and the new one is joining until a
// view lists it. It keeps the number of the view in which its id joined (Member.Since),
// unless it was excluded meanwhile.
//
// A node's weight and zone (place.go) are in its metadata. They may change while it runs, and count
// once a view lists them.
//
// # How a view is decided
//
// Package consensus, which is pure, decides: events in, actions out. loop.go is the one
// goroutine that owns its Core: it passes in the events from gossip, the prober, other
// nodes and the clock, and performs the actions in order. So a promise is on the disk before
// it is sent.
//
// # Proof of death
//
// Package prober looks for it. A proof holds for one boot of a node, for ever, and each node
// accepts only proofs that it found itself: the process on this machine is gone; or the other side
// ended a connection to exactly that boot (StreamEnded) and two connections to its address are then
// refused; or a higher boot of its id is heard. A time-out is never proof.
//
// A boot number is used once and by one process, unless a data directory was copied. A
// node that returns with its data at another address is listed there, under its new boot.
// Against copies (duplicate.go), a process with data looks for another one with its id before it
// gossips, and ends if it finds one; a process ends when a view lists a later boot of its id; and a
// member that hears both does not take the higher number for a proof.
//
// # Leases
//
// consensus.Lease computes the lease, leasing.go publishes it. Each second the node asks every
// member for a grant: LeaseAsked before the request is sent, Grant at the receiver, LeaseGranted
// with the answer. Leases are measured on a clock that also runs while the process is stopped. The
// loop withdraws the right to grant before another node can learn that this node has accepted the
// next view.
//
// Renewals and their answers carry readings of the clocks. When a node has compared its clock with
// no other machine's for 250 ms, it makes a small call that does. A node whose own clock stood
// still (consensus.Standstill) loses its lease at once; the lease returns with grants that are
// requested after that. Between the end of the pause and the first message after it, the pause
// cannot be detected.
//
// A node whose disk does not respond (stalled.go) asks for no lease and takes no part in
// decisions. It continues to grant; a grant of such a node does not count as a sign of life.
//
// Snapshot.Minority says that a node has no lease and hears too few members to get one.
//
// # Forgetting
//
// With Forget (forget.go) an operator asserts that a node is gone for good. Every member that
// receives the request removes the id from the electorate, and the next view bars it for ever: a
// barred node that returns learns that and ends with ErrForgotten. A request is withdrawn when the
// node is heard before a view bars it. If the node is not gone, two halves may decide different
// views, which no rule can repair. Requests on both sides of a split do the same: send requests to
// one member only.
//
// # Without a quorum
//
// With Options.QuorumOff any voters decide once the proposer finds all others silent or
// dead, and a lease needs no grants. Two views may then have the same number; when their
// members meet, the view with the higher digest wins, and a node that it does not list joins again.
// This gives up "one crawler per host" in a split: each side crawls every host.
//
// # Queues
//
//	gossip         see package gossip: the newest event for each node
//	rounds         unbuffered: the joiner waits for the loop
//	calls, forgets unbuffered: Handle and Forget wait until the loop has answered
//	placings       unbuffered: SetPlace waits until the loop has stored the change
//	results        unbuffered: a call to another node waits for the loop; at
//	               most four calls to each node, more are dropped as if lost
//	duplicates     unbuffered: one call, which waits for the loop
//	nameAsked      unbuffered: one call, which waits for the loop
//	proofs         unbuffered: the prober waits for the loop
//	heard          one entry for each node that asked for or granted a lease,
//	               taken by the loop each tick
//	wished         one signal; the status asked for is in wish, new flags in flags
//	watchers       one signal each; the state is in Snapshot
//	lease ended    one signal, for the caller that aborts the fetches
//
// # What it does not do
//
// It does not decide which node holds a partition, and moves nothing. It does not send the
// requests for leases, and it aborts no fetch when a lease ends: node does both. Residual
// assumptions: the clocks of two machines run within 5 % of each other; disks are not
// rolled back or cloned; a process that closes its RPC listener has ended its last fetch.
package membership
