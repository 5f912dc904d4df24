package frontier

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/cash"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/order"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	"crawlnode/importance/opic"
)

func benchFrontier(b *testing.B, partitions int, o commit.Options) *running {
	b.Helper()
	kv, err := storage.OpenBadger(b.TempDir(), storage.BadgerOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = kv.Close() })
	return startHolding(b, kv, partitions, o)
}

// benchHosts is the number of hosts over which pages are spread.
const benchHosts = 40

// page is the links of the n-th page: 7 new ones of its own host and 33 of
// earlier pages of that host.
func page(n int) []crawl.Routed {
	host, round := n%benchHosts, n/benchHosts
	links := make([]crawl.Routed, 0, 40)
	for i := range 40 {
		k := round*7 + i
		if i >= 7 {
			k = (i * 37) % (round*7 + 7)
		}
		links = append(links,
			link(fmt.Sprintf("http://h%d.p%d.test/section/%d/page-%d.html", host, host%8, k%10, k)))
	}
	return links
}

// BenchmarkComplete is the frontier's part of one page: 7 new links, 33 known.
func BenchmarkComplete(b *testing.B) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			r := benchFrontier(b, 8, commit.Options{})
			var cs []Completion
			for n := range b.N {
				seed := link(fmt.Sprintf("http://h%d.p%d.test/seed/%d", n%benchHosts, n%benchHosts%8, n))
				r.add(seed)
				it := r.record(seed.Target.URL.String()).Item
				cs = append(cs, Completion{Lease: crawl.Lease{
					Partition: seed.Partition,
					Epoch:     1,
					Host:      layout.HostOf(it.URL),
					Item:      it,
				}, Outcome: fetched, Own: page(n)})
			}
			b.ReportAllocs()
			b.ResetTimer()
			fanOut(callers, b.N, func(n int) {
				if err := r.Complete(context.Background(), cs[n]); err != nil {
					b.Error(err)
				}
			})
		})
	}
}

// fanOut calls f for 0 to n-1 from several goroutines.
func fanOut(callers, n int, f func(int)) {
	over := make(chan struct{})
	for c := range callers {
		go func() {
			for i := c; i < n; i += callers {
				f(i)
			}
			over <- struct{}{}
		}()
	}
	for range callers {
		<-over
	}
}

// BenchmarkAdd adds batches of 200 new URLs; the figure is for one batch.
func BenchmarkAdd(b *testing.B) {
	r := benchFrontier(b, 8, commit.Options{})
	batches := make([][]crawl.Routed, b.N)
	for n := range batches {
		for i := range 200 {
			batches[n] = append(batches[n], link(fmt.Sprintf("http://h%d.p%d.test/%d/%d", i%20, i%8, n, i)))
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		r.add(batches[n]...)
	}
}

// BenchmarkSeen adds 40 URLs that are known: from the cache, and with a cache
// that is too small, from the store.
func BenchmarkSeen(b *testing.B) {
	for name, entries := range map[string]int{"cache": 1 << 20, "store": 4} {
		b.Run(name, func(b *testing.B) {
			r := benchFrontier(b, 8, commit.Options{CacheEntries: entries})
			for n := range 200 {
				r.add(page(n)...)
			}
			links := page(150)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				r.add(links...)
			}
		})
	}
}

// BenchmarkLoad reads the next 16 URLs of a host with 100,000, with 5,000 with -short.
func BenchmarkLoad(b *testing.B) {
	r := benchFrontier(b, 1, commit.Options{})
	queued := 100_000
	if testing.Short() {
		queued = 5_000
	}
	var links []crawl.Routed
	for i := range queued {
		links = append(links, link(fmt.Sprintf("http://h1.p0.test/section/%d", i)))
	}
	r.add(links...)
	var cursor reader.Cursor
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		q, err := r.Load(0, "h1.p0.test", cursor, 16)
		if err != nil {
			b.Fatal(err)
		}
		if cursor = q.Next; !q.More {
			cursor = reader.Cursor{}
		}
	}
}

// BenchmarkContent asks for payloads: one that is known, and one that is not.
func BenchmarkContent(b *testing.B) {
	r := benchFrontier(b, 1, commit.Options{})
	var cs []Content
	for n := range 20_000 {
		cs = append(cs, payload(0, n))
	}
	r.must(r.NoteContents(b.Context(), cs))
	for name, first := range map[string]int{"known": 0, "new": len(cs)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				c := payload(0, first+n%len(cs))
				if _, known, err := r.Content(0, c.Digest); err != nil || known != (first == 0) {
					b.Fatalf("payload %d: %t, %v", n, known, err)
				}
			}
		})
	}
}

// BenchmarkOutbox puts 20 links of a page aside, lists them and takes them out
// again.
func BenchmarkOutbox(b *testing.B) {
	r := benchFrontier(b, 2, commit.Options{})
	links := make([]crawl.Routed, 20)
	for i := range links {
		links[i] = link(fmt.Sprintf("http://h%d.p1.test/section/page-%d.html", i, i))
	}
	var cs []Completion
	for n := range b.N {
		seed := link(fmt.Sprintf("http://h%d.p0.test/%d", n%benchHosts, n))
		r.add(seed)
		it := r.record(seed.Target.URL.String()).Item
		cs = append(cs, Completion{
			Lease:   crawl.Lease{Partition: 0, Epoch: 1, Host: layout.HostOf(it.URL), Item: it},
			Outcome: fetched,
			Outbox:  links,
		})
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		r.must(r.Complete(context.Background(), cs[n]))
		waiting, err := r.Outbox(0, layout.OutboxKey{}, len(links))
		if err != nil || len(waiting) != len(links) {
			b.Fatalf("%d links wait, %v", len(waiting), err)
		}
		r.must(r.AckOutbox(context.Background(), waiting))
	}
}

// BenchmarkNewHosts adds URLs that are each on a host of its own, 3,000 at a time to 300
// partitions, as the seeds of a large list come to one of three nodes. The figures are
// for one URL; cpu-us is all that the process used for it, in the background as well.
func BenchmarkNewHosts(b *testing.B) {
	const batch, partitions = 3000, 300
	r := benchFrontier(b, partitions, commit.Options{})
	for p := range crawl.Partition(partitions) {
		e, err := r.Export(b.Context(), p, func(crawl.Partition, Mutation) bool { return true })
		if err != nil {
			b.Fatal(err)
		}
		e.Close()
	}
	urls := make([]crawl.Routed, 0, b.N)
	for n := range b.N {
		urls = append(urls, link(fmt.Sprintf("http://h%d.p%d.test/section-%d/a-page-with-a-name-%d.html",
			n, n*7%partitions, n%7, n)))
		urls[n].Target.Via, urls[n].Target.Depth, urls[n].Target.Band = crawl.ViaSeed, 0, 0
	}
	b.ReportAllocs()
	b.ResetTimer()
	used := processorTime(b)
	for part := range slices.Chunk(urls, batch) {
		r.add(part...)
	}
	b.ReportMetric(float64((processorTime(b)-used).Microseconds())/float64(b.N), "cpu-us/op")
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCites is what importance adds to a page with 40 links, 8 of them to other partitions:
// its log entry, its part of a fold, and of credits on their way.
func BenchmarkCites(b *testing.B) {
	for _, how := range []string{"off", "on", "ordered", "alone"} {
		b.Run(how, func(b *testing.B) {
			on := how != "off"
			r := benchFrontier(b, 8, commit.Options{})
			if how == "ordered" {
				var h opic.Histogram
				for i := range opic.Cash(1000) {
					h.Add(i*opic.Unit/1000, 1)
				}
				o := byScore()
				o.Ranks = h.Ranks()
				r.SetOrder(o)
			}
			moved := 0
			var cs []Completion
			for n := range b.N {
				seed := link(fmt.Sprintf("http://h%d.p%d.test/seed/%d", n%benchHosts, n%benchHosts%8, n))
				r.add(seed)
				it := r.record(seed.Target.URL.String()).Item
				cs = append(cs, Completion{Lease: crawl.Lease{
					Partition: seed.Partition,
					Epoch:     1,
					Host:      layout.HostOf(it.URL),
					Item:      it,
				}, Outcome: fetched, Own: page(n)})
			}
			cpu := processorTime(b)
			b.ResetTimer()
			fanOut(32, b.N, func(n int) {
				c := cs[n]
				if on {
					var targets []opic.Target
					for i := range c.Own {
						if t := cash.CiteOf(&c.Own[i]); i%5 == 0 {
							t.Partition = (t.Partition + crawl.Partition(i)) % 8
							targets = append(targets, t)
						} else {
							targets = append(targets, t)
						}
					}
					c.Cites = cash.CitesOf(c.Lease.Item.URL, string(c.Lease.Host), targets)
				}
				if err := r.Complete(context.Background(), c); err != nil {
					b.Error(err)
				}
			})
			if how == "alone" {
				for more := true; more; {
					done, _, err := r.FoldAll(b.Context(), []crawl.Partition{0, 1, 2, 3, 4, 5, 6, 7}, true)
					r.must(err)
					more = slices.ContainsFunc(done, func(d cash.Folded) bool { return d.Entries > 0 })
				}
			}
			for p := range crawl.Partition(8) {
				for more := on && how != "alone"; more; {
					d, err := r.Fold(b.Context(), p)
					r.must(err)
					more = d.Entries > 0
					n, err := r.Raise(b.Context(), p, d.Rises)
					r.must(err)
					moved += n
					entries, err := r.Credits(p, OutboxKey{}, 1000, 1<<20)
					r.must(err)
					marks, err := r.ApplyCredits(b.Context(), entries)
					r.must(err)
					r.must(r.AckCredits(b.Context(), entries, marks))
				}
			}
			b.ReportMetric(float64(moved)/float64(b.N), "moves/page")
			b.ReportMetric(float64((processorTime(b)-cpu).Microseconds())/float64(b.N), "cpu-us/page")
		})
	}
}

// BenchmarkRaise is a queued URL that is looked up by its number and moved to a better band.
func BenchmarkRaise(b *testing.B) {
	r := benchFrontier(b, 8, commit.Options{})
	r.SetOrder(byScore())
	var links []crawl.Routed
	rises := map[crawl.Partition][]order.Rise{}
	for n := range b.N {
		l := link(fmt.Sprintf("http://h%d.p%d.test/page/%d", n%benchHosts, n%benchHosts%8, n))
		links = append(links, l)
		rises[l.Partition] = append(rises[l.Partition],
			order.Rise{URL: layout.NumberOf(l.Target.URL), Link: 0.5})
	}
	for from := 0; from < len(links); from += 2_000 {
		r.add(links[from:min(from+2_000, len(links))]...)
	}
	cpu := processorTime(b)
	b.ResetTimer()
	moved := 0
	for p, all := range rises {
		slices.SortFunc(all, func(a, b order.Rise) int { return cmp.Compare(a.URL, b.URL) })
		for len(all) > 0 {
			n, err := r.Raise(b.Context(), p, all[:min(len(all), 500)])
			r.must(err)
			moved, all = moved+n, all[min(len(all), 500):]
		}
	}
	if moved != b.N {
		b.Errorf("%d of %d were moved", moved, b.N)
	}
	b.ReportMetric(float64((processorTime(b)-cpu).Microseconds())/float64(b.N), "cpu-us/move")
}
