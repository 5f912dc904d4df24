package replication

import (
	"context"
	"errors"
	"math"
	"slices"

	"crawlnode/crawl"
	"crawlnode/handoff/hints"
	"crawlnode/handoff/machine"
)

// This file lets a replica that has fallen behind go on where it was: the mutations that it
// has missed are read from the hints and sent in front of those that follow.
//
// Its copy must be a beginning of the partition here. It is when it is of the running tenure
// and not ahead: everything in it came from this holder, in order, and this holder has
// lost nothing of it (bases.go). It also is when it is exactly the copy that the tenure
// began with: the last holder returns like that, if it stalled between two mutations.
// Then it adopts the tenure first. The link stays in the state "opening" meanwhile: a
// member of the set stays one, no caller waits for one that has left it, and it enters the
// set as any other does, when it has everything.

const (
	// pieceBytes is read from the hints at once.
	pieceBytes = 512 << 10
	// maxAhead bounds the bytes in the queue before more hints are read.
	maxAhead = 4 << 20
)

// catchUpJob is a copy that lacks the mutations after seq.
type catchUpJob struct {
	link *link
	seq  crawl.Seq
}

// queueCatchUp queues a catch-up. Partitions are caught up one after the other: each keeps
// in memory the mutations that come while its turn lasts.
func (r *replica) queueCatchUp(l *link, seq crawl.Seq) {
	rs := r.rs
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.ended || r.ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.behind = append(r.behind, catchUpJob{l, seq})
	if !r.catching {
		r.catching = true
		rs.wg.Go(func() { r.catchUpLoop(r.ctx) })
	}
}

// catchUpLoop makes the queued catch-ups and ends.
func (r *replica) catchUpLoop(ctx context.Context) {
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
			r.rs.caughtUp.Add(1)
		case ctx.Err() == nil && !errors.Is(err, errLinkOver):
			r.rs.opts.Logger.Debug("a replica could not be caught up from hints and is copied as a whole", "partition", j.link.a.P, "peer", r.id, "error", err)
			if l := r.replace(j.link); l != nil {
				r.queueCopy(ctx, l)
			}
		}
	}
}

// errLinkOver ends a catch-up whose link was closed or failed.
var errLinkOver = errors.New("handoff: the link is over")

// catchUp sends what is missing. The link listens from some mutation on; the hints have
// those before it.
func (r *replica) catchUp(ctx context.Context, j catchUpJob) error {
	l, seq := j.link, j.seq
	r.mu.Lock()
	if l.over {
		r.mu.Unlock()
		return errLinkOver
	}
	l.upAt, l.acked, l.last = math.MaxUint64, seq, seq
	r.mu.Unlock()
	last, err := r.rs.opts.Store.Listen(ctx, l.a.P, l.a.Epoch, l.sink)
	if err != nil {
		return err
	}
	r.rs.opts.Acks.Acknowledged(r.id, l.a.P, l.a.Attempt, seq)
	for seq < last {
		ms, err := r.rs.opts.Hints.Read(l.a.P, l.a.Epoch, seq, last, pieceBytes)
		if err != nil {
			return err
		}
		if err := r.sendHints(ctx, l, ms); err != nil {
			return err
		}
		seq += crawl.Seq(len(ms))
	}
	return r.caughtUp(ctx, l, last)
}

// sendHints puts mutations into the queue once there is room.
func (r *replica) sendHints(ctx context.Context, l *link, ms []crawl.Mutation) error {
	for {
		r.mu.Lock()
		if l.over {
			r.mu.Unlock()
			return errLinkOver
		}
		if r.bytes < maxAhead {
			for _, m := range ms {
				r.enqueue(item{l, m})
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

// caughtUp lets the link's own mutations follow those of the hints. The replica follows
// when everything that waits by now is acknowledged.
func (r *replica) caughtUp(ctx context.Context, l *link, last crawl.Seq) error {
	r.mu.Lock()
	if l.over {
		r.mu.Unlock()
		return errLinkOver
	}
	l.live, l.upAt = true, last
	for _, m := range l.pending {
		l.upAt = m.Seq
		r.enqueue(item{l, m})
	}
	l.pending = nil
	ready := l.acked >= l.upAt && !l.over
	l.isUp = ready
	r.mu.Unlock()
	if ready {
		r.follows(ctx, l)
	}
	return nil
}

// KeepHints begins the hints of a partition that was promoted in the place of nodes that
// are away.
func (rs *Replicas) KeepHints(ctx context.Context, a *machine.Promote, away []crawl.NodeID) {
	if len(away) == 0 || !rs.opts.Hints.BeginTenure(away, hints.Promoted{P: a.P, Epoch: a.Epoch, From: a.FromEpoch, Seq: a.Seq}) {
		return
	}
	if rs.opts.Store.Attach(ctx, a.P, a.Epoch, a.Seq, rs.opts.Hints.Add) != nil { // something was stored meanwhile
		rs.opts.Hints.Drop(a.P)
	}
}

// keepHints begins hints for the links that are about to be given up, of those whose
// replica follows or did so before. r.mu is held.
func (r *replica) keepHints() {
	missing := map[*link][]crawl.Mutation{}
	note := func(items []item) {
		for i := range items {
			if l := items[i].link; !l.over {
				missing[l] = append(missing[l], items[i].m)
			}
		}
	}
	for i := range r.inFlight {
		note(r.inFlight[i].items)
	}
	note(r.queue)
	for _, l := range r.links {
		if l.over || !l.live {
			continue
		}
		ms := missing[l]
		base := l.last
		if len(ms) > 0 {
			base = ms[0].Seq - 1
		}
		l.feeds = r.rs.opts.Hints.Begin(r.id, l.a.P, l.a.Epoch, base, slices.Clip(ms))
	}
}
