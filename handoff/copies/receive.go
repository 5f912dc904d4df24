package copies

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// receiver is one incoming stream of copies and mutations: one goroutine.
type receiver struct {
	c     *Copies
	from  crawl.NodeID
	boot  crawl.Boot
	imp   Import // the copy that is arriving; nil: none
	p     crawl.Partition
	epoch crawl.Epoch
	asked bool // this node has asked for it
}

// HandleStream takes copies and mutations from another node until the stream
// ends. The error is for that node.
func (c *Copies) HandleStream(ctx context.Context, from crawl.NodeID, s wire.Stream) error {
	r := &receiver{c: c, from: from}
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
		return nil, fmt.Errorf("%w: it is empty", wire.ErrFrame)
	}
	fr := wire.NewReader(b[1:])
	if b[0] == wire.FrameHello {
		r.boot = crawl.Boot(fr.Uint())
		return nil, fr.End("hello")
	}
	err = r.c.opts.Gate.Pass(r.from, r.boot, func() (err error) {
		answer, err = r.change(ctx, b[0], fr)
		return err
	})
	return answer, err
}

func (r *receiver) change(ctx context.Context, kind byte, fr *wire.Reader) ([]byte, error) {
	switch kind {
	case wire.FrameBegin, wire.FrameAsked:
		p, epoch := fr.Partition(), crawl.Epoch(fr.Uint())
		if err := errors.Join(fr.End("the beginning of a copy"), r.c.check(p)); err != nil {
			return nil, err
		}
		if kind == wire.FrameBegin { // a copy that was asked for is of a tenure that is over
			if err := r.c.opts.Gate.InTenure(r.from, epoch); err != nil {
				return nil, err
			}
		}
		return nil, r.begin(ctx, p, epoch, kind == wire.FrameAsked)
	case wire.FrameChunk:
		es := fr.Entries()
		if err := fr.End("a part of a copy"); err != nil {
			return nil, err
		}
		return nil, r.chunk(ctx, es)
	case wire.FrameEnd:
		return r.finish(ctx)
	case wire.FrameGroup:
		id := fr.Uint()
		ms := fr.Mutations()
		if err := fr.End("a group of mutations"); err != nil {
			return nil, err
		}
		return r.apply(ctx, id, ms)
	}
	return nil, fmt.Errorf("%w: kind %q", wire.ErrFrame, kind)
}

// begin makes room for a copy, unless the one that is here must stay.
func (r *receiver) begin(
	ctx context.Context,
	p crawl.Partition,
	epoch crawl.Epoch,
	asked bool,
) error {
	r.abandon(ctx)
	if err := r.mayReplace(p, epoch, asked); err != nil {
		return err
	}
	imp, err := r.c.opts.Store.BeginImport(ctx, p)
	if err != nil {
		return err
	}
	r.imp, r.p, r.epoch, r.asked = imp, p, epoch, asked
	return nil
}

// mayReplace refuses a holder's copy of an earlier tenure than what is here, and
// any where this node holds the partition. For a copy that was asked for, Wanted decides.
func (r *receiver) mayReplace(p crawl.Partition, epoch crawl.Epoch, asked bool) error {
	k := r.c.opts.Store.Kept(p)
	if asked {
		return r.c.wanted.Check(r.from, p, epoch, k)
	}
	if k.State == machine.Holding || (k.Copy || k.State == machine.Released) && k.Epoch > epoch {
		return fmt.Errorf("handoff: partition %d is here as %s of epoch %d, the copy is of %d", p,
			k.State, k.Epoch, epoch)
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
	r.c.received.Add(int64(n))
	return r.imp.Put(ctx, es)
}

// finish makes the arrived entries the copy.
func (r *receiver) finish(ctx context.Context) ([]byte, error) {
	if r.imp == nil {
		return nil, errNoCopyBegun
	}
	imp := r.imp
	r.imp = nil
	var err error
	r.c.marks.Alone(r.p, func() {
		if err = r.mayReplace(r.p, r.epoch, r.asked); err == nil { // another sender may have been faster
			r.c.arrived(ctx, r.p, r.epoch)
			err = imp.Commit(ctx, r.epoch)
			r.c.opts.History.Drop(r.p)
		}
	})
	if err != nil {
		imp.Abort(context.WithoutCancel(ctx))
		r.c.opts.Logger.Debug("a copy that has arrived was not stored", "partition", r.p, "peer",
			r.from, "error", err)
		return wire.Done(r.p, false), nil
	}
	r.c.opts.Changed()
	return wire.Done(r.p, true), nil
}

// apply stores a group and names the partitions that it could not be stored for.
func (r *receiver) apply(ctx context.Context, id uint64, ms []crawl.CopyMutation) ([]byte, error) {
	for i := range ms {
		if err := errors.Join(r.c.check(ms[i].Partition),
			r.c.opts.Gate.InTenure(r.from, ms[i].Epoch)); err != nil {
			return nil, err
		}
	}
	errs := r.c.opts.Store.ApplyCopies(ctx, ms)
	answer := binary.AppendUvarint([]byte{wire.FrameAck}, id)
	var last error
	for i, err := range errs {
		if err != nil {
			last = err
			answer = binary.AppendUvarint(answer, uint64(ms[i].Partition))
			continue
		}
		r.c.opts.History.Add(ms[i].Partition, ms[i].Mutation)
	}
	if last != nil {
		r.c.opts.Logger.Debug("mutations were not applied", "peer", r.from, "error", last)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return answer, nil
}
