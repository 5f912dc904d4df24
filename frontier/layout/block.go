package layout

import (
	"fmt"
	"math/bits"
	"slices"

	"crawlnode/crawl"
)

// A block is some queue entries of one host and band under one key. URLs that were found together
// wait in one, so that a page with many new links writes few keys. The key has the last of the
// BlockSpan numbers of which the block's URLs have one each: so the key follows from the number of
// any of them.
//
//	byte blockMark, for each number from the first of the span: u length, queue entry; length 0: nobody has it
//
// A block is not written again for each URL that leaves it: the host's entry, which is written
// anyway, says who is left (OpenBlock). A URL whose entry changes leaves the block, and has a key
// of its own from then on, under its old number.
const (
	// BlockSpan is how many numbers belong to a block. It begins at a multiple of them.
	BlockSpan = 32
	// MaxBlock is how many URLs a block has at most: the last number is that of the key.
	MaxBlock = BlockSpan - 1
	// MaxBlockBytes bounds a block to which a URL is added.
	MaxBlockBytes = 2 << 10
	// MaxOpenBlocks bounds the blocks of a host of which some URLs are gone.
	MaxOpenBlocks = 6

	// blockMark is the first byte of a block. No other value begins with it.
	blockMark = 'B'
)

// BlockNumber is the number in the key of the block to which a number would belong.
func BlockNumber(seq uint64) uint64 { return seq | (BlockSpan - 1) }

// FirstOfBlock is the first number of its span.
func FirstOfBlock(seq uint64) uint64 { return seq &^ (BlockSpan - 1) }

// NextBlock is where a block may begin when next is the next free number: in a span in which
// nothing is.
func NextBlock(next uint64) uint64 {
	if next <= 1 {
		return 1 // numbers begin with 1
	}
	return FirstOfBlock(next + BlockSpan - 1)
}

// IsBlock reports whether a value of the table of queues is a block.
func IsBlock(value []byte) bool { return len(value) > 0 && value[0] == blockMark }

// Block is the entries of a block by number, from the first of the span; nil: nobody has the
// number.
type Block [MaxBlock][]byte

// Encode writes a block.
func (b *Block) Encode() []byte {
	size, last := 1, 0
	for i, entry := range b {
		if size += len(entry) + 3; len(entry) > 0 {
			last = i
		}
	}
	w := encoder{append(make([]byte, 0, size), blockMark)}
	for _, entry := range b[:last+1] {
		w.u(uint64(len(entry)))
		w.bytes(entry)
	}
	return w.b
}

// Left is a bit for each number that somebody has, the lowest for the first.
func (b *Block) Left() (mask uint32) {
	for i, entry := range b {
		if len(entry) > 0 {
			mask |= 1 << i
		}
	}
	return mask
}

// DecodeBlock reads a block. The entries point into value.
func DecodeBlock(value []byte) (b Block, err error) {
	if !IsBlock(value) {
		return b, fmt.Errorf("%w: block of a queue", ErrCorrupt)
	}
	r := decoder{b: value[1:]}
	n := 0
	for ; len(r.b) > 0 && n < MaxBlock; n++ {
		if entry := r.take(r.u()); len(entry) > 0 {
			b[n] = entry
		}
	}
	if n == 0 || len(b[n-1]) == 0 {
		r.fail()
	}
	return b, r.end("block of a queue")
}

// OfBlock is the entry of a number in its block; ok is false when nobody has it.
func OfBlock(value []byte, seq uint64) (entry []byte, ok bool, err error) {
	b, err := DecodeBlock(value)
	at := seq % BlockSpan
	if err != nil || at >= MaxBlock {
		return nil, false, err
	}
	return b[at], len(b[at]) > 0, nil
}

// OpenBlock is a block of which some URLs are gone: done, or moved to keys of their own.
type OpenBlock struct {
	Band   crawl.Band
	Number uint64 // in the block's key
	Left   uint32 // as Block.Left; not 0
}

// Has reports whether the block still has a number.
func (o *OpenBlock) Has(seq uint64) bool {
	return BlockNumber(seq) == o.Number && o.Left&(1<<(seq%BlockSpan)) != 0
}

// Open is the block to which a number belongs, if it is open; else nil.
func (h *HostEntry) Open(band crawl.Band, seq uint64) *OpenBlock {
	for i := range h.Blocks {
		if o := &h.Blocks[i]; o.Band == band && o.Number == BlockNumber(seq) {
			return o
		}
	}
	return nil
}

// Close forgets an open block.
func (h *HostEntry) Close(o OpenBlock) {
	h.Blocks = slices.DeleteFunc(h.Blocks,
		func(b OpenBlock) bool { return b.Band == o.Band && b.Number == o.Number })
}

// writeBlocks writes the open blocks.
//
//	u blocks, for each: u band, u number / BlockSpan, u left
func (w *encoder) writeBlocks(blocks []OpenBlock) {
	w.u(uint64(len(blocks)))
	for i := range blocks {
		w.u(uint64(blocks[i].Band))
		w.u(blocks[i].Number / BlockSpan)
		w.u(uint64(blocks[i].Left))
	}
}

func (r *decoder) readBlocks() []OpenBlock {
	n := r.small(MaxOpenBlocks + 1)
	if n == 0 {
		r.fail()
		return nil
	}
	blocks := make([]OpenBlock, n)
	for i := range blocks {
		o := &blocks[i]
		o.Band, o.Number = crawl.Band(r.small(crawl.Bands)), BlockNumber(r.u()*BlockSpan)
		left := r.u()
		if left == 0 || bits.Len64(left) > MaxBlock {
			r.fail()
			return nil
		}
		o.Left = uint32(left)
	}
	return blocks
}
