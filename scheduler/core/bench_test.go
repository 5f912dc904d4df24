package core

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// BenchmarkVisit is the whole trip of a page through the Core, with 20,000
// hosts in memory, 500 with -short.
func BenchmarkVisit(b *testing.B) {
	hosts := 20_000
	if testing.Short() {
		hosts = 500
	}
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	c := New(Config{})
	item := func(host string, n int) crawl.Item {
		u, err := urlnorm.Parse(fmt.Sprintf("http://%s/some/path/page-%d.html", host, n))
		if err != nil {
			b.Fatal(err)
		}
		return crawl.Item{URL: u, Band: crawl.Band(n % crawl.Bands), Seq: uint64(n)}
	}
	batch := make(map[crawl.Host][]crawl.Item)
	for i := range hosts {
		name := fmt.Sprintf("host-%d.test", i)
		var items []crawl.Item
		for n := range 16 {
			items = append(items, item(name, n))
		}
		batch[crawl.Host(name)] = items
		c.Activate(now, Queue{
			Partition: crawl.Partition(i % 1024),
			Host:      crawl.Host(name),
			Items:     items,
			More:      true,
		}, time.Time{})
		c.Resolved(now, crawl.Host(name),
			[]netip.Addr{netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})}, now.Add(1000*time.Hour),
			nil)
	}
	c.Actions()
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		v, ok := c.Next(now)
		for !ok {
			now = now.Add(100 * time.Millisecond)
			v, ok = c.Next(now)
		}
		c.Release(now, v.ID, crawl.Response{Kind: crawl.Fetched, Requested: true, Took: time.Millisecond})
		c.HostState(v.ID)
		c.Completed(now, v.ID)
		for _, a := range c.Actions() {
			if a.Kind == Refill {
				c.Offer(now, a.Host, batch[a.Host], Cursor{}, true)
			}
		}
	}
}
