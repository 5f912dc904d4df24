package frontier

import (
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
)

// OutboxEntry is a link that waits for its owner's acknowledgement.
type OutboxEntry struct {
	From   crawl.Partition // of the page on which it was found
	Key    layout.OutboxKey
	Routed crawl.Routed
}

// Outbox lists up to n links found on pages of partition p, behind the key
// after; the zero key is the start.
func (f *Frontier) Outbox(p crawl.Partition, after layout.OutboxKey, n int) ([]OutboxEntry, error) {
	v, err := f.w.Read(p)
	if err != nil {
		return nil, err
	}
	defer v.Close()
	it := v.Iterate([]byte{layout.TableOutbox})
	defer it.Close()
	var out []OutboxEntry
	after.Seq++
	for it.Seek(v.Abs(layout.AppendOutboxKey(nil, after))); it.Valid() && len(out) < n; it.Next() {
		key, ok := layout.ParseOutboxKey(it.Key()[layout.PrefixLen:])
		if !ok {
			return nil, fmt.Errorf("%w: outbox of partition %d", layout.ErrCorrupt, p)
		}
		value, err := it.Value()
		if err != nil {
			return nil, err
		}
		t, err := layout.DecodeLink(value)
		if err != nil {
			return nil, err
		}
		out = append(out,
			OutboxEntry{From: p, Key: key, Routed: crawl.Routed{Partition: key.Target, Target: t}})
	}
	return out, nil
}

// ackPiece is the number of links in one request.
const ackPiece = 2_000

// AckOutbox removes links that their owners have. Links of partitions that are
// not held here any more are left alone: the present holder sends them again,
// which is harmless.
func (f *Frontier) AckOutbox(ctx context.Context, entries []OutboxEntry) error {
	for len(entries) > 0 {
		piece := entries[:min(len(entries), ackPiece)]
		entries = entries[len(piece):]
		err := f.change(ctx, func(g group) error {
			for i := range piece {
				g.ack(&piece[i])
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("frontier: acknowledging links: %w", err)
		}
	}
	return nil
}

func (g group) ack(e *OutboxEntry) {
	pg := g.part(e.From)
	if !pg.State.Serves() {
		return
	}
	key := layout.AppendOutboxKey(nil, e.Key)
	if _, ok := pg.Get(key); ok {
		pg.Del(key)
		pg.State.Counters.Outbox--
	}
}

// post puts a link of a page of this partition into the outbox.
func (pg part) post(r *crawl.Routed) {
	pg.State.OutboxNext++
	key := layout.OutboxKey{Target: r.Partition, Seq: pg.State.OutboxNext}
	pg.Set(layout.AppendOutboxKey(nil, key), layout.EncodeLink(&r.Target))
	pg.State.Counters.Outbox++
}
