package frontier

import (
	"slices"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
)

// maxNewBlocks bounds the blocks that are filled at the same time. When one more is needed, all of
// them are written.
const maxNewBlocks = 16

// newBlock is a block that is being filled.
type newBlock struct {
	pg    part
	host  crawl.Host
	band  crawl.Band
	first uint64 // number of the first URL
	n     int
	size  int // bytes
	block layout.Block
}

// addEntry writes the entry of a new URL in the queue of a host, and returns its number. With more,
// which says that another new URL of the host may follow, it begins a block, unless one is there.
// It does not touch the host, nor count.
func (pg part) addEntry(
	h crawl.Host, e *commit.Host, band crawl.Band, entry []byte, more bool,
) (seq uint64) {
	long := len(entry) > layout.MaxBlockBytes/2
	if long {
		pg.f.flushBlocks() // what comes later in the list is behind it
	}
	n := pg.unwrittenBlock(h, band)
	if n == nil && (!more || long) {
		seq = takeNumber(e, band)
		pg.Set(layout.AppendQueueKey(pg.Scratch(), h, band, seq), entry)
		return seq
	}
	if n == nil {
		n = pg.beginBlock(h, e, band)
	}
	seq = n.first + uint64(n.n)
	n.block[seq%layout.BlockSpan] = entry
	n.n++
	if n.size += len(entry); n.size >= layout.MaxBlockBytes || layout.BlockNumber(seq) == seq+1 {
		n.write()
		n.n = 0
		pg.f.newBlocks = slices.DeleteFunc(pg.f.newBlocks, func(o newBlock) bool { return o.n == 0 })
	}
	return seq
}

// takeNumber gives out the next number of a host's queue.
func takeNumber(e *commit.Host, band crawl.Band) uint64 {
	b := &e.Bands[band]
	if b.Next == 0 {
		b.Head, b.Next = 1, 1
	}
	b.Next++
	return b.Next - 1
}

// unwrittenBlock is the block in which the URLs of a host's queue are gathered; nil: none.
func (pg part) unwrittenBlock(h crawl.Host, band crawl.Band) *newBlock {
	for i := range pg.f.newBlocks {
		if n := &pg.f.newBlocks[i]; n.band == band && n.pg == pg && n.host == h {
			return n
		}
	}
	return nil
}

// beginBlock reserves the numbers of a block. Those that it does not use are nobody's.
func (pg part) beginBlock(h crawl.Host, e *commit.Host, band crawl.Band) *newBlock {
	if len(pg.f.newBlocks) == maxNewBlocks {
		pg.f.flushBlocks()
	}
	b := &e.Bands[band]
	first := layout.NextBlock(b.Next)
	if b.Queued == 0 {
		b.Head = first
	}
	b.Next = layout.BlockNumber(first) + 1
	pg.f.newBlocks = append(pg.f.newBlocks, newBlock{pg: pg, host: h, band: band, first: first})
	return &pg.f.newBlocks[len(pg.f.newBlocks)-1]
}

// flushBlocks writes the blocks that are being filled. Call it before the request is over.
func (f *Frontier) flushBlocks() {
	for i := range f.newBlocks {
		f.newBlocks[i].write()
	}
	clear(f.newBlocks) // they point at the group
	f.newBlocks = f.newBlocks[:0]
}

// write writes a block; of one URL, under a key of its own.
func (n *newBlock) write() {
	if n.n == 1 {
		key := layout.AppendQueueKey(n.pg.Scratch(), n.host, n.band, n.first)
		n.pg.Set(key, n.block[n.first%layout.BlockSpan])
		return
	}
	number := layout.BlockNumber(n.first)
	key := layout.AppendQueueKey(n.pg.Scratch(), n.host, n.band, number)
	n.pg.Set(key, n.block.Encode())
}
