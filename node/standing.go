package node

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff"
	"crawlnode/membership"
)

// This file puts what membership and handoff say of this node into the words
// of the status.

// leaseShown bounds the lease in /status: longer than this it never is, but for
// a node that needs nobody's grant.
const leaseShown = 8 * time.Second

// lease is how long this node may still fetch; 0: not at all.
func (n *Node) lease() time.Duration { return min(n.members.Lease(), leaseShown) }

// minority reports whether this node has no lease and can get none: too few
// members answer.
func (n *Node) minority(*membership.Snapshot) bool { return false }

// forgotten reports whether an operator has sworn that the node is gone.
func forgotten(v *membership.View, id crawl.NodeID) bool { return v != nil && v.Bars(id) }

// moveFigures are handoff's figures.
type moveFigures struct {
	outstanding     int // moves that must still leave or arrive
	held            int
	replicas        int // copies that this node keeps for others
	underReplicated int // of the held ones
	offline         int // this node's by the table, and not to be had
	promoting       int
	lost            int
	stuck           []stuckMove
}

// stuckMove is a move or a copy that does not get on.
type stuckMove struct {
	partition crawl.Partition
	from, to  crawl.NodeID
	reason    string
	since     time.Time
}

func movesOf(s *handoff.Status) moveFigures {
	return moveFigures{outstanding: s.Outstanding, held: s.Held}
}

// partitionState is the state in which the status shows a partition that this
// node holds, "" when it does not hold it.
func partitionState(s handoff.State) string {
	switch s.String() {
	case "holding":
		return crawl.PartitionHeld
	case "copying":
		return crawl.PartitionMoving
	case "freezing":
		return crawl.PartitionFrozen
	}
	return ""
}
