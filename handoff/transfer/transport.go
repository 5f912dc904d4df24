package transfer

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/handoff"
	"crawlnode/peer"
)

// Transport sends handoff's bytes to other members. It implements handoff.Transport.
type Transport struct {
	Pool *peer.Pool
	// Target is the address of a member in calls: the boot that the view lists. Calls to the zero
	// Target fail.
	Target func(crawl.NodeID) peer.Target
}

// Call makes one call, which Answer answers on the other node.
func (t Transport) Call(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error) {
	reply, err := peer.Call(ctx, t.Pool, t.Target(to), &peer.Envelope{Payload: payload},
		peer.PeerClient.Handoff)
	if err != nil {
		return nil, err
	}
	return reply.Payload, nil
}

// Open opens a stream of copies, which Receive handles on the other node.
func (t Transport) Open(ctx context.Context, to crawl.NodeID) (handoff.Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	s, err := t.Pool.Replicate(ctx, t.Target(to))
	if err != nil {
		cancel()
		return nil, err
	}
	return &outgoing{s, cancel}, nil
}

// outgoing is the sender's end of a stream of copies.
type outgoing struct {
	s      grpc.BidiStreamingClient[peer.Envelope, peer.Envelope]
	cancel context.CancelFunc
}

// Send explains an EOF: the real error is returned by Recv.
func (o *outgoing) Send(b []byte) error {
	err := o.s.Send(&peer.Envelope{Payload: b})
	if errors.Is(err, io.EOF) {
		return errors.New("the receiver has ended the stream")
	}
	return err
}

func (o *outgoing) Recv() ([]byte, error) {
	e, err := o.s.Recv()
	if err != nil {
		return nil, err
	}
	return e.Payload, nil
}

func (o *outgoing) Close() { o.cancel() }

// incoming is the receiver's end of a stream of copies.
type incoming struct {
	s grpc.BidiStreamingServer[peer.Envelope, peer.Envelope]
}

func (i incoming) Send(b []byte) error { return i.s.Send(&peer.Envelope{Payload: b}) }

func (i incoming) Recv() ([]byte, error) {
	e, err := i.s.Recv()
	if err != nil {
		return nil, err
	}
	return e.Payload, nil
}

// Close does nothing: the stream ends with its handler.
func (i incoming) Close() {}

// Answer passes another member's question about partitions to handoff.
func Answer(
	ctx context.Context,
	moves *handoff.Driver,
	from crawl.NodeID,
	req *peer.Envelope,
) (*peer.Envelope, error) {
	answer, err := moves.HandleCall(ctx, from, req.Payload)
	if err != nil {
		return nil, status.Error(codes.Aborted, err.Error())
	}
	return &peer.Envelope{Payload: answer}, nil
}

// Receive passes another member's copies and mutations to handoff, until the stream ends.
func Receive(
	moves *handoff.Driver,
	from crawl.NodeID,
	s grpc.BidiStreamingServer[peer.Envelope, peer.Envelope],
) error {
	if err := moves.HandleStream(s.Context(), from, incoming{s}); err != nil {
		return status.Error(codes.Aborted, err.Error())
	}
	return nil
}
