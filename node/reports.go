package node

import (
	"context"
	"sync"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/handoff"
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
		state := "held"
		switch states[m.Partition] {
		case handoff.Copying:
			state = "moving"
		case handoff.Freezing:
			state = "frozen"
		case handoff.Holding:
		default:
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
		r.Partitions[p] = crawl.PartitionReport{Partition: part, Owner: snap.Table.Owner(part), Replicas: replicas, State: "unknown"}
	}
	n.addHeld(r, n.id, n.heldPartitions())
	var mu sync.Mutex // guards r
	var wg sync.WaitGroup
	for _, m := range n.others() {
		wg.Go(func() {
			reply, err := peer.Call(ctx, n.pool, m.RPC, &peer.PartitionsRequest{}, peer.PeerClient.Partitions)
			if err != nil {
				return // its partitions stay "unknown"
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
	return r, nil
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
