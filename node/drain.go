package node

import (
	"context"

	"crawlnode/crawl"
	"crawlnode/handoff"
	"crawlnode/membership"
	"crawlnode/node/drain"
	"crawlnode/node/orders"
	"crawlnode/peer"
)

// This file fits packages drain and orders to the rest of the node.

func (n *Node) openDrain() {
	n.drainer = drain.New(drain.Options{
		Self:    n.id,
		Timeout: n.cfg.DrainTimeout,
		Members: drainMembers{n},
		Store:   n.front,
		Engine:  drainEngine{n},
		Stop:    n.stop,
		Log:     n.log,
	})
	n.orders = orders.New(orders.Options{
		Self:  n.id,
		Name:  n.name,
		Node:  orderedNode{n},
		Ender: n.drainer,
		Log:   n.log,
	})
}

// orderedNode is the node as package orders sees it.
type orderedNode struct{ node *Node }

func (o orderedNode) Begin()      { o.node.Drain() }
func (o orderedNode) Begun() bool { return o.node.draining.Load() }

func (o orderedNode) Others() ([]crawl.NodeRef, error) {
	if o.node.members.View() == nil {
		return nil, ErrNotReady
	}
	return inspectedCluster(o).Others(), nil
}

func (o orderedNode) Knows(id crawl.NodeID) bool {
	_, told := o.node.peers.All()[id]
	_, gone := o.node.changes.Departed()[id]
	return told || gone || o.node.members.Snapshot().Knows(id)
}

func (o orderedNode) Send(ctx context.Context, to crawl.NodeID, payload []byte) error {
	_, err := peer.Call(ctx, o.node.pool, o.node.target(to), &peer.Envelope{Payload: payload},
		peer.PeerClient.Operate)
	return err
}

func (o orderedNode) SetPlace(ctx context.Context, c crawl.PlaceChange) error {
	return o.node.members.SetPlace(ctx, c)
}

// drainMembers is the cluster as package drain sees it.
type drainMembers struct{ node *Node }

func (m drainMembers) SetDraining()                      { m.node.members.SetDraining() }
func (m drainMembers) SetLeft(ctx context.Context) error { return m.node.members.SetLeft(ctx) }
func (m drainMembers) Others() []membership.Member       { return m.node.others() }

func (m drainMembers) State(id crawl.NodeID) string {
	return m.node.members.Snapshot().State(id)
}

func (m drainMembers) Active() bool {
	self, ok := m.node.members.Snapshot().View.Member(m.node.id)
	return ok && !self.Draining
}

// drainEngine is what a drain finishes.
type drainEngine struct{ node *Node }

func (e drainEngine) Moves() *handoff.Status {
	if e := e.node.engine.Load(); e != nil {
		return e.moves.Status()
	}
	return nil
}

func (e drainEngine) StopVisits() {
	e.node.noVisits.Store(true) // mayCrawl is false from here on
	e.node.engine.Load().dispatcher.Pause(true)
}

func (e drainEngine) Open() int { return e.node.engine.Load().dispatcher.Busy() }
