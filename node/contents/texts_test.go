package contents

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/peer"
)

// Pages with nearly the same text all name the first of them.
func TestNearest(t *testing.T) {
	cluster(t, []crawl.NodeID{"n1"}, func(t *testing.T, ms []*member) {
		for i, c := range []struct {
			url      string
			print    uint64
			near     string
			distance uint32
		}{
			{"http://a.test/", 0xffff0000ffff0000, "", 0},
			{"http://b.test/", 0xffff0000ffff0001, "http://a.test/", 1},
			{"http://c.test/", 0xffff0000ffff0007, "http://a.test/", 3},
			{"http://d.test/", 0xffff0000ffff000f, "", 0},
			{"http://a.test/", 0xffff0000ffff0000, "", 0},
			{"http://e.test/", 0x7fff0000ffff000f, "http://d.test/", 1},
		} {
			r := ms[0].batch(&peer.ContentBatch{Questions: []*peer.ContentQuestion{{Url: c.url, Simhash: c.print}}}).Answers[0]
			if r.NearUrl != c.near || r.NearDistance != c.distance {
				t.Errorf("%d: %s is near to %q by %d, want %q by %d", i, c.url, r.NearUrl, r.NearDistance, c.near, c.distance)
			}
		}
	})
}
