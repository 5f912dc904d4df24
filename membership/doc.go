// Package membership decides who is a member of the cluster: a sequence of
// numbered views, each decided by a majority of the members of the one before.
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
//	          in gossip. A member sees it and proposes a view that lists it.
//	active    a view lists this boot: it votes, and the table may give it
//	          partitions.
//	draining  SetDraining: a view marks it and the table gives it nothing.
//	leaving   SetLeft, when it holds nothing any more: a view drops it.
//	left      it is about to end, in the view or out of it.
//
// A quick restart is a new boot: the old one is gone, and the new one is
// joining until a view lists it. It keeps the number of the view in which its
// id joined (Member.Since).
//
// # How a view is decided
//
// Core is pure: events in, actions out, no clock, no I/O. plan.go compares the
// installed view with the nodes in sight and says which view should follow.
// paxos.go gets it decided, by single-decree Paxos for view n+1 among the
// members that have view n installed; the reachable member with the lowest id
// proposes, the others wait longer the higher they rank. core.go brings
// whoever is behind to the newest view: every message carries the sender's
// number, and each node greets another once a second.
//
// What a core promises or accepts is on the disk before anybody hears of it
// (Action Persist comes before the Sends that it justifies).
//
// # Queues
//
//	gossip inbox   filled by memberlist's callbacks, emptied by the loop; the
//	               newest event for each node, so bounded by the nodes
//	calls          unbuffered: Handle waits until the loop has answered
//	results        unbuffered: a call to another node waits for the loop; at
//	               most four calls to each node, more are dropped as if lost
//	watchers       one signal each; the state is in Snapshot
//
// # What it does not do
//
// It does not say who holds a partition or may fetch, and moves nothing. It
// never removes a silent member: that takes a lease that has run out, or proof
// of death, and belongs to the rules built on top of the views.
package membership
