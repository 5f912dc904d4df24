package handoff

import (
	"context"
	"errors"
	"math"
	"slices"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// This file lets a replica that has fallen behind go on where it was: what it has
// missed is read from the tail and sent in front of what follows.
//
// Its copy must be a beginning of what is here. It is when it is of the running tenure
// and not ahead: everything in it came from this holder, in order, and this holder has
// lost nothing of it (bases.go). It also is when it is exactly the copy that the tenure
// began with: the last holder comes back like that, if it stalled between two mutations.
// Then it adopts the tenure first. The link stays in the state "opening" meanwhile: a
// member of the set stays one, nobody waits for one that has left it, and it enters the
// set as any other does, when it has everything.

const (
	// tailPiece is read from the tail at once.
	tailPiece = 512 << 10
	// tailAhead is how much of the tail may wait in the peer queue.
	tailAhead = 4 << 20
)

// tailJob is a replica's copy of a partition that is to be brought up from seq.
type tailJob struct {
	f   *flow
	seq crawl.Seq
}

// toTail queues a catch-up. Partitions are caught up one after the other: each keeps
// in memory what is stored while its turn lasts.
func (r *replica) toTail(f *flow, seq crawl.Seq) {
	rs := r.d.peers
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.ended || r.ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind = append(r.behind, tailJob{f, seq})
	if !r.catching {
		r.catching = true
		rs.d.wg.Go(func() { r.catchLoop(r.ctx) })
	}
}

// catchLoop works the catch-ups off and ends.
func (r *replica) catchLoop(ctx context.Context) {
	for {
		r.mu.Lock()
		if len(r.behind) == 0 || ctx.Err() != nil {
			r.catching = false
			r.mu.Unlock()
			return
		}
		j := r.behind[0]
		r.behind = r.behind[1:]
		r.mu.Unlock()
		err := r.catchUp(ctx, j)
		switch {
		case err == nil:
			r.d.caughtUp.Add(1)
		case ctx.Err() == nil && !errors.Is(err, errFlowOver):
			r.d.opts.Logger.Debug("a replica could not be caught up from the tail", "partition", j.f.a.P, "peer", r.id, "error", err)
			if f := r.renew(j.f); f != nil {
				r.toCopy(ctx, f)
			}
		}
	}
}

// errFlowOver ends a catch-up whose link was closed or failed.
var errFlowOver = errors.New("handoff: the link is over")

// catchUp sends what is missing. The flow listens from some mutation on; the tail has
// what lies before that.
func (r *replica) catchUp(ctx context.Context, j tailJob) error {
	f, seq := j.f, j.seq
	r.mu.Lock()
	if f.over {
		r.mu.Unlock()
		return errFlowOver
	}
	f.upAt, f.acked, f.last = math.MaxUint64, seq, seq
	r.mu.Unlock()
	last, err := r.d.opts.Store.Listen(ctx, f.a.P, f.a.Epoch, f.sink)
	if err != nil {
		return err
	}
	r.d.acks.note(r.id, f.a.P, f.a.Attempt, seq)
	for seq < last {
		ms, err := r.d.tail.read(f.a.P, f.a.Epoch, seq, last, tailPiece)
		if err != nil {
			return err
		}
		if err := r.sendTail(ctx, f, ms); err != nil {
			return err
		}
		seq += crawl.Seq(len(ms))
	}
	return r.caughtUp(ctx, f, last)
}

// sendTail puts mutations into the queue once there is room.
func (r *replica) sendTail(ctx context.Context, f *flow, ms []crawl.Mutation) error {
	for {
		r.mu.Lock()
		if f.over {
			r.mu.Unlock()
			return errFlowOver
		}
		if r.bytes < tailAhead {
			for _, m := range ms {
				r.enqueue(item{f, m})
			}
			r.mu.Unlock()
			return nil
		}
		r.mu.Unlock()
		select {
		case <-r.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// caughtUp lets the flow's own mutations go behind those of the tail. The link follows
// when all that waits by now is acknowledged.
func (r *replica) caughtUp(ctx context.Context, f *flow, last crawl.Seq) error {
	r.mu.Lock()
	if f.over {
		r.mu.Unlock()
		return errFlowOver
	}
	f.live, f.upAt = true, last
	for _, m := range f.pending {
		f.upAt = m.Seq
		r.enqueue(item{f, m})
	}
	f.pending = nil
	ready := f.acked >= f.upAt && !f.over
	f.isUp = ready
	r.mu.Unlock()
	if ready {
		r.follows(ctx, f)
	}
	return nil
}

// follows says that a replica has everything up to where its link began.
func (r *replica) follows(ctx context.Context, f *flow) {
	r.d.tail.caught(r.id, f.a.P)
	r.d.post(ctx, machine.LinkFollows{P: f.a.P, Node: r.id, Attempt: f.a.Attempt})
}

// keepPromoted begins the tail of a partition that was promoted in the place of nodes
// that are away.
func (d *Driver) keepPromoted(ctx context.Context, a *machine.Promote) {
	if a.Reply != nil || a.Lost {
		return
	}
	away := slices.DeleteFunc(slices.Clone(a.Set.Members), d.gate.lists)
	if len(away) == 0 || !d.tail.beginTenure(away, a) {
		return
	}
	sink := func(p crawl.Partition, m crawl.Mutation) bool { return d.tail.add(p, m) }
	if d.opts.Store.Attach(ctx, a.P, a.Epoch, a.Seq, sink) != nil { // something was stored meanwhile
		d.tail.drop(a.P)
	}
}

// keepTail begins the tails of the links that are about to be given up: of those
// whose replica follows, or did so before. r.mu is held.
func (r *replica) keepTail() {
	missing := map[*flow][]crawl.Mutation{}
	note := func(items []item) {
		for i := range items {
			if f := items[i].f; !f.over {
				missing[f] = append(missing[f], items[i].m)
			}
		}
	}
	for i := range r.flying {
		note(r.flying[i].items)
	}
	note(r.queue)
	for _, f := range r.flows {
		if f.over || !f.live {
			continue
		}
		ms := missing[f]
		base := f.last
		if len(ms) > 0 {
			base = ms[0].Seq - 1
		}
		f.feeds = r.d.tail.begin(r.id, f.a.P, f.a.Epoch, base, slices.Clip(ms))
	}
}
