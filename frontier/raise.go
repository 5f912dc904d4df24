package frontier

import (
	"context"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/order"
	"crawlnode/frontier/reader"
)

// A queued URL is moved to a better band when links say more of it (package order). Then it has
// another place and another number, and who has loaded or leased it knows the old one. So its queue
// entry names the places where it stood since it was queued, layout.MaxMoves at most: a lease is of
// the URL as long as its place is among them.

// score gives a new URL the band that its score makes, and has its host found by the numbers of its
// URLs.
func (pg part) score(o *order.Policy, t *crawl.Target, e *commit.Host, q *layout.QueueEntry) {
	if q.Base, q.Item.Band, q.Scored = o.Admit(t, pg.Group.Now.Now); q.Scored && !e.Indexed &&
		o.ByLinks() {
		host := layout.HostOf(t.URL)
		key := layout.AppendHostNumberKey(nil, layout.CashHosts, layout.NumberOf(t.URL))
		pg.Set(append(key, host...), []byte{layout.FormatVersion})
		e.Indexed = true // take marks it for writing
	}
}

// slotOf reads the queue entry of an item, with the item's URL and its place: that of the item, or
// one to which it was moved from there.
func (pg part) slotOf(host crawl.Host, it *crawl.Item) (layout.QueueEntry, bool) {
	q, ok := pg.queueEntry(host, it.Band, it.Seq)
	if ok = ok && layout.SameURL(it.URL, q.HTTPS, q.Rest); !ok {
		return pg.movedFrom(host, it)
	}
	q.Item.URL, q.Item.Band, q.Item.Seq = it.URL, it.Band, it.Seq
	return q, true
}

// movedFrom finds the place of an item that was moved; false: it has left the queue, or was queued
// anew.
func (pg part) movedFrom(host crawl.Host, it *crawl.Item) (layout.QueueEntry, bool) {
	found := pg.lookup(it.URL, layout.FingerprintOf(it.URL.String()))
	if !found.ok || found.rec.State != crawl.Queued {
		return layout.QueueEntry{}, false
	}
	band, seq := found.rec.Band, found.rec.Seq
	q, ok := pg.queueEntry(host, band, seq)
	if !ok || !layout.SameURL(it.URL, q.HTTPS, q.Rest) || !q.WasAt(it.Band, it.Seq) {
		return layout.QueueEntry{}, false
	}
	q.Item.URL, q.Item.Band, q.Item.Seq = it.URL, band, seq
	return q, true
}

// Raise moves those of the URLs of a held partition to better bands that wait in a queue and whose
// scores are now good enough, and returns how many these were. A URL is moved layout.MaxMoves times
// at most since it was queued, and never to a worse band. It looks for the URLs in the caller's
// goroutine and is cut into several atomic pieces; after an error, some may have been moved. It
// fails with ErrNotHolder when the partition is not held here.
func (f *Frontier) Raise(
	ctx context.Context,
	p crawl.Partition,
	rises []order.Rise,
) (moved int, err error) {
	o := f.Order()
	if o == nil || len(rises) == 0 {
		return 0, nil
	}
	m, _, err := f.w.Held(p)
	if err != nil {
		return 0, err
	}
	var raises []order.Raise
	err = f.readDue(p, &m, func(v *reader.Partition) (err error) {
		raises, err = order.Find(v, o, rises)
		return err
	})
	for len(raises) > 0 && err == nil {
		piece := raises[:min(len(raises), duePiece)]
		raises = raises[len(piece):]
		n := 0
		err = f.do(ctx, &commit.Request{
			Patient: true,
			Entries: len(piece) * dueEntries,
			Bytes:   len(piece) * dueBytes,
			Apply: f.in(func(g group) error {
				n = 0 // it may be called again after a wait for space on the disk
				pg, err := g.leased(&crawl.Lease{Partition: p, Epoch: m.Epoch})
				for i := range piece {
					if err == nil && pg.raise(&piece[i]) {
						n++
					}
				}
				return err
			}),
		})
		moved += n
	}
	if err != nil {
		return moved, fmt.Errorf("frontier: moving URLs to better bands: %w", err)
	}
	return moved, nil
}

// raise moves a URL, if it still stands where it was found.
func (pg part) raise(r *order.Raise) bool {
	q, ok := pg.queueEntry(r.Host, r.From.Band, r.From.Seq)
	if !ok || !layout.SameURL(r.URL, q.HTTPS, q.Rest) || len(q.MovedFrom) >= layout.MaxMoves ||
		r.To >= r.From.Band {
		return false
	}
	q.Item.URL, q.Item.Band, q.Item.Seq = r.URL, r.From.Band, r.From.Seq
	q.MovedFrom = append(q.MovedFrom, r.From)
	e := pg.Host(r.Host)
	inline := e.Inline.At(r.From.Band, r.From.Seq)
	key := layout.AppendRecordKey(nil, r.Host, layout.FingerprintOf(r.URL.String()).Probe(q.Probe))
	rec := crawl.Record{Item: q.Item, State: crawl.Queued} // of a URL that has none
	if !inline {
		if rec = pg.stored(key, r.URL); rec.State != crawl.Queued {
			// the store is damaged, or cannot be read; completing the URL writes its record anew
			return false
		}
	}
	pg.dequeue(r.Host, &q)
	q.Item.Band = r.To
	pg.take(e, r.Host, &q.Item)
	entry := q.Encode()
	if inline && len(entry) <= layout.MaxInline {
		e.Inline = &layout.InlineURL{Band: q.Item.Band, Seq: q.Item.Seq, Entry: entry}
		return true
	}
	rec.Band, rec.Seq = q.Item.Band, q.Item.Seq
	pg.Set(layout.AppendQueueKey(nil, r.Host, q.Item.Band, q.Item.Seq), entry)
	pg.Set(key, layout.EncodeRecord(&rec))
	return true
}
