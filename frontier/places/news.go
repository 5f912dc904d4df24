package places

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
	pg    *commit.Part
	host  crawl.Host
	band  crawl.Band
	first uint64 // number of the first URL
	n     int
	size  int // bytes
	block layout.Block
}

// Add writes the entry of a new URL in the queue of a host, and returns its number. With more, which says that another new URL
// of the host may follow, it begins a block, unless one is there. It does not touch the host, nor count.
func (q *Queue) Add(pg *commit.Part, h crawl.Host, e *commit.Host, band crawl.Band, entry []byte, more bool) (seq uint64) {
	long := len(entry) > layout.MaxBlockBytes/2
	if long {
		q.Flush() // what comes later in the list is behind it
	}
	n := q.find(pg, h, band)
	if n == nil && (!more || long) {
		seq = Take(e, band)
		pg.Set(layout.AppendQueueKey(pg.Scratch(), h, band, seq), entry)
		return seq
	}
	if n == nil {
		n = q.begin(pg, h, e, band)
	}
	seq = n.first + uint64(n.n)
	n.block[seq%layout.BlockSpan] = entry
	n.n++
	if n.size += len(entry); n.size >= layout.MaxBlockBytes || layout.BlockNumber(seq) == seq+1 {
		n.write()
		n.n = 0
		q.newBlocks = slices.DeleteFunc(q.newBlocks, func(o newBlock) bool { return o.n == 0 })
	}
	return seq
}

// Take gives out the next number of a host's queue.
func Take(e *commit.Host, band crawl.Band) uint64 {
	b := &e.Bands[band]
	if b.Next == 0 {
		b.Head, b.Next = 1, 1
	}
	b.Next++
	return b.Next - 1
}

// find is the block in which the URLs of a host's queue are gathered; nil: none.
func (q *Queue) find(pg *commit.Part, h crawl.Host, band crawl.Band) *newBlock {
	for i := range q.newBlocks {
		if n := &q.newBlocks[i]; n.band == band && n.pg == pg && n.host == h {
			return n
		}
	}
	return nil
}

// begin reserves the numbers of a block. Those that it does not use are nobody's.
func (q *Queue) begin(pg *commit.Part, h crawl.Host, e *commit.Host, band crawl.Band) *newBlock {
	if len(q.newBlocks) == maxNewBlocks {
		q.Flush()
	}
	b := &e.Bands[band]
	first := layout.NextBlock(b.Next)
	if b.Queued == 0 {
		b.Head = first
	}
	b.Next = layout.BlockNumber(first) + 1
	q.newBlocks = append(q.newBlocks, newBlock{pg: pg, host: h, band: band, first: first})
	return &q.newBlocks[len(q.newBlocks)-1]
}

// Flush writes the blocks that are being made. Call it before the request is over.
func (q *Queue) Flush() {
	for i := range q.newBlocks {
		q.newBlocks[i].write()
	}
	clear(q.newBlocks) // they point at the group
	q.newBlocks = q.newBlocks[:0]
}

// write writes a block; of one URL, under a key of its own.
func (n *newBlock) write() {
	if n.n == 1 {
		n.pg.Set(layout.AppendQueueKey(n.pg.Scratch(), n.host, n.band, n.first), n.block[n.first%layout.BlockSpan])
		return
	}
	n.pg.Set(layout.AppendQueueKey(n.pg.Scratch(), n.host, n.band, layout.BlockNumber(n.first)), n.block.Encode())
}
