package reader

import (
	"bytes"
	"cmp"
	"slices"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// Slot reads the queue entry of a URL that is queued with this number, and is not the only one of
// its host: under a key of its own or in a block.
func (v *Partition) Slot(
	h crawl.Host,
	band crawl.Band,
	seq uint64,
) (entry []byte, ok bool, err error) {
	b, ok, err := v.Get(layout.AppendQueueKey(nil, h, band, seq))
	if err != nil || ok && !layout.IsBlock(b) {
		return b, ok, err
	}
	if b, ok, err = v.Get(layout.AppendQueueKey(nil, h, band, layout.BlockNumber(seq))); err != nil ||
		!ok || !layout.IsBlock(b) {
		return nil, false, err
	}
	return layout.OfBlock(b, seq)
}

// walk reads the places of a host in the order of their numbers, band after band.
type walk struct {
	it     storage.Iterator
	v      *Partition
	host   crawl.Host
	entry  *layout.HostEntry
	band   crawl.Band
	from   uint64
	prefix []byte
	ready  []slot // of one block, in order
}

type slot struct {
	seq   uint64
	entry []byte
}

// walk begins to read a host's queue. Close its iterator.
func (v *Partition) walk(h crawl.Host, e *layout.HostEntry) *walk {
	return &walk{
		it:    v.Iterate(append(layout.AppendHost(nil, layout.TableQueue, h), 0)),
		v:     v,
		host:  h,
		entry: e,
	}
}

// begin goes to a band's first place from a number on.
func (w *walk) begin(band crawl.Band, from uint64) {
	start := w.v.Abs(layout.AppendQueueKey(nil, w.host, band, from))
	w.band, w.from, w.prefix, w.ready = band, from, bytes.Clone(start[:len(start)-8]), w.ready[:0]
	w.it.Seek(start)
}

// next returns the next place of the band; a nil entry: there is none. The entry is good until the
// next call.
func (w *walk) next() (seq uint64, entry []byte, err error) {
	for len(w.ready) == 0 {
		if !w.it.Valid() || !bytes.HasPrefix(w.it.Key(), w.prefix) {
			return 0, nil, nil
		}
		seq, _ = layout.SeqOfQueueKey(w.it.Key())
		if entry, err = w.it.Value(); err != nil {
			return 0, nil, err
		}
		if w.entry.Open(w.band, seq) == nil && !layout.IsBlock(entry) {
			w.it.Next()
			return seq, entry, nil
		}
		if err := w.block(seq); err != nil {
			return 0, nil, err
		}
	}
	p := w.ready[0]
	w.ready = w.ready[1:]
	return p.seq, p.entry, nil
}

// block reads a block, with those of its URLs that have keys of their own: these stand in front of
// it, but some of those that are left come before them.
func (w *walk) block(seq uint64) error {
	number := layout.BlockNumber(seq)
	for ; w.it.Valid() && bytes.HasPrefix(w.it.Key(), w.prefix); w.it.Next() {
		if seq, _ = layout.SeqOfQueueKey(w.it.Key()); seq > number {
			break
		}
		value, err := w.it.Value()
		if err != nil {
			return err
		}
		value = bytes.Clone(value)
		if !layout.IsBlock(value) {
			w.ready = append(w.ready, slot{seq, value})
			continue
		}
		if err := w.left(value, number); err != nil {
			return err
		}
	}
	slices.SortFunc(w.ready, func(a, b slot) int { return cmp.Compare(a.seq, b.seq) })
	return nil
}

// left takes those of a block that have not left it.
func (w *walk) left(value []byte, number uint64) error {
	b, err := layout.DecodeBlock(value)
	if err != nil {
		return err
	}
	open := w.entry.Open(w.band, number)
	for i, entry := range b {
		seq := layout.FirstOfBlock(number) + uint64(i)
		if len(entry) > 0 && seq >= w.from && (open == nil || open.Has(seq)) {
			w.ready = append(w.ready, slot{seq, entry})
		}
	}
	return nil
}

// Heads finds the first place of each band of a host; 0: the band is empty.
func (v *Partition) Heads(h crawl.Host, e *layout.HostEntry) (heads Cursor, err error) {
	w := v.walk(h, e)
	defer w.it.Close()
	for b := range crawl.Band(crawl.Bands) {
		if e.Bands[b].Queued == 0 {
			continue
		}
		w.begin(b, e.Bands[b].Head)
		if heads[b], _, err = w.next(); err != nil {
			return heads, err
		}
	}
	return heads, nil
}
