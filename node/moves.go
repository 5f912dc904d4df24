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

// This file fits the frontier, the dispatcher and the peers to what package
// handoff asks for.

// moveStore is handoff's view of the frontier.
type moveStore struct{ front *frontier.Frontier }

func (s moveStore) Export(ctx context.Context, p crawl.Partition) (handoff.Export, error) {
	e, err := s.front.Export(ctx, p)
	if err != nil {
		return nil, err
	}
	return moveExport{e}, nil
}

func (s moveStore) BeginImport(ctx context.Context, p crawl.Partition) (handoff.Import, error) {
	i, err := s.front.BeginImport(ctx, p)
	if err != nil {
		return nil, err
	}
	return moveImport{i}, nil
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
		if m.Sealed {
			return errors.New("it is sealed")
		}
		m.State, m.To, m.View = frontier.Holder, "", 0
		return nil
	})
	if err != nil {
		return err
	}
	return s.front.Unfreeze(ctx, p)
}

func (s moveStore) Delete(ctx context.Context, p crawl.Partition) error {
	return s.front.Delete(ctx, p)
}

type moveExport struct{ e *frontier.Export }

func (x moveExport) Seq() crawl.Seq { return x.e.Seq() }
func (x moveExport) Lag() int       { return x.e.Lag() }
func (x moveExport) Close()         { x.e.Close() }

func (x moveExport) Snapshot(ctx context.Context, chunkBytes int, f func([]handoff.Entry) error) error {
	return x.e.Snapshot(ctx, chunkBytes, func(es []frontier.Entry) error {
		out := make([]handoff.Entry, len(es))
		for i, e := range es {
			out[i] = handoff.Entry{Key: e.Key, Value: e.Value}
		}
		return f(out)
	})
}

func (x moveExport) Tail(ctx context.Context) ([]handoff.Mutation, error) {
	ms, err := x.e.Tail(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]handoff.Mutation, len(ms))
	for i, m := range ms {
		out[i] = handoff.Mutation{Seq: m.Seq, Entries: make([]handoff.Entry, len(m.Entries))}
		for j, e := range m.Entries {
			out[i].Entries[j] = handoff.Entry{Key: e.Key, Value: e.Value, Deleted: e.Value == nil}
		}
	}
	return out, nil
}

type moveImport struct{ i *frontier.Import }

func (x moveImport) Seq() crawl.Seq { return x.i.Seq() }

// Abort drops the copy. When that cannot be noted, the next start does it.
func (x moveImport) Abort(ctx context.Context) { _ = x.i.Abort(ctx) }

func (x moveImport) Put(ctx context.Context, es []handoff.Entry) error {
	return x.i.Put(ctx, toFrontier(es))
}

func (x moveImport) Apply(ctx context.Context, ms []handoff.Mutation) error {
	out := make([]frontier.Mutation, len(ms))
	for i, m := range ms {
		out[i] = frontier.Mutation{Seq: m.Seq, Entries: toFrontier(m.Entries)}
	}
	return x.i.Apply(ctx, out)
}

func (x moveImport) Commit(ctx context.Context, epoch crawl.Epoch) error {
	err := x.i.Commit(ctx, epoch, epoch)
	if errors.Is(err, frontier.ErrImportOver) || errors.Is(err, frontier.ErrGap) {
		return fmt.Errorf("%w: %w", handoff.ErrImportOver, err)
	}
	return err
}

// toFrontier makes the frontier's entries; a nil value means deleted there.
func toFrontier(es []handoff.Entry) []frontier.Entry {
	out := make([]frontier.Entry, len(es))
	for i, e := range es {
		out[i] = frontier.Entry{Key: e.Key, Value: e.Value}
		switch {
		case e.Deleted:
			out[i].Value = nil
		case e.Value == nil:
			out[i].Value = []byte{}
		}
	}
	return out
}

// moveTransport opens move streams to other nodes.
type moveTransport struct{ node *Node }

func (t moveTransport) Move(ctx context.Context, to crawl.NodeID) (handoff.Stream, error) {
	addr := t.node.rpcAddress(to)
	if addr == "" {
		return nil, fmt.Errorf("node %s has no known address", to)
	}
	ctx, cancel := context.WithCancel(ctx)
	s, err := t.node.pool.Move(ctx, addr)
	if err != nil {
		cancel()
		return nil, err
	}
	return &moveStream{s, cancel}, nil
}

// moveStream is the sender's end of a move.
type moveStream struct {
	s      grpc.BidiStreamingClient[peer.MoveFrame, peer.MoveReply]
	cancel context.CancelFunc
}

func (m *moveStream) Close() { m.cancel() }

// send explains an EOF: the real error is what Recv says.
func (m *moveStream) send(f *peer.MoveFrame) error {
	err := m.s.Send(f)
	if errors.Is(err, io.EOF) {
		_, err = m.s.Recv()
	}
	return err
}

func (m *moveStream) ask(f *peer.MoveFrame) (handoff.Reply, error) {
	if err := m.send(f); err != nil {
		return handoff.Reply{}, err
	}
	r, err := m.s.Recv()
	if err != nil {
		return handoff.Reply{}, err
	}
	reply := handoff.Reply{View: crawl.Epoch(r.View), Reason: r.Reason}
	switch r.Kind {
	case peer.MoveReply_KIND_GO_ON:
		reply.Kind = handoff.ReplyGoOn
	case peer.MoveReply_KIND_TOOK:
		reply.Kind = handoff.ReplyTook
	case peer.MoveReply_KIND_REFUSED:
		reply.Kind = handoff.ReplyRefused
	default:
		reply.Kind = handoff.ReplyLater
	}
	return reply, nil
}

func (m *moveStream) Offer(p crawl.Partition, view, epoch crawl.Epoch, released bool) (handoff.Reply, error) {
	return m.ask(&peer.MoveFrame{Frame: &peer.MoveFrame_Offer_{Offer: &peer.MoveFrame_Offer{
		Partition: uint32(p), View: uint64(view), Epoch: uint64(epoch), Released: released}}})
}

func (m *moveStream) Chunk(es []handoff.Entry) error {
	return m.send(&peer.MoveFrame{Frame: &peer.MoveFrame_Chunk_{Chunk: &peer.MoveFrame_Chunk{Entries: toPeer(es)}}})
}

// tailMessageBytes is where a message of mutations ends; a single mutation, one
// group commit of about 1 MiB, still fits into what a message may have.
const tailMessageBytes = 1 << 20

func (m *moveStream) Tail(ms []handoff.Mutation) error {
	var out []*peer.Mutation
	size := 0
	for _, x := range ms {
		n := 0
		for _, e := range x.Entries {
			n += len(e.Key) + len(e.Value)
		}
		if len(out) > 0 && size+n > tailMessageBytes {
			if err := m.sendTail(out); err != nil {
				return err
			}
			out, size = nil, 0
		}
		out, size = append(out, &peer.Mutation{Seq: uint64(x.Seq), Entries: toPeer(x.Entries)}), size+n
	}
	return m.sendTail(out)
}

func (m *moveStream) sendTail(out []*peer.Mutation) error {
	return m.send(&peer.MoveFrame{Frame: &peer.MoveFrame_Tail_{Tail: &peer.MoveFrame_Tail{Mutations: out}}})
}

func (m *moveStream) Token(seq crawl.Seq) (handoff.Reply, error) {
	return m.ask(&peer.MoveFrame{Frame: &peer.MoveFrame_Token_{Token: &peer.MoveFrame_Token{Seq: uint64(seq)}}})
}

func toPeer(es []handoff.Entry) []*peer.Entry {
	out := make([]*peer.Entry, len(es))
	for i, e := range es {
		out[i] = &peer.Entry{Key: e.Key, Value: e.Value, Deleted: e.Deleted}
	}
	return out
}

func fromPeer(es []*peer.Entry) []handoff.Entry {
	out := make([]handoff.Entry, len(es))
	for i, e := range es {
		out[i] = handoff.Entry{Key: e.Key, Value: e.Value, Deleted: e.Deleted}
	}
	return out
}

// Move receives a partition: the receiver's end of a move.
func (h handler) Move(_ string, s grpc.BidiStreamingServer[peer.MoveFrame, peer.MoveReply]) error {
	eng := h.node.engine.Load()
	if eng == nil {
		return status.Error(codes.Unavailable, "this node has not joined yet")
	}
	ctx := s.Context()
	r := eng.moves.Receive()
	defer r.Close()
	for {
		f, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		reply, err := receiveFrame(ctx, r, f)
		if err != nil {
			return status.Error(codes.Aborted, err.Error())
		}
		if reply == nil {
			continue
		}
		if err := s.Send(toReply(reply)); err != nil {
			return err
		}
	}
}

// receiveFrame feeds one frame to the receiver; a nil reply means go on.
func receiveFrame(ctx context.Context, r *handoff.Receiver, f *peer.MoveFrame) (*handoff.Reply, error) {
	switch x := f.Frame.(type) {
	case *peer.MoveFrame_Offer_:
		if x.Offer.Partition > 1<<16-1 {
			return nil, fmt.Errorf("there is no partition %d", x.Offer.Partition)
		}
		reply, err := r.Offer(ctx, crawl.Partition(x.Offer.Partition), crawl.Epoch(x.Offer.View), x.Offer.Released)
		return &reply, err
	case *peer.MoveFrame_Chunk_:
		return nil, r.Chunk(ctx, fromPeer(x.Chunk.Entries))
	case *peer.MoveFrame_Tail_:
		ms := make([]handoff.Mutation, len(x.Tail.Mutations))
		for i, m := range x.Tail.Mutations {
			ms[i] = handoff.Mutation{Seq: crawl.Seq(m.Seq), Entries: fromPeer(m.Entries)}
		}
		return nil, r.Tail(ctx, ms)
	case *peer.MoveFrame_Token_:
		reply, err := r.Token(ctx, crawl.Seq(x.Token.Seq))
		return &reply, err
	default:
		return nil, errors.New("an empty move frame")
	}
}

func toReply(r *handoff.Reply) *peer.MoveReply {
	kinds := map[handoff.ReplyKind]peer.MoveReply_Kind{
		handoff.ReplyGoOn: peer.MoveReply_KIND_GO_ON, handoff.ReplyTook: peer.MoveReply_KIND_TOOK,
		handoff.ReplyRefused: peer.MoveReply_KIND_REFUSED, handoff.ReplyLater: peer.MoveReply_KIND_LATER,
	}
	return &peer.MoveReply{Kind: kinds[r.Kind], View: uint64(r.View), Reason: r.Reason}
}
