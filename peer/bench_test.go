package peer

import (
	"context"
	"fmt"
	"testing"
)

// drain is a node that takes links and keeps none.
type drain struct{ fakeNode }

func (*drain) StoreLinks(
	_ context.Context,
	_ string,
	links []*Link,
	_ *RulesStamp,
) ([]Verdict, error) {
	out := make([]Verdict, len(links))
	for i := range out {
		out[i] = Verdict_VERDICT_ADDED
	}
	return out, nil
}

// BenchmarkForward carries batches over loopback, 64 callers at once, without
// what a node does with a link. The figure is for one batch, both ends.
func BenchmarkForward(b *testing.B) {
	for _, n := range []int{1, 20, 200} {
		b.Run(fmt.Sprintf("links=%d", n), func(b *testing.B) {
			to, _ := startServer(b, &drain{}, "c1")
			p := newPool(b, "c1")
			batch := make([]*Link, n)
			for i := range batch {
				batch[i] = &Link{Url: fmt.Sprintf(
					"https://docs.h%d.example/guide/section/some-title-of-a-page-%d.html", i,
					i), Partition: uint32(300 + i), Depth: 5, Band: 3, Via: 1}
			}
			b.SetParallelism(32)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := p.Forward(b.Context(), to, batch); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}
