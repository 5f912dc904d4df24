package frontier

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
)

// Mutation is one group's change of one partition: the Seq-th of those made
// since the partition was founded, by the holder of the Epoch. Keys are
// relative, so they mean the same on every node; each occurs once, in no order.
// The entries are never changed again, so a receiver may keep them.
type Mutation = crawl.Mutation

// Export is a snapshot of a partition for another node. It is for one
// goroutine. Close it.
type Export struct {
	view  reader.Partition
	seq   crawl.Seq
	epoch crawl.Epoch
	stamp layout.Stamp
	books []byte // newer than those of the view; nil: those are the newest
}

// Export opens a snapshot of a partition between two groups, and attaches the
// sink there: the snapshot has all mutations up to Seq, the sink gets all that
// follow. A partition that is not held does not hand on its mutations: a sink
// attached to a copy is never called, one of a released partition only if it
// is held again. The sink may be nil.
func (f *Frontier) Export(
	ctx context.Context,
	p crawl.Partition,
	sink commit.Sink,
) (*Export, error) {
	var e *Export
	err := f.alone(ctx, false, func(g group) error {
		pg := g.part(p)
		if pg.State.State == layout.Absent {
			return fmt.Errorf("%w: it is %s", commit.ErrNotHolder, pg.State.State)
		}
		snap, err := f.w.KV.Snapshot()
		if err != nil {
			return err
		}
		if pg.State.State != layout.Copy {
			pg.Live.Attach(sink)
		}
		e = &Export{
			view:  reader.Partition{Snapshot: snap, Generation: pg.Gen()},
			seq:   pg.State.Seq,
			epoch: pg.State.Epoch,
			stamp: pg.State.Line.Stamp(f.w.Machine, g.Now),
			books: pg.Live.Books(),
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("frontier: exporting partition %d: %w", p, err)
	}
	return e, nil
}

// Attach attaches a sink without a snapshot, for a replica that has the
// partition's mutations up to after. It fails with ErrGap when the partition
// is not held in the epoch, or is not exactly there.
func (f *Frontier) Attach(
	ctx context.Context,
	p crawl.Partition,
	after crawl.Seq,
	epoch crawl.Epoch,
	sink commit.Sink,
) error {
	_, err := f.listen(ctx, p, epoch, &after, sink)
	return err
}

// Listen attaches a sink wherever the partition is, and returns the number of the last
// mutation before what the sink gets. It fails with ErrGap when the partition is not
// held in the epoch.
func (f *Frontier) Listen(
	ctx context.Context,
	p crawl.Partition,
	epoch crawl.Epoch,
	sink commit.Sink,
) (crawl.Seq, error) {
	return f.listen(ctx, p, epoch, nil, sink)
}

func (f *Frontier) listen(
	ctx context.Context,
	p crawl.Partition,
	epoch crawl.Epoch,
	after *crawl.Seq,
	sink commit.Sink,
) (seq crawl.Seq, err error) {
	if sink == nil {
		panic("BUG: listening without a sink")
	}
	err = f.alone(ctx, false, func(g group) error {
		pg := g.part(p)
		s := &pg.State
		if s.State != layout.Holder || s.Suspect || s.Epoch != epoch || after != nil && s.Seq != *after {
			return fmt.Errorf("%w: it is %s, asked for a holder of epoch %d", ErrGap, s, epoch)
		}
		pg.Live.Attach(sink)
		seq = s.Seq
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("frontier: attaching to partition %d: %w", p, err)
	}
	return seq, nil
}

// Seq is the number of the last mutation in the snapshot.
func (e *Export) Seq() crawl.Seq { return e.seq }

// Epoch is the epoch of the partition when the snapshot was taken.
func (e *Export) Epoch() crawl.Epoch { return e.epoch }

// Snapshot hands all entries of the partition to fn, in pieces of about
// chunkBytes; an entry that is larger (a robots.txt of up to 500 KiB) comes
// alone. It ends with the first error of fn or of ctx.
func (e *Export) Snapshot(
	ctx context.Context,
	chunkBytes int,
	fn func([]storage.Entry) error,
) error {
	it := e.view.Iterate(nil)
	defer it.Close()
	var chunk []storage.Entry
	size := 0
	for it.Seek(e.view.Abs(nil)); it.Valid(); it.Next() {
		value, err := it.Value()
		if err != nil {
			return err
		}
		entry := storage.Entry{Key: bytes.Clone(it.Key()[layout.PrefixLen:]), Value: bytes.Clone(value)}
		if layout.IsMeta(entry.Key) {
			// The last mutation may be long ago: the copy's timeline begins here.
			if e.books != nil {
				value = e.books
			}
			if entry.Value, err = layout.Restamped(value, e.stamp); err != nil {
				return err
			}
		}
		n := len(entry.Key) + len(entry.Value)
		if len(chunk) > 0 && size+n > chunkBytes {
			if err := send(ctx, fn, chunk); err != nil {
				return err
			}
			chunk, size = nil, 0
		}
		chunk = append(chunk, entry)
		size += n
	}
	if len(chunk) == 0 {
		return ctx.Err()
	}
	return send(ctx, fn, chunk)
}

func send(ctx context.Context, fn func([]storage.Entry) error, chunk []storage.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return fn(chunk)
}

// Close frees the snapshot. The sink stays attached.
func (e *Export) Close() { e.view.Close() }

// Errors between the holder of a partition and its replicas.
var (
	// ErrGap says that mutations are missing: a new copy must be made.
	ErrGap = errors.New("frontier: mutations are missing")
	// ErrNotCopy says that this node has no copy that could take a mutation:
	// none at all, one of another epoch, or one that is suspect.
	ErrNotCopy = errors.New("frontier: no copy here that follows this holder")
)
