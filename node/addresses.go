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
		Self:       turns.Member{ID: n.id, Boot: n.members.Self().Boot},
		Partitions: e.partitions,
		Cluster:    turnsCluster{n, e},
	})
}

// turnsCluster is the cluster as package turns sees it.
type turnsCluster struct {
	node   *Node
	engine *engine
}

func (c turnsCluster) Crawls() bool                          { return c.node.mayCrawl() }
func (c turnsCluster) May(p crawl.Partition) bool            { return c.node.mayKeep(p) }
func (c turnsCluster) Holder(p crawl.Partition) crawl.NodeID { return c.node.router.Holder(p) }
func (c turnsCluster) Target(id crawl.NodeID) peer.Target    { return c.node.target(id) }
func (c turnsCluster) Came(ips []netip.Addr)                 { c.engine.dispatcher.TurnsCame(ips) }

func (c turnsCluster) Clock() time.Duration { return c.node.members.ClockReading() }

func (c turnsCluster) Gap(ip netip.Addr) time.Duration {
	return scheduler.IPDelay(c.node.settings(), ip)
}

func (c turnsCluster) Call(
	ctx context.Context, to peer.Target, b *peer.AddressBatch,
) (*peer.AddressBatch, error) {
	return peer.Call(ctx, c.node.pool, to, b, peer.PeerClient.Addresses)
}

// Addresses takes messages about turns in.
func (h handler) Addresses(
	_ context.Context,
	from string,
	b *peer.AddressBatch,
) (*peer.AddressBatch, error) {
	e := h.node.engine.Load()
	if e == nil {
		return nil, errNotJoined
	}
	return e.turns.Serve(crawl.NodeID(from), b), nil
}
