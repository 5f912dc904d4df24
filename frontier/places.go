package frontier

import (
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
)

// This file and blocks.go read and write the queue entries of URLs, within a group of the writer.
//
// A queue entry is named by a host, a band and a number (layout.QueueSlot). It is stored
//
//	in the host's entry      the host's only URL, never tried (layout/inline.go)
//	under a key of its own   most others
//	in a block               URLs that were added together (layout/block.go)
//
// and callers need not know where. A new URL is put into a block when more URLs of its host follow.
// The block is written at the end of the list of links (flushBlocks), or before one of its entries
// is looked up. Removing a URL from a block writes no key: the host's entry lists the URLs that are
// left in it (layout.OpenBlock). A URL whose entry changes leaves its block as well, and gets a key
// of its own. A block is deleted with its last URL. A host has at most layout.MaxOpenBlocks open
// blocks, that is blocks that some URLs have left. When there is one more, the oldest is rewritten,
// together with the URLs that have left it and are still queued.
//
// Invariants of the keys of a queue, on which package reader relies:
//
//   - a number belongs to at most one block;
//   - the list of an open block has no URL that has a key of its own;
//   - no URL of a block that is not open has a key of its own.
//
// The only state is the blocks that are not written yet, Frontier.newBlocks.

// entry reads the entry of a place; in says that it stands in a block. The entry is good until the
// next read of the partition.
func (pg part) entry(h crawl.Host, band crawl.Band, seq uint64) (entry []byte, in, ok bool) {
	pg.f.flushBlocks()
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

// setEntry replaces the entry of a place, which entry has read. It does not touch the host.
func (pg part) setEntry(h crawl.Host, at layout.QueueSlot, in bool, entry []byte) {
	if in {
		pg.leaveBlock(h, at)
	}
	pg.Set(layout.AppendQueueKey(pg.Scratch(), h, at.Band, at.Seq), entry)
}

// removeEntry gives up a place, which entry has read.
func (pg part) removeEntry(h crawl.Host, at layout.QueueSlot, in bool) {
	switch e := pg.Host(h); {
	case e.Inline.At(at.Band, at.Seq):
		e.Inline = nil
		pg.Touch(e)
	case in:
		pg.leaveBlock(h, at)
	default:
		pg.Del(layout.AppendQueueKey(pg.Scratch(), h, at.Band, at.Seq))
	}
}

// leaveBlock takes a URL out of its block.
func (pg part) leaveBlock(h crawl.Host, at layout.QueueSlot) {
	e := pg.Host(h)
	pg.Touch(e)
	open := e.Open(at.Band, at.Seq)
	if open == nil {
		if len(e.Blocks) >= layout.MaxOpenBlocks {
			pg.closeBlock(h, e.Blocks[0])
		}
		number := layout.BlockNumber(at.Seq)
		b := pg.block(h, at.Band, number)
		e.Blocks = append(e.Blocks, layout.OpenBlock{Band: at.Band, Number: number, Left: b.Left()})
		open = &e.Blocks[len(e.Blocks)-1]
	}
	if open.Left &^= 1 << (at.Seq % layout.BlockSpan); open.Left == 0 {
		pg.Del(layout.AppendQueueKey(pg.Scratch(), h, open.Band, open.Number))
		e.Close(*open)
	}
}

// block reads a block, which must be there. Its entries are good until the next read of the
// partition.
func (pg part) block(h crawl.Host, band crawl.Band, number uint64) (b layout.Block) {
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

// closeBlock writes an open block anew, with those of its URLs that have keys of their own, and
// forgets that it is open.
func (pg part) closeBlock(h crawl.Host, open layout.OpenBlock) {
	old := pg.block(h, open.Band, open.Number)
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
