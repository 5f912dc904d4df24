package node

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
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

// forgotten reports whether an operator has sworn that the node is gone.
func forgotten(v *membership.View, id crawl.NodeID) bool { return v != nil && v.Bars(id) }

// moveFigures are handoff's figures in the words of the status.
type moveFigures struct {
	held      int // those that shall leave included
	leaving   int // held or released, and another node's by the table
	awaited   int // this node's by the table, not held here: on their way, or to be promoted
	offline   int // likewise, but nobody who answers may make them good
	replicas  int // copies that this node keeps for others
	lost      int
	underRepl int // held, with fewer copies than the factor and the members allow
	single    crawl.SingleCopy
	copied    int64 // snapshots sent since this process began
	caughtUp  int64 // replicas that went on from the tail instead
	stuck     []handoff.Stuck
}

// figures reads handoff's status, and counts the copies on disk.
func (n *Node) figures(e *engine) moveFigures {
	s := e.moves.Status()
	f := moveFigures{leaving: s.Outstanding - s.Promoting, awaited: s.Promoting - s.Offline, offline: s.Offline,
		held: s.Held, lost: s.Lost, underRepl: s.UnderReplicated, stuck: s.Stuck,
		single: crawl.SingleCopy{Partitions: s.SingleCopy, Seconds: s.SingleFor.Seconds()}, copied: e.moves.Copied(), caughtUp: e.moves.CaughtUp()}
	n.front.Walk(func(m *frontier.Meta) bool {
		if m.State == frontier.Copy {
			f.replicas++
		}
		return true
	})
	return f
}

// partitionState is what the ring shows of a partition that is here, or should be.
func partitionState(x *handoff.PartStatus) string {
	switch {
	case x.State == handoff.Holding:
		return crawl.PartitionHeld
	case x.State == handoff.Freezing, x.State == handoff.Released:
		return crawl.PartitionFrozen
	case x.Away:
		return crawl.PartitionOffline
	}
	return crawl.PartitionPromoting
}
