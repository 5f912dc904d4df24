package frontier

import (
	"fmt"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// Most hosts of a wide crawl have one known URL until that is fetched. Such a URL is
// stored inline in the host's entry, as the queue entry that it would have: it has neither
// a record nor a place in the queue. So a new host costs two keys, not four. A second URL,
// a failed try or a lower depth moves the URL out into its own keys, as if it had never
// been inline. Completing the URL writes its record.

// maxSole bounds an inline URL's queue entry, in bytes. It keeps what moving the URL out
// adds to a transaction within what the budget allows for a link.
const maxSole = 128

// sole is the only URL of a host. It was never tried, and its depth was never lowered.
type sole struct {
	band  crawl.Band
	seq   uint64
	entry []byte // as in the queue
}

// at reports whether the URL is the one with this number.
func (s *sole) at(band crawl.Band, seq uint64) bool {
	return s != nil && s.band == band && s.seq == seq
}

// record is the record that the host's only URL would have; ok is false when that URL is
// not u.
func (s *sole) record(u urlnorm.URL) (rec stored, ok bool, err error) {
	if s == nil {
		return stored{}, false, nil
	}
	q, err := decodeQueued(s.entry)
	if err != nil || !sameURL(u, q.https, q.rest) {
		return stored{}, false, err
	}
	rec = stored{https: q.https, rest: q.rest, Record: crawl.Record{Item: q.item, State: crawl.Queued}}
	rec.Band, rec.Seq = s.band, s.seq
	return rec, true, nil
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
