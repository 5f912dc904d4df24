package node

import (
	"context"

	"crawlnode/crawl"
	"crawlnode/importance"
	"crawlnode/local/datadir"
	"crawlnode/peer"
	"crawlnode/pipeline"
)

// This file fits package importance to the rest of the node.

func (n *Node) openRanking() {
	n.ranking = importance.New(importance.Options{
		Self: n.id, Store: n.front, Holdings: linkHoldings{n}, Peers: rankingPeers{linkPeers{n}},
		Settings: n.settings, Given: n.givenPriority, Log: n.log,
	})
}

// givenPriority reports whether a rule for sites gives a target its priority.
func (n *Node) givenPriority(t *crawl.Target) bool {
	return pipeline.PriorityOf(n.sites(), t) != nil
}

// Credit takes another member's credits for URLs.
func (h handler) Credit(
	ctx context.Context,
	_ string,
	b *peer.CreditBatch,
) (*peer.CreditReply, error) {
	return h.node.ranking.Credit(ctx, b)
}

// rankingPeers are the other members as package importance sees them.
type rankingPeers struct{ linkPeers }

func (p rankingPeers) Credit(
	ctx context.Context,
	to crawl.NodeID,
	b *peer.CreditBatch,
) (*peer.CreditReply, error) {
	return peer.Call(ctx, p.node.pool, p.node.target(to), b, peer.PeerClient.Credit)
}

func (p rankingPeers) Ranks() [][]byte { return p.node.peers.Ranks() }

func (n *Node) rankingRun(ctx context.Context) error {
	if err := n.ranking.Run(ctx); err != nil {
		return datadir.Failed("keep the importance of URLs", err)
	}
	return nil
}

// block is what this node says of itself in a heartbeat.
func (n *Node) block() *crawl.NodeBlock {
	b := n.report.Block()
	b.Ranks = n.ranking.Summary()
	return b
}
