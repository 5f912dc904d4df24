package frontier

import (
	"context"
	"crawlnode/crawl"
	"github.com/zeebo/xxh3"
	"math/bits"
	"sync/atomic"
)

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

// payloadFilter is the filter of one partition. The writer sets its bits and, while it is
// being made, so does the goroutine that reads the keys. Any goroutine may read them. Each
// access is one atomic operation, without a lock. A bit is never cleared, so the answer
// for a learned digest is always maybe.
type payloadFilter struct {
	blocks []payloadBlock
	secret uint64 // seeds the hash: nobody can craft payloads that share their bits
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

// learn adds a digest to both filters. It is called before the group is written, so once a
// payload is visible the filters never say new for it.
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
