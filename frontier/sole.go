package frontier

import (
	"fmt"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// Most hosts of a wide crawl are known by one URL until that is fetched. Such a host's
// only URL stands in the host's entry, as the queue entry that it would have: it has
// neither a record nor a place in the queue. So a new host costs two keys, not four.
// A second URL, a failed try or another depth splits them, and it is as if they had
// never been one; what completes the URL writes its record.

// maxSole bounds what a host's entry holds for its only URL, in bytes. It keeps what a
// split adds to a transaction within what budget allows for a link.
const maxSole = 128

// sole is the only URL of a host: it was never tried, nor found nearer to a seed.
type sole struct {
	band  crawl.Band
	seq   uint64
	entry []byte // as in the queue
}

// at reports whether the URL is the one with this number.
func (s *sole) at(band crawl.Band, seq uint64) bool {
	return s != nil && s.band == band && s.seq == seq
}

// lookup is what stands for the record of the host's only URL when that is u.
func (s *sole) lookup(u urlnorm.URL) (found lookup, err error) {
	if s == nil {
		return lookup{}, nil
	}
	q, err := decodeQueued(s.entry)
	if err != nil || !sameURL(u, q.https, q.rest) {
		return lookup{}, err
	}
	return lookup{ok: true, rec: s.record(&q)}, nil
}

// record is the record that the URL would have.
func (s *sole) record(q *queued) stored {
	rec := stored{https: q.https, rest: q.rest, Record: crawl.Record{Item: q.item, State: crawl.Queued}}
	rec.Band, rec.Seq = s.band, s.seq
	return rec
}

// item is the URL as it is loaded.
func (s *sole) item(h crawl.Host) (crawl.Item, error) {
	return decodeItem(h, s.band, s.seq, s.entry)
}

// fingerprint names the record that the URL would have.
func (s *sole) fingerprint(h crawl.Host) (fingerprint, error) {
	q, err := decodeQueued(s.entry)
	if err != nil {
		return fingerprint{}, fmt.Errorf("%w of %s", err, h)
	}
	return fingerprintOf(schemeOf(q.https) + "://" + string(h) + string(q.rest)), nil
}

// split gives the only URL of a host the record and the place in the queue that it would
// have had. Of any other host nothing changes.
func (pg *partGroup) split(h crawl.Host, e *hostEntry) {
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
