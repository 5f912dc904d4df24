package frontier

import (
	"crawlnode/crawl"
)

// recount makes a partition's books of its keys: what else was counted is lost.
func (v *view) recount() (m metaEntry, err error) {
	it := v.iterate(nil)
	defer it.Close()
	for it.Seek(v.abs(nil)); it.Valid(); it.Next() {
		rel := it.Key()[prefixLen:]
		c := &m.counters
		switch rel[0] {
		case tableHosts:
			value, err := it.Value()
			if err != nil {
				return m, err
			}
			e, err := decodeHost(value)
			if err != nil || e.admitted() {
				c.Hosts++
			}
			if err == nil && e.sole != nil {
				c.Seen++
				c.Queued[e.sole.band]++
			}
		case tableQueue:
			if band := len(rel) - 9; band > 0 && rel[band] < crawl.Bands {
				c.Queued[rel[band]]++
			}
		case tableOutbox:
			if k, ok := parseOutboxKey(rel); ok {
				c.Outbox++
				m.outboxNext = max(m.outboxNext, k.Seq)
			}
		case tableContents:
			c.Contents++
		case tableRecords:
			c.Seen++
			value, err := it.Value()
			if err != nil {
				return m, err
			}
			if rec, err := decodeRecord(value); err == nil && rec.State == crawl.Failed {
				c.Failed++
			} else if err == nil && rec.State == crawl.Done {
				c.Pages++
			}
		}
	}
	return m, nil
}
