package node

import (
	"context"
	"sync"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/peer"
)

// heldPartitions describes the partitions that this node holds.
func (n *Node) heldPartitions() []crawl.PartitionReport {
	e := n.engine.Load()
	if e == nil {
		return nil
	}
	states := e.moves.Status().States
	var out []crawl.PartitionReport
	for _, m := range n.front.Metas() {
		if m.State != frontier.Holder || int(m.Partition) >= len(states) {
			continue
		}
		state := partitionState(states[m.Partition])
		if state == "" {
			continue // let go a moment ago, or just arriving
		}
		urls := m.Counters.Seen
		out = append(out, crawl.PartitionReport{Partition: m.Partition, Epoch: m.Epoch, State: state, URLs: &urls})
	}
	return out
}

// Ring asks every member what it holds and puts it beside the table, so that
// any node gives the same answer while nothing moves. It costs O(partitions)
// and one call a member.
func (n *Node) Ring(ctx context.Context) (*crawl.RingReport, error) {
	snap := n.members.Snapshot()
	if snap.View == nil || snap.Table == nil || n.partitions() == 0 {
		return nil, ErrNotReady
	}
	r := &crawl.RingReport{View: snap.View.Number, Digest: snap.Table.Digest(), Partitions: make([]crawl.PartitionReport, n.partitions())}
	for p := range r.Partitions {
		part := crawl.Partition(p)
		replicas := snap.Table.Replicas(part)
		if replicas == nil {
			replicas = []crawl.NodeID{}
		}
		r.Partitions[p] = crawl.PartitionReport{Partition: part, Owner: snap.Table.Owner(part), Replicas: replicas, State: crawl.PartitionUnknown}
	}
	n.addHeld(r, n.id, n.heldPartitions())
	silent := 0
	var mu sync.Mutex // guards r and silent
	var wg sync.WaitGroup
	for _, m := range n.others() {
		wg.Go(func() {
			reply, err := peer.Call(ctx, n.pool, m.RPC, &peer.PartitionsRequest{}, peer.PeerClient.Partitions)
			if err != nil {
				mu.Lock()
				defer mu.Unlock()
				silent++ // its partitions stay unknown
				return
			}
			held := make([]crawl.PartitionReport, 0, len(reply.Partitions))
			for _, p := range reply.Partitions {
				urls := p.Urls
				held = append(held, crawl.PartitionReport{Partition: crawl.Partition(p.Partition), Epoch: crawl.Epoch(p.Epoch), State: p.State, URLs: &urls})
			}
			mu.Lock()
			defer mu.Unlock()
			n.addHeld(r, m.ID, held)
		})
	}
	wg.Wait()
	if silent == 0 {
		n.explainUnheld(r)
	}
	return r, nil
}

// explainUnheld says of the partitions that no member holds what their owners
// make of them. An owner's figures tell it only while all of its partitions
// without a holder are in the same way.
func (n *Node) explainUnheld(r *crawl.RingReport) {
	words := map[crawl.NodeID]crawl.NodeBlock{n.id: *n.block()}
	for id, info := range n.peers.all() {
		words[id] = info.block
	}
	for i := range r.Partitions {
		p := &r.Partitions[i]
		if b := words[p.Owner]; p.Holder == nil && b.View == r.View {
			p.State = unheldState(&b)
		}
	}
}

func unheldState(owner *crawl.NodeBlock) string {
	switch {
	case owner.Promoting > 0 && owner.Offline == 0:
		return crawl.PartitionPromoting
	case owner.Offline > 0 && owner.Promoting == 0:
		return crawl.PartitionOffline
	}
	return crawl.PartitionUnknown
}

func (n *Node) addHeld(r *crawl.RingReport, holder crawl.NodeID, held []crawl.PartitionReport) {
	for _, h := range held {
		if int(h.Partition) >= len(r.Partitions) {
			continue
		}
		p := &r.Partitions[h.Partition]
		if p.Holder == nil || h.Epoch > p.Epoch { // during a move both ends may claim it for a moment
			id := holder
			p.Holder, p.Epoch, p.State, p.URLs = &id, h.Epoch, h.State, h.URLs
			if p.State == crawl.PartitionHeld && p.Owner != holder {
				p.State = crawl.PartitionMoving
			}
		}
	}
}

// Nodes lists every node that was ever heard of.
func (n *Node) Nodes(ctx context.Context) ([]crawl.NodeStatus, error) {
	s, err := n.Status(ctx, false)
	if err != nil {
		return nil, err
	}
	return s.Nodes, nil
}
