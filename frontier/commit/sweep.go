package commit

import (
	"bytes"
	"context"
	"time"

	"crawlnode/frontier/layout"
)

// A piece is this many keys. While little waits, there is a pause of sweepPause between
// two pieces, in which the crawl has the writer to itself. With more than sweepHurry bytes
// there is no pause, so that copies are deleted faster than others arrive.
const (
	sweepPiece = 4_000
	sweepPause = 10 * time.Millisecond
	sweepHurry = 16 << 20
)

// After an error the next try comes after sweepRetry, then after twice as long, up to
// sweepRetryMax.
const (
	sweepRetry    = time.Second
	sweepRetryMax = time.Minute
)

// sweepRest is how long nothing new may need deletion before the store is asked to give
// back the space of deleted keys.
const sweepRest = 5 * time.Second

// keyBytes is about what a key and its value have, to judge what was deleted.
const keyBytes = 128

// sweep deletes the keys of dead generations, one generation after the other. An
// error is not its end: the generation waits behind the others for another try.
func (w *Writer) sweep(ctx context.Context) {
	var swept int64 // since the store has given room back
	retry := sweepRetry
	for {
		gen, ok := w.DeadList.waits.nextWithin(ctx, sweepRest)
		if ctx.Err() != nil {
			return
		}
		if !ok {
			if c, able := w.KV.(compacter); able && c.Compact(swept) {
				swept = 0
			}
			continue
		}
		keys, err := w.sweepGeneration(ctx, gen)
		swept += int64(keys) * keyBytes
		switch {
		case isStop(err):
			return // the list is on disk: the next start goes on
		case err == nil:
			w.DeadList.gone(gen)
			retry = sweepRetry
			continue
		case w.DeadList.failed(gen, err, time.Now()):
			w.log.Error("an unused copy was not deleted; the deletion is retried", "partition",
				gen.Partition, "generation", gen.Number, "err", err)
		}
		select {
		case <-time.After(retry):
		case <-ctx.Done():
			return
		}
		retry = min(2*retry, sweepRetryMax)
	}
}

// sweepGeneration deletes all keys of one generation, then its place on the
// list. It counts the keys, also when it fails.
func (w *Writer) sweepGeneration(
	ctx context.Context,
	gen layout.Generation,
) (deleted int, err error) {
	var from []byte
	for {
		keys, err := w.deadKeys(gen, from)
		if err != nil {
			return deleted, err
		}
		if len(keys) == 0 {
			break
		}
		from = keys[len(keys)-1]
		hurry := w.DeadList.read().Bytes > sweepHurry
		err = w.Do(ctx, &Request{
			Patient: !hurry,
			Entries: len(keys),
			Bytes:   len(keys) * len(from),
			Apply: func(g *Group) error {
				for _, k := range keys {
					g.Put(k, nil)
				}
				return nil
			},
		})
		if err != nil {
			return deleted, err
		}
		deleted += len(keys)
		if hurry {
			continue
		}
		select {
		case <-time.After(sweepPause):
		case <-ctx.Done():
			return deleted, ctx.Err()
		}
	}
	return deleted, w.Change(ctx, func(g *Group) error {
		g.Put(layout.DeadKey(gen), nil)
		return nil
	})
}

// deadKeys lists some keys of a generation from a key on, absolute. The keys
// deleted before lie in front of it, so they are not walked over again.
func (w *Writer) deadKeys(gen layout.Generation, from []byte) ([][]byte, error) {
	snap, err := w.KV.Snapshot()
	if err != nil {
		return nil, err
	}
	defer snap.Close()
	prefix := layout.AppendPrefix(nil, gen.Partition, gen.Number)
	it := snap.Iterate(prefix)
	defer it.Close()
	var keys [][]byte
	if from == nil {
		from = prefix
	}
	size, most := 0, w.Budget.linkBytes
	for it.Seek(from); it.Valid() && len(keys) < min(sweepPiece, w.Budget.groupEntries) &&
		size < most; it.Next() {
		keys = append(keys, bytes.Clone(it.Key()))
		size += len(it.Key()) + layout.PrefixLen
	}
	return keys, nil
}

// compacter is a KV that keeps the room of deleted keys.
type compacter interface {
	// Compact begins to give room back, if that is worth it and can be done after so
	// many bytes were deleted, and reports whether it did. It does not wait.
	Compact(deleted int64) bool
	// MostDead is how many bytes may wait to be deleted before more is written.
	MostDead() int64
}
