package node

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/handoff"
	"crawlnode/peer"
	"crawlnode/ring"
)

// ownPartitions describes the partitions that this node holds, has let go, or
// should hold by its table. Holder says whether it holds them.
func (n *Node) ownPartitions(ctx context.Context) ([]crawl.PartitionReport, error) {
	e := n.engine.Load()
	if e == nil {
		return nil, ErrNotReady
	}
	list, err := e.moves.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]crawl.PartitionReport, 0, len(list))
	for i := range list {
		x := &list[i]
		r := crawl.PartitionReport{Partition: x.P, Epoch: x.Epoch, State: partitionState(x), InSync: x.InSync}
		if x.State == handoff.Holding || x.State == handoff.Freezing {
			r.Holder = &n.id
			if m, ok := n.front.Meta(x.P); ok {
				r.URLs = &m.Counters.Seen
			}
		}
		if x.Reason != "" {
			r.Reason = &x.Reason
		}
		out = append(out, r)
	}
	return out, nil
}

// Partitions tells another node what ownPartitions tells here.
func (h handler) Partitions(ctx context.Context, _ string, _ *peer.PartitionsRequest) (*peer.PartitionsReply, error) {
	n := h.node
	view := n.viewNumber() // before: a newer list may only be told under an older view
	own, err := n.ownPartitions(ctx)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	reply := &peer.PartitionsReply{View: uint64(view)}
	for i := range own {
		reply.Partitions = append(reply.Partitions, toPartitionInfo(&own[i]))
	}
	return reply, nil
}

func toPartitionInfo(r *crawl.PartitionReport) *peer.PartitionInfo {
	info := &peer.PartitionInfo{Partition: uint32(r.Partition), Epoch: uint64(r.Epoch), State: r.State, Holds: r.Holder != nil}
	if r.URLs != nil {
		info.Urls = *r.URLs
	}
	if r.Reason != nil {
		info.Reason = *r.Reason
	}
	for _, id := range r.InSync {
		info.InSync = append(info.InSync, string(id))
	}
	return info
}

// fromPartitionInfo reads what the node from says of a partition.
func fromPartitionInfo(from crawl.NodeID, info *peer.PartitionInfo) crawl.PartitionReport {
	r := crawl.PartitionReport{Partition: crawl.Partition(info.Partition), Epoch: crawl.Epoch(info.Epoch), State: info.State}
	if info.Holds {
		r.Holder, r.URLs = &from, &info.Urls
	}
	if info.Reason != "" {
		r.Reason = &info.Reason
	}
	for _, id := range info.InSync {
		r.InSync = append(r.InSync, crawl.NodeID(id))
	}
	return r
}

// Ring asks every member what it has and puts it beside the table, so that
// any node gives the same answer while nothing moves. It costs O(partitions)
// and one call a member.
func (n *Node) Ring(ctx context.Context) (*crawl.RingReport, error) {
	snap := n.members.Snapshot()
	if snap.View == nil || snap.Table == nil || n.partitions() == 0 {
		return nil, ErrNotReady
	}
	r := emptyRing(snap.View.Number, snap.Table, n.partitions())
	own, err := n.ownPartitions(ctx)
	if err != nil {
		return nil, err
	}
	words := []ringWord{{from: n.id, view: r.View, parts: own}}
	var mu sync.Mutex // guards words
	var wg sync.WaitGroup
	for _, m := range n.others() {
		wg.Go(func() {
			w := ringWord{from: m.ID, silent: true}
			reply, err := peer.Call(ctx, n.pool, targetOf(m), &peer.PartitionsRequest{}, peer.PeerClient.Partitions)
			if err == nil {
				w.silent, w.view = false, crawl.Epoch(reply.View)
				for _, p := range reply.Partitions {
					w.parts = append(w.parts, fromPartitionInfo(m.ID, p))
				}
			}
			mu.Lock()
			defer mu.Unlock()
			words = append(words, w)
		})
	}
	wg.Wait()
	mergeRing(r, words)
	return r, nil
}

// emptyRing is the table alone.
func emptyRing(view crawl.Epoch, t *ring.Table, partitions int) *crawl.RingReport {
	r := &crawl.RingReport{View: view, Digest: t.Digest(), Partitions: make([]crawl.PartitionReport, partitions)}
	for i := range r.Partitions {
		p := crawl.Partition(i)
		replicas := t.Replicas(p)
		if replicas == nil {
			replicas = []crawl.NodeID{}
		}
		r.Partitions[p] = crawl.PartitionReport{Partition: p, Owner: t.Owner(p), Replicas: replicas, State: crawl.PartitionUnknown}
	}
	return r
}

// ringWord is what one member says of the partitions.
type ringWord struct {
	from   crawl.NodeID
	silent bool        // it has not answered; the rest is empty
	view   crawl.Epoch // that it has installed, at the least
	parts  []crawl.PartitionReport
}

// mergeRing puts what the members say into the table. Who holds a partition knows
// best; then who has let it go; then its owner, who has asked everybody. But an
// owner cannot tell "on its way to me" from "held by nobody": that only counts when
// nobody is silent who could hold it.
func mergeRing(r *crawl.RingReport, words []ringWord) {
	silent := slices.ContainsFunc(words, func(w ringWord) bool { return w.silent })
	for _, w := range words {
		for i := range w.parts {
			said := &w.parts[i]
			if int(said.Partition) >= len(r.Partitions) {
				continue
			}
			p := &r.Partitions[said.Partition]
			if said.State == crawl.PartitionPromoting && silent || !mayKnow(p, w, said, r.View) || !saysMore(p, said) {
				continue
			}
			p.Holder, p.Epoch, p.State, p.URLs, p.InSync, p.Reason = said.Holder, said.Epoch, said.State, said.URLs, said.InSync, said.Reason
			if p.State == crawl.PartitionHeld && p.Owner != w.from {
				p.State = crawl.PartitionMoving
			}
		}
	}
}

// mayKnow reports whether a member can know what it says: what it has, always;
// what is nowhere, only as the owner in the same view.
func mayKnow(p *crawl.PartitionReport, w ringWord, said *crawl.PartitionReport, view crawl.Epoch) bool {
	return said.Epoch > 0 || w.from == p.Owner && w.view == view
}

// saysMore reports whether what is said comes before what is there: during a move
// both ends may claim a partition for a moment, and the later tenure counts.
func saysMore(there, said *crawl.PartitionReport) bool {
	switch {
	case there.State == crawl.PartitionUnknown:
		return true
	case (there.Holder == nil) != (said.Holder == nil):
		return said.Holder != nil
	}
	return said.Epoch > there.Epoch
}

// Nodes lists every node that was ever heard of.
func (n *Node) Nodes(ctx context.Context) ([]crawl.NodeStatus, error) {
	s, err := n.Status(ctx, false)
	if err != nil {
		return nil, err
	}
	return s.Nodes, nil
}
