package handoff

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"crawlnode/crawl"
)

// receiver is one incoming stream of copies and mutations: one goroutine.
type receiver struct {
	d    *Driver
	from crawl.NodeID
	boot crawl.Boot
	imp  Import // the copy that is arriving; nil: none
	p    crawl.Partition
	e    crawl.Epoch
	ask  bool // it was asked for
}

// HandleStream takes copies and mutations from another node until the stream
// ends. The error is for that node.
func (d *Driver) HandleStream(ctx context.Context, from crawl.NodeID, s Stream) error {
	r := &receiver{d: d, from: from}
	defer r.abandon(context.WithoutCancel(ctx))
	for {
		b, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		answer, err := r.take(ctx, b)
		if err != nil {
			return err
		}
		if answer == nil {
			continue
		}
		if err := s.Send(answer); err != nil {
			return err
		}
	}
}

func (r *receiver) abandon(ctx context.Context) {
	if r.imp != nil {
		r.imp.Abort(ctx)
		r.imp = nil
	}
}

// take carries out one message; the answer may be nil.
func (r *receiver) take(ctx context.Context, b []byte) (answer []byte, err error) {
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: it is empty", errFrame)
	}
	fr := frameReader{b: b[1:]}
	if b[0] == frameHello {
		r.boot = crawl.Boot(fr.u())
		return nil, fr.end("hello")
	}
	err = r.d.gate.pass(r.from, r.boot, func() (err error) {
		answer, err = r.change(ctx, b[0], &fr)
		return err
	})
	return answer, err
}

func (r *receiver) change(ctx context.Context, kind byte, fr *frameReader) ([]byte, error) {
	switch kind {
	case frameBegin, frameAsked:
		p, epoch := fr.partition(), crawl.Epoch(fr.u())
		if err := errors.Join(fr.end("the beginning of a copy"), r.d.checkParts(p)); err != nil {
			return nil, err
		}
		if kind == frameBegin { // what was asked for is of a tenure that is over
			if err := r.d.gate.right(r.from, epoch); err != nil {
				return nil, err
			}
		}
		return nil, r.begin(ctx, p, epoch, kind == frameAsked)
	case frameChunk:
		es := fr.entries()
		if err := fr.end("a part of a copy"); err != nil {
			return nil, err
		}
		return nil, r.chunk(ctx, es)
	case frameEnd:
		return r.finish(ctx)
	case frameGroup:
		id := fr.u()
		ms := fr.mutations()
		if err := fr.end("a group of mutations"); err != nil {
			return nil, err
		}
		return r.apply(ctx, id, ms)
	}
	return nil, fmt.Errorf("%w: kind %q", errFrame, kind)
}

// begin makes room for a copy, unless what is here must stay.
func (r *receiver) begin(ctx context.Context, p crawl.Partition, epoch crawl.Epoch, asked bool) error {
	r.abandon(ctx)
	if err := r.mayReplace(p, epoch, asked); err != nil {
		return err
	}
	imp, err := r.d.opts.Store.BeginImport(ctx, p)
	if err != nil {
		return err
	}
	r.imp, r.p, r.e, r.ask = imp, p, epoch, asked
	return nil
}

// mayReplace refuses a holder's copy of an earlier tenure than what is here, and
// any where this node holds the partition. What was asked for goes by its own rule.
func (r *receiver) mayReplace(p crawl.Partition, epoch crawl.Epoch, asked bool) error {
	k := r.d.opts.Store.Kept(p)
	if asked {
		return r.d.wanted.may(r.from, p, epoch, k)
	}
	if k.State == Holding || (k.Copy || k.State == Released) && k.Epoch > epoch {
		return fmt.Errorf("handoff: partition %d is here as %s of epoch %d, the copy is of %d", p, k.State, k.Epoch, epoch)
	}
	return nil
}

var errNoCopyBegun = errors.New("handoff: no copy was begun")

func (r *receiver) chunk(ctx context.Context, es []crawl.Entry) error {
	if r.imp == nil {
		return errNoCopyBegun
	}
	n := 0
	for i := range es {
		n += len(es[i].Key) + len(es[i].Value)
	}
	r.d.bytes.Add(int64(n))
	return r.imp.Put(ctx, es)
}

// finish makes what has arrived the copy.
func (r *receiver) finish(ctx context.Context) ([]byte, error) {
	if r.imp == nil {
		return nil, errNoCopyBegun
	}
	imp := r.imp
	r.imp = nil
	var err error
	r.d.marks.alone(r.p, func() {
		if err = r.mayReplace(r.p, r.e, r.ask); err == nil { // another sender may have been faster
			r.d.arrived(ctx, r.p, r.e)
			err = imp.Commit(ctx, r.e)
		}
	})
	if err != nil {
		imp.Abort(context.WithoutCancel(ctx))
		r.d.opts.Logger.Debug("a copy that has arrived was not stored", "partition", r.p, "peer", r.from, "error", err)
		return doneFrame(r.p, false), nil
	}
	r.d.opts.Changed()
	return doneFrame(r.p, true), nil
}

// apply stores a group and names the partitions that it could not be stored for.
func (r *receiver) apply(ctx context.Context, id uint64, ms []crawl.CopyMutation) ([]byte, error) {
	for i := range ms {
		if err := errors.Join(r.d.checkParts(ms[i].Partition), r.d.gate.right(r.from, ms[i].Epoch)); err != nil {
			return nil, err
		}
	}
	errs := r.d.opts.Store.ApplyCopies(ctx, ms)
	answer := binary.AppendUvarint([]byte{frameAck}, id)
	var last error
	for i, err := range errs {
		if err != nil {
			last = err
			answer = binary.AppendUvarint(answer, uint64(ms[i].Partition))
		}
	}
	if last != nil {
		r.d.opts.Logger.Debug("mutations were not applied", "peer", r.from, "error", last)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return answer, nil
}
