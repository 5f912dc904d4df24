package handoff

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// performAll does the actions. Those that store something are gathered and run
// side by side, so that they share a sync of the disk; what is sent about a
// partition after its storing waits for it. It returns the events of the
// actions that are over.
func (d *Driver) performAll(
	ctx context.Context,
	actions []machine.Action,
) ([]machine.Event, error) {
	var events []machine.Event
	var gathered []machine.Action
	busy := map[crawl.Partition]bool{}
	flush := func() error {
		if len(gathered) == 0 {
			return nil
		}
		es, err := d.storeAll(ctx, gathered)
		events = append(events, es...)
		gathered = nil
		clear(busy)
		return err
	}
	for _, a := range actions {
		if d.durable(a) != nil {
			gathered = append(gathered, a)
			busy[machine.ActionPart(a)] = true
			continue
		}
		if _, isAnswer := a.(machine.Tell); isAnswer || busy[machine.ActionPart(a)] {
			if err := flush(); err != nil {
				return nil, err
			}
		}
		d.perform(ctx, a)
	}
	return events, flush()
}

// storing is one durable action: what it does, and the event that follows.
type storing func(ctx context.Context) (machine.Event, error)

// storeAll runs durable actions side by side. Each is of another partition, or
// comes after a change of state that another of the same has made: those of one
// partition stay in order.
func (d *Driver) storeAll(ctx context.Context, actions []machine.Action) ([]machine.Event, error) {
	if len(actions) == 1 {
		e, err := d.durable(actions[0])(ctx)
		if err != nil {
			return nil, err
		}
		return appendEvent(nil, e), nil
	}
	byPart := map[crawl.Partition][]int{}
	for i, a := range actions {
		byPart[machine.ActionPart(a)] = append(byPart[machine.ActionPart(a)], i)
	}
	events := make([]machine.Event, len(actions))
	errs := make([]error, len(actions))
	limit := make(chan struct{}, maxTogether)
	var wg sync.WaitGroup
	for _, places := range byPart {
		limit <- struct{}{}
		wg.Go(func() {
			defer func() { <-limit }()
			for _, i := range places {
				if events[i], errs[i] = d.durable(actions[i])(ctx); errs[i] != nil {
					return
				}
				d.progressed()
			}
		})
	}
	wg.Wait()
	var out []machine.Event
	for i := range actions {
		if errs[i] != nil {
			return nil, errs[i]
		}
		out = appendEvent(out, events[i])
	}
	return out, nil
}

func appendEvent(es []machine.Event, e machine.Event) []machine.Event {
	if e == nil {
		return es
	}
	return append(es, e)
}

// durable returns what a storing action does; nil for any other.
func (d *Driver) durable(a machine.Action) storing {
	s := d.opts.Store
	failed := func(what string, p crawl.Partition, err error) error {
		return fmt.Errorf("handoff: %s of partition %d: %w", what, p, err)
	}
	switch a := a.(type) {
	case machine.StoreReleased:
		return func(ctx context.Context) (machine.Event, error) {
			if err := s.StoreReleased(ctx, a.P, a.To, a.View); err != nil {
				return nil, failed("store the release", a.P, err)
			}
			return machine.ReleaseStored{P: a.P, Attempt: a.Attempt}, nil
		}
	case machine.StoreHolder:
		return func(ctx context.Context) (machine.Event, error) {
			if err := s.StoreHolder(ctx, a.P); err != nil {
				return nil, failed("take back the release", a.P, err)
			}
			d.opts.Fetching.Resume(a.P)
			d.opts.Changed()
			return nil, nil
		}
	case machine.StoreCopy:
		return func(ctx context.Context) (machine.Event, error) {
			if err := s.StoreCopy(ctx, a.P, false); err != nil {
				return nil, failed("store the end", a.P, err)
			}
			d.opts.Changed()
			return nil, nil
		}
	case machine.Yield:
		return func(ctx context.Context) (machine.Event, error) {
			d.opts.Fetching.Drop(a.P)
			if err := s.StoreCopy(ctx, a.P, a.Suspect); err != nil {
				return nil, failed("yield", a.P, err)
			}
			d.opts.Changed()
			return nil, nil
		}
	case machine.Promote:
		return func(ctx context.Context) (machine.Event, error) { return d.promote(ctx, a) }
	}
	return nil
}

// promote stores that this node is the holder, if the copy here is the one that
// was decided on.
func (d *Driver) promote(ctx context.Context, a machine.Promote) (machine.Event, error) {
	s := d.opts.Store
	if a.Empty {
		if err := s.Found(ctx, a.P, a.Epoch); err != nil {
			return nil, fmt.Errorf("handoff: begin partition %d anew: %w", a.P, err)
		}
		d.hints.Drop(a.P)
		return machine.Promoted{Promote: a, OK: true}, nil
	}
	k := s.Kept(a.P)
	if !k.Copy || k.Epoch != a.FromEpoch || k.Seq != a.Seq || k.Suspect && !a.Lost {
		return machine.Promoted{Promote: a}, nil
	}
	if err := s.Promote(ctx, a.P, a.Epoch); err != nil {
		return nil, fmt.Errorf("handoff: promote the copy of partition %d: %w", a.P, err)
	}
	var away []crawl.NodeID
	if a.Reply == nil { // in the place of nodes that may return
		away = slices.DeleteFunc(slices.Clone(a.Set.Members), d.gate.lists)
	} else { // frozen until all of the set had everything
		d.hints.InSync(a.P, machine.Set{Epoch: a.FromEpoch, Members: a.Set.Members})
	}
	if a.Lost {
		d.hints.Drop(a.P)
	} else {
		d.replicas.KeepHints(ctx, &a, away)
	}
	return machine.Promoted{Promote: a, OK: true}, nil
}

// perform does one action that cannot fail.
func (d *Driver) perform(ctx context.Context, a machine.Action) {
	switch a := a.(type) {
	case machine.OpenLink:
		d.replicas.Open(ctx, a)
	case machine.CloseLink:
		d.replicas.Close(a)
	case machine.ConfirmLink:
		d.confirm(a)
	case machine.DropCopy:
		d.replicas.Drop(a)
	case machine.SetAcks:
		d.acks.Set(a)
	case machine.EndAcks:
		d.acks.End(a.P)
		d.sets.forget(a.P)
	case machine.Record:
		d.sets.add(a)
	case machine.Freeze:
		d.froze[a.P] = d.now()
		d.startMove(a.P, a.Attempt, func(ctx context.Context) machine.Event { return d.freeze(ctx, a) })
	case machine.PassToken:
		since, frozen := d.froze[a.P]
		d.startMove(a.P, a.Attempt, func(ctx context.Context) machine.Event {
			e := d.passToken(ctx, a)
			if _, took := e.(machine.Took); took && frozen && d.opts.HandedOver != nil {
				d.opts.HandedOver(d.now() - since)
			}
			return e
		})
	case machine.AbortMove:
		d.endMove(a.P)
	case machine.Resume:
		delete(d.froze, a.P)
		if err := d.opts.Store.Unfreeze(ctx, a.P); err != nil {
			// The writer has ended, and with it everything.
			d.opts.Logger.Debug("a partition was not unfrozen", "partition", a.P, "error", err)
		}
		d.opts.Fetching.Resume(a.P)
	case machine.Acquired:
		d.opts.Fetching.Hold(a.P, a.Epoch)
		d.opts.Changed()
	case machine.Ask:
		d.wg.Go(func() { d.askAll(d.ctx, a) })
	case machine.Tell:
		a.Reply <- machine.Told{Answers: d.tell(a), Past: a.Past}
	case machine.RequestCopy:
		d.copies.Want(a)
		d.replicas.Request(a)
	case machine.Sweep:
		d.wg.Go(func() { d.copies.Sweep(d.ctx, a) })
	case machine.TellUseless:
		a.Reply <- a.Parts
	case machine.TellList:
		a.Reply <- a.Parts
	case machine.Respond:
		a.To <- a.Reply
	default:
		panic(fmt.Sprintf("BUG: unknown action %T", a))
	}
}

// confirm waits until a link has everything that is here now.
func (d *Driver) confirm(a machine.ConfirmLink) {
	done := d.acks.Confirm(a, d.opts.Store.Kept(a.P).Seq)
	d.wg.Go(func() {
		if done != nil {
			select {
			case _, ok := <-done:
				if !ok {
					return
				}
			case <-d.ctx.Done():
				return
			}
		}
		d.post(d.ctx, machine.LinkUp(a))
	})
}

// tell reads what is on the disk of the partitions that were asked about.
func (d *Driver) tell(a machine.Tell) []machine.Answer {
	if a.Parts == nil {
		return nil
	}
	out := make([]machine.Answer, len(a.Parts))
	for i, p := range a.Parts {
		out[i] = answerOf(d.opts.Self, p, a.Holds[i], d.opts.Store.Kept(p), d.opts.Store.Set(p))
	}
	return out
}

// answerOf is this node's answer about a partition. A node that held it last and knows
// of no set of that tenure has recorded none, and so acknowledged nothing in it: its copy
// has all that was acknowledged before, and no other copy counts in that tenure.
func answerOf(self crawl.NodeID, p crawl.Partition, holds bool, k Kept, set Set) machine.Answer {
	if set.Epoch < k.Epoch && k.Copy && !k.Suspect && k.Epoch == k.MaxEpoch {
		set = Set{Epoch: k.Epoch, Members: []crawl.NodeID{self}}
	}
	return machine.Answer{P: p, Holds: holds, Copy: k.Copy, Suspect: k.Suspect, Unsure: k.Unsure,
		Epoch: k.Epoch, Seq: k.Seq, MaxEpoch: k.MaxEpoch, Set: set}
}
