package handoff

import (
	"context"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// flushTimeout bounds how long a frozen partition waits for its replicas.
const flushTimeout = 3 * time.Second

// freezeTimeout bounds how long a partition that is to move waits for its visits to end. Those
// whose pages find no room on the disk do not end: their partitions must not keep the places of
// others, and are tried again in their turn.
const freezeTimeout = 2 * time.Second

// move is a freeze or a token that is under way: one goroutine.
type move struct {
	attempt uint64
	cancel  context.CancelFunc
	done    chan struct{}
}

// startMove runs a step of a move on a goroutine of its own and posts what came
// of it.
func (d *Driver) startMove(
	p crawl.Partition,
	attempt uint64,
	f func(context.Context) machine.Event,
) {
	d.endMove(p) // the step before, which has posted its event
	ctx, cancel := context.WithCancel(d.ctx)
	mv := &move{attempt: attempt, cancel: cancel, done: make(chan struct{})}
	d.moves[p] = mv
	d.wg.Go(func() {
		e := f(ctx)
		close(mv.done)
		d.post(ctx, e)
		cancel()
	})
}

// endMove stops a step and waits for its work to end: the post of its event may
// still be under way and is ignored by its number.
func (d *Driver) endMove(p crawl.Partition) {
	if mv := d.moves[p]; mv != nil {
		mv.cancel()
		<-mv.done
		delete(d.moves, p)
	}
}

// freeze ends the visits, then the changes, then waits for the replicas.
func (d *Driver) freeze(ctx context.Context, a machine.Freeze) machine.Event {
	waiting, stop := context.WithTimeout(ctx, freezeTimeout)
	err := d.opts.Fetching.Freeze(waiting, a.P)
	late := err != nil && waiting.Err() != nil
	stop()
	if err == nil {
		err = d.opts.Store.Freeze(ctx, a.P)
	}
	if err == nil {
		bounded, cancel := context.WithTimeout(ctx, flushTimeout)
		var errs [1]error
		d.Await(bounded, []Tenure{d.Tenure(a.P)}, false, errs[:])
		err = errs[0]
		cancel()
	}
	if err != nil {
		d.opts.Logger.Debug("a partition could not be frozen and stays in service here", "partition",
			a.P, "error", err)
		return machine.Broken{P: a.P, Attempt: a.Attempt, Later: late}
	}
	return machine.Frozen(a)
}

// passToken offers the authority and turns the answer into an event.
func (d *Driver) passToken(ctx context.Context, a machine.PassToken) machine.Event {
	t := wire.Token{P: a.P, View: a.View, Epoch: a.Epoch, Seq: d.opts.Store.Kept(a.P).Seq, Set: a.Set}
	var r machine.Reply
	if err := d.call(ctx, a.To, wire.CallToken, t, &r); err != nil {
		d.opts.Logger.Debug("a token was not answered and will be sent again", "partition", a.P, "peer",
			a.To, "error", err)
		return machine.Broken{P: a.P, Attempt: a.Attempt}
	}
	switch r.Kind {
	case machine.ReplyTook:
		return machine.Took{P: a.P, Attempt: a.Attempt}
	case machine.ReplyRefused:
		if r.View > a.View {
			return machine.RefusedNewer{P: a.P, Attempt: a.Attempt, View: r.View}
		}
	case machine.ReplyNoCopy:
		return machine.Broken{P: a.P, Attempt: a.Attempt, NoCopy: true}
	}
	return machine.Broken{P: a.P, Attempt: a.Attempt, Later: true}
}

// askAll asks every member at once, this node too, and ends the round.
func (d *Driver) askAll(ctx context.Context, a machine.Ask) {
	limit := make(chan struct{}, len(a.Members))
	q := wire.Ask{View: a.View, Parts: a.Parts}
	payload := d.encodeCall(wire.CallAsk, q)
	for _, id := range a.Members {
		d.wg.Go(func() {
			defer func() { limit <- struct{}{} }()
			told, err := d.askOne(ctx, id, q, payload)
			if err != nil {
				d.opts.Logger.Debug("a member did not answer what it holds", "peer", id, "error", err)
				return
			}
			d.post(ctx,
				machine.Answered{Attempt: a.Attempt, From: id, Answers: told.Answers, Past: told.Past})
		})
	}
	for range a.Members {
		<-limit
	}
	d.post(ctx, machine.AskOver{Attempt: a.Attempt, Now: d.now()})
}

// askOne asks one member; payload is the question, encoded.
func (d *Driver) askOne(
	ctx context.Context,
	id crawl.NodeID,
	q wire.Ask,
	payload []byte,
) (machine.Told, error) {
	if id == d.opts.Self {
		return d.answer(ctx, q)
	}
	var reply wire.AskReply
	if err := d.callEncoded(ctx, id, wire.CallAsk, payload, &reply); err != nil {
		return machine.Told{}, err
	}
	if reply.Answers == nil && len(q.Parts) > 0 {
		return machine.Told{}, fmt.Errorf("it is not at view %d", q.View)
	}
	return machine.Told(reply), nil
}
