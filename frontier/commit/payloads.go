package commit

import (
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/filters"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
)

// Most payloads that are asked for are new, and a look-up that finds nothing costs the
// most. So each held partition has a Bloom filter of the digests that it remembers. It
// only ever saves a look-up: "new" is sure, "maybe" is confirmed in the store, and a
// partition without a filter asks the store.
//
//	founded empty                  an empty filter, complete from the start
//	start, promotion               none, until one is made of the keys in the background
//	given up, replaced, deleted    dropped: copies change behind the filter's back
//	full                           made anew, larger, where the bound on all of them allows it
//
// What displaced payloads leave in a filter goes when it is made anew.

// takeRoom makes a filter; nil when all of them would take too much memory.
func (w *Writer) takeRoom(payloads int64) *filters.Payloads {
	n := filters.PayloadBytes(payloads)
	if n > w.PayloadRoom {
		return nil
	}
	w.PayloadRoom -= n
	return filters.NewPayloads(n, w.Cache.Secret)
}

func (w *Writer) giveRoom(fl *filters.Payloads) {
	if fl != nil {
		w.PayloadRoom += fl.Bytes()
	}
}

// usePayloads replaces the filter that look-ups use, maybe by none.
func (w *Writer) usePayloads(p *Partition, fl *filters.Payloads) {
	w.giveRoom(p.Payloads.Used)
	p.Payloads.Used = fl
	w.mu.Lock()
	defer w.mu.Unlock()
	if fl == nil {
		delete(w.payloads, p.Partition)
	} else {
		w.payloads[p.Partition] = fl
	}
}

// dropPayloads leaves a partition without filters.
func (w *Writer) dropPayloads(p *Partition) {
	w.usePayloads(p, nil)
	w.giveRoom(p.Payloads.Making)
	p.Payloads.Making, p.Payloads.Due = nil, false
}

// refreshPayloads has a filter made where it is missing or full, and there is room.
func (w *Writer) refreshPayloads(p *Partition) {
	s := &p.Payloads
	if p.State != layout.Holder || s.Due || s.Making != nil || s.Used != nil && !s.Used.Full() ||
		filters.PayloadBytes(p.Counters.Contents) > w.PayloadRoom {
		return
	}
	s.Due = true
	w.rebuilds.add(rebuild{p.Partition, layout.TableContents})
}

// rebuildPayloads makes a partition's filter. This goroutine adds the payloads of a
// snapshot, and the writer adds what comes after it.
func (w *Writer) rebuildPayloads(ctx context.Context, p crawl.Partition) error {
	var snap storage.Snapshot
	var gen layout.Generation
	var live int64
	var fl *filters.Payloads
	err := w.Alone(ctx, false, func(g *Group) (err error) {
		pg := g.Part(p)
		pg.Live.Payloads.Due = false
		if pg.State.State != layout.Holder || pg.Live.Payloads.Making != nil {
			return nil
		}
		if snap, err = w.KV.Snapshot(); err != nil {
			return err
		}
		gen, live = pg.Gen(), pg.State.Counters.Contents
		if fl = w.takeRoom(live); fl == nil {
			return nil
		}
		pg.Live.Payloads.Making = fl
		return nil
	})
	if snap != nil {
		defer snap.Close()
	}
	if err != nil || fl == nil {
		return err
	}
	n, err := fl.Read(ctx, &reader.Partition{Snapshot: snap, Generation: gen})
	if err == nil && n < live { // a damaged table reads like one that ends
		err = fmt.Errorf("%w: %d payloads were read of %d", layout.ErrCorrupt, n, live)
	}
	return w.Alone(context.WithoutCancel(ctx), false, func(g *Group) error {
		part := g.Part(p).Live
		if part.Payloads.Making != fl {
			return nil // the partition went away meanwhile, and this filter's room was given back
		}
		part.Payloads.Making = nil
		if err != nil {
			part.Payloads.Due = true // until the partition is replaced, or the next start
			w.giveRoom(fl)
			return err
		}
		fl.Count += n
		w.usePayloads(part, fl)
		w.refreshPayloads(part) // it may have filled up meanwhile
		return nil
	})
}

// WhereContents returns what to ask for a payload of a partition; held is false when it
// is not held here.
func (w *Writer) WhereContents(
	p crawl.Partition,
) (gen layout.Generation, fl *filters.Payloads, held bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.metas[p]
	if m == nil || m.State != layout.Holder {
		return gen, nil, false
	}
	return layout.Generation{Partition: p, Number: m.Generation}, w.payloads[p], true
}
