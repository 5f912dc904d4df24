package replication

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"

	"crawlnode/crawl"
	"crawlnode/handoff/acks"
	"crawlnode/handoff/hints"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// partitions of the tests.
const partitions = 100

// holder is a Store that holds every partition in epoch 1, at mutation 7.
type holder struct{}

func (holder) Kept(crawl.Partition) machine.Kept {
	return machine.Kept{State: machine.Holding, Epoch: 1, MaxEpoch: 1, Seq: 7}
}

func (holder) Generation(crawl.Partition) uint32 { return 1 }

func (holder) Size(crawl.Partition) int64 { return 1 }

func (holder) Export(context.Context, crawl.Partition, Sink) (Export, error) { return empty{}, nil }

func (holder) Attach(context.Context, crawl.Partition, crawl.Epoch, crawl.Seq, Sink) error {
	return nil
}

func (holder) Listen(context.Context, crawl.Partition, crawl.Epoch, Sink) (crawl.Seq, error) {
	return 7, nil
}

// empty is a snapshot without entries.
type empty struct{}

func (empty) Snapshot(context.Context, int, func([]crawl.Entry) error) error { return nil }
func (empty) Epoch() crawl.Epoch                                             { return 1 }
func (empty) Seq() crawl.Seq                                                 { return 7 }
func (empty) Close()                                                         {}

// taker is the other end of streams, which takes every copy.
type taker struct{}

func (taker) Open(ctx context.Context, _ crawl.NodeID) (wire.Stream, error) {
	return &taking{ctx: ctx, answers: make(chan []byte, 1)}, nil
}

// taking is one stream to it.
type taking struct {
	ctx     context.Context
	p       crawl.Partition
	answers chan []byte
}

func (s *taking) Send(b []byte) error {
	r := wire.NewReader(b)
	switch r.Kind() {
	case wire.FrameBegin, wire.FrameAsked:
		s.p = r.Partition()
	case wire.FrameEnd:
		s.answers <- wire.Done(s.p, true)
	}
	return nil
}

func (s *taking) Recv() ([]byte, error) {
	select {
	case b := <-s.answers:
		return b, nil
	case <-s.ctx.Done():
		return nil, io.EOF
	}
}

func (s *taking) Close() {}

// posted are the events for the machine, in their order.
type posted chan machine.Event

// noCall reaches no other node.
func noCall(context.Context, crawl.NodeID, string, any, any) error {
	return errors.New("there is no other node")
}

// underTest returns Replicas of a holder, whose calls fail, and the events that they post.
func underTest(t *testing.T) (*Replicas, posted) {
	ctx, cancel := context.WithCancel(t.Context())
	events := make(posted, 1000)
	rs := New(ctx, Options{Boot: 1, Store: holder{}, Transport: taker{},
		Call: noCall,
		Post: func(_ context.Context, e machine.Event) bool { events <- e; return true },
		Acks: acks.New(partitions), Hints: hints.New(hints.Options{Logger: slog.New(slog.DiscardHandler)}),
		BytesPerSecond: 1 << 30, Logger: slog.New(slog.DiscardHandler)},
		[]machine.Loaded{{P: 1, State: machine.Holding, Epoch: 1}})
	t.Cleanup(func() { cancel(); rs.End() })
	return rs, events
}

// idle ends new goroutines before they start: the test does their work.
func idle(rs *Replicas) *Replicas {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.ended = true
	return rs
}

// mutationOf has about size bytes.
func mutationOf(seq crawl.Seq, size int) crawl.Mutation {
	return crawl.Mutation{Epoch: 1, Seq: seq, Entries: []crawl.Entry{{Key: []byte("k"), Value: make([]byte, size)}}}
}
