package frontier

import (
	"context"
	"fmt"

	"crawlnode/crawl"
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
func (f *Frontier) takeRoom(payloads int64) *payloadFilter {
	n := payloadFilterBytes(payloads)
	if n > f.payloadRoom {
		return nil
	}
	f.payloadRoom -= n
	return newPayloadFilter(n, f.cache.secret)
}

func (f *Frontier) giveRoom(fl *payloadFilter) {
	if fl != nil {
		f.payloadRoom += fl.bytes()
	}
}

// usePayloads puts a filter, or none, in the place of the one that is asked.
func (f *Frontier) usePayloads(p *partition, fl *payloadFilter) {
	f.giveRoom(p.payloads.used)
	p.payloads.used = fl
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
	f.giveRoom(p.payloads.making)
	p.payloads.making, p.payloads.due = nil, false
}

// refreshPayloads has a filter made where it is missing or full, and there is room.
func (f *Frontier) refreshPayloads(p *partition) {
	s := &p.payloads
	if p.State != Holder || s.due || s.making != nil || s.used != nil && !s.used.full() ||
		payloadFilterBytes(p.Counters.Contents) > f.payloadRoom {
		return
	}
	s.due = true
	f.rebuilds.add(rebuild{p.Partition, tableContents})
}

// rebuildPayloads makes a partition's filter: the writer tells it what comes from a
// snapshot on, and this goroutine what is in that.
func (f *Frontier) rebuildPayloads(ctx context.Context, p crawl.Partition) error {
	var snap Snapshot
	var gen generation
	var live int64
	var fl *payloadFilter
	err := f.alone(ctx, false, func(g *group) (err error) {
		pg := g.part(p)
		pg.part.payloads.due = false
		if pg.state.State != Holder || pg.part.payloads.making != nil {
			return nil
		}
		if snap, err = f.kv.Snapshot(); err != nil {
			return err
		}
		gen, live = pg.gen(), pg.state.Counters.Contents
		if fl = f.takeRoom(live); fl == nil {
			return nil
		}
		pg.part.payloads.making = fl
		return nil
	})
	if snap != nil {
		defer snap.Close()
	}
	if err != nil || fl == nil {
		return err
	}
	n, err := fl.read(ctx, &view{snap: snap, gen: gen})
	if err == nil && n < live { // a damaged table reads like one that ends
		err = fmt.Errorf("%w: %d payloads were read of %d", ErrCorrupt, n, live)
	}
	return f.alone(context.WithoutCancel(ctx), false, func(g *group) error {
		part := g.part(p).part
		if part.payloads.making != fl {
			return nil // the partition went away meanwhile, and this filter's room was given back
		}
		part.payloads.making = nil
		if err != nil {
			part.payloads.due = true // until the partition is replaced, or the next start
			f.giveRoom(fl)
			return err
		}
		fl.count += n
		f.usePayloads(part, fl)
		return nil
	})
}
