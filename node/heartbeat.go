package node

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/membership/heartbeat"
	"crawlnode/peer"
)

// This file fits package heartbeat to the rest of the node.

func (n *Node) openHeartbeat() {
	o := heartbeat.Options{
		Self:         n.id,
		Members:      n.members,
		Rules:        heartbeatRules{n},
		Table:        n.peers,
		Others:       n.others,
		View:         n.viewNumber,
		Partitions:   n.partitions,
		Held:         n.heldBits,
		Block:        n.block,
		Stalled:      func() bool { return n.stalls.Stalled() != nil },
		Revisits:     n.revisits.Summary,
		TakeRevisits: n.takeRevisits,
		Call: func(
			ctx context.Context,
			to membership.Member,
			req *peer.RenewRequest,
		) (*peer.RenewReply, error) {
			return peer.Call(ctx, n.pool, targetOf(to), req, peer.PeerClient.Renew)
		},
		Clock: func(
			ctx context.Context,
			to membership.Member,
			req *peer.ClockRequest,
		) (*peer.ClockReply, error) {
			return peer.Call(ctx, n.pool, targetOf(to), req, peer.PeerClient.Clock)
		},
	}
	n.heartbeat, n.clocks = heartbeat.New(o), heartbeat.NewClockWatch(o)
}

// Renew answers another member's heartbeat, and grants it its lease.
func (h handler) Renew(
	_ context.Context,
	from string,
	req *peer.RenewRequest,
) (*peer.RenewReply, error) {
	return h.node.heartbeat.Serve(crawl.NodeID(from), req)
}

// Clock answers with a reading of this node's clock.
func (h handler) Clock(
	_ context.Context,
	from string,
	req *peer.ClockRequest,
) (*peer.ClockReply, error) {
	return h.node.clocks.Serve(crawl.NodeID(from), req), nil
}

// heartbeatRules are the crawl document and the scope entries as package heartbeat sees them.
type heartbeatRules struct{ node *Node }

func (r heartbeatRules) Stamp() *peer.RulesStamp { return r.node.spread.Stamp() }

func (r heartbeatRules) Compare(id crawl.NodeID, theirs *peer.RulesStamp) {
	r.node.spread.Compare(id, theirs)
}

func (r heartbeatRules) Correct(theirs *peer.RulesStamp, ran time.Duration) {
	r.node.doc.Correct(theirs.GetCrawlVersion(), crawl.NodeID(theirs.GetCrawlBy()), ran, time.Now())
}

func (r heartbeatRules) Ran() time.Duration { return r.node.doc.Runs(time.Now()) }
