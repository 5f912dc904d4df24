package layout

import (
	"bytes"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestReferrer: a page of the URL's own host costs eight bytes, another one its URL.
func TestReferrer(t *testing.T) {
	t.Parallel()
	long := "http://b.test/" + strings.Repeat("x", maxReferrer)
	for _, c := range []struct {
		page string
		size int
		here bool
	}{
		{"", 0, false}, {"http://a.test/x?y", 7, true}, {"https://a.test:8443/", 7, true}, {"http://a.test.b/", 10, false},
		{"https://b.test/y", 9, false}, {"http://b.test:81/", 11, false}, {long, 0, false},
	} {
		ref := ReferrerOf(c.page, "a.test")
		prefix, here := ref.KeyPrefix("a.test")
		if len(ref) != c.size || here != c.here {
			t.Errorf("%q: %x", c.page, []byte(ref))
		}
		if page, ok := ref.URL(); ok == (here || c.size == 0) || ok && page != c.page {
			t.Errorf("%q became %q", c.page, page)
		}
		if here && !bytes.HasPrefix(AppendRecordKey(nil, "a.test", FingerprintOf(c.page)), prefix) {
			t.Errorf("%q is not under %x", c.page, prefix)
		}
		q, err := DecodeQueued(
			(&QueueEntry{Referrer: ref, Item: crawl.Item{URL: canonical("http://a.test/z")}}).Encode())
		if err != nil || !bytes.Equal(q.Referrer, ref) || string(q.Rest) != "/z" {
			t.Errorf("%q in a queue: %+v, %v", c.page, q, err)
		}
		rec := crawl.Record{
			Item:     crawl.Item{URL: canonical("http://a.test/z")},
			State:    crawl.Done,
			Referrer: string(ref),
		}
		if s, err := DecodeRecord(EncodeRecord(&rec)); err != nil || s.Referrer != rec.Referrer {
			t.Errorf("%q in a record: %+v, %v", c.page, s, err)
		}
	}
	for _, bad := range []string{"", "\x00", "\x00abc", "\x03b.test/",
		"\x01" + strings.Repeat("x", maxReferrer+1)} {
		rec := crawl.Record{
			Item:     crawl.Item{URL: canonical("http://a.test/z")},
			State:    crawl.Done,
			Referrer: bad,
		}
		if _, err := DecodeRecord(EncodeRecord(&rec)); err == nil && bad != "" {
			t.Errorf("%q was taken", bad)
		}
	}
}
