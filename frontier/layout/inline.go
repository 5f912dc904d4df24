package layout

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

// MaxInline bounds an inline URL's queue entry, in bytes. It keeps what moving the URL out
// adds to a transaction within what the budget allows for a link.
const MaxInline = 128

// InlineURL is the only URL of a host. It was never tried, and its depth was never lowered.
type InlineURL struct {
	Band  crawl.Band
	Seq   uint64
	Entry []byte // as in the queue
}

// At reports whether the URL is the one with this number.
func (s *InlineURL) At(band crawl.Band, seq uint64) bool {
	return s != nil && s.Band == band && s.Seq == seq
}

// Record is the record that the host's only URL would have; ok is false when that URL is
// not u.
func (s *InlineURL) Record(u urlnorm.URL) (rec StoredRecord, ok bool, err error) {
	if s == nil {
		return StoredRecord{}, false, nil
	}
	q, err := DecodeQueued(s.Entry)
	if err != nil || !SameURL(u, q.HTTPS, q.Rest) {
		return StoredRecord{}, false, err
	}
	rec = StoredRecord{
		HTTPS:  q.HTTPS,
		Rest:   q.Rest,
		Record: crawl.Record{Item: q.Item, State: crawl.Queued, Referrer: string(q.Referrer)},
	}
	rec.Band, rec.Seq = s.Band, s.Seq
	return rec, true, nil
}

// Item is the URL as it is loaded.
func (s *InlineURL) Item(h crawl.Host) (crawl.Item, error) {
	return DecodeItem(h, s.Band, s.Seq, s.Entry)
}

// Fingerprint names the record that the URL would have.
func (s *InlineURL) Fingerprint(h crawl.Host) (Fingerprint, error) {
	q, err := DecodeQueued(s.Entry)
	if err != nil {
		return Fingerprint{}, fmt.Errorf("%w of %s", err, h)
	}
	return FingerprintOf(schemeOf(q.HTTPS) + "://" + string(h) + string(q.Rest)), nil
}
