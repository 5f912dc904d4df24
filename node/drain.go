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
		Self:     n.id,
		Name:     n.name,
		Others:   n.orderable,
		Knows:    n.knows,
		Send:     n.sendOrder,
		Ender:    n.drainer,
		Begin:    n.Drain,
		Begun:    n.draining.Load,
		Place:    n.members.SetPlace,
		NotReady: ErrNotReady,
		Log:      n.log,
	})
}

// orderable are the members that orders may go to.
func (n *Node) orderable() ([]crawl.NodeRef, bool) {
	return inspectedCluster{n}.Others(), n.members.Snapshot().View != nil
}

func (n *Node) sendOrder(ctx context.Context, to crawl.NodeID, payload []byte) error {
	_, err := peer.Call(ctx, n.pool, n.target(to), &peer.Envelope{Payload: payload},
		peer.PeerClient.Operate)
	return err
}

// drainMembers is the cluster as package drain sees it.
type drainMembers struct{ node *Node }

func (m drainMembers) SetDraining()                      { m.node.members.SetDraining() }
func (m drainMembers) SetLeft(ctx context.Context) error { return m.node.members.SetLeft(ctx) }
func (m drainMembers) Others() []membership.Member       { return m.node.others() }
func (m drainMembers) State(
	id crawl.NodeID,
) string {
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
