package node

import (
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/peer"
	"crawlnode/status"
	"crawlnode/status/changes"
	"crawlnode/status/events"
)

// This file acts on changes of the members and of what is held here.

// viewChanged is called for each view that was installed.
func (n *Node) viewChanged(snap *membership.Snapshot) {
	keep, keepID := map[peer.Target]bool{}, map[crawl.NodeID]bool{}
	for _, m := range snap.View.Members {
		keepID[m.ID] = true
		keep[targetOf(m)] = true
	}
	for _, p := range snap.Peers { // joiners hear of their first view over these
		keep[peer.Target{ID: string(p.ID), Boot: uint64(p.Boot), Addr: p.RPC}] = true
	}
	n.pool.Keep(keep)
	n.peers.Keep(keepID, n.partitions())
	change, told := n.changes.Note(snap.View, time.Now(), n.lastReportOf, n.partitionsLost())
	n.events.View(time.Now(), snap.View, told)
	if change.Cause != "" {
		n.log.Info("the members changed", "view", snap.View.Number, "cause", change.Cause, "node",
			strings.Join(change.Names, ", "), "members", len(snap.View.Members))
	}
	n.revisits.Wake()
	n.heartbeat.Soon()
}

// lastReportOf is the last report of a node, in that boot.
func (n *Node) lastReportOf(m membership.Member) changes.Report {
	info, ok := n.peers.All()[m.ID]
	if !ok || info.Block.Boot != m.Boot {
		return changes.Report{}
	}
	r := changes.Report{InFlight: info.Block.InFlight}
	if held := info.Block.Node.Partitions.Held; held != nil {
		r.Held = *held
	}
	return r
}

// watchChange ends a change of members once every partition is served again,
// and logs the whole change in one line.
func (n *Node) watchChange(now time.Time) {
	if !n.changes.Pending() {
		return
	}
	if p := n.report.Picture(now, false); !status.ChangeOver(&p) {
		return
	}
	if c, passed, ok := n.changes.End(now, n.partitionsLost()); ok {
		n.log.Info("every partition is served again", "cause", *c.Cause, "node", *c.Node,
			"took", time.Duration(*c.TakeoverSeconds*float64(time.Second)).Round(time.Millisecond),
			"partitions_passed_on", passed, "fetches_queued_again", *c.InflightRequeued, "partitions_lost",
			*c.PartitionsLost)
		n.events.Add(events.Served(now, c, passed))
	}
}

// partitionsLost counts what the members lost to forgotten nodes so far.
func (n *Node) partitionsLost() int {
	lost := 0
	if e := n.engine.Load(); e != nil {
		lost = e.moves.Status().Lost
	}
	for _, info := range n.peers.All() {
		lost += info.Block.Lost
	}
	return lost
}

// reachable reports whether gossip and calls reach a member; it decides only
// which members are waited for.
func (n *Node) reachable(id crawl.NodeID) bool {
	s := n.members.Snapshot().State(id)
	return s == crawl.NodeAlive || s == crawl.NodeDraining
}

// holdingsChanged is called after each partition that came or went.
func (n *Node) holdingsChanged() {
	n.moved.Add(1)
	n.revisits.HoldingsChanged()
	n.heartbeat.Soon()
	n.outbox.Wake()
}
