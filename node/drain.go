package node

import (
	"context"

	"crawlnode/crawl"
	"crawlnode/handoff"
	"crawlnode/membership"
	"crawlnode/node/drain"
)

// This file fits package drain to the rest of the node.

func (n *Node) openDrain() {
	n.drainer = drain.New(drain.Options{Self: n.id, Timeout: n.cfg.DrainTimeout, Members: drainMembers{n}, Store: n.front, Engine: drainEngine{n}, Stop: n.stop, Log: n.log})
}

// drainMembers is the cluster as package drain sees it.
type drainMembers struct{ node *Node }

func (m drainMembers) SetDraining()                      { m.node.members.SetDraining() }
func (m drainMembers) SetLeft(ctx context.Context) error { return m.node.members.SetLeft(ctx) }
func (m drainMembers) Others() []membership.Member       { return m.node.others() }
func (m drainMembers) State(id crawl.NodeID) string      { return m.node.peerState(id) }

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
