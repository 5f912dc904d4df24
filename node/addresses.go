package node

import (
	"context"
	"net/netip"
	"time"

	"crawlnode/crawl"
	"crawlnode/peer"
	"crawlnode/scheduler"
	"crawlnode/scheduler/turns"
)

// This file fits in what spaces the requests to one address over all nodes.

// newTurns makes the turns of this boot.
func (n *Node) newTurns(e *engine) *turns.Turns {
	return turns.New(turns.Options{
		Self: turns.Member{ID: n.id, Boot: n.members.Self().Boot}, Partitions: e.partitions,
		Clock: n.members.ClockReading, Crawls: n.mayCrawl, May: n.mayKeep, Holder: n.router.Holder, Target: n.target,
		Gap: func(ip netip.Addr) time.Duration { return scheduler.IPDelay(n.settings(), ip) },
		Call: func(ctx context.Context, to peer.Target, b *peer.AddressBatch) (*peer.AddressBatch, error) {
			return peer.Call(ctx, n.pool, to, b, peer.PeerClient.Addresses)
		},
		Came: func(ips []netip.Addr) { e.dispatcher.TurnsCame(ips) },
	})
}

// Addresses takes messages about turns in.
func (h handler) Addresses(_ context.Context, from string, b *peer.AddressBatch) (*peer.AddressBatch, error) {
	e := h.node.engine.Load()
	if e == nil {
		return nil, errNotJoined
	}
	return e.turns.Serve(crawl.NodeID(from), b), nil
}
