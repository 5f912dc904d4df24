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
			r := ms[0].batch(&peer.ContentBatch{
				Questions: []*peer.ContentQuestion{{Url: c.url, Simhash: c.print}},
			}).Answers[0]
			if r.NearUrl != c.near || r.NearDistance != c.distance {
				t.Errorf("%d: %s is near to %q by %d, want %q by %d", i, c.url, r.NearUrl, r.NearDistance,
					c.near, c.distance)
			}
		}
	})
}

// A member looks at the blocks whose partitions it holds, and together they find what one alone
// would.
func TestNearestOfMany(t *testing.T) {
	cluster(t, []crawl.NodeID{"n1", "n2", "n3"}, func(t *testing.T, ms []*member) {
		ask := func(m *member, url string, print uint64) *peer.ContentAnswer {
			return m.batch(&peer.ContentBatch{
				Questions: []*peer.ContentQuestion{{Url: url, Simhash: print}},
			}).Answers[0]
		}
		for kept := range 4 { // the only block that is the same
			first := 0x1111_2222_3333_4444 * uint64(kept+1)
			for _, m := range ms {
				ask(m, "http://a.test/", first)
			}
			print := first
			for i := range 4 {
				if i != kept {
					print ^= 1 << (16*i + 15)
				}
			}
			holders := 0
			for _, m := range ms {
				by, found := m.heldBlocks(print), ask(m, "http://b.test/", print).NearUrl == "http://a.test/"
				none := by == [4]bool{true, true, true, true}
				if found != by[kept] && !none {
					t.Errorf("block %d, which a member %v holds: found %t", kept, by, found)
				}
				if m.o.Cluster.Holder(blockPartitions(print, m.o.Cluster.Partitions())[kept]) == m.o.Self {
					holders++
					if !found {
						t.Errorf("the holder of block %d has not found it", kept)
					}
				}
			}
			if holders != 1 {
				t.Fatalf("%d holders of a partition", holders)
			}
		}
	})
}
