package node

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/handoff"
	"crawlnode/peer"
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

// Ring puts what every member has beside the table: inspect.Inspector.Ring.
func (n *Node) Ring(ctx context.Context) (*crawl.RingReport, error) {
	if n.viewNumber() == 0 || n.partitions() == 0 {
		return nil, ErrNotReady
	}
	return n.inspector.Ring(ctx)
}

// Nodes lists every node that was ever heard of.
func (n *Node) Nodes(ctx context.Context) ([]crawl.NodeStatus, error) {
	s, err := n.Status(ctx, false)
	if err != nil {
		return nil, err
	}
	return s.Nodes, nil
}
