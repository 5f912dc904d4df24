package handoff

import (
	"context"
	"errors"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// ownership is what this node answers when a member asks what it holds, in one
// immutable piece: the answer must not wait for a disk that is full or does not
// answer (ownership rule 15). The driver publishes it after each step of the
// machine and before anything of it is carried out, so it is of the installed
// view, and never ahead of what is decided.
type ownership struct {
	view   crawl.Epoch
	listed bool
	past   []machine.PastView
	held   []bool // by partition
	// pending partitions have no answer yet: a decision about them is on its way to
	// the disk, or a release must be sealed there before this node answers "not I".
	pending []bool
}

// publishOwnership publishes what may be answered while the actions are carried out.
func (d *Driver) publishOwnership(actions []machine.Action) {
	m := d.machine
	n := d.opts.Partitions
	w := &ownership{view: m.View(), listed: m.Listed(), past: m.Past(), held: make([]bool, n),
		pending: make([]bool, n)}
	for p := range n {
		w.held[p], w.pending[p] = m.Ownership(crawl.Partition(p))
	}
	for _, a := range actions {
		if d.durable(a) != nil {
			w.pending[machine.ActionPart(a)] = true
		}
	}
	d.ownership.Store(w)
}

// sealPatience bounds the wait for what only the driver can answer. It is below the
// deadline of the member that asks, which so gets at least the other answers.
const sealPatience = time.Second

// answer tells what this node holds; the answers are nil when it is at another view.
// Partitions without an answer yet are left out, and the member asks about them again.
func (d *Driver) answer(ctx context.Context, q wire.Ask) (machine.Told, error) {
	select {
	case <-d.done:
		return machine.Told{}, errEnded
	default:
	}
	w := d.ownership.Load()
	if w.view < q.View {
		return d.askMachine(ctx, q)
	}
	if w.view > q.View || !w.listed {
		return machine.Told{Past: w.past}, nil
	}
	told := machine.Told{Answers: []machine.Answer{}, Past: w.past}
	var pending []crawl.Partition
	for _, p := range q.Parts {
		if w.pending[p] {
			pending = append(pending, p)
			continue
		}
		told.Answers = append(told.Answers,
			answerOf(d.opts.Self, p, w.held[p], d.opts.Store.Kept(p), d.opts.Store.Set(p)))
	}
	if len(pending) == 0 {
		return told, nil
	}
	bounded, cancel := context.WithTimeout(ctx, sealPatience)
	defer cancel()
	late, err := d.askMachine(bounded, wire.Ask{View: q.View, Parts: pending})
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return told, nil
	case err != nil:
		return machine.Told{}, err
	case late.Answers == nil: // another view has come meanwhile
		return late, nil
	}
	told.Answers = append(told.Answers, late.Answers...)
	return told, nil
}

// askMachine waits for the driver's turn, and for the disk.
func (d *Driver) askMachine(ctx context.Context, q wire.Ask) (machine.Told, error) {
	reply := make(chan machine.Told, 1)
	if !d.post(ctx, machine.Asked{View: q.View, Parts: q.Parts, Reply: reply}) {
		if ctx.Err() != nil {
			return machine.Told{}, ctx.Err()
		}
		return machine.Told{}, errEnded
	}
	select {
	case told := <-reply:
		return told, nil
	case <-d.done:
		return machine.Told{}, errEnded
	case <-ctx.Done():
		return machine.Told{}, ctx.Err()
	}
}
