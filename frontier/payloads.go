package frontier

import (
	"context"
	"fmt"
	"math/bits"
	"sync/atomic"

	"github.com/zeebo/xxh3"

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

// Sizes: at its capacity a filter has 10 bits a digest and says maybe to 1.5 % of what is
// new. All bits of a digest are in one block, which is one line of the processor's cache.
const (
	payloadHashes    = 7
	payloadBits      = 10 // a digest, at the capacity
	payloadMinBlocks = 4
	blockWords       = 8
	blockBits        = blockWords * 64
	blockBytes       = blockWords * 8

	// defaultPayloadFilters bounds all filters together: 20 million payloads.
	defaultPayloadFilters = 32 << 20
)

// payloadFilter is the filter of one partition. Its bits are set by the writer and, while
// it is being made, by who reads the keys, and read by anybody: each by one atomic
// operation, without a lock. A bit is never taken back, so who asks after a digest was
// learned is told maybe.
type payloadFilter struct {
	blocks []payloadBlock
	secret uint64 // nobody can make payloads that share their bits
	count  int64  // digests learned; the writer's
}

type payloadBlock [blockWords]atomic.Uint64

// payloadFilterBytes is the size of the filter for so many payloads and half as many more.
func payloadFilterBytes(payloads int64) int64 {
	n := (payloads + payloads/2) * payloadBits
	return max((n+blockBits-1)/blockBits, payloadMinBlocks) * blockBytes
}

func newPayloadFilter(bytes int64, secret uint64) *payloadFilter {
	return &payloadFilter{blocks: make([]payloadBlock, bytes/blockBytes), secret: secret}
}

func (fl *payloadFilter) bytes() int64 { return int64(len(fl.blocks)) * blockBytes }

// full reports whether the filter should be made anew.
func (fl *payloadFilter) full() bool { return fl.count > fl.bytes()*8/payloadBits }

// place returns the block of a digest, and seven numbers of nine bits for its bits there.
func (fl *payloadFilter) place(d crawl.Digest) (*payloadBlock, uint64) {
	h := xxh3.Hash128Seed(d[:], fl.secret)
	i, _ := bits.Mul64(h.Hi, uint64(len(fl.blocks)))
	return &fl.blocks[i], h.Lo
}

func (fl *payloadFilter) add(d crawl.Digest) {
	b, at := fl.place(d)
	for range payloadHashes {
		b[at%blockBits/64].Or(1 << (at % 64))
		at /= blockBits
	}
}

func (fl *payloadFilter) maybe(d crawl.Digest) bool {
	b, at := fl.place(d)
	for range payloadHashes {
		if b[at%blockBits/64].Load()&(1<<(at%64)) == 0 {
			return false
		}
		at /= blockBits
	}
	return true
}

// payloadFilters are what the writer has of one partition.
type payloadFilters struct {
	used   *payloadFilter // has every payload that is remembered; nil: ask the store
	making *payloadFilter // learns along, and gets what was there before from the store
	due    bool           // it waits to be made, or cannot be
}

// learn tells both filters. It is called before the group is written: so nobody who hears
// of the payload is told later that it is new.
func (p *payloadFilters) learn(d crawl.Digest) {
	for _, fl := range [...]*payloadFilter{p.used, p.making} {
		if fl != nil {
			fl.add(d)
			fl.count++
		}
	}
}

// isNew reports whether the payload is surely not remembered, in the group included.
func (p *payloadFilters) isNew(d crawl.Digest) bool { return p.used != nil && !p.used.maybe(d) }

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

// read adds the digests of a snapshot, and returns how many there were.
func (fl *payloadFilter) read(ctx context.Context, v *view) (n int64, err error) {
	it := v.iterate([]byte{tableContents})
	defer it.Close()
	for it.Seek(v.abs([]byte{tableContents})); it.Valid(); it.Next() {
		if rel := it.Key()[prefixLen:]; len(rel) == 1+len(crawl.Digest{}) {
			fl.add(crawl.Digest(rel[1:]))
		}
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return n, ctx.Err()
		}
	}
	return n, nil
}
