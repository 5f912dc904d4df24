package replication

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/wire"
)

// This file sends mutations to one replica. What is in flight when a stream
// breaks is sent again: the replica ignores what it has.

const (
	resendMin = 20 * time.Millisecond
	resendMax = 500 * time.Millisecond
)

// sendLoop keeps a stream while there is something to send.
func (r *replica) sendLoop(ctx context.Context) {
	rest := resendMin
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.send:
		}
		if !r.waits() {
			continue
		}
		acked, err := r.session(ctx)
		if ctx.Err() != nil {
			return
		}
		r.rs.opts.Logger.Debug("the stream to a replica broke", "peer", r.id, "error", err)
		r.takeBack()
		if rest = min(2*rest, resendMax); acked {
			rest = resendMin
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(rest):
		}
		crawl.Signal(r.send)
	}
}

// waits reports whether something is to be sent, and gives up a replica that was
// silent for too long.
func (r *replica) waits() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.oldest.IsZero() && time.Since(r.oldest) > StallTimeout {
		r.giveUp()
	}
	return len(r.queue) > 0
}

// takeBack puts what was in flight in front of the queue.
func (r *replica) takeBack() {
	r.mu.Lock()
	defer r.mu.Unlock()
	var items []item
	for _, g := range r.inFlight {
		items = append(items, g.items...)
	}
	r.queue, r.inFlight = append(items, r.queue...), nil
}

// session is one stream. It ends with an error; acked reports whether the replica has
// acknowledged anything on it.
func (r *replica) session(ctx context.Context) (acked bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := time.AfterFunc(StallTimeout, cancel) // opening and sending have no deadline of their own
	defer watch.Stop()
	stream, err := r.rs.opts.Transport.Open(ctx, r.id)
	if err != nil {
		return false, err
	}
	defer stream.Close()
	err = stream.Send(wire.Hello(r.rs.opts.Boot))
	watch.Stop()
	if err != nil {
		return false, err
	}
	answers := make(chan []byte, maxInFlight)
	broken := make(chan error, 1)
	r.rs.wg.Go(func() { receiveAll(ctx, stream, answers, broken) })
	tick := time.NewTicker(StallTimeout / 4)
	defer tick.Stop()
	for id := uint64(1); ; {
		for {
			g, frame := r.nextGroup(id)
			if g == nil {
				break
			}
			id++
			watch.Reset(StallTimeout) // a peer that is stopped lets the windows fill
			err := stream.Send(frame)
			watch.Stop()
			if err != nil {
				return acked, err
			}
		}
		select {
		case <-ctx.Done():
			return acked, ctx.Err()
		case <-r.send:
		case b := <-answers:
			if err := r.onAck(ctx, b); err != nil {
				return acked, err
			}
			acked = true
		case err := <-broken:
			return acked, err
		case <-tick.C:
			if r.stalled() {
				return acked, fmt.Errorf("no acknowledgement for %v", StallTimeout)
			}
		}
	}
}

// receiveAll hands over the answers until the stream breaks.
func receiveAll(ctx context.Context, s wire.Stream, answers chan<- []byte, broken chan<- error) {
	for {
		b, err := s.Recv()
		if err != nil {
			broken <- err
			return
		}
		select {
		case answers <- b:
		case <-ctx.Done():
			return
		}
	}
}

func (r *replica) stalled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.oldest.IsZero() || time.Since(r.oldest) <= StallTimeout {
		return false
	}
	r.giveUp()
	return true
}

// giveUp ends the links to a replica that does not answer. r.mu is held.
func (r *replica) giveUp() {
	r.failAll()
	r.rs.opts.Acks.Answered(r.id, false)
}

// nextGroup takes what is sent next; nil when that can wait: a small group waits for
// the answer to the one before, so that groups grow with the load.
func (r *replica) nextGroup(id uint64) (*group, []byte) {
	r.mu.Lock()
	waiting := r.bytes
	for i := range r.inFlight {
		waiting -= r.inFlight[i].bytes
	}
	if len(r.queue) == 0 || len(r.inFlight) >= maxInFlight ||
		len(r.inFlight) > 0 && waiting < eagerBytes {
		r.mu.Unlock()
		return nil, nil
	}
	g := group{id: id}
	n := 0
	for n < len(r.queue) && (n == 0 || g.bytes+r.queue[n].m.Bytes() <= groupBytes) {
		it := r.queue[n]
		n++
		if it.link.over {
			r.bytes -= it.m.Bytes()
			crawl.Signal(r.room)
			continue
		}
		g.items = append(g.items, it)
		g.bytes += it.m.Bytes()
	}
	r.queue = r.queue[n:]
	if len(g.items) == 0 {
		r.restartStallClock()
		r.mu.Unlock()
		return nil, nil
	}
	r.inFlight = append(r.inFlight, g)
	r.mu.Unlock()
	frame := binary.AppendUvarint(
		append(make([]byte, 0, g.bytes+32*len(g.items)), wire.FrameGroup), id)
	for i := range g.items {
		frame = wire.AppendMutation(frame, g.items[i].link.a.P, &g.items[i].m)
	}
	return &g, frame
}

// restartStallClock measures silence anew, after progress. r.mu is held.
func (r *replica) restartStallClock() {
	r.oldest = time.Time{}
	if len(r.queue) > 0 || len(r.inFlight) > 0 {
		r.oldest = time.Now()
	}
}

// onAck takes the answer to the oldest group in flight.
func (r *replica) onAck(ctx context.Context, b []byte) error {
	fr := wire.NewReader(b)
	if fr.Kind() != wire.FrameAck {
		return fmt.Errorf("%w: an acknowledgement was due", wire.ErrFrame)
	}
	id := fr.Uint()
	var refused []crawl.Partition
	for fr.More() {
		refused = append(refused, fr.Partition())
	}
	if err := fr.End("acknowledgement"); err != nil {
		return err
	}
	var noted []item
	var nowUp []*link
	r.mu.Lock()
	if len(r.inFlight) == 0 || r.inFlight[0].id != id {
		failed := len(r.inFlight) == 0
		r.mu.Unlock()
		if failed {
			return nil // all was given up meanwhile
		}
		return fmt.Errorf("%w: group %d was acknowledged out of turn", wire.ErrFrame, id)
	}
	g := r.inFlight[0]
	r.inFlight = r.inFlight[1:]
	r.bytes -= g.bytes
	crawl.Signal(r.room)
	r.restartStallClock()
	for _, it := range g.items {
		switch {
		case it.link.over:
		case slices.Contains(refused, it.link.a.P):
			r.fail(it.link)
		default:
			noted = append(noted, it)
			it.link.acked = it.m.Seq
			if !it.link.isUp && it.m.Seq >= it.link.upAt {
				it.link.isUp = true
				nowUp = append(nowUp, it.link)
			}
		}
	}
	r.mu.Unlock()
	// A call may have failed while the stream, or the one after it, went on; then only
	// this tells that the replica answers.
	r.rs.opts.Acks.Answered(r.id, true)
	for _, it := range noted {
		r.rs.opts.Acks.Acknowledged(r.id, it.link.a.P, it.link.a.Attempt, it.m.Seq)
	}
	for _, l := range nowUp {
		r.follows(ctx, l)
	}
	return nil
}
