package node

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
)

// This file puts what membership tells of this node into the words of
// the status.

// leaseShown bounds the lease in /status: longer than this it never is, but for
// a node that needs nobody's grant.
const leaseShown = 8 * time.Second

// lease is how long this node may still fetch; 0: not at all.
func (n *Node) lease() time.Duration { return min(n.members.Lease(), leaseShown) }

// forgotten reports whether an operator has sworn that the node is gone.
func forgotten(v *membership.View, id crawl.NodeID) bool { return v != nil && v.Bars(id) }
