package status

import (
	"encoding/json"
	"fmt"
	"testing"

	"crawlnode/crawl"
)

// BenchmarkMerge makes the status of a cluster from its members' blocks; each node holds the same
// number of partitions.
func BenchmarkMerge(b *testing.B) {
	for _, s := range []struct{ nodes, partitions int }{{3, 1024}, {100, 1024}, {100, 16384}, {1000, 16384}} {
		b.Run(fmt.Sprintf("nodes=%d/partitions=%d", s.nodes, s.partitions), func(b *testing.B) {
			var nodes []Node
			for i := range s.nodes {
				nodes = append(nodes, memberOf(fmt.Sprintf("n%d", i), 0))
			}
			p := clusterOf(nodes...)
			p.Total = s.partitions
			for i := range p.Nodes {
				held := make([]byte, s.partitions/8)
				for k := i; k < s.partitions; k += s.nodes {
					crawl.SetBit(held, k)
				}
				p.Nodes[i].Held = held
			}
			b.ReportAllocs()
			for b.Loop() {
				Merge(p)
			}
		})
	}
}

// BenchmarkBlock decodes and encodes the content of a renewal.
func BenchmarkBlock(b *testing.B) {
	n := memberOf("n1", 500)
	text, err := json.Marshal(n.Block)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := json.Marshal(n.Block); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var block crawl.NodeBlock
			if err := json.Unmarshal(text, &block); err != nil {
				b.Fatal(err)
			}
		}
	})
}
