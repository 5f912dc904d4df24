package transfer

import (
	"context"
	"errors"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/handoff"
)

// Store is the frontier as handoff uses it. It implements handoff.Store, which documents each
// method.
type Store struct{ front *frontier.Frontier }

// NewStore makes a Store of a frontier.
func NewStore(front *frontier.Frontier) Store { return Store{front} }

// Loaded returns the partitions that the disk has at the start; suspect counts those of which a
// part is lost. Partitions held before the id last joined again are yielded with the first view
// (ownership rules 6 and 11). A partition that has lost mutations becomes a mere copy here, and so
// does one that may have lost some in a power cut. As a holder it could drop a replica that is
// ahead of it from the in-sync set, if the replica is silent for a moment, before it has asked it.
func (s Store) Loaded(ctx context.Context) (loaded []handoff.Loaded, suspect int, err error) {
	for _, m := range s.front.Metas() {
		l := handoff.Loaded{P: m.Partition, Epoch: m.Epoch, MaxEpoch: m.MaxEpoch, To: m.To,
			View: m.View, Set: s.Set(m.Partition)}
		switch {
		case (m.Suspect || m.Unsure) && (m.State == frontier.Holder || m.State == frontier.Released):
			if m.Suspect {
				suspect++
			}
			if err := s.StoreCopy(ctx, m.Partition, m.Suspect); err != nil {
				return nil, 0, err
			}
		case m.State == frontier.Holder:
			l.State = handoff.Holding
		case m.State == frontier.Released:
			l.State = handoff.Released
		}
		loaded = append(loaded, l)
	}
	return loaded, suspect, nil
}

// Kept is the disk's content of a partition.
func (s Store) Kept(p crawl.Partition) handoff.Kept {
	m, _ := s.front.Meta(p)
	k := handoff.Kept{Suspect: m.Suspect, Unsure: m.Unsure, Epoch: m.Epoch, MaxEpoch: m.MaxEpoch,
		Seq: m.Seq}
	switch m.State {
	case frontier.Holder:
		k.State = handoff.Holding
	case frontier.Released:
		k.State = handoff.Released
	case frontier.Copy:
		k.Copy = true
	}
	return k
}

// Generation numbers the copies that this node ever had of a partition.
func (s Store) Generation(p crawl.Partition) uint32 {
	m, _ := s.front.Meta(p)
	return m.Generation
}

// Size is the approximate size of a snapshot, in bytes.
func (s Store) Size(p crawl.Partition) int64 {
	m, _ := s.front.Meta(p)
	return m.Bytes()
}

// Export opens a snapshot, and attaches sink to the mutations after it.
func (s Store) Export(
	ctx context.Context,
	p crawl.Partition,
	sink handoff.Sink,
) (handoff.Export, error) {
	e, err := s.front.Export(ctx, p, frontier.Sink(sink))
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Attach attaches sink to a held partition whose last mutation is after, in the epoch.
func (s Store) Attach(
	ctx context.Context,
	p crawl.Partition,
	epoch crawl.Epoch,
	after crawl.Seq,
	sink handoff.Sink,
) error {
	return gap(s.front.Attach(ctx, p, after, epoch, frontier.Sink(sink)))
}

// Listen attaches sink to a held partition of the epoch, after the mutation that it returns.
func (s Store) Listen(
	ctx context.Context,
	p crawl.Partition,
	epoch crawl.Epoch,
	sink handoff.Sink,
) (crawl.Seq, error) {
	seq, err := s.front.Listen(ctx, p, epoch, frontier.Sink(sink))
	return seq, gap(err)
}

// gap converts the frontier's error to handoff's.
func gap(err error) error {
	if errors.Is(err, frontier.ErrGap) {
		return fmt.Errorf("%w: %w", handoff.ErrGap, err)
	}
	return err
}

// BeginImport makes room for a fresh copy.
func (s Store) BeginImport(ctx context.Context, p crawl.Partition) (handoff.Import, error) {
	i, err := s.front.BeginImport(ctx, p)
	if err != nil {
		return nil, err
	}
	return arriving{i}, nil
}

// ApplyCopies applies mutations to copies.
func (s Store) ApplyCopies(ctx context.Context, ms []crawl.CopyMutation) []error {
	return s.front.ApplyCopies(ctx, ms)
}

// AdoptCopy lets a copy continue under the tenure epoch.
func (s Store) AdoptCopy(
	ctx context.Context,
	p crawl.Partition,
	from crawl.Epoch,
	seq crawl.Seq,
	epoch crawl.Epoch,
) error {
	return gap(s.front.AdoptCopy(ctx, p, from, seq, epoch))
}

// Freeze makes the frontier refuse every change of a partition.
func (s Store) Freeze(ctx context.Context, p crawl.Partition) error {
	return s.front.Freeze(ctx, p)
}

// Unfreeze undoes Freeze.
func (s Store) Unfreeze(ctx context.Context, p crawl.Partition) error {
	return s.front.Unfreeze(ctx, p)
}

// StoreReleased records that a partition was let go for a node in a view.
func (s Store) StoreReleased(
	ctx context.Context,
	p crawl.Partition,
	to crawl.NodeID,
	view crawl.Epoch,
) error {
	return s.front.Transition(ctx, p, func(m *frontier.Meta) error {
		m.State, m.To, m.View = frontier.Released, to, view
		return nil
	})
}

// StoreHolder takes a release back.
func (s Store) StoreHolder(ctx context.Context, p crawl.Partition) error {
	err := s.front.Transition(ctx, p, func(m *frontier.Meta) error {
		if m.State != frontier.Released {
			return fmt.Errorf("its state is %s", m.State)
		}
		m.State, m.To, m.View = frontier.Holder, "", 0
		return nil
	})
	if err != nil {
		return err
	}
	return s.front.Unfreeze(ctx, p)
}

// StoreCopy makes a partition a mere copy. An existing copy, or a missing partition, is left
// unchanged.
func (s Store) StoreCopy(ctx context.Context, p crawl.Partition, suspect bool) error {
	return s.front.Transition(ctx, p, func(m *frontier.Meta) error {
		if m.State != frontier.Absent {
			m.State, m.To, m.View, m.Suspect = frontier.Copy, "", 0, m.Suspect || suspect
		}
		return nil
	})
}

// Promote makes a copy the partition, held in the epoch.
func (s Store) Promote(ctx context.Context, p crawl.Partition, epoch crawl.Epoch) error {
	return s.front.Transition(ctx, p, func(m *frontier.Meta) error {
		if m.State != frontier.Copy {
			return fmt.Errorf("its state is %s, not a copy", m.State)
		}
		m.State, m.Epoch, m.View, m.Suspect = frontier.Holder, epoch, epoch, false
		return nil
	})
}

// Found creates a partition that was never held.
func (s Store) Found(ctx context.Context, p crawl.Partition, epoch crawl.Epoch) error {
	return s.front.Found(ctx, []crawl.Partition{p}, epoch)
}

// PutSets records in-sync sets.
func (s Store) PutSets(ctx context.Context, sets map[crawl.Partition]handoff.Set) error {
	records := make([]frontier.SetRecord, 0, len(sets))
	for p, x := range sets {
		records = append(records,
			frontier.SetRecord{Partition: p, Epoch: x.Epoch, Version: x.Version, Members: x.Members})
	}
	return s.front.PutSets(ctx, records)
}

// Set is the newest in-sync set that was recorded.
func (s Store) Set(p crawl.Partition) handoff.Set {
	r, _ := s.front.Set(p)
	return handoff.Set{Epoch: r.Epoch, Version: r.Version, Members: r.Members}
}

// Delete deletes a copy.
func (s Store) Delete(ctx context.Context, p crawl.Partition) error {
	return s.front.Delete(ctx, p)
}

// arriving is a copy that is being received.
type arriving struct{ i *frontier.Import }

func (x arriving) Put(ctx context.Context, es []crawl.Entry) error { return x.i.Put(ctx, es) }

func (x arriving) Commit(ctx context.Context, epoch crawl.Epoch) error {
	return x.i.CommitCopy(ctx, epoch)
}

// Abort drops the copy. If that cannot be recorded, the next start does it.
func (x arriving) Abort(ctx context.Context) { _ = x.i.Abort(ctx) }
