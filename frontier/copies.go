package frontier

import (
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
)

// CopyMutation is a mutation for this node's copy of a partition.
type CopyMutation = crawl.CopyMutation

// ApplyCopies writes mutations into copies, in their order, and says for each
// what became of it. nil: the copy has it, and it survives kill -9; a repeat
// changes nothing. ErrNotCopy: there is no copy of the mutation's epoch here.
// ErrGap: mutations before it are missing, as they are behind one that failed.
// It keeps keys and values, so nobody may change them.
func (f *Frontier) ApplyCopies(ctx context.Context, ms []CopyMutation) []error {
	errs := make([]error, len(ms))
	for from := 0; from < len(ms); {
		n, entries, size := f.w.Budget.CutMutations(ms[from:])
		piece, out := ms[from:from+n], errs[from:from+n]
		err := f.do(ctx,
			&commit.Request{Entries: entries, Bytes: size, Patient: true, Apply: f.in(func(g group) error {
				for i := range piece {
					out[i] = g.follow(&piece[i])
				}
				return nil
			})})
		if err != nil {
			for i := from; i < len(ms); i++ {
				errs[i] = copyError(ms[i].Partition, err)
			}
			return errs
		}
		from += n
	}
	return errs
}

func copyError(p crawl.Partition, err error) error {
	return fmt.Errorf("frontier: copy of partition %d: %w", p, err)
}

// follow writes one mutation into a copy.
func (g group) follow(m *CopyMutation) error {
	pg := g.part(m.Partition)
	s := &pg.State
	switch {
	case s.State != layout.Copy || s.Epoch != m.Epoch || s.Suspect:
		return copyError(m.Partition,
			fmt.Errorf("%w: it is %s, the mutation is of epoch %d", ErrNotCopy, s, m.Epoch))
	case m.Seq <= s.Seq:
		return nil
	case m.Seq != s.Seq+1:
		return copyError(m.Partition, fmt.Errorf("%w: mutation %d came after %d", ErrGap, m.Seq, s.Seq))
	}
	meta := &g.f.meta
	if err := g.f.w.Budget.Check(&m.Mutation, meta); err != nil {
		return copyError(m.Partition, err)
	}
	pg.Follow(m.Entries)
	s.Apply(meta)
	s.Line = meta.Stamp.Begin(g.Now)
	return nil
}

// AdoptCopy lets a copy that is exactly at (fromEpoch, seq) follow the holder
// of toEpoch, which went on from there. It is idempotent. When the copy is anywhere
// else, it fails with an ErrGap that describes the copy.
func (f *Frontier) AdoptCopy(
	ctx context.Context,
	p crawl.Partition,
	fromEpoch crawl.Epoch,
	seq crawl.Seq,
	toEpoch crawl.Epoch,
) error {
	err := f.alone(ctx, false, func(g group) error {
		pg := g.part(p)
		s := &pg.State
		switch {
		case s.State != layout.Copy || s.Suspect || s.Seq != seq ||
			s.Epoch != fromEpoch && s.Epoch != toEpoch:
			return fmt.Errorf("%w: it is %s, asked for a copy of epoch %d at mutation %d", ErrGap, s,
				fromEpoch, seq)
		case toEpoch < s.Epoch:
			return fmt.Errorf("%w: epoch %d is below %d", ErrGap, toEpoch, s.Epoch)
		case s.Epoch != toEpoch || s.Unsure:
			s.Epoch, s.Unsure = toEpoch, false
			pg.Restated = true
		}
		return nil
	})
	if err != nil {
		return copyError(p, err)
	}
	return nil
}
