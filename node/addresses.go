package node

import (
	"context"
	"net/netip"
	"time"

	"crawlnode/crawl"
	"crawlnode/node/addresses"
	"crawlnode/node/dispatch"
	"crawlnode/peer"
)

// This file fits in what spaces the requests to one address over all nodes.

// newTurns makes the turns of this boot. Those that have come go to the dispatcher, which is made after it.
func (n *Node) newTurns(e *engine) *addresses.Turns {
	return addresses.New(addresses.Options{
		Self: addresses.Member{ID: n.id, Boot: n.members.Self().Boot}, Partitions: e.partitions,
		Clock: n.members.ClockReading, May: n.mayFetch,
		Gap: func(ip netip.Addr) time.Duration { return dispatch.IPDelay(n.settings(), ip) },
		Holder: func(p crawl.Partition) (addresses.Member, bool) {
			id, v := n.router.Holder(p), n.members.Snapshot().View
			if id == "" || v == nil {
				return addresses.Member{}, false
			}
			m, ok := v.Member(id)
			return addresses.Member{ID: id, Boot: m.Boot}, ok
		},
		Call: func(ctx context.Context, to addresses.Member, b *peer.AddressBatch) (*peer.AddressBatch, error) {
			target := n.target(to.ID)
			target.Boot = uint64(to.Boot) // another boot refuses
			return peer.Call(ctx, n.pool, target, b, peer.PeerClient.Addresses)
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

// keepAddresses begins to keep the addresses of p. In the first view of all nobody can have kept them
// before.
func (f moveFetching) keepAddresses(p crawl.Partition) {
	f.node.engine.Load().turns.Hold(p, f.node.viewNumber() != 1)
}

// Freeze ends the keeping of p's addresses, then all visits of p.
func (f moveFetching) Freeze(ctx context.Context, p crawl.Partition) error {
	f.node.engine.Load().turns.Drop(p)
	return f.Dispatcher.Freeze(ctx, p)
}

// Drop ends both at once.
func (f moveFetching) Drop(p crawl.Partition) {
	f.node.engine.Load().turns.Drop(p)
	f.Dispatcher.Drop(p)
}
