package frontier

import (
	"context"
	"errors"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
)

// Found makes partitions that no node has held before: empty, with this node as the
// holder in the epoch. They are on disk before it returns. Those that this
// node holds already are left as they are.
func (f *Frontier) Found(ctx context.Context, ps []crawl.Partition, epoch crawl.Epoch) error {
	err := f.alone(ctx, true, func(g group) error {
		for _, p := range ps {
			if err := g.mayFound(p, epoch); err != nil {
				return err
			}
		}
		for _, p := range ps {
			g.found(p, epoch)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("frontier: founding %d partitions in epoch %d: %w", len(ps), epoch, err)
	}
	return nil
}

func (g group) mayFound(p crawl.Partition, epoch crawl.Epoch) error {
	s := &g.part(p).State
	switch {
	case p > layout.MaxPartition:
		return fmt.Errorf("partition %d is beyond the highest, %d", p, layout.MaxPartition)
	case s.State == layout.Holder:
		return nil
	case s.State != layout.Absent:
		return fmt.Errorf("partition %d is here already, as %s", p, s.State)
	case s.MaxEpoch >= epoch:
		return fmt.Errorf("partition %d was held here in epoch %d", p, s.MaxEpoch)
	}
	return nil
}

func (g group) found(p crawl.Partition, epoch crawl.Epoch) {
	pg := g.part(p)
	s := &pg.State
	if s.State == layout.Holder {
		return
	}
	s.LastGeneration++
	s.State, s.Epoch, s.MaxEpoch, s.View, s.Generation = layout.Holder, epoch, epoch, epoch,
		s.LastGeneration
	s.Line = layout.Stamp{}.Begin(g.Now)
	pg.Restated = true
	pg.WriteMeta()
	g.Then(func() { g.f.w.Begin(pg.Live) })
}

// Transition changes what a partition is to this node: fn may set State, Epoch,
// MaxEpoch, To, View, Sealed and Suspect; changes to other fields have no
// effect. An error of fn is returned and nothing is changed. The change is on
// disk before Transition returns. The moves are
//
//	Holder   -> Released  after Freeze
//	Holder   -> Copy      yielding: another node holds it
//	Released -> Holder    the receiver refused
//	Released -> Copy      this node goes on as a replica of the receiver
//	Copy     -> Holder    promotion, in an epoch above every one in which this
//	                      node held the partition. fn clears Suspect: only the caller
//	                      knows that no better copy is left
//
// A partition leaves Absent by Found or Import, and becomes it by Delete. A
// partition that becomes held is not frozen.
func (f *Frontier) Transition(
	ctx context.Context,
	p crawl.Partition,
	fn func(m *layout.Meta) error,
) error {
	err := f.alone(ctx, true, func(g group) error { return g.transition(p, fn) })
	if err != nil {
		return fmt.Errorf("frontier: state of partition %d: %w", p, err)
	}
	return nil
}

func (g group) transition(p crawl.Partition, fn func(m *layout.Meta) error) error {
	pg := g.part(p)
	s := &pg.State
	m := s.Meta
	if err := fn(&m); err != nil {
		return err
	}
	if err := mayBecome(s, &m); err != nil {
		return err
	}
	if m == s.Meta {
		return nil // nothing changes: a partition that is unknown here stays unknown
	}
	switch {
	case m.State == s.State:
	case m.State == layout.Holder:
		s.Frozen, s.Unsure = false, false
		g.Then(func() { g.f.w.Prepare(pg.Live) })
	case m.State == layout.Copy:
		// From here on it changes behind the back of the filter.
		s.Frozen = false
		g.Then(func() { g.f.w.Reset(pg.Live) })
	}
	g.Then(func() { g.f.dueHeads.forget(p) })
	cleared := s.Suspect && !m.Suspect && s.State != layout.Absent
	s.State, s.Epoch, s.To, s.View, s.Sealed, s.Suspect = m.State, m.Epoch, m.To, m.View, m.Sealed,
		m.Suspect
	s.MaxEpoch = max(s.MaxEpoch, m.MaxEpoch)
	if s.State == layout.Holder {
		s.MaxEpoch = max(s.MaxEpoch, s.Epoch)
	}
	pg.Restated = true
	if cleared {
		pg.WriteMeta() // as load has made it
	}
	return nil
}

// mayBecome checks a move against the list at Transition.
func mayBecome(s *layout.PartState, m *layout.Meta) error {
	switch {
	case m.State == s.State:
	case m.State == layout.Absent || s.State == layout.Absent || m.State > layout.Copy:
		return fmt.Errorf("it cannot go from %s to %s: use Found, Import or Delete", s.State, m.State)
	case s.State == layout.Copy && m.State == layout.Released:
		return errors.New("a copy cannot be released: nobody held it here")
	case s.State == layout.Copy && m.Suspect:
		return errors.New("a copy that stays suspect cannot be promoted: mutations are missing in it")
	case s.State == layout.Copy && m.Epoch <= s.MaxEpoch:
		return fmt.Errorf("epoch %d is not above %d, in which this node held it", m.Epoch, s.MaxEpoch)
	}
	return nil
}

// Freeze stops all changes to a held partition: from its return on, Add and
// Complete answer NotHolder, and all mutations were handed to the sinks. A
// restart ends it.
func (f *Frontier) Freeze(ctx context.Context, p crawl.Partition) error {
	return f.setFrozen(ctx, p, true)
}

// Unfreeze lets a held partition change again.
func (f *Frontier) Unfreeze(ctx context.Context, p crawl.Partition) error {
	return f.setFrozen(ctx, p, false)
}

func (f *Frontier) setFrozen(ctx context.Context, p crawl.Partition, frozen bool) error {
	return f.alone(ctx, false, func(g group) error {
		pg := g.part(p)
		if pg.State.State != layout.Holder {
			return fmt.Errorf("%w: partition %d is %s", commit.ErrNotHolder, p, pg.State.State)
		}
		pg.State.Frozen = frozen
		return nil
	})
}

// errInUse says that a partition is not in the state for a removal.
var errInUse = errors.New("only a released partition or a copy can be deleted")

// Delete forgets a released partition or a copy, all but its highest epoch and
// its sequence number. The keys are deleted in the background.
func (f *Frontier) Delete(ctx context.Context, p crawl.Partition) error {
	err := f.alone(ctx, true, func(g group) error {
		pg := g.part(p)
		switch pg.State.State {
		case layout.Absent:
			return nil
		case layout.Holder:
			return errInUse
		}
		g.MarkDead(pg.Part, pg.Gen())
		g.Then(func() { g.f.dueHeads.forget(p) })
		s := &pg.State
		s.State, s.Epoch, s.Generation, s.To, s.View = layout.Absent, 0, 0, "", 0
		s.Sealed, s.Suspect, s.Unsure, s.Frozen = false, false, false, false
		s.Counters, s.OutboxNext = crawl.Counters{}, 0
		pg.Restated = true
		return nil
	})
	if err != nil {
		return fmt.Errorf("frontier: deleting partition %d: %w", p, err)
	}
	return nil
}
