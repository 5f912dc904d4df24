package reader

import (
	"math/bits"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/result"
	"crawlnode/frontier/storage"
)

// Recount makes a partition's books from its keys. Other counters are lost.
func (v *Partition) Recount() (m layout.MetaEntry, err error) {
	it := v.Iterate(nil)
	defer it.Close()
	open := map[crawl.Host][]layout.OpenBlock{} // hosts come before queues
	for it.Seek(v.Abs(nil)); it.Valid(); it.Next() {
		rel := it.Key()[layout.PrefixLen:]
		c := &m.Counters
		switch rel[0] {
		case layout.TableHosts:
			value, err := it.Value()
			if err != nil {
				return m, err
			}
			e, err := layout.DecodeHost(value)
			if err != nil || e.Admitted() {
				c.Hosts++
			}
			if err == nil && !e.WalledSince.IsZero() {
				c.HostsWalled++
			}
			if err == nil && e.Inline != nil {
				c.Seen++
				c.Queued[e.Inline.Band]++
			}
			if err == nil && len(e.Blocks) > 0 {
				open[crawl.Host(rel[1:])] = e.Blocks
			}
		case layout.TableQueue:
			value, err := it.Value()
			if err != nil {
				return m, err
			}
			recountQueued(c, open, rel, value)
		case layout.TableOutbox:
			if k, ok := layout.ParseOutboxKey(rel); ok {
				c.Outbox++
				m.OutboxNext = max(m.OutboxNext, k.Seq)
			}
		case layout.TableCash, layout.TableCredits:
			if err := recountCash(&m, it, rel); err != nil {
				return m, err
			}
		case layout.TableContents:
			c.Contents++
		case layout.TableGuests:
			value, err := it.Value()
			if err != nil {
				return m, err
			}
			recountGuests(c, rel, len(value))
		case layout.TableRecords:
			c.Seen++
			value, err := it.Value()
			if err != nil {
				return m, err
			}
			if rec, err := layout.DecodeRecord(value); err == nil && rec.State == crawl.Failed {
				c.Failed++
				if why, ok := result.GiveUp(&rec.Record); ok {
					c.GivenUp[why]++
				}
			} else if err == nil && rec.State == crawl.Done {
				c.Pages++
			}
		}
	}
	return m, nil
}

// recountQueued counts the URLs of a key of a queue.
func recountQueued(c *crawl.Counters, open map[crawl.Host][]layout.OpenBlock, rel, value []byte) {
	at := len(rel) - 9
	if at < 2 || rel[at] >= crawl.Bands {
		return
	}
	band := crawl.Band(rel[at])
	if !layout.IsBlock(value) {
		c.Queued[band]++
		if q, err := layout.DecodeQueued(value); err == nil && q.Item.Revisit {
			c.QueuedRevisits++
		}
		return
	}
	b, err := layout.DecodeBlock(value)
	if err != nil {
		return
	}
	left := b.Left() // none of them is a revisit
	e := layout.HostEntry{Blocks: open[crawl.Host(rel[1:at-1])]}
	if seq, ok := layout.SeqOfQueueKey(rel); ok {
		if o := e.Open(band, seq); o != nil {
			left &= o.Left
		}
	}
	c.Queued[band] += int64(bits.OnesCount32(left))
}

// recountCash finds the highest number that an entry of credits may have had.
func recountCash(m *layout.MetaEntry, it storage.Iterator, rel []byte) error {
	if k, ok := layout.ParseCreditsKey(rel); ok {
		m.OutboxNext = max(m.OutboxNext, k.Seq)
	}
	if seq, ok := layout.ParseCashKey(rel, layout.CashLog); ok {
		m.OutboxNext = max(m.OutboxNext, seq)
	}
	if string(rel) != layout.CashTotals {
		return nil
	}
	value, err := it.Value()
	if err != nil {
		return err
	}
	if t, err := layout.DecodeCashTotals(value); err == nil {
		m.OutboxNext = max(m.OutboxNext, t.Next)
	}
	return nil
}

// recountGuests counts a key of what clients of the URLFrontier protocol have said.
func recountGuests(c *crawl.Counters, rel []byte, size int) {
	switch {
	case layout.IsGuest(rel):
		c.Guests++
		c.NoteBytes += int64(size)
	case layout.IsGuestWaiting(rel):
		c.GuestsActive++
	case layout.IsNoteDate(rel):
		c.NoteDates++
	case layout.IsNote(rel):
		c.NoteBytes += int64(size)
	}
}
