package copies

import (
	"context"
	"encoding/json"
	"slices"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
	"crawlnode/handoff/wire"
)

// This file deletes copies that no in-sync set counts any more. A holder orders it when a
// replica has left the set (Drop). That order may be lost, so a node also asks about the
// copies that the table does not give it (Sweep).

// Drop answers wire.CallDrop: the holder does not need these copies any more. Those to which
// a link was opened since stay. The gate is passed.
func (c *Copies) Drop(ctx context.Context, from Sender, body json.RawMessage) error {
	var q wire.Drop
	if err := wire.Decode(body, &q); err != nil {
		return err
	}
	for _, a := range q.Parts {
		if err := c.check(a.P); err != nil {
			return err
		}
		err := c.deleteIf(ctx, a.P, func(k machine.Kept) bool {
			return k.Epoch <= a.Epoch && c.marks.MayDrop(a.P, from, a.Attempt)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteIf deletes the copy of a partition if may reports true for it.
func (c *Copies) deleteIf(
	ctx context.Context,
	p crawl.Partition,
	may func(machine.Kept) bool,
) (err error) {
	c.marks.Alone(p, func() {
		if k := c.opts.Store.Kept(p); k.Copy && may(k) {
			err = c.opts.Store.Delete(ctx, p)
			c.opts.History.Drop(p)
			c.opts.Changed()
		}
	})
	return err
}

// Sweep asks the owners about the copies that the table does not give this node, and
// deletes those that are not needed.
func (c *Copies) Sweep(ctx context.Context, a machine.Sweep) {
	for owner, ps := range a.Parts {
		for piece := range slices.Chunk(ps, machine.MaxAsked) {
			if err := c.sweepAt(ctx, a.View, owner, piece); err != nil {
				c.opts.Logger.Debug("an owner did not answer which copies it needs", "peer", owner, "error",
					err)
				break
			}
		}
	}
}

// sweepAt asks one owner.
func (c *Copies) sweepAt(
	ctx context.Context,
	view crawl.Epoch,
	owner crawl.NodeID,
	ps []crawl.Partition,
) error {
	seen := map[crawl.Partition]Mark{}
	q := wire.Useless{View: view}
	for _, p := range ps {
		last, _ := c.marks.Of(p) // before the question: the answer is about what was then
		if k := c.opts.Store.Kept(p); k.Copy && !k.Suspect {
			seen[p] = last
			q.Parts = append(q.Parts, machine.UselessPart{P: p, Epoch: k.Epoch})
		}
	}
	if len(q.Parts) == 0 {
		return nil
	}
	var r wire.UselessReply
	if err := c.opts.Call(ctx, owner, wire.CallUseless, q, &r); err != nil {
		return err
	}
	c.dropUseless(ctx, &q, &r, seen)
	return nil
}

func (c *Copies) dropUseless(
	ctx context.Context,
	q *wire.Useless,
	r *wire.UselessReply,
	seen map[crawl.Partition]Mark,
) {
	epochs := make(map[crawl.Partition]crawl.Epoch, len(q.Parts))
	for _, x := range q.Parts {
		epochs[x.P] = x.Epoch
	}
	for _, p := range r.Drop {
		epoch, asked := epochs[p]
		if !asked {
			continue
		}
		err := c.deleteIf(ctx, p, func(k machine.Kept) bool {
			last, _ := c.marks.Of(p)
			return k.Epoch == epoch && !k.Suspect && last == seen[p]
		})
		if err != nil {
			c.opts.Logger.Debug("a copy that is not needed was not deleted", "partition", p, "error", err)
		}
	}
}
