package handoff

import (
	"context"
	"errors"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// words are what this node says of its partitions to whoever asks, in one
// immutable piece: the answer must not wait for a disk that is full or does not
// answer (ownership rule 15). The driver publishes them after each step of the
// machine and before anything of it is carried out, so they are of the installed
// view, and never ahead of what is decided.
type words struct {
	view   crawl.Epoch
	listed bool
	past   []machine.PastView
	held   []bool // by partition
	// unsaid partitions have no answer yet: a decision about them is on its way to
	// the disk, or a release must be sealed there before this node says "not I".
	unsaid []bool
}

// sayWords publishes what may be said while the actions are carried out.
func (d *Driver) sayWords(actions []machine.Action) {
	m := d.machine
	n := d.opts.Partitions
	w := &words{view: m.View(), listed: m.Listed(), past: m.Past(), held: make([]bool, n), unsaid: make([]bool, n)}
	for p := range n {
		w.held[p], w.unsaid[p] = m.Word(crawl.Partition(p))
	}
	for _, a := range actions {
		if d.durable(a) != nil {
			w.unsaid[machine.ActionPart(a)] = true
		}
	}
	d.words.Store(w)
}

// sealPatience bounds the wait for what only the driver can say. It is below the
// patience of who asks, so that it hears at least of the other partitions.
const sealPatience = time.Second

// answer gives this node's own word; nil when it is at another view. Partitions
// about which nothing can be said now are left out, and asked about again.
func (d *Driver) answer(ctx context.Context, q askCall) (machine.Told, error) {
	select {
	case <-d.done:
		return machine.Told{}, errEnded
	default:
	}
	w := d.words.Load()
	if w.view < q.View {
		return d.askMachine(ctx, q)
	}
	if w.view > q.View || !w.listed {
		return machine.Told{Past: w.past}, nil
	}
	told := machine.Told{Answers: []machine.Answer{}, Past: w.past}
	var unsaid []crawl.Partition
	for _, p := range q.Parts {
		if w.unsaid[p] {
			unsaid = append(unsaid, p)
			continue
		}
		told.Answers = append(told.Answers, answerOf(d.opts.Self, p, w.held[p], d.opts.Store.Kept(p), d.opts.Store.Set(p)))
	}
	if len(unsaid) == 0 {
		return told, nil
	}
	bounded, cancel := context.WithTimeout(ctx, sealPatience)
	defer cancel()
	late, err := d.askMachine(bounded, askCall{View: q.View, Parts: unsaid})
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
func (d *Driver) askMachine(ctx context.Context, q askCall) (machine.Told, error) {
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
