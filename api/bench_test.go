package api

import (
	"fmt"
	"net/http"
	"testing"

	"crawlnode/crawl"
)

// BenchmarkStatus writes /status as JSON; its figures were collected before.
func BenchmarkStatus(b *testing.B) {
	for _, n := range []int{3, 100, 1000} {
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			f := &fakeNode{ready: true}
			for i := range n {
				held, queued, pages, rate, lease, pid := 1024/
					n, int64(i)<<20, int64(i)<<16, 123.4567, 7.654321, 1000+i
				f.status.Nodes = append(f.status.Nodes, crawl.NodeStatus{
					ID: crawl.NodeID(fmt.Sprintf("%016x", i)), Name: fmt.Sprintf("node%d", i),
					State: crawl.NodeAlive,
					HTTP:  "192.0.2.1:27295", RPC: "192.0.2.1:27297", Gossip: "192.0.2.1:27296", PID: &pid,
					PagesPerSecond: &rate, PagesTotal: &pages,
					Queued: &queued, LeaseRemainingSeconds: &lease,
					Partitions: crawl.PartitionCounts{Held: &held, Replica: &held},
				})
			}
			h := New(f, Options{})
			b.ReportAllocs()
			for b.Loop() {
				w := ask(h, http.MethodGet, "/status", "")
				if w.Code != http.StatusOK {
					b.Fatal(w.Code)
				}
				b.SetBytes(int64(w.Body.Len()))
			}
		})
	}
}
