package frontier

import "crawlnode/crawl"

// nearer lowers the depth of a queued URL that is found again with fewer links
// from a seed than before, so that a depth limit counts from the lower depth. The URL
// keeps its place in the queue. A lease, or an item in memory, keeps the depth that
// it was loaded with. A URL that is named as a seed becomes one, so that the target of
// its redirect joins the scope.
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

// split gives the only URL of a host the record and the place in the queue that it would
// have had. Of any other host nothing changes.
func (pg *partGroup) split(h crawl.Host, e *groupHost) {
	if e.sole == nil {
		return
	}
	it, err := e.sole.item(h)
	if err != nil {
		pg.g.fail(err)
		return
	}
	pg.set(appendQueueKey(nil, h, it.Band, it.Seq), e.sole.entry)
	rec := crawl.Record{Item: it, State: crawl.Queued}
	pg.set(appendRecordKey(nil, h, fingerprintOf(it.URL.String())), encodeRecord(&rec))
	e.sole = nil
	pg.touch(e)
}
