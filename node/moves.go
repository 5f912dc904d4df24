package node

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/handoff"
	"crawlnode/peer"
)

// This file fits the frontier and the peers to what package handoff asks for.

// moveStore is handoff's view of the frontier.
type moveStore struct{ front *frontier.Frontier }

func (s moveStore) Kept(p crawl.Partition) handoff.Kept {
	m, _ := s.front.Meta(p)
	k := handoff.Kept{Suspect: m.Suspect, Unsure: m.Unsure, Epoch: m.Epoch, MaxEpoch: m.MaxEpoch, Seq: m.Seq}
	switch m.State {
	case frontier.Holder:
		k.State = handoff.Holding
	case frontier.Released:
		k.State = handoff.Released
	case frontier.Copy:
		k.Copy = true
	}
	return k
}

func (s moveStore) Size(p crawl.Partition) int64 {
	m, _ := s.front.Meta(p)
	return m.Bytes()
}

func (s moveStore) Export(ctx context.Context, p crawl.Partition, sink handoff.Sink) (handoff.Export, error) {
	e, err := s.front.Export(ctx, p, frontier.Sink(sink))
	if err != nil {
		return nil, err
	}
	return e, nil
}

func (s moveStore) Attach(ctx context.Context, p crawl.Partition, epoch crawl.Epoch, after crawl.Seq, sink handoff.Sink) error {
	return gap(s.front.Attach(ctx, p, after, epoch, frontier.Sink(sink)))
}

func (s moveStore) Listen(ctx context.Context, p crawl.Partition, epoch crawl.Epoch, sink handoff.Sink) (crawl.Seq, error) {
	seq, err := s.front.Listen(ctx, p, epoch, frontier.Sink(sink))
	return seq, gap(err)
}

func gap(err error) error {
	if errors.Is(err, frontier.ErrGap) {
		return fmt.Errorf("%w: %w", handoff.ErrGap, err)
	}
	return err
}

func (s moveStore) BeginImport(ctx context.Context, p crawl.Partition) (handoff.Import, error) {
	i, err := s.front.BeginImport(ctx, p)
	if err != nil {
		return nil, err
	}
	return moveImport{i}, nil
}

func (s moveStore) ApplyCopies(ctx context.Context, ms []crawl.CopyMutation) []error {
	return s.front.ApplyCopies(ctx, ms)
}

func (s moveStore) AdoptCopy(ctx context.Context, p crawl.Partition, from crawl.Epoch, seq crawl.Seq, epoch crawl.Epoch) error {
	return gap(s.front.AdoptCopy(ctx, p, from, seq, epoch))
}

func (s moveStore) Freeze(ctx context.Context, p crawl.Partition) error {
	return s.front.Freeze(ctx, p)
}

func (s moveStore) Unfreeze(ctx context.Context, p crawl.Partition) error {
	return s.front.Unfreeze(ctx, p)
}

func (s moveStore) StoreReleased(ctx context.Context, p crawl.Partition, to crawl.NodeID, view crawl.Epoch) error {
	return s.front.Transition(ctx, p, func(m *frontier.Meta) error {
		m.State, m.To, m.View = frontier.Released, to, view
		return nil
	})
}

func (s moveStore) StoreHolder(ctx context.Context, p crawl.Partition) error {
	err := s.front.Transition(ctx, p, func(m *frontier.Meta) error {
		if m.State != frontier.Released {
			return fmt.Errorf("it is %s", m.State)
		}
		m.State, m.To, m.View = frontier.Holder, "", 0
		return nil
	})
	if err != nil {
		return err
	}
	return s.front.Unfreeze(ctx, p)
}

// StoreCopy leaves what is a copy already, or nothing at all, as it is.
func (s moveStore) StoreCopy(ctx context.Context, p crawl.Partition, suspect bool) error {
	return s.front.Transition(ctx, p, func(m *frontier.Meta) error {
		if m.State != frontier.Absent {
			m.State, m.To, m.View, m.Suspect = frontier.Copy, "", 0, m.Suspect || suspect
		}
		return nil
	})
}

func (s moveStore) Promote(ctx context.Context, p crawl.Partition, epoch crawl.Epoch) error {
	return s.front.Transition(ctx, p, func(m *frontier.Meta) error {
		if m.State != frontier.Copy {
			return fmt.Errorf("it is %s, no copy", m.State)
		}
		m.State, m.Epoch, m.View, m.Suspect = frontier.Holder, epoch, epoch, false
		return nil
	})
}

func (s moveStore) Found(ctx context.Context, p crawl.Partition, epoch crawl.Epoch) error {
	return s.front.Found(ctx, []crawl.Partition{p}, epoch)
}

func (s moveStore) PutSets(ctx context.Context, sets map[crawl.Partition]handoff.Set) error {
	records := make([]frontier.SetRecord, 0, len(sets))
	for p, x := range sets {
		records = append(records, frontier.SetRecord{Partition: p, Epoch: x.Epoch, Version: x.Version, Members: x.Members})
	}
	return s.front.PutSets(ctx, records)
}

func (s moveStore) Set(p crawl.Partition) handoff.Set {
	r, _ := s.front.Set(p)
	return handoff.Set{Epoch: r.Epoch, Version: r.Version, Members: r.Members}
}

func (s moveStore) Delete(ctx context.Context, p crawl.Partition) error {
	return s.front.Delete(ctx, p)
}

type moveImport struct{ i *frontier.Import }

func (x moveImport) Put(ctx context.Context, es []crawl.Entry) error { return x.i.Put(ctx, es) }

func (x moveImport) Commit(ctx context.Context, epoch crawl.Epoch) error {
	return x.i.CommitCopy(ctx, epoch)
}

// Abort drops the copy. When that cannot be noted, the next start does it.
func (x moveImport) Abort(ctx context.Context) { _ = x.i.Abort(ctx) }

// moveTransport carries handoff's bytes to other nodes.
type moveTransport struct{ node *Node }

func (t moveTransport) Call(ctx context.Context, to crawl.NodeID, payload []byte) ([]byte, error) {
	reply, err := peer.Call(ctx, t.node.pool, t.node.target(to), &peer.Envelope{Payload: payload}, peer.PeerClient.Handoff)
	if err != nil {
		return nil, err
	}
	return reply.Payload, nil
}

func (t moveTransport) Open(ctx context.Context, to crawl.NodeID) (handoff.Stream, error) {
	ctx, cancel := context.WithCancel(ctx)
	s, err := t.node.pool.Replicate(ctx, t.node.target(to))
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

// Send explains an EOF: the real error is what Recv says.
func (o *outgoing) Send(b []byte) error {
	err := o.s.Send(&peer.Envelope{Payload: b})
	if errors.Is(err, io.EOF) {
		return errors.New("the other side has ended the stream")
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

var errNotJoined = status.Error(codes.Unavailable, "this node has not joined yet")

// Handoff answers a question about partitions.
func (h handler) Handoff(ctx context.Context, from string, req *peer.Envelope) (*peer.Envelope, error) {
	eng := h.node.engine.Load()
	if eng == nil {
		return nil, errNotJoined
	}
	answer, err := eng.moves.HandleCall(ctx, crawl.NodeID(from), req.Payload)
	if err != nil {
		return nil, status.Error(codes.Aborted, err.Error())
	}
	return &peer.Envelope{Payload: answer}, nil
}

// Replicate receives copies and mutations.
func (h handler) Replicate(from string, s grpc.BidiStreamingServer[peer.Envelope, peer.Envelope]) error {
	eng := h.node.engine.Load()
	if eng == nil {
		return errNotJoined
	}
	if err := eng.moves.HandleStream(s.Context(), crawl.NodeID(from), incoming{s}); err != nil {
		return status.Error(codes.Aborted, err.Error())
	}
	return nil
}
