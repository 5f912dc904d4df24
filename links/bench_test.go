package links

import (
	"fmt"
	"testing"

	"crawlnode/crawl"
)

// BenchmarkComplete is the way of a page's 40 links: a quarter is of the page's own
// partition, a quarter of others that are held here, half belongs to two other nodes.
func BenchmarkComplete(b *testing.B) {
	page := linkTo(b, "http://page.test/")
	a := &around{
		held: map[crawl.Partition]bool{page.Partition: true},
		says: map[crawl.Partition]crawl.NodeID{},
	}
	o := crawl.Outcome{Kind: crawl.Fetched}
	for i := range 40 {
		host := "page.test"
		if i%4 > 0 {
			host = fmt.Sprintf("h%d.test", i)
		}
		l := linkTo(b, fmt.Sprintf("http://%s/section/page-%d.html", host, i))
		l.Target.Again = false
		switch i % 4 {
		case 1:
			a.held[l.Partition] = true
		case 2, 3:
			a.says[l.Partition] = crawl.NodeID(fmt.Sprint("n", i%4))
		}
		o.Targets = append(o.Targets, l.Target)
	}
	k, _ := completer(a)
	b.ReportAllocs()
	for b.Loop() {
		a.did, a.stored = a.did[:0], a.stored[:0]
		if err := k.Complete(b.Context(), visitOf(page), o); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWire turns a link into its message and back.
func BenchmarkWire(b *testing.B) {
	l := linkTo(b, "http://www.example.org/some/section/page-12345.html?of=7")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := fromWire(wireOf(l), 512); err != nil {
			b.Fatal(err)
		}
	}
}
