package replication

import (
	"context"
	"maps"
	"slices"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// This file opens links: it asks what copies the other node has, lets them go on under a
// new tenure, and queues snapshots of those that are missing.

// workLoop makes the calls to the node, and tells the machine of links that failed.
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
		for _, l := range failed {
			r.rs.opts.Acks.LinkClosed(r.id, l.a.P, l.a.Attempt)
			r.rs.opts.Post(ctx, machine.LinkDown{P: l.a.P, Node: r.id, Attempt: l.a.Attempt})
		}
		if len(based) > 0 {
			r.adopt(ctx, based, func(l *link) { r.goLive(ctx, l, l.a.BaseSeq) })
		}
		if len(wanted) > 0 {
			r.inspect(ctx, wanted)
		}
		if len(drops) > 0 {
			// A copy that this call does not reach stays until its node sweeps.
			if err := r.rs.opts.Call(ctx, r.id, wire.CallDrop, wire.Drop{Parts: drops}, nil); err != nil {
				r.rs.opts.Logger.Debug("copies were not dropped", "peer", r.id, "error", err)
			}
		}
		if len(asks) > 0 {
			if err := r.rs.opts.Call(ctx, r.id, wire.CallSend, wire.Send{Parts: asks}, nil); err != nil {
				r.rs.opts.Logger.Debug("copies were not sent; they will be asked for again", "peer", r.id,
					"error", err)
			}
		}
	}
}

// adopt lets copies go on that have exactly what this node had when it acquired
// their partitions, and calls then for each.
func (r *replica) adopt(ctx context.Context, ls []*link, then func(*link)) {
	call := wire.Adopt{}
	for _, l := range ls {
		call.Parts = append(call.Parts, wire.AdoptPart{
			P:       l.a.P,
			From:    l.a.BaseEpoch,
			Seq:     l.a.BaseSeq,
			Epoch:   l.a.Epoch,
			Attempt: l.a.Attempt,
		})
	}
	var reply wire.AdoptReply
	err := r.rs.opts.Call(ctx, r.id, wire.CallAdopt, call, &reply)
	r.rs.opts.Acks.Answered(r.id, err == nil)
	if err != nil {
		r.failLinks(ls)
		return
	}
	adopted := make(map[crawl.Partition]bool, len(reply.Adopted))
	for _, p := range reply.Adopted {
		adopted[p] = true
	}
	for _, l := range ls {
		if adopted[l.a.P] {
			then(l)
		} else if l = r.replace(l); l != nil {
			r.queueCopy(ctx, l)
		}
	}
}

// queueCopy queues a snapshot.
func (r *replica) queueCopy(ctx context.Context, l *link) {
	r.rs.opts.Post(ctx, machine.LinkCopying{P: l.a.P, Node: r.id, Attempt: l.a.Attempt})
	j := r.newJob(l.a.P, l)
	r.mu.Lock()
	r.jobs = append(r.jobs, j)
	r.mu.Unlock()
	r.rs.startCopiers(r)
}

// inspect asks what copies the other node has, and continues each link from there.
func (r *replica) inspect(ctx context.Context, ls []*link) {
	q := wire.Where{}
	for _, l := range ls {
		q.Parts = append(q.Parts, wire.WherePart{P: l.a.P, Attempt: l.a.Attempt})
	}
	var reply wire.WhereReply
	err := r.rs.opts.Call(ctx, r.id, wire.CallWhere, q, &reply)
	r.rs.opts.Acks.Answered(r.id, err == nil)
	if err != nil || len(reply.Copies) != len(ls) {
		r.failLinks(ls)
		return
	}
	var late []*link
	for i, l := range ls {
		if r.resume(ctx, l, reply.Copies[i]) {
			late = append(late, l)
		}
	}
	if len(late) > 0 {
		r.adopt(ctx, late, func(l *link) { r.queueCatchUp(l, l.a.BaseSeq) })
	}
}

// resume continues a link from the copy that the other node has. True: that one is of another
// tenure, and must adopt this one first.
func (r *replica) resume(ctx context.Context, l *link, a machine.Answer) (late bool) {
	// read after the answer: what the copy has beyond this is lost here
	k := r.rs.opts.Store.Kept(l.a.P)
	same := a.Copy && !a.Suspect && a.Epoch == l.a.Epoch
	switch {
	case a.Holds:
		r.failLinks([]*link{l}) // by an older view or a newer one; the next view decides
		return false
	case same && k.State == machine.Holding && r.rs.bases.ahead(l.a.P, l.a.Epoch, r.id, a.Seq, k.Seq):
		r.mu.Lock()
		gone := l.over
		r.mu.Unlock()
		if !gone {
			r.rs.opts.Post(ctx, machine.LinkAhead{P: l.a.P, Node: r.id, Attempt: l.a.Attempt})
		}
		return false
	}
	r.rs.bases.meet(l.a.P, r.id)
	there, on := machine.Found{Epoch: a.Epoch, Seq: a.Seq}, machine.Anew
	if a.Copy && !a.Suspect && k.State == machine.Holding {
		on = r.rs.opts.Hints.Continues(r.id, l.a.P, l.a.Epoch, there)
	}
	if on == machine.ByTenure && a.Unsure {
		// It may lack the end of what it has acknowledged. A copy that adopts a tenure counts as sure,
		// and it may be in the recorded set: it leaves the set while it is made anew.
		on = machine.Anew
	}
	switch {
	case same && a.Seq == k.Seq && !r.rs.opts.Hints.Doubts(r.id, l.a.P, there) &&
		r.rs.opts.Store.Attach(ctx, l.a.P, l.a.Epoch, a.Seq, l.sink) == nil:
		r.goLive(ctx, l, a.Seq)
	case on == machine.ByTail:
		r.queueCatchUp(l, a.Seq)
	case on == machine.ByTenure:
		l.a.BaseEpoch, l.a.BaseSeq = a.Epoch, a.Seq
		return true
	default:
		r.rs.opts.Logger.Debug("nothing proves that a copy is a beginning of what is here, "+
			"or the hints do not reach so far back: it is made anew",
			"partition", l.a.P, "peer", r.id, "copy", a.Copy, "copy_epoch", a.Epoch, "copy_mutation",
			a.Seq, "epoch", l.a.Epoch, "mutation", k.Seq)
		r.queueCopy(ctx, l)
	}
	return false
}
