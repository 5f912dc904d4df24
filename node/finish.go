package node

import (
	"context"
	"time"

	"crawlnode/crawl"
	"crawlnode/finish"
	"crawlnode/membership"
	"crawlnode/membership/heartbeat"
	"crawlnode/peer"
)

// This file fits package finish to the rest of the node.

// openFinish makes the permits and the Finisher.
func (n *Node) openFinish() {
	o := finish.Options{
		Self:            n.id,
		Boot:            n.members.Self().Boot,
		Documents:       n.doc,
		Cluster:         endCluster{n},
		Engine:          endEngine{n},
		Peers:           endPeers{n},
		Rules:           n.spread.Stamp,
		DocumentChanged: n.documentChanged,
		Logger:          n.log,
	}
	n.permits = finish.NewPermits(o)
	n.finisher = finish.New(o, n.permits)
}

// endCluster is the cluster as package finish sees it.
type endCluster struct{ node *Node }

func (c endCluster) View() *membership.View { return c.node.members.View() }

func (c endCluster) Partitions() int { return c.node.partitions() }

func (c endCluster) Grants() bool { return c.node.holds(0) }

func (c endCluster) Moves() (held int, moving bool) {
	if e := c.node.engine.Load(); e != nil {
		s := e.moves.Status()
		return s.Held, s.Outstanding > 0
	}
	return 0, true
}

func (c endCluster) Reachable(id crawl.NodeID) bool { return c.node.reachable(id) }

// Reports are the last reports of the others. A heartbeat is under way for twice its period
// at most.
func (c endCluster) Reports() map[crawl.NodeID]finish.Report {
	infos := c.node.peers.All()
	reports := make(map[crawl.NodeID]finish.Report, len(infos))
	for id, info := range infos {
		reports[id] = finish.Report{Block: info.Block, MadeAfter: info.Heard.Add(-2 * heartbeat.Every)}
	}
	return reports
}

func (c endCluster) TakeBlocks(blocks map[crawl.NodeID]crawl.NodeBlock) {
	n := c.node
	infos := n.peers.All()
	for id, b := range blocks {
		have := infos[id].Block
		if newer := have.Boot == b.Boot && !b.At.After(have.At); id != n.id && !newer {
			n.peers.Put(id, heartbeat.Report{Block: b, Held: infos[id].Held, Heard: time.Now()},
				n.partitions())
		}
	}
}

// endEngine is this node's part of the crawl as package finish sees it.
type endEngine struct{ node *Node }

func (e endEngine) Totals() crawl.Counters { return e.node.front.Totals() }

func (e endEngine) Work() finish.Work { return e.node.work() }

func (e endEngine) Activity() uint64 { return e.node.activity() }

func (e endEngine) Block() *crawl.NodeBlock { return e.node.report.Block() }

func (e endEngine) Wake() { e.node.engine.Load().dispatcher.Wake() }

// endPeers carries the calls of package finish.
type endPeers struct{ node *Node }

func (p endPeers) Permits(ctx context.Context, req *peer.PermitRequest) (*peer.PermitReply, error) {
	to := p.node.target(p.node.peers.Holder(0))
	if to.ID == "" {
		return &peer.PermitReply{Error: "no member is known to hold partition 0"}, nil
	}
	return peer.Call(ctx, p.node.pool, to, req, peer.PeerClient.Permits)
}

func (p endPeers) Idle(
	ctx context.Context,
	m membership.Member,
	req *peer.IdleRequest,
) (*peer.IdleReply, error) {
	return peer.Call(ctx, p.node.pool, targetOf(m), req, peer.PeerClient.Idle)
}

// Permits answers a node that asks for page permits.
func (h handler) Permits(
	_ context.Context,
	_ string,
	req *peer.PermitRequest,
) (*peer.PermitReply, error) {
	return h.node.permits.Serve(req), nil
}

// Idle answers a round of questions about the end, or takes the end of the crawl.
func (h handler) Idle(_ context.Context, _ string, req *peer.IdleRequest) (*peer.IdleReply, error) {
	return h.node.finisher.Serve(req)
}

// activity rises with everything that may lead to more work.
func (n *Node) activity() uint64 {
	a := n.moved.Load() + n.seeder.Begun() + n.doc.Current().Doc.Version
	if e := n.engine.Load(); e != nil {
		a += e.dispatcher.Activity()
	}
	return a
}

// work is what this node has to do yet, read in the order that finish.Work asks for.
func (n *Node) work() finish.Work {
	e := n.engine.Load()
	if e == nil || !n.synced.Load() {
		return finish.Work{}
	}
	w := finish.Work{Joined: true, Fetches: e.dispatcher.Busy()}
	w.Moving, w.Leased, w.SeedLists = e.moves.Status().Outstanding, n.members.LeaseValid(),
		n.seeder.Active()
	w.Due = n.dueNow() // before what is queued
	t := n.front.Totals()
	w.Outbox, w.Queued, w.LimitReached = t.Outbox, t.QueuedTotal(), n.permits.LimitReached()
	w.Wanted = t.GuestsActive + t.NoteDates
	return w
}

// whyNotIdle names what this node has to do yet; "" is nothing.
func (n *Node) whyNotIdle() string { w := n.work(); return w.WhyNotIdle() }
