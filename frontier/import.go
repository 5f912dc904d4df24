package frontier

import (
	"context"
	"errors"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// Import is a partition on its way to this node: Put the entries of a
// snapshot, Apply the mutations that follow it, CommitCopy. It is for one
// goroutine. Nothing of it can be read before CommitCopy, and a crash before
// leaves nothing behind but keys that are deleted in the background.
type Import struct {
	f        *Frontier
	gen      layout.Generation
	bytes    int64             // the writer's: what was written
	meta     *layout.MetaEntry // the writer's; nil until the meta entry has come
	line     layout.Timeline   // the writer's: as of meta
	finished bool              // the writer's: committed, aborted or superseded
}

// ErrImportOver says that the import was committed, aborted, or that another
// one of the same partition was begun.
var ErrImportOver = errors.New("frontier: the import is over")

// Seq is the number of the last mutation that has arrived, 0 before the
// partition's own books have.
func (i *Import) Seq() crawl.Seq {
	if i.meta == nil {
		return 0
	}
	return i.meta.Seq
}

// BeginImport makes room for a partition that this node does not hold, under a
// fresh generation. An earlier import of the partition is over. What this node
// has of the partition is kept until CommitCopy takes its place, and then deleted
// in the background. While too much waits to be deleted it waits, too.
func (f *Frontier) BeginImport(ctx context.Context, p crawl.Partition) (*Import, error) {
	if err := f.w.DeadList.Await(ctx, f.w.MostDead()); err != nil {
		return nil, fmt.Errorf("frontier: importing partition %d: old copies are not deleted yet: %w", p,
			err)
	}
	var i *Import
	err := f.do(ctx, &commit.Request{Solo: true, Apply: f.in(func(g group) error {
		pg := g.part(p)
		if pg.State.State == layout.Holder {
			return errors.New("this node holds it")
		}
		if p > layout.MaxPartition {
			return fmt.Errorf("the highest partition is %d", layout.MaxPartition)
		}
		if old := f.importing[p]; old != nil {
			g.abandon(old)
		}
		pg.State.LastGeneration++
		pg.Restated = true
		i = &Import{f: f, gen: layout.Generation{Partition: p, Number: pg.State.LastGeneration}}
		// Dead until CommitCopy says otherwise: so a crash cleans up.
		g.Put(layout.DeadKey(i.gen), []byte{layout.FormatVersion})
		g.Then(func() { f.importing[p] = i })
		return nil
	})})
	if err != nil {
		return nil, fmt.Errorf("frontier: importing partition %d: %w", p, err)
	}
	return i, nil
}

// abandon ends an import; its keys are swept.
func (g group) abandon(i *Import) {
	i.finished = true
	g.Then(func() {
		if g.f.importing[i.gen.Partition] == i {
			delete(g.f.importing, i.gen.Partition)
		}
		g.f.w.DeadList.Add(i.gen, i.bytes)
	})
}

// Put writes entries of the snapshot. Any division into calls will do, and an
// entry may come twice.
func (i *Import) Put(ctx context.Context, entries []storage.Entry) error {
	for len(entries) > 0 {
		n, err := i.f.w.Budget.CutEntries(entries)
		if err != nil {
			return i.failed(err)
		}
		piece := entries[:n]
		entries = entries[n:]
		err = i.f.do(ctx,
			&commit.Request{Apply: i.f.in(func(g group) error { return i.write(g, piece) })})
		if err != nil {
			return i.failed(err)
		}
	}
	return nil
}

// write puts entries under the import's generation.
func (i *Import) write(g group, entries []storage.Entry) error {
	if i.finished {
		return ErrImportOver
	}
	var meta *layout.MetaEntry
	for _, e := range entries {
		if layout.IsMeta(e.Key) {
			m, err := layout.DecodeMeta(e.Value)
			if err != nil {
				return err
			}
			meta = &m
		}
	}
	i.bytes += int64(g.PutUnder(i.gen, entries))
	if meta != nil {
		i.meta, i.line = meta, meta.Stamp.Begin(g.Now)
	}
	return nil
}

// Apply writes mutations that follow the snapshot, each in one atomic step, in
// their order. Those that the import has already are passed over. When one is
// missing it fails with ErrGap.
func (i *Import) Apply(ctx context.Context, mutations []Mutation) error {
	for n := range mutations {
		m := &mutations[n]
		err := i.f.do(ctx, &commit.Request{
			Entries: len(m.Entries),
			Bytes:   commit.SizeOf(m),
			Apply:   i.f.in(func(g group) error { return i.follow(g, m) }),
		})
		if err != nil {
			return i.failed(err)
		}
	}
	return nil
}

func (i *Import) follow(g group, m *Mutation) error {
	switch {
	case i.finished:
		return ErrImportOver
	case i.meta == nil:
		return fmt.Errorf("%w: mutation %d came before the snapshot was complete", ErrGap, m.Seq)
	case m.Seq <= i.meta.Seq:
		return nil
	case m.Seq > i.meta.Seq+1:
		return fmt.Errorf("%w: mutation %d came after %d", ErrGap, m.Seq, i.meta.Seq)
	}
	meta := &layout.MetaEntry{}
	if err := g.f.w.Budget.Check(m, meta); err != nil {
		return err
	}
	g.PutUnder(i.gen, m.Entries)
	i.meta, i.line = meta, meta.Stamp.Begin(g.Now)
	return nil
}

// CommitCopy makes what was written this node's copy of the partition, which
// follows the holder of the epoch. It takes the place of whatever was here, but
// for a partition that this node holds. It survives kill -9; a loss of power
// may take it back, all of it.
func (i *Import) CommitCopy(ctx context.Context, epoch crawl.Epoch) error {
	err := i.f.do(ctx,
		&commit.Request{Solo: true, Apply: i.f.in(func(g group) error { return i.commit(g, epoch) })})
	if err != nil {
		return i.failed(err)
	}
	return nil
}

func (i *Import) commit(g group, epoch crawl.Epoch) error {
	pg := g.part(i.gen.Partition)
	s := &pg.State
	switch {
	case i.finished:
		return ErrImportOver
	case i.meta == nil:
		return fmt.Errorf("%w: the snapshot is not complete", ErrGap)
	case s.State == layout.Holder:
		return errors.New("this node holds it")
	}
	i.finished = true
	if s.State != layout.Absent {
		g.MarkDead(pg.Part, pg.Gen())
	}
	s.State, s.Epoch, s.Generation, s.To, s.View = layout.Copy, epoch, i.gen.Number, "", 0
	s.Sealed, s.Suspect, s.Unsure, s.Frozen = false, false, false, false
	s.Apply(i.meta)
	s.Line = i.line
	pg.Restated = true
	g.Put(layout.DeadKey(i.gen), nil)
	g.Then(func() { delete(g.f.importing, i.gen.Partition) })
	return nil
}

// Abort ends the import; what was written is deleted in the background. After
// CommitCopy it does nothing.
func (i *Import) Abort(ctx context.Context) error {
	err := i.f.alone(ctx, false, func(g group) error {
		if !i.finished {
			g.abandon(i)
		}
		return nil
	})
	if err != nil {
		return i.failed(err)
	}
	return nil
}

func (i *Import) failed(err error) error {
	return fmt.Errorf("frontier: importing partition %d: %w", i.gen.Partition, err)
}
