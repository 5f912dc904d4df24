package frontier

import "crawlnode/crawl"

// nearer lowers the depth of a queued URL that is found again with fewer links
// from a seed than before, so that a depth limit counts from there. It keeps its
// place in the queue: who has leased it, or has it in memory, goes on with the
// depth that it was loaded with. A seed becomes one, so that its redirect takes
// the scope along.
func (pg *partGroup) nearer(t *crawl.Target, fp fingerprint, found *lookup) {
	host := hostOf(t.URL)
	rec := found.rec.Record
	pg.split(host, pg.host(host))
	q, ok := pg.queueEntry(host, rec.Band, rec.Seq)
	if !ok {
		return // the store is damaged, or cannot be read; whoever completes the URL says so
	}
	q.item.URL, q.item.Depth, rec.URL, rec.Depth = t.URL, t.Depth, t.URL, t.Depth
	if t.Via == crawl.ViaSeed {
		q.item.Via, rec.Via = t.Via, t.Via
	}
	pg.set(appendQueueKey(nil, host, rec.Band, rec.Seq), encodeQueued(&q.item, q.refetch, q.probe))
	pg.set(appendRecordKey(nil, host, fp.probe(found.probe)), encodeRecord(&rec))
}
