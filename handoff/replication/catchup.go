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
// Its copy must be a beginning of the partition here, and machine/series.go has the rule. A copy
// of another tenure adopts the running one first, where it is: (epoch, sequence) names a beginning
// of what the holder of that epoch has, wherever the tenure itself began. The link stays in the
// state "opening" meanwhile: a member of the set stays one, no caller waits for one that has left
// it, and it enters the set as any other does, when it has everything.

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
			r.rs.opts.Logger.Debug("a replica could not be caught up from hints and is copied as a whole",
				"partition", j.link.a.P, "peer", r.id, "error", err)
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
	r.rs.opts.Hints.Resumes(r.id, l.a.P, l.a.Epoch, last) // the copy changes from here on
	var at hints.Cursor
	for seq < last {
		ms, err := r.rs.opts.Hints.Read(&at, l.a.P, seq, last, pieceBytes)
		if err != nil {
			return err
		}
		for i := range ms {
			ms[i].Epoch = l.a.Epoch // a copy takes nothing of a tenure that is over
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

// ResumeHints takes up what an earlier process has left. It is called before the store
// changes: a series that lacks a mutation is dropped.
func (rs *Replicas) ResumeHints(ctx context.Context) {
	s := rs.opts.Store
	resumed := rs.opts.Hints.Load(func(p crawl.Partition) machine.Found {
		k := s.Kept(p)
		if k.Suspect || k.Unsure || k.State == machine.Released {
			return machine.Found{} // no series goes on there
		}
		return machine.Found{Generation: s.Generation(p), Epoch: k.Epoch, Seq: k.Seq,
			Held: k.State == machine.Holding}
	})
	for _, x := range resumed {
		if x.Held && s.Attach(ctx, x.P, x.Epoch, x.Seq, rs.opts.Hints.Add) != nil {
			rs.opts.Hints.Drop(x.P)
		}
	}
}

// KeepHints goes on with the hints of a partition that was promoted here, and begins some when
// that was in the place of nodes that are away.
func (rs *Replicas) KeepHints(ctx context.Context, a *machine.Promote, away []crawl.NodeID) {
	if !rs.opts.Hints.Promote(away, hints.Promoted{
		P:          a.P,
		Generation: rs.opts.Store.Generation(a.P),
		Epoch:      a.Epoch,
		From:       a.FromEpoch,
		Seq:        a.Seq,
	}) {
		return
	}
	if rs.opts.Store.Attach(ctx, a.P, a.Epoch, a.Seq, rs.opts.Hints.Add) != nil {
		// something was stored meanwhile
		rs.opts.Hints.Drop(a.P)
	}
}

// keepHints begins hints for the links that are about to be given up, of those whose
// replica follows, did so before, or was about to. r.mu is held.
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
		l.keepHints(missing[l])
	}
}

// keepHints begins hints for a link that is about to end; ms are not acknowledged. r.mu is held.
func (l *link) keepHints(ms []crawl.Mutation) {
	at, sent := l.opened, l.last
	switch {
	case l.over:
		return
	case l.live && len(ms) > 0:
		at.Seq = ms[0].Seq - 1
	case l.live:
		at.Seq = sent
	case l.a.Based: // nothing was sent; the copy may have adopted the tenure where that begins
		at.Seq, sent, ms = l.a.BaseSeq, l.a.BaseSeq, l.pending
	default:
		return
	}
	l.feeds = l.r.rs.opts.Hints.Begin(
		hints.Behind{Node: l.r.id, P: l.a.P, At: at, Own: l.opened.Seq, Sent: sent}, slices.Clip(ms))
}

// unacknowledged are the mutations of one link that wait or are on their way. r.mu is held.
func (r *replica) unacknowledged(l *link) (ms []crawl.Mutation) {
	note := func(items []item) {
		for i := range items {
			if items[i].link == l {
				ms = append(ms, items[i].m)
			}
		}
	}
	for i := range r.inFlight {
		note(r.inFlight[i].items)
	}
	note(r.queue)
	return ms
}
