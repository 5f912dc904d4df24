package handoff

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"crawlnode/crawl"
)

// errEnded is what a receiver hears when the driver has ended or gave it up.
var errEnded = errors.New("handoff: this move was given up here")

// ErrImportOver is what Import.Commit returns when another import of the same
// partition took its place, or something is missing: nothing was stored, and
// the move begins again.
var ErrImportOver = errors.New("handoff: the copy is not whole")

// receiving is one arriving copy. Its stream's goroutine writes to imp; the
// driver's goroutine commits and aborts it.
type receiving struct {
	attempt uint64
	imp     Import
	aborted atomic.Bool
}

// Receiver is one incoming stream, used by the goroutine that serves it: one
// Offer, then Chunks and Tails, then one Token. Close must be called.
type Receiver struct {
	d       *Driver
	p       crawl.Partition
	attempt uint64
	rec     *receiving
	token   bool
}

// Receive returns the receiver for a new incoming stream.
func (d *Driver) Receive() *Receiver { return &Receiver{d: d} }

// ask posts an event that carries a reply channel and waits for the word, also
// when the stream has broken meanwhile: an import that nobody knew of would
// never end.
func (r *Receiver) ask(ctx context.Context, e Event, reply <-chan Answer) (Answer, error) {
	if !r.d.post(ctx, e) {
		return Answer{}, errEnded
	}
	select {
	case a := <-reply:
		return a, nil
	case <-r.d.done:
		return Answer{}, errEnded
	}
}

// Offer answers a sender's offer. After anything but ReplyGoOn the stream is over.
func (r *Receiver) Offer(ctx context.Context, p crawl.Partition, view crawl.Epoch, released bool) (Reply, error) {
	if int(p) >= r.d.opts.Partitions {
		return Reply{}, fmt.Errorf("handoff: there is no partition %d of %d", p, r.d.opts.Partitions)
	}
	reply := make(chan Answer, 1)
	a, err := r.ask(ctx, Offered{P: p, View: view, Released: released, Reply: reply}, reply)
	if err != nil || a.Reply.Kind != ReplyGoOn {
		return a.Reply, err
	}
	r.p, r.attempt = p, a.Attempt
	imp, err := r.d.opts.Store.BeginImport(ctx, p)
	if err != nil {
		return Reply{Kind: ReplyLater, View: a.Reply.View, Reason: err.Error()}, nil
	}
	r.rec = &receiving{attempt: a.Attempt, imp: imp}
	if !r.d.post(ctx, began{P: p, rec: r.rec}) {
		r.rec.aborted.Store(true)
		imp.Abort(context.WithoutCancel(ctx))
		return Reply{}, errEnded
	}
	return a.Reply, nil
}

// Chunk stores a part of the snapshot.
func (r *Receiver) Chunk(ctx context.Context, es []Entry) error {
	if r.rec == nil || r.rec.aborted.Load() {
		return errEnded
	}
	n := 0
	for i := range es {
		n += len(es[i].Key) + len(es[i].Value)
	}
	r.d.bytes.Add(int64(n))
	return r.rec.imp.Put(ctx, es)
}

// Tail stores mutations behind the snapshot.
func (r *Receiver) Tail(ctx context.Context, ms []Mutation) error {
	if r.rec == nil || r.rec.aborted.Load() {
		return errEnded
	}
	return r.rec.imp.Apply(ctx, ms)
}

// Token makes the copy the partition, if it is complete up to seq and the
// machine still wants it.
func (r *Receiver) Token(ctx context.Context, seq crawl.Seq) (Reply, error) {
	if r.rec == nil || r.rec.aborted.Load() {
		return Reply{}, errEnded
	}
	if got := r.rec.imp.Seq(); got != seq {
		return Reply{Kind: ReplyLater, Reason: fmt.Sprintf("the copy ends at mutation %d, not at %d", got, seq)}, nil
	}
	reply := make(chan Answer, 1)
	a, err := r.ask(ctx, TokenArrived{P: r.p, Attempt: r.attempt, Reply: reply}, reply)
	r.token = r.token || err == nil
	return a.Reply, err
}

// Close tells the machine that the stream is over. When the driver has ended, and
// may never have seen the import, it ends that itself.
func (r *Receiver) Close() {
	if r.attempt == 0 || r.token {
		return
	}
	r.d.post(context.Background(), ImportBroken{P: r.p, Attempt: r.attempt})
	select {
	case <-r.d.done:
		if r.rec != nil && !r.rec.aborted.Swap(true) {
			r.rec.imp.Abort(context.Background())
		}
	default:
	}
}

// abandon ends the imports that were under way when Run ended, those whose
// handle is still in the inbox among them. A receiver that comes later finds done
// closed and ends its own.
func (d *Driver) abandon(ctx context.Context) {
	for {
		select {
		case e := <-d.inbox:
			if b, ok := e.(began); ok && !b.rec.aborted.Swap(true) {
				b.rec.imp.Abort(ctx)
			}
			continue
		default:
		}
		break
	}
	for _, rec := range d.imports {
		if !rec.aborted.Swap(true) {
			rec.imp.Abort(ctx)
		}
	}
}

// performImport does the actions of the receiving side.
func (d *Driver) performImport(ctx context.Context, a Action) (Event, error) {
	switch a := a.(type) {
	case BeginImport:
		delete(d.imports, a.P)
	case AbortImport:
		if rec := d.imports[a.P]; rec != nil && rec.attempt == a.Attempt {
			rec.aborted.Store(true)
			rec.imp.Abort(ctx)
			delete(d.imports, a.P)
		}
	case CommitImport:
		rec := d.imports[a.P]
		if rec == nil || rec.attempt != a.Attempt {
			panic("BUG: a token arrived for an import that was never begun")
		}
		delete(d.imports, a.P)
		err := rec.imp.Commit(ctx, a.Epoch)
		if errors.Is(err, ErrImportOver) {
			a.Reply <- Answer{Reply: Reply{Kind: ReplyLater, Reason: err.Error()}}
			return ImportBroken{P: a.P, Attempt: a.Attempt}, nil
		}
		if err != nil {
			return nil, fmt.Errorf("handoff: store partition %d: %w", a.P, err)
		}
		return ImportDone(a), nil
	case Acquired:
		d.opts.Fetching.Hold(a.P, a.Epoch)
		d.opts.Changed()
	}
	return nil, nil
}

// began is not for the machine: it hands the import's handle to the driver.
type began struct {
	P   crawl.Partition
	rec *receiving
}

func (began) event() {}

// adopt keeps the handle of an import that the machine still wants.
func (d *Driver) adopt(ctx context.Context, b began) {
	if d.machine.current(b.P, b.rec.attempt, Importing) == nil {
		b.rec.aborted.Store(true)
		b.rec.imp.Abort(ctx)
		return
	}
	d.imports[b.P] = b.rec
}
