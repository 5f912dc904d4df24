package node

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/handoff/transfer"
	"crawlnode/peer"
)

// This file gives package transfer the rest of the node.

var errNotJoined = status.Error(codes.Unavailable, "this node has not joined yet")

// Handoff answers a question about partitions.
func (h handler) Handoff(
	ctx context.Context,
	from string,
	req *peer.Envelope,
) (*peer.Envelope, error) {
	e := h.node.engine.Load()
	if e == nil {
		return nil, errNotJoined
	}
	return transfer.Answer(ctx, e.moves, crawl.NodeID(from), req)
}

// Replicate receives copies and mutations.
func (h handler) Replicate(
	from string,
	s grpc.BidiStreamingServer[peer.Envelope, peer.Envelope],
) error {
	e := h.node.engine.Load()
	if e == nil {
		return errNotJoined
	}
	return transfer.Receive(e.moves, crawl.NodeID(from), s)
}

// Partitions tells another member what ownPartitions tells here.
func (h handler) Partitions(
	ctx context.Context,
	_ string,
	_ *peer.PartitionsRequest,
) (*peer.PartitionsReply, error) {
	view := h.node.viewNumber() // before the list
	own, err := h.node.ownPartitions(ctx)
	if err != nil {
		return nil, status.Error(codes.Unavailable, err.Error())
	}
	return transfer.ToReply(view, own), nil
}

// ownPartitions describes the partitions that this node holds, has let go, or should hold
// by its table.
func (n *Node) ownPartitions(ctx context.Context) ([]crawl.PartitionReport, error) {
	e := n.engine.Load()
	if e == nil {
		return nil, ErrNotReady
	}
	list, err := e.moves.List(ctx)
	if err != nil {
		return nil, err
	}
	return transfer.ReportsOf(n.id, list, n.front), nil
}
