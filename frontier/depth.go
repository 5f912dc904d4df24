package frontier

import (
	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
)

// lowerDepth lowers the depth of a queued URL that is found again with fewer links
// from a seed than before, so that a depth limit counts from the lower depth. The URL
// keeps its place in the queue. A lease, or an item in memory, keeps the depth that
// it was loaded with. A URL that is named as a seed becomes one, so that the target of
// its redirect joins the scope.
func (pg part) lowerDepth(t *crawl.Target, fp layout.Fingerprint, found *lookup) {
	host := layout.HostOf(t.URL)
	rec := found.rec.Record
	pg.split(host, pg.Host(host))
	q, ok := pg.queueEntry(host, rec.Band, rec.Seq)
	if !ok {
		return // the store is damaged, or cannot be read; completing the URL reports it
	}
	q.Item.URL, q.Item.Depth, rec.URL, rec.Depth = t.URL, t.Depth, t.URL, t.Depth
	if t.Via.Named() {
		q.Item.Via, rec.Via = t.Via, t.Via
	}
	if rec.DepthCut {
		q.Item.ETag, q.Item.LastModified = "", "" // as in requeue
	}
	pg.setEntry(host, layout.QueueSlot{Band: rec.Band, Seq: rec.Seq}, q.InBlock, q.Encode())
	pg.Set(layout.AppendRecordKey(nil, host, fp.Probe(found.probe)), layout.EncodeRecord(&rec))
}

// split gives the only URL of a host the record and the place in the queue that it would
// have had. Of any other host nothing changes.
func (pg part) split(h crawl.Host, e *commit.Host) {
	if e.Inline == nil {
		return
	}
	it, err := e.Inline.Item(h)
	if err != nil {
		pg.Group.Fail(err)
		return
	}
	pg.Set(layout.AppendQueueKey(nil, h, it.Band, it.Seq), e.Inline.Entry)
	rec := crawl.Record{Item: it, State: crawl.Queued}
	pg.Set(layout.AppendRecordKey(nil, h, layout.FingerprintOf(it.URL.String())),
		layout.EncodeRecord(&rec))
	e.Inline = nil
	pg.Touch(e)
}
