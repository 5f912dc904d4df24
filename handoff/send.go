package handoff

import (
	"context"
	"errors"
	"fmt"
	"io"

	"crawlnode/crawl"
)

// shortTail is the tail that may be left when the partition freezes: it is
// sent while nobody serves the partition.
const shortTail = 4

// chunkBytes is the size of a snapshot message.
const chunkBytes = 256 << 10

// order is what the machine wants of a running sender.
type order uint8

const (
	orderFreeze order = iota + 1
	orderPass
)

// sender is one outgoing attempt: a goroutine with its stream.
type sender struct {
	attempt uint64
	cancel  context.CancelFunc
	orders  chan order // capacity 2: each order is given once
	done    chan struct{}
}

func (d *Driver) startSender(ctx context.Context, a StartCopy) {
	d.endSender(a.P) // a broken attempt's remains
	ctx, cancel := context.WithCancel(ctx)
	s := &sender{attempt: a.Attempt, cancel: cancel, orders: make(chan order, 2), done: make(chan struct{})}
	d.sends[a.P] = s
	d.wg.Go(func() {
		err := d.send(ctx, a, s)
		close(s.done)
		bg := context.Background() // Run does not wait for this goroutine any more
		var refused *refusedError
		switch {
		case err == nil:
			d.post(bg, Took{P: a.P, Attempt: a.Attempt})
		case errors.As(err, &refused):
			d.post(bg, RefusedNewer{P: a.P, Attempt: a.Attempt, View: refused.view})
			// Without a newer view than the attempt's the refusal is just a failure.
			d.post(bg, Broken{P: a.P, Attempt: a.Attempt})
		default:
			if ctx.Err() == nil {
				d.opts.Logger.Debug("a move broke and will be tried again", "partition", a.P, "peer", a.To, "error", err)
			}
			var later *laterError
			d.post(bg, Broken{P: a.P, Attempt: a.Attempt, Later: errors.As(err, &later)})
		}
	})
}

// endSender stops an attempt and waits for its goroutine's work to end: the
// post of its last event may still be under way and is ignored by its number.
func (d *Driver) endSender(p crawl.Partition) {
	if s := d.sends[p]; s != nil {
		s.cancel()
		<-s.done
		delete(d.sends, p)
	}
}

func (d *Driver) tell(p crawl.Partition, attempt uint64, o order) {
	if s := d.sends[p]; s != nil && s.attempt == attempt {
		s.orders <- o
	}
}

// refusedError says that the receiver has installed a newer view.
type refusedError struct{ view crawl.Epoch }

func (e *refusedError) Error() string {
	return fmt.Sprintf("the receiver is at view %d already", e.view)
}

// laterError says that the receiver has no place now.
type laterError struct{ reason string }

func (e *laterError) Error() string { return "the receiver said later: " + e.reason }

// verdict turns a reply that is not "go on" into an error; took is nil.
func verdict(r Reply) error {
	switch r.Kind {
	case ReplyTook:
		return nil
	case ReplyRefused:
		return &refusedError{r.View}
	default:
		return &laterError{r.Reason}
	}
}

// send is one attempt, from the offer to the receiver's last word. nil: took.
func (d *Driver) send(ctx context.Context, a StartCopy, s *sender) error {
	stream, err := d.opts.Transport.Move(ctx, a.To)
	if err != nil {
		return err
	}
	defer stream.Close()
	reply, err := stream.Offer(a.P, a.View, 0, a.Released)
	if err != nil {
		return err
	}
	if reply.Kind == ReplyTook && !a.Released {
		return errors.New("the receiver says that it holds the partition already")
	}
	if reply.Kind != ReplyGoOn {
		return verdict(reply)
	}
	ex, err := d.opts.Store.Export(ctx, a.P)
	if err != nil {
		return err
	}
	defer ex.Close()
	err = ex.Snapshot(ctx, chunkBytes, func(es []Entry) error { return d.sendChunk(ctx, stream, es) })
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	out := &tailer{stream: stream, ex: ex, seq: ex.Seq()}
	if err := d.freeze(ctx, a, s, out); err != nil {
		return err
	}
	if err := out.drain(ctx); err != nil {
		return err
	}
	if reply, err = stream.Token(out.seq); err != nil {
		return err
	}
	return verdict(reply)
}

func (d *Driver) sendChunk(ctx context.Context, stream Stream, es []Entry) error {
	n := 0
	for i := range es {
		n += len(es[i].Key) + len(es[i].Value)
	}
	d.bytes.Add(int64(n))
	if err := d.limiter.WaitN(ctx, min(n, d.limiter.Burst())); err != nil {
		return err
	}
	return stream.Chunk(es)
}

// tailer sends a partition's tail and remembers how far it came.
type tailer struct {
	stream Stream
	ex     Export
	seq    crawl.Seq
}

// next sends the next mutations; io.EOF when a frozen partition has no more.
func (t *tailer) next(ctx context.Context) error {
	ms, err := t.ex.Tail(ctx)
	if err != nil {
		return fmt.Errorf("tail: %w", err)
	}
	if len(ms) == 0 {
		return nil
	}
	t.seq = ms[len(ms)-1].Seq
	return t.stream.Tail(ms)
}

// drain sends what is left of a frozen partition's tail.
func (t *tailer) drain(ctx context.Context) error {
	for {
		if err := t.next(ctx); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// freeze sends the tail until little is left, then freezes the partition and
// waits until its release is stored. A released partition is frozen already.
func (d *Driver) freeze(ctx context.Context, a StartCopy, s *sender, out *tailer) error {
	for !a.Released && out.ex.Lag() > shortTail {
		if err := out.next(ctx); err != nil {
			return err
		}
	}
	d.post(ctx, Copied{P: a.P, Attempt: a.Attempt})
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case o := <-s.orders:
			if o == orderPass {
				return nil
			}
			if err := d.opts.Fetching.Freeze(ctx, a.P); err != nil {
				return fmt.Errorf("freeze: %w", err)
			}
			if err := d.opts.Store.Freeze(ctx, a.P); err != nil {
				return fmt.Errorf("freeze: %w", err)
			}
			d.post(ctx, Frozen{P: a.P, Attempt: a.Attempt})
		}
	}
}
