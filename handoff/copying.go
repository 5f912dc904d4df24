package handoff

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// This file opens links: it asks what the other node has, lets copies go on
// under a new tenure, and makes those that are missing.

const (
	// chunkBytes is the size of a message of a snapshot.
	chunkBytes = 128 << 10
	// copyTimeout bounds the wait for any one step of a copy.
	copyTimeout = 10 * time.Second
)

// workLoop asks and tells.
func (r *replica) workLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.work:
		}
		r.mu.Lock()
		based, wanted, failed, drops := r.based, r.wanted, r.failed, r.drops
		asks := slices.Sorted(maps.Keys(r.asks))
		r.based, r.wanted, r.failed, r.drops = nil, nil, nil, nil
		clear(r.asks)
		r.mu.Unlock()
		for _, f := range failed {
			r.d.acks.forget(r.id, f.a.P, f.a.Attempt)
			r.d.post(ctx, machine.LinkDown{P: f.a.P, Node: r.id, Attempt: f.a.Attempt})
		}
		if len(based) > 0 {
			r.adopt(ctx, based, func(f *flow) { r.goLive(ctx, f, f.a.BaseSeq) })
		}
		if len(wanted) > 0 {
			r.where(ctx, wanted)
		}
		if len(drops) > 0 {
			// One that is not heard of stays until its node sweeps.
			if err := r.d.call(ctx, r.id, callDrop, dropCall{drops}, nil); err != nil {
				r.d.opts.Logger.Debug("copies were not dropped", "peer", r.id, "error", err)
			}
		}
		if len(asks) > 0 {
			if err := r.d.call(ctx, r.id, callSend, sendCall{asks}, nil); err != nil {
				r.d.opts.Logger.Debug("copies were not sent; they will be asked for again", "peer", r.id, "error", err)
			}
		}
	}
}

// give fails flows after a call that was not answered.
func (r *replica) give(fs []*flow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range fs {
		r.fail(f)
	}
}

// adopt lets copies go on that have exactly what this node had when it acquired
// their partitions, and calls then for each.
func (r *replica) adopt(ctx context.Context, fs []*flow, then func(*flow)) {
	call := adoptCall{}
	for _, f := range fs {
		call.Parts = append(call.Parts, adoptPart{P: f.a.P, From: f.a.BaseEpoch, Seq: f.a.BaseSeq, Epoch: f.a.Epoch, Attempt: f.a.Attempt})
	}
	var reply adoptReply
	err := r.d.call(ctx, r.id, callAdopt, call, &reply)
	r.d.acks.hear(r.id, err == nil)
	if err != nil {
		r.give(fs)
		return
	}
	adopted := make(map[crawl.Partition]bool, len(reply.Adopted))
	for _, p := range reply.Adopted {
		adopted[p] = true
	}
	for _, f := range fs {
		if adopted[f.a.P] {
			then(f)
		} else if f = r.renew(f); f != nil {
			r.toCopy(ctx, f)
		}
	}
}

// renew replaces a flow that listens already by one that does not, of the same
// attempt; nil when it is over.
func (r *replica) renew(f *flow) *flow {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f.over {
		return nil
	}
	f.over = true
	next := &flow{r: r, a: f.a}
	r.flows[f.a.P] = next
	return next
}

// toCopy queues a snapshot.
func (r *replica) toCopy(ctx context.Context, f *flow) {
	r.d.post(ctx, machine.LinkCopying{P: f.a.P, Node: r.id, Attempt: f.a.Attempt})
	j := r.newJob(f.a.P, f)
	r.mu.Lock()
	r.jobs = append(r.jobs, j)
	r.mu.Unlock()
	r.d.peers.spur(r)
}

// where asks what the other node has, and goes on from there.
func (r *replica) where(ctx context.Context, fs []*flow) {
	q := whereCall{}
	for _, f := range fs {
		q.Parts = append(q.Parts, wherePart{P: f.a.P, Attempt: f.a.Attempt})
	}
	var reply whereReply
	err := r.d.call(ctx, r.id, callWhere, q, &reply)
	r.d.acks.hear(r.id, err == nil)
	if err != nil || len(reply.Copies) != len(fs) {
		r.give(fs)
		return
	}
	var late []*flow
	for i, f := range fs {
		if r.judge(ctx, f, reply.Copies[i]) {
			late = append(late, f)
		}
	}
	if len(late) > 0 {
		r.adopt(ctx, late, func(f *flow) { r.toTail(f, f.a.BaseSeq) })
	}
}

// judge goes on from what the other node has. True: its copy is what the tenure began
// with, and has to adopt it.
func (r *replica) judge(ctx context.Context, f *flow, a machine.Answer) (late bool) {
	k := r.d.opts.Store.Kept(f.a.P) // after the answer: what the copy has beyond it is lost here
	same := a.Copy && !a.Suspect && a.Epoch == f.a.Epoch
	switch {
	case a.Holds:
		r.give([]*flow{f}) // by an older view, or a newer one; a view will tell
	case same && k.State == Holding && r.d.bases.ahead(f.a.P, f.a.Epoch, r.id, a.Seq, k.Seq):
		r.mu.Lock()
		gone := f.over
		r.mu.Unlock()
		if !gone {
			r.d.post(ctx, machine.LinkAhead{P: f.a.P, Node: r.id, Attempt: f.a.Attempt})
		}
		return false
	}
	r.d.bases.meet(f.a.P, r.id)
	switch {
	case same && a.Seq == k.Seq && r.d.opts.Store.Attach(ctx, f.a.P, f.a.Epoch, a.Seq, f.sink) == nil:
		r.goLive(ctx, f, a.Seq)
	case same && k.State == Holding && r.d.tail.covers(f.a.P, f.a.Epoch, a.Seq):
		r.toTail(f, a.Seq)
	case a.Copy && !a.Suspect && !a.Unsure && k.State == Holding && r.d.tail.beganAt(f.a.P, f.a.Epoch, a.Epoch, a.Seq):
		f.a.BaseEpoch, f.a.BaseSeq = a.Epoch, a.Seq
		return true
	default:
		r.toCopy(ctx, f)
	}
	return false
}

// watchedStream is a stream whose every step has a deadline.
type watchedStream struct {
	Stream
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

func (r *replica) openCopies(ctx context.Context) (*watchedStream, error) {
	ctx, cancel := context.WithCancel(ctx)
	timer := time.AfterFunc(copyTimeout, cancel)
	s, err := r.d.opts.Transport.Open(ctx, r.id)
	if err != nil {
		timer.Stop()
		cancel()
		return nil, err
	}
	w := &watchedStream{Stream: s, cancel: cancel, timer: timer}
	if err := w.send(helloFrame(r.d.opts.Boot)); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// copy sends one snapshot, and lets the flow's mutations go behind it.
func (r *replica) copy(ctx context.Context, stream *watchedStream, j copyJob) error {
	var sink Sink
	if j.f != nil {
		sink = j.f.sink // also of a release: it may be refused, and then held again
	}
	ex, err := r.d.opts.Store.Export(ctx, j.p, sink)
	if err != nil {
		return err
	}
	defer ex.Close()
	if j.f != nil && ex.Epoch() != j.f.a.Epoch {
		return errors.New("the partition was acquired anew")
	}
	begin := byte(frameAsked)
	if j.f != nil {
		begin = frameBegin
	}
	if err := stream.send(beginFrame(begin, j.p, ex.Epoch())); err != nil {
		return err
	}
	err = ex.Snapshot(ctx, chunkBytes, func(es []crawl.Entry) error { return r.sendChunk(ctx, stream, es) })
	if err != nil {
		return err
	}
	if err := stream.send([]byte{frameEnd}); err != nil {
		return err
	}
	answer, err := stream.recv()
	if err != nil {
		return err
	}
	fr := frameReader{b: answer}
	kind, p, ok := fr.bytes(1), fr.partition(), fr.u()
	if err := fr.end("answer to a copy"); err != nil || kind[0] != frameDone || p != j.p {
		return fmt.Errorf("%w: the answer to the copy of partition %d", errFrame, j.p)
	}
	if ok != 1 {
		return errors.New("the other node did not take it")
	}
	r.d.copied.Add(1)
	if j.f != nil {
		r.goLive(ctx, j.f, ex.Seq())
	}
	return nil
}

func (r *replica) sendChunk(ctx context.Context, stream *watchedStream, es []crawl.Entry) error {
	n := 0
	for i := range es {
		n += len(es[i].Key) + len(es[i].Value)
	}
	b := append(make([]byte, 0, n+8*len(es)+1), frameChunk)
	for i := range es {
		b = appendEntry(b, &es[i])
	}
	r.d.bytes.Add(int64(n))
	if err := r.d.limiter.WaitN(ctx, min(n, r.d.limiter.Burst())); err != nil {
		return err
	}
	return stream.send(b)
}
