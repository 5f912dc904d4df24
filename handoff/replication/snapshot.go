package replication

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/wire"
)

const (
	// chunkBytes is the size of a message of a snapshot.
	chunkBytes = 128 << 10
	// copyTimeout bounds the wait for any one step of a copy.
	copyTimeout = 10 * time.Second
)

// watchedStream is a stream whose every step has a deadline.
type watchedStream struct {
	wire.Stream
	cancel context.CancelFunc
	timer  *time.Timer
}

func (w *watchedStream) close() {
	w.timer.Stop()
	w.Stream.Close()
	w.cancel()
}

func (w *watchedStream) send(b []byte) error {
	w.timer.Reset(copyTimeout)
	err := w.Stream.Send(b)
	w.timer.Stop()
	return err
}

func (w *watchedStream) recv() ([]byte, error) {
	w.timer.Reset(copyTimeout)
	b, err := w.Stream.Recv()
	w.timer.Stop()
	return b, err
}

// openCopies opens a stream for snapshots.
func (r *replica) openCopies(ctx context.Context) (*watchedStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(copyTimeout, cancel)
	s, err := r.rs.opts.Transport.Open(ctx, r.id)
	if err != nil {
		timer.Stop()
		cancel()
		return nil, err
	}
	w := &watchedStream{Stream: s, cancel: cancel, timer: timer}
	if err := w.send(wire.Hello(r.rs.opts.Boot)); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// copy sends one snapshot, and lets the link's mutations follow it.
func (r *replica) copy(ctx context.Context, stream *watchedStream, j copyJob) error {
	var sink Sink
	if j.link != nil {
		sink = j.link.sink // also of a release: it may be refused, and then held again
	}
	ex, err := r.rs.opts.Store.Export(ctx, j.p, sink)
	if err != nil {
		return err
	}
	defer ex.Close()
	if j.link != nil && ex.Epoch() != j.link.a.Epoch {
		return errors.New("the partition was acquired anew")
	}
	begin := byte(wire.FrameAsked)
	if j.link != nil {
		begin = wire.FrameBegin
	}
	if err := stream.send(wire.Begin(begin, j.p, ex.Epoch())); err != nil {
		return err
	}
	err = ex.Snapshot(ctx, chunkBytes,
		func(es []crawl.Entry) error { return r.sendChunk(ctx, stream, es) })
	if err != nil {
		return err
	}
	if err := stream.send([]byte{wire.FrameEnd}); err != nil {
		return err
	}
	answer, err := stream.recv()
	if err != nil {
		return err
	}
	fr := wire.NewReader(answer)
	kind, p, ok := fr.Kind(), fr.Partition(), fr.Uint()
	if err := fr.End("answer to a copy"); err != nil || kind != wire.FrameDone || p != j.p {
		return fmt.Errorf("%w: the answer to the copy of partition %d", wire.ErrFrame, j.p)
	}
	if ok != 1 {
		return errors.New("the other node did not store it")
	}
	r.rs.copied.Add(1)
	if j.link != nil {
		r.goLive(ctx, j.link, ex.Seq())
	}
	return nil
}

// sendChunk sends a part of a snapshot, within the byte rate of all snapshots.
func (r *replica) sendChunk(ctx context.Context, stream *watchedStream, es []crawl.Entry) error {
	n := 0
	for i := range es {
		n += len(es[i].Key) + len(es[i].Value)
	}
	b := append(make([]byte, 0, n+8*len(es)+1), wire.FrameChunk)
	for i := range es {
		b = wire.AppendEntry(b, &es[i])
	}
	r.rs.sent.Add(int64(n))
	if err := r.rs.limiter.WaitN(ctx, min(n, r.rs.limiter.Burst())); err != nil {
		return err
	}
	return stream.send(b)
}
