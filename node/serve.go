package node

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/peer"
)

// handler answers the other nodes' calls. Its methods are in the file that fits in the package
// that serves them: Renew and Clock in heartbeat.go, StoreLinks in links.go, Crawl in spread.go,
// Handoff, Replicate and Partitions in transfer.go, Permits and Idle in finish.go, Explain and
// Archive in inspect.go, Robots in dispatch.go, Addresses in addresses.go, Operate in operators.go.
type handler struct{ node *Node }

// Contents answers what is known here of payloads and texts.
func (h handler) Contents(
	ctx context.Context,
	from string,
	b *peer.ContentBatch,
) (*peer.ContentReply, error) {
	if h.node.partitions() == 0 {
		return nil, errNotJoined
	}
	return h.node.contents.Serve(ctx, crawl.NodeID(from), b)
}

// Membership passes a message of the view decision on.
func (h handler) Membership(
	ctx context.Context,
	_ string,
	req *peer.Envelope,
) (*peer.Envelope, error) {
	reply, err := h.node.members.Handle(ctx, req.Payload)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	return &peer.Envelope{Payload: reply}, nil
}
