package frontier

import (
	"crawlnode/crawl"
	"crawlnode/frontier/layout"
)

// lowerDepth lowers the depth of a queued URL that is found again with fewer links
// from a seed than before, so that a depth limit counts from the lower depth. The URL
// keeps its place in the queue. A lease, or an item in memory, keeps the depth that
// it was loaded with. A URL that is named as a seed becomes one, so that the target of
// its redirect joins the scope.
func (pg *partGroup) lowerDepth(t *crawl.Target, fp layout.Fingerprint, found *lookup) {
	host := layout.HostOf(t.URL)
	rec := found.rec.Record
	pg.split(host, pg.host(host))
	q, ok := pg.queueEntry(host, rec.Band, rec.Seq)
	if !ok {
		return // the store is damaged, or cannot be read; whoever completes the URL says so
	}
	q.Item.URL, q.Item.Depth, rec.URL, rec.Depth = t.URL, t.Depth, t.URL, t.Depth
	if t.Via == crawl.ViaSeed {
		q.Item.Via, rec.Via = t.Via, t.Via
	}
	pg.set(layout.AppendQueueKey(nil, host, rec.Band, rec.Seq), layout.EncodeQueued(&q.Item, q.Refetch, q.Probe))
	pg.set(layout.AppendRecordKey(nil, host, fp.Probe(found.probe)), layout.EncodeRecord(&rec))
}

// split gives the only URL of a host the record and the place in the queue that it would
// have had. Of any other host nothing changes.
func (pg *partGroup) split(h crawl.Host, e *groupHost) {
	if e.Inline == nil {
		return
	}
	it, err := e.Inline.Item(h)
	if err != nil {
		pg.g.fail(err)
		return
	}
	pg.set(layout.AppendQueueKey(nil, h, it.Band, it.Seq), e.Inline.Entry)
	rec := crawl.Record{Item: it, State: crawl.Queued}
	pg.set(layout.AppendRecordKey(nil, h, layout.FingerprintOf(it.URL.String())), layout.EncodeRecord(&rec))
	e.Inline = nil
	pg.touch(e)
}
