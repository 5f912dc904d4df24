package copies

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// Store is what is stored of copies.
type Store interface {
	Kept(p crawl.Partition) machine.Kept
	// BeginImport makes room for a fresh copy of a partition that is not held.
	BeginImport(ctx context.Context, p crawl.Partition) (Import, error)
	// ApplyCopies applies mutations to copies; one error each, nil when the copy
	// has it.
	ApplyCopies(ctx context.Context, ms []crawl.CopyMutation) []error
	// AdoptCopy lets a copy go on under the tenure epoch. It fails when the copy is not
	// exactly at (from, seq).
	AdoptCopy(
		ctx context.Context,
		p crawl.Partition,
		from crawl.Epoch,
		seq crawl.Seq,
		epoch crawl.Epoch,
	) error
	// StoreCopy makes a released partition a mere copy, durably.
	StoreCopy(ctx context.Context, p crawl.Partition, suspect bool) error
	// Delete forgets a copy.
	Delete(ctx context.Context, p crawl.Partition) error
}

// Import is an arriving copy.
type Import interface {
	Put(ctx context.Context, es []crawl.Entry) error
	// Commit makes it the copy, in place of what was here.
	Commit(ctx context.Context, epoch crawl.Epoch) error
	Abort(ctx context.Context)
}

// Gate lets only the members of the installed view change what is here.
type Gate interface {
	// Pass runs f, unless the view does not list that boot of the node.
	Pass(from crawl.NodeID, boot crawl.Boot, f func() error) error
	// InTenure refuses a node whose tenure of that epoch is over. For use within Pass.
	InTenure(from crawl.NodeID, epoch crawl.Epoch) error
}

// History keeps the mutations of copies that some node needs. It must not block.
type History interface {
	// Add takes the next mutation of a copy; false: it is not kept.
	Add(p crawl.Partition, m crawl.Mutation) bool
	// Adopt is told that a copy at (from, seq) follows the tenure to from now on.
	Adopt(p crawl.Partition, from crawl.Epoch, seq crawl.Seq, to crawl.Epoch)
	// Drop is told that a copy was replaced or deleted.
	Drop(p crawl.Partition)
}

// Options configure Copies. All fields are required.
type Options struct {
	Partitions int
	Store      Store
	Gate       Gate
	// Call makes a call to another node and reads the answer into reply.
	Call func(ctx context.Context, to crawl.NodeID, kind string, body, reply any) error
	// Arrived is told of a copy of a later tenure, in the place of a release. It must not block.
	Arrived func(p crawl.Partition, epoch crawl.Epoch)
	// Changed is called after each change of what is here. It must not block.
	Changed func()
	// History is told what becomes of the copies.
	History History
	Logger  *slog.Logger
}

// Copies are the copies on this node of partitions that others hold.
type Copies struct {
	opts     Options
	marks    Marks
	wanted   Wanted
	received atomic.Int64 // bytes of snapshots
}

// New returns the Copies of a node.
func New(o Options) *Copies { return &Copies{opts: o} }

// BytesReceived counts the bytes of snapshots.
func (c *Copies) BytesReceived() int64 { return c.received.Load() }

// Want lets a copy in that this node has asked for, to promote it.
func (c *Copies) Want(a machine.RequestCopy) { c.wanted.Note(a) }

// ViewChanges ends all that Want has let in.
func (c *Copies) ViewChanges() { c.wanted.Clear() }

// Where answers wire.CallWhere: which copies are here. It notes the links that ask, so that
// an older order to drop a copy counts for nothing from now on.
func (c *Copies) Where(from Sender, body json.RawMessage) (wire.WhereReply, error) {
	var q wire.Where
	if err := wire.Decode(body, &q); err != nil {
		return wire.WhereReply{}, err
	}
	var r wire.WhereReply
	for _, w := range q.Parts {
		if err := c.check(w.P); err != nil {
			return wire.WhereReply{}, err
		}
		c.marks.Note(w.P, from, w.Attempt)
		k := c.opts.Store.Kept(w.P)
		r.Copies = append(r.Copies, machine.Answer{
			P:       w.P,
			Holds:   k.State == machine.Holding,
			Copy:    k.Copy,
			Suspect: k.Suspect,
			Unsure:  k.Unsure,
			Epoch:   k.Epoch,
			Seq:     k.Seq,
		})
	}
	return r, nil
}

// Adopt answers wire.CallAdopt: copies that are exactly what a new holder began with go on
// under its tenure. The gate is passed.
func (c *Copies) Adopt(
	ctx context.Context,
	from Sender,
	body json.RawMessage,
) (wire.AdoptReply, error) {
	var r wire.AdoptReply
	var q wire.Adopt
	if err := wire.Decode(body, &q); err != nil {
		return r, err
	}
	for _, a := range q.Parts {
		if err := c.check(a.P); err != nil {
			return r, err
		}
		if err := c.opts.Gate.InTenure(from.ID, a.Epoch); err != nil {
			return r, err
		}
		c.marks.Note(a.P, from, a.Attempt)
		c.marks.Alone(a.P, func() {
			c.arrived(ctx, a.P, a.Epoch)
			if c.opts.Store.AdoptCopy(ctx, a.P, a.From, a.Seq, a.Epoch) == nil {
				c.opts.History.Adopt(a.P, a.From, a.Seq, a.Epoch)
				r.Adopted = append(r.Adopted, a.P)
			}
		})
	}
	return r, nil
}

// arrived makes a release a mere copy, when that is what is here: a node that sends
// copies of a later tenure has taken it. The machine is told a moment later; this must not
// wait for the machine, which may wait for the gate.
func (c *Copies) arrived(ctx context.Context, p crawl.Partition, epoch crawl.Epoch) {
	k := c.opts.Store.Kept(p)
	if k.State != machine.Released || epoch <= k.Epoch {
		return
	}
	// The answer "took" may still be on its way; it makes the copy, too.
	if err := c.opts.Store.StoreCopy(ctx, p, k.Suspect); err != nil {
		return
	}
	c.opts.Arrived(p, epoch)
}

func (c *Copies) check(ps ...crawl.Partition) error {
	return wire.CheckPartitions(c.opts.Partitions, ps...)
}
