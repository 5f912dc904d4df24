package handoff

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"crawlnode/crawl"
	"crawlnode/handoff/machine"
)

// This file deletes copies that nobody counts any more. A holder says so when a
// replica has left the set (DropCopy); that word may be lost, so a node also asks
// for what lies here and is not its own by the table (Sweep).

// linkFrom is one life of a node.
type linkFrom struct {
	id   crawl.NodeID
	boot crawl.Boot
}

// mark is the newest link that a partition's copy here was looked at for.
type mark struct {
	from    linkFrom
	attempt uint64
}

// marks keep a word to drop a copy that comes late from deleting what was taken
// into a set again meanwhile.
type marks struct {
	mu    sync.Mutex // guards the rest; held for moments
	freed sync.Cond  // of taken; its L is set where it is used
	taken [64]bool   // by the partition's remainder: a copy is being adopted, replaced or deleted
	parts map[crawl.Partition]mark
}

// alone runs f while nobody else adopts, replaces or deletes the copy of p.
func (m *marks) alone(p crawl.Partition, f func()) {
	i := int(p) % len(m.taken)
	m.mu.Lock()
	m.freed.L = &m.mu
	for m.taken[i] {
		m.freed.Wait()
	}
	m.taken[i] = true
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.taken[i] = false
		m.freed.Broadcast()
	}()
	f()
}

// note says that a link was opened. What deletes the copy looks at the marks
// while it is alone, so it either sees this one, or is over before the caller
// looks at the copy.
func (m *marks) note(p crawl.Partition, from linkFrom, attempt uint64) {
	m.alone(p, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.parts[p] = mark{from, attempt}
	})
}

func (m *marks) of(p crawl.Partition) (mark, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, ok := m.parts[p]
	return k, ok
}

// onDrop deletes copies at the holder's word, unless a link was opened to them
// since.
func (d *Driver) onDrop(ctx context.Context, from linkFrom, body json.RawMessage) error {
	var q dropCall
	if err := decode(body, &q); err != nil {
		return err
	}
	for _, a := range q.Parts {
		if err := d.checkParts(a.P); err != nil {
			return err
		}
		err := d.deleteIf(ctx, a.P, func(k Kept) bool {
			last, ok := d.marks.of(a.P)
			return k.Epoch <= a.Epoch && (!ok || last.from == from && last.attempt < a.Attempt)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// deleteIf deletes a copy of which may says so.
func (d *Driver) deleteIf(ctx context.Context, p crawl.Partition, may func(Kept) bool) (err error) {
	d.marks.alone(p, func() {
		if k := d.opts.Store.Kept(p); k.Copy && may(k) {
			err = d.opts.Store.Delete(ctx, p)
			d.opts.Changed()
		}
	})
	return err
}

type uselessCall struct {
	View  crawl.Epoch           `json:"view"`
	Parts []machine.UselessPart `json:"parts"`
}

type uselessReply struct {
	Drop []crawl.Partition `json:"drop"`
}

// sweep asks the owners about the copies that lie here for nothing, as it seems.
func (d *Driver) sweep(ctx context.Context, a machine.Sweep) {
	for owner, ps := range a.Parts {
		for piece := range slices.Chunk(ps, machine.MaxAsked) {
			if err := d.sweepAt(ctx, a.View, owner, piece); err != nil {
				d.opts.Logger.Debug("an owner has not said which copies it needs", "peer", owner, "error", err)
				break
			}
		}
	}
}

// sweepAt asks one owner.
func (d *Driver) sweepAt(ctx context.Context, view crawl.Epoch, owner crawl.NodeID, ps []crawl.Partition) error {
	seen := map[crawl.Partition]mark{}
	q := uselessCall{View: view}
	for _, p := range ps {
		last, _ := d.marks.of(p) // before the question: the answer is about what was then
		if k := d.opts.Store.Kept(p); k.Copy && !k.Suspect {
			seen[p] = last
			q.Parts = append(q.Parts, machine.UselessPart{P: p, Epoch: k.Epoch})
		}
	}
	if len(q.Parts) == 0 {
		return nil
	}
	var r uselessReply
	if err := d.call(ctx, owner, callUseless, q, &r); err != nil {
		return err
	}
	d.dropUseless(ctx, &q, &r, seen)
	return nil
}

func (d *Driver) dropUseless(ctx context.Context, q *uselessCall, r *uselessReply, seen map[crawl.Partition]mark) {
	epochs := make(map[crawl.Partition]crawl.Epoch, len(q.Parts))
	for _, x := range q.Parts {
		epochs[x.P] = x.Epoch
	}
	for _, p := range r.Drop {
		epoch, asked := epochs[p]
		if !asked {
			continue
		}
		err := d.deleteIf(ctx, p, func(k Kept) bool {
			last, _ := d.marks.of(p)
			return k.Epoch == epoch && !k.Suspect && last == seen[p]
		})
		if err != nil {
			d.opts.Logger.Debug("a copy that nobody needs was not deleted", "partition", p, "error", err)
		}
	}
}

// onUseless answers as the holder.
func (d *Driver) onUseless(ctx context.Context, from crawl.NodeID, body json.RawMessage) (uselessReply, error) {
	var q uselessCall
	if err := decode(body, &q); err != nil {
		return uselessReply{}, err
	}
	for _, x := range q.Parts {
		if err := d.checkParts(x.P); err != nil {
			return uselessReply{}, err
		}
	}
	reply := make(chan []crawl.Partition, 1)
	if !d.post(ctx, machine.UselessAsked{From: from, View: q.View, Parts: q.Parts, Reply: reply}) {
		return uselessReply{}, errEnded
	}
	select {
	case ps := <-reply:
		return uselessReply{ps}, nil
	case <-d.done:
		return uselessReply{}, errEnded
	case <-ctx.Done():
		return uselessReply{}, ctx.Err()
	}
}
