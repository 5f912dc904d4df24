package reader

import (
	"crawlnode/crawl"
	"crawlnode/frontier/layout"
)

// Recount makes a partition's books from its keys. Other counters are lost.
func (v *Partition) Recount() (m layout.MetaEntry, err error) {
	it := v.Iterate(nil)
	defer it.Close()
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
			if err == nil && e.Inline != nil {
				c.Seen++
				c.Queued[e.Inline.Band]++
			}
		case layout.TableQueue:
			if band := len(rel) - 9; band > 0 && rel[band] < crawl.Bands {
				c.Queued[rel[band]]++
			}
			value, err := it.Value()
			if err != nil {
				return m, err
			}
			if q, err := layout.DecodeQueued(value); err == nil && q.Item.Revisit {
				c.QueuedRevisits++
			}
		case layout.TableOutbox:
			if k, ok := layout.ParseOutboxKey(rel); ok {
				c.Outbox++
				m.OutboxNext = max(m.OutboxNext, k.Seq)
			}
		case layout.TableContents:
			c.Contents++
		case layout.TableRecords:
			c.Seen++
			value, err := it.Value()
			if err != nil {
				return m, err
			}
			if rec, err := layout.DecodeRecord(value); err == nil && rec.State == crawl.Failed {
				c.Failed++
			} else if err == nil && rec.State == crawl.Done {
				c.Pages++
			}
		}
	}
	return m, nil
}
