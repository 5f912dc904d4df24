package places

import (
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
)

// Queue gives URLs their places. The zero Queue is ready.
type Queue struct {
	newBlocks []newBlock // blocks that are not written yet, maxNewBlocks at most
}

// Get reads the entry of a place; in says that it stands in a block. The entry is good until the next read of
// the partition.
func (q *Queue) Get(pg *commit.Part, h crawl.Host, band crawl.Band, seq uint64) (entry []byte, in, ok bool) {
	q.Flush()
	e := pg.Host(h)
	if s := e.Inline; s.At(band, seq) {
		return s.Entry, false, true
	}
	open := e.Open(band, seq)
	if open == nil || !open.Has(seq) {
		v, ok := pg.Get(layout.AppendQueueKey(pg.Scratch(), h, band, seq))
		if ok = ok && !layout.IsBlock(v); ok || open != nil {
			return v, false, ok
		}
	}
	v, ok := pg.Get(layout.AppendQueueKey(pg.Scratch(), h, band, layout.BlockNumber(seq)))
	if !ok || !layout.IsBlock(v) {
		return nil, false, false
	}
	entry, ok, err := layout.OfBlock(v, seq)
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w of host %s", err, h))
	}
	return entry, true, ok
}

// Put replaces the entry of a place, which Get has read. It does not touch the host.
func (q *Queue) Put(pg *commit.Part, h crawl.Host, at layout.QueueSlot, in bool, entry []byte) {
	if in {
		leave(pg, h, at)
	}
	pg.Set(layout.AppendQueueKey(pg.Scratch(), h, at.Band, at.Seq), entry)
}

// Remove gives up a place, which Get has read.
func (q *Queue) Remove(pg *commit.Part, h crawl.Host, at layout.QueueSlot, in bool) {
	switch e := pg.Host(h); {
	case e.Inline.At(at.Band, at.Seq):
		e.Inline = nil
		pg.Touch(e)
	case in:
		leave(pg, h, at)
	default:
		pg.Del(layout.AppendQueueKey(pg.Scratch(), h, at.Band, at.Seq))
	}
}

// leave takes a URL out of its block.
func leave(pg *commit.Part, h crawl.Host, at layout.QueueSlot) {
	e := pg.Host(h)
	pg.Touch(e)
	open := e.Open(at.Band, at.Seq)
	if open == nil {
		if len(e.Blocks) >= layout.MaxOpenBlocks {
			settle(pg, h, e.Blocks[0])
		}
		b := read(pg, h, at.Band, layout.BlockNumber(at.Seq))
		e.Blocks = append(e.Blocks, layout.OpenBlock{Band: at.Band, Number: layout.BlockNumber(at.Seq), Left: b.Left()})
		open = &e.Blocks[len(e.Blocks)-1]
	}
	if open.Left &^= 1 << (at.Seq % layout.BlockSpan); open.Left == 0 {
		pg.Del(layout.AppendQueueKey(pg.Scratch(), h, open.Band, open.Number))
		e.Close(*open)
	}
}

// read reads a block, which must be there. Its entries are good until the next read of the partition.
func read(pg *commit.Part, h crawl.Host, band crawl.Band, number uint64) (b layout.Block) {
	v, ok := pg.Get(layout.AppendQueueKey(pg.Scratch(), h, band, number))
	err := fmt.Errorf("%w: a block of a queue is missing", layout.ErrCorrupt)
	if ok {
		b, err = layout.DecodeBlock(v)
	}
	if err != nil {
		pg.Group.Fail(fmt.Errorf("%w, host %s", err, h))
	}
	return b
}

// settle writes an open block anew, with those of its URLs that have keys of their own, and forgets that it is open.
func settle(pg *commit.Part, h crawl.Host, open layout.OpenBlock) {
	old := read(pg, h, open.Band, open.Number)
	var b layout.Block
	for i := range old { // before the next read
		if open.Left&(1<<i) != 0 {
			b[i] = append([]byte(nil), old[i]...)
		}
	}
	first := layout.FirstOfBlock(open.Number)
	for i := range b {
		if b[i] != nil {
			continue
		}
		key := layout.AppendQueueKey(nil, h, open.Band, first+uint64(i))
		if v, ok := pg.Get(key); ok {
			b[i] = append([]byte(nil), v...)
			pg.Del(key)
		}
	}
	pg.Set(layout.AppendQueueKey(pg.Scratch(), h, open.Band, open.Number), b.Encode())
	pg.Host(h).Close(open)
}
