package frontier

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
)

// fillLinks are n URLs from the first-th on: ten of a host in a row, as new links of a page come,
// over so many hosts.
func fillLinks(first, n, hosts, partitions int) []crawl.Routed {
	urls := make([]crawl.Routed, 0, n)
	for i := first; i < first+n; i++ {
		host, page := i/10%hosts, i/10/hosts*10+i%10
		urls = append(urls, link(fmt.Sprintf("http://h%d.p%d.test/section-%d/page-%d.html", host,
			host*7%partitions, page%7, page)))
	}
	return urls
}

// BenchmarkFill is the cost of one URL among many, a thousand at a time to 1,024 partitions: a new
// one, one that follows as a copy to another node, and one that is known and was forgotten by the
// cache. cpu-us is all that the process used for it, in the background as well.
func BenchmarkFill(b *testing.B) {
	const batch, partitions, hosts = 1000, 1024, 10_000
	for _, how := range []string{"new", "copied", "copy", "known"} {
		b.Run(how, func(b *testing.B) {
			r := benchFrontier(b, partitions, commit.Options{CacheEntries: 4})
			urls := fillLinks(0, b.N, hosts, partitions)
			add := func() {
				for links := range slices.Chunk(urls, batch) {
					r.add(links...)
				}
			}
			timed := add
			switch how {
			case "copied":
				r.listenAll(partitions)
			case "copy":
				copies := benchFrontier(b, 0, commit.Options{})
				for p := range crawl.Partition(partitions) {
					copies.replicate(r, p)
				}
				tail := r.listenAll(partitions)
				add()
				ms := tail.take()
				timed = func() {
					for some := range slices.Chunk(ms, 200) {
						copies.applyAll(some)
					}
				}
			case "known":
				add()
				rand.New(rand.NewPCG(1, 2)).Shuffle(len(urls),
					func(i, j int) { urls[i], urls[j] = urls[j], urls[i] })
			}
			b.ReportAllocs()
			used := processorTime(b)
			b.ResetTimer()
			timed()
			b.StopTimer()
			b.ReportMetric(float64((processorTime(b)-used).Nanoseconds())/1000/float64(b.N), "cpu-us/op")
		})
	}
}

// listenAll collects the mutations of all partitions, in their order.
func (r *running) listenAll(partitions int) *caught {
	tail := &caught{}
	for p := range crawl.Partition(partitions) {
		_, err := r.Listen(r.t.Context(), p, 1, tail.sink)
		r.must(err)
	}
	return tail
}
