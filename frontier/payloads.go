package frontier

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
func (f *Frontier) takeRoom(payloads int64) *filters.Payloads {
	n := filters.PayloadBytes(payloads)
	if n > f.payloadRoom {
		return nil
	}
	f.payloadRoom -= n
	return filters.NewPayloads(n, f.cache.Secret)
}

func (f *Frontier) giveRoom(fl *filters.Payloads) {
	if fl != nil {
		f.payloadRoom += fl.Bytes()
	}
}

// usePayloads puts a filter, or none, in the place of the one that is asked.
func (f *Frontier) usePayloads(p *partition, fl *filters.Payloads) {
	f.giveRoom(p.payloads.Used)
	p.payloads.Used = fl
	f.mu.Lock()
	defer f.mu.Unlock()
	if fl == nil {
		delete(f.payloads, p.Partition)
	} else {
		f.payloads[p.Partition] = fl
	}
}

// dropPayloads leaves a partition without filters.
func (f *Frontier) dropPayloads(p *partition) {
	f.usePayloads(p, nil)
	f.giveRoom(p.payloads.Making)
	p.payloads.Making, p.payloads.Due = nil, false
}

// refreshPayloads has a filter made where it is missing or full, and there is room.
func (f *Frontier) refreshPayloads(p *partition) {
	s := &p.payloads
	if p.State != layout.Holder || s.Due || s.Making != nil || s.Used != nil && !s.Used.Full() ||
		filters.PayloadBytes(p.Counters.Contents) > f.payloadRoom {
		return
	}
	s.Due = true
	f.rebuilds.add(rebuild{p.Partition, layout.TableContents})
}

// rebuildPayloads makes a partition's filter: the writer tells it what comes from a
// snapshot on, and this goroutine what is in that.
func (f *Frontier) rebuildPayloads(ctx context.Context, p crawl.Partition) error {
	var snap storage.Snapshot
	var gen layout.Generation
	var live int64
	var fl *filters.Payloads
	err := f.alone(ctx, false, func(g *group) (err error) {
		pg := g.part(p)
		pg.part.payloads.Due = false
		if pg.state.State != layout.Holder || pg.part.payloads.Making != nil {
			return nil
		}
		if snap, err = f.kv.Snapshot(); err != nil {
			return err
		}
		gen, live = pg.gen(), pg.state.Counters.Contents
		if fl = f.takeRoom(live); fl == nil {
			return nil
		}
		pg.part.payloads.Making = fl
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
	return f.alone(context.WithoutCancel(ctx), false, func(g *group) error {
		part := g.part(p).part
		if part.payloads.Making != fl {
			return nil // the partition went away meanwhile, and this filter's room was given back
		}
		part.payloads.Making = nil
		if err != nil {
			part.payloads.Due = true // until the partition is replaced, or the next start
			f.giveRoom(fl)
			return err
		}
		fl.Count += n
		f.usePayloads(part, fl)
		return nil
	})
}
