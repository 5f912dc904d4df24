package frontier

import (
	"bytes"
	"context"
	"time"
)

// Sweeping is in no hurry: pieces of this many keys, with this much time
// between two.
const (
	sweepPiece = 2_000
	sweepPause = 10 * time.Millisecond
)

// sweep deletes the keys of dead generations, one generation after the other.
func (f *Frontier) sweep(ctx context.Context) {
	for {
		gen, ok := f.sweeps.next(ctx)
		if !ok {
			return
		}
		if err := f.sweepGeneration(ctx, gen); err != nil {
			if !isStop(err) {
				f.log.Error("a partition that went away was not deleted", "partition", gen.partition, "generation", gen.number, "err", err)
			}
			return // the list is on disk: the next start goes on
		}
	}
}

// sweepGeneration deletes all keys of one generation, then its place on the
// list.
func (f *Frontier) sweepGeneration(ctx context.Context, gen generation) error {
	var from []byte
	for {
		keys, err := f.deadKeys(gen, from)
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		from = keys[len(keys)-1]
		err = f.change(ctx, func(g *group) error {
			for _, k := range keys {
				g.put(k, nil)
			}
			return nil
		})
		if err != nil {
			return err
		}
		select {
		case <-time.After(sweepPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return f.change(ctx, func(g *group) error {
		g.put(deadKey(gen), nil)
		return nil
	})
}

// deadKeys lists some keys of a generation from a key on, absolute. The keys
// deleted before lie in front of it, so they are not walked over again.
func (f *Frontier) deadKeys(gen generation, from []byte) ([][]byte, error) {
	snap, err := f.kv.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	prefix := appendPrefix(nil, gen.partition, gen.number)
	it := snap.Iterate(prefix)
	defer it.Close()
	var keys [][]byte
	if from == nil {
		from = prefix
	}
	for it.Seek(from); it.Valid() && len(keys) < sweepPiece; it.Next() {
		keys = append(keys, bytes.Clone(it.Key()))
	}
	return keys, nil
}
