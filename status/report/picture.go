package report

import (
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/status"
)

// Status makes the status document from what this node knows: its own block and the last ones of
// the others; nodeOnly: from its own block alone.
func (r *Reporter) Status(nodeOnly bool) *crawl.Status {
	if nodeOnly {
		return status.Merge(r.Picture(time.Now(), true))
	}
	_, s := r.Look(time.Now())
	return s
}

// Look is Status of the whole cluster, with what it was made from.
func (r *Reporter) Look(now time.Time) (status.Picture, *crawl.Status) {
	p := r.Picture(now, false)
	s := status.Merge(p)
	r.onsets.Note(&p, s)
	return p, s
}

// Crawl shows the crawl's settings that this node has now, and the state that Status shows.
func (r *Reporter) Crawl() crawl.CrawlReport {
	p := r.Picture(time.Now(), true)
	c := p.Doc.Report()
	if p.Waits {
		c.State = crawl.CrawlWaiting
	}
	return c
}

// Picture gathers what a status is made of; nodeOnly: of this node alone.
func (r *Reporter) Picture(now time.Time, nodeOnly bool) status.Picture {
	snap := r.Members.Snapshot()
	p := status.Picture{Now: now, Self: r.ID, Name: r.Name, Version: r.Version, Protocol: r.Protocol, Cluster: r.Config.ClusterName,
		Joined: r.joined(), Drains: r.Node.Draining(), Doc: r.Documents.Current().Doc,
		Total: r.Config.Partitions, Factor: r.Config.Replication, Change: r.Changes.Last(), Rates: r.meter.Cluster(), Alone: nodeOnly,
		Began: r.onsets.Began()}
	p.Minority = p.Joined && snap.Minority
	p.MinoritySince = r.Changes.PausedSince(p.Minority, now)
	p.Since = r.Started
	if at := p.Change.At; at != nil {
		p.Since = *at
	}
	if v := snap.View; v != nil {
		p.View, p.Total, p.Factor = v.Number, v.Cluster.Partitions, v.Cluster.Replication
		p.Digest = snap.Table.Digest()
	}
	if nodeOnly {
		p.Rates = r.meter.Alone()
	}
	p.Nodes = []status.Node{{Block: *r.Block(), Held: r.Node.Held(), Heard: true, State: r.ownState(), Counts: true}}
	all := append(p.Nodes, r.othersPictured(snap, now)...)
	if p.Waits = status.Waiting(p.Doc, all); !nodeOnly {
		p.Nodes = all
	}
	return p
}

// othersPictured shows every other node that was ever heard of.
func (r *Reporter) othersPictured(snap *membership.Snapshot, now time.Time) []status.Node {
	reports, gone := r.Peers.All(), r.Changes.Departed()
	known := map[crawl.NodeID]bool{r.ID: true}
	var out []status.Node
	show := func(np status.Node, id crawl.NodeID) {
		known[id] = true
		if report, ok := reports[id]; ok {
			names := np.Block.Node
			np.Block, np.Held, np.Heard, np.Age = report.Block, report.Held, true, now.Sub(report.Heard)
			st := &np.Block.Node
			st.ID, st.Name, st.HTTP, st.RPC, st.Gossip = names.ID, names.Name, names.HTTP, names.RPC, names.Gossip
			st.Weight, st.Zone = names.Weight, names.Zone
		}
		np.Forgotten = Forgotten(snap.View, id)
		np.DeriveState(gone[id].Departure)
		out = append(out, np)
	}
	for _, pr := range snap.Peers {
		if !known[pr.ID] {
			np := status.Node{State: pr.State, Boot: pr.Boot, Counts: pr.Listed}
			np.Block.Node = crawl.NodeStatus{ID: pr.ID, Name: pr.Name, HTTP: pr.HTTP, RPC: pr.RPC, Gossip: pr.Gossip, Weight: pr.Weight, Zone: crawl.ZoneOf(pr.Zone)}
			show(np, pr.ID)
		}
	}
	for id, d := range gone { // those that gossip has forgotten
		if m := d.Member; !known[id] {
			np := status.Node{State: d.Departure.State, Boot: m.Boot}
			np.Block.Node = crawl.NodeStatus{ID: id, Name: m.Name, HTTP: m.HTTP, RPC: m.RPC, Gossip: m.Gossip, Weight: m.Share(), Zone: crawl.ZoneOf(m.Zone)}
			show(np, id)
		}
	}
	return out
}

// NameOf is a node's human name, or its id when nobody here knows the name.
func (r *Reporter) NameOf(id crawl.NodeID) string {
	if id == r.ID {
		return r.Name
	}
	snap := r.Members.Snapshot()
	if v := snap.View; v != nil {
		if m, ok := v.Member(id); ok {
			return m.Name
		}
	}
	if d, ok := r.Changes.Departed()[id]; ok {
		return d.Member.Name
	}
	return string(id)
}

// Forgotten reports whether an operator has declared that the node is gone for good.
func Forgotten(v *membership.View, id crawl.NodeID) bool { return v != nil && v.Bars(id) }
