package filters

import (
	"context"
	"math/bits"
	"sync/atomic"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
)

// Sizes: at its capacity a filter has 10 bits a digest and says maybe to 1.5 % of what is
// new. All bits of a digest are in one block, which is one line of the processor's cache.
const (
	payloadHashes    = 7
	PayloadBits      = 10 // a digest, at the capacity
	PayloadMinBlocks = 4
	blockWords       = 8
	blockBits        = blockWords * 64
	BlockBytes       = blockWords * 8

	// DefaultPayloadFilters bounds all filters together: 20 million payloads.
	DefaultPayloadFilters = 32 << 20
)

// Payloads is the filter of one partition. The writer sets its bits and, while it is
// being made, so does the goroutine that reads the keys. Any goroutine may read them. Each
// access is one atomic operation, without a lock. A bit is never cleared, so the answer
// for a learned digest is always maybe.
type Payloads struct {
	blocks []payloadBlock
	secret uint64 // seeds the hash: nobody can craft payloads that share their bits
	Count  int64  // digests learned; the writer's
}

type payloadBlock [blockWords]atomic.Uint64

// PayloadBytes is the size of the filter for so many payloads and half as many more.
func PayloadBytes(payloads int64) int64 {
	n := (payloads + payloads/2) * PayloadBits
	return max((n+blockBits-1)/blockBits, PayloadMinBlocks) * BlockBytes
}

// NewPayloads returns an empty filter of this size.
func NewPayloads(bytes int64, secret uint64) *Payloads {
	return &Payloads{blocks: make([]payloadBlock, bytes/BlockBytes), secret: secret}
}

// Bytes is the size of the filter in memory.
func (fl *Payloads) Bytes() int64 { return int64(len(fl.blocks)) * BlockBytes }

// Full reports whether the filter should be made anew.
func (fl *Payloads) Full() bool { return fl.Count > fl.Bytes()*8/PayloadBits }

// place returns the block of a digest, and seven numbers of nine bits for its bits there.
func (fl *Payloads) place(d crawl.Digest) (*payloadBlock, uint64) {
	h := xxh3.Hash128Seed(d[:], fl.secret)
	i, _ := bits.Mul64(h.Hi, uint64(len(fl.blocks)))
	return &fl.blocks[i], h.Lo
}

// Add sets the bits of a digest.
func (fl *Payloads) Add(d crawl.Digest) {
	b, at := fl.place(d)
	for range payloadHashes {
		b[at%blockBits/64].Or(1 << (at % 64))
		at /= blockBits
	}
}

// Maybe reports whether the digest may have been added; false is sure.
func (fl *Payloads) Maybe(d crawl.Digest) bool {
	b, at := fl.place(d)
	for range payloadHashes {
		if b[at%blockBits/64].Load()&(1<<(at%64)) == 0 {
			return false
		}
		at /= blockBits
	}
	return true
}

// PayloadPair holds the filters that the writer has of one partition.
type PayloadPair struct {
	Used   *Payloads // has every payload that is remembered; nil: ask the store
	Making *Payloads // learns too, and gets the earlier payloads from the store
	Due    bool      // it waits to be made, or cannot be
}

// Learn adds a digest to both filters. It is called before the group is written, so once a
// payload is visible the filters never say new for it.
func (p *PayloadPair) Learn(d crawl.Digest) {
	for _, fl := range [...]*Payloads{p.Used, p.Making} {
		if fl != nil {
			fl.Add(d)
			fl.Count++
		}
	}
}

// IsNew reports whether the payload is surely not remembered, in the group included.
func (p *PayloadPair) IsNew(d crawl.Digest) bool { return p.Used != nil && !p.Used.Maybe(d) }

// Read adds the digests of a snapshot, and returns how many there were.
func (fl *Payloads) Read(ctx context.Context, v *reader.Partition) (n int64, err error) {
	it := v.Iterate([]byte{layout.TableContents})
	defer it.Close()
	for it.Seek(v.Abs([]byte{layout.TableContents})); it.Valid(); it.Next() {
		if rel := it.Key()[layout.PrefixLen:]; len(rel) == 1+len(crawl.Digest{}) {
			fl.Add(crawl.Digest(rel[1:]))
		}
		if n++; n%4096 == 0 && ctx.Err() != nil {
			return n, ctx.Err()
		}
	}
	return n, nil
}
