package heartbeat

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"crawlnode/crawl"
	"crawlnode/peer"
)

// sizes are clusters in which each node holds the same number of partitions.
var sizes = []struct{ nodes, partitions int }{{3, 1024}, {100, 1024}, {100, 16384}, {1000, 16384}}

// heldBy is the bitmap of the partitions that the i-th of the nodes holds.
func heldBy(i, nodes, partitions int) []byte {
	held := make([]byte, partitions/8)
	for p := i; p < partitions; p += nodes {
		crawl.SetBit(held, p)
	}
	return held
}

// BenchmarkHeard takes in one member's renewal, which says what the last one said.
// Each node gets one of each other node a second.
func BenchmarkHeard(b *testing.B) {
	for _, s := range sizes {
		b.Run(fmt.Sprintf("nodes=%d/partitions=%d", s.nodes, s.partitions), func(b *testing.B) {
			t := NewTable()
			info := func(i int) (crawl.NodeID, Report) {
				return crawl.NodeID(fmt.Sprintf("%016x", i)), Report{Held: heldBy(i, s.nodes, s.partitions), Heard: time.Now()}
			}
			for i := range s.nodes - 1 {
				id, x := info(i)
				t.Put(id, x, s.partitions)
			}
			id, x := info(0)
			b.ReportAllocs()
			for b.Loop() {
				x.Heard = time.Now()
				t.Put(id, x, s.partitions)
			}
		})
	}
}

// BenchmarkServe answers a member's heartbeat, with its block and without.
func BenchmarkServe(b *testing.B) {
	o := beating(&fakeMembers{})
	o.Members = quiet{o.Members}
	o.Block, o.Revisits = func() *crawl.NodeBlock { return blockAt(1) }, func() []byte { return nil }
	h := New(o)
	msg := h.message()
	for name, req := range map[string]*peer.RenewRequest{"full": msg.full, "brief": msg.brief} {
		b.Run(name, func(b *testing.B) {
			if _, err := h.Serve("p", msg.full); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if reply, err := h.Serve("p", req); err != nil || reply.Number != 1 {
					b.Fatal(reply, err)
				}
			}
			b.ReportMetric(float64(proto.Size(req)), "sent-B")
		})
	}
}

// quiet are members that note nothing.
type quiet struct{ Members }

func (quiet) Grant(crawl.Epoch, crawl.NodeID, crawl.Boot) bool  { return true }
func (quiet) ClockTold(crawl.NodeID, crawl.Boot, time.Duration) {}
