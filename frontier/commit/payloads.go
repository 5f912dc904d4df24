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
func (f *Writer) takeRoom(payloads int64) *filters.Payloads {
	n := filters.PayloadBytes(payloads)
	if n > f.PayloadRoom {
		return nil
	}
	f.PayloadRoom -= n
	return filters.NewPayloads(n, f.Cache.Secret)
}

func (f *Writer) giveRoom(fl *filters.Payloads) {
	if fl != nil {
		f.PayloadRoom += fl.Bytes()
	}
}

// usePayloads replaces the filter that look-ups use, maybe by none.
func (f *Writer) usePayloads(p *Partition, fl *filters.Payloads) {
	f.giveRoom(p.Payloads.Used)
	p.Payloads.Used = fl
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl == nil {
		delete(f.payloads, p.Partition)
	} else {
		f.payloads[p.Partition] = fl
	}
}

// dropPayloads leaves a partition without filters.
func (f *Writer) dropPayloads(p *Partition) {
	f.usePayloads(p, nil)
	f.giveRoom(p.Payloads.Making)
	p.Payloads.Making, p.Payloads.Due = nil, false
}

// refreshPayloads has a filter made where it is missing or full, and there is room.
func (f *Writer) refreshPayloads(p *Partition) {
	s := &p.Payloads
	if p.State != layout.Holder || s.Due || s.Making != nil || s.Used != nil && !s.Used.Full() ||
		filters.PayloadBytes(p.Counters.Contents) > f.PayloadRoom {
		return
	}
	s.Due = true
	f.rebuilds.add(rebuild{p.Partition, layout.TableContents})
}

// rebuildPayloads makes a partition's filter. This goroutine adds the payloads of a
// snapshot, and the writer adds what comes after it.
func (f *Writer) rebuildPayloads(ctx context.Context, p crawl.Partition) error {
	var snap storage.Snapshot
	var gen layout.Generation
	var live int64
	var fl *filters.Payloads
	err := f.Alone(ctx, false, func(g *Group) (err error) {
		pg := g.Part(p)
		pg.Live.Payloads.Due = false
		if pg.State.State != layout.Holder || pg.Live.Payloads.Making != nil {
			return nil
		}
		if snap, err = f.KV.Snapshot(); err != nil {
			return err
		}
		gen, live = pg.Gen(), pg.State.Counters.Contents
		if fl = f.takeRoom(live); fl == nil {
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
	return f.Alone(context.WithoutCancel(ctx), false, func(g *Group) error {
		part := g.Part(p).Live
		if part.Payloads.Making != fl {
			return nil // the partition went away meanwhile, and this filter's room was given back
		}
		part.Payloads.Making = nil
		if err != nil {
			part.Payloads.Due = true // until the partition is replaced, or the next start
			f.giveRoom(fl)
			return err
		}
		fl.Count += n
		f.usePayloads(part, fl)
		f.refreshPayloads(part) // it may have filled up meanwhile
		return nil
	})
}

// WhereContents returns what to ask for a payload of a partition; held is false when it
// is not held here.
func (f *Writer) WhereContents(p crawl.Partition) (gen layout.Generation, fl *filters.Payloads, held bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := f.metas[p]
	if m == nil || m.State != layout.Holder {
		return gen, nil, false
	}
	return layout.Generation{Partition: p, Number: m.Generation}, f.payloads[p], true
}
