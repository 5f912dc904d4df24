package node

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/storage"
	"crawlnode/ring"
	scheduler "crawlnode/scheduler/core"
	"crawlnode/web/urlnorm"
)

func mustParse(b testing.TB, raw string) urlnorm.URL {
	b.Helper()
	u, err := urlnorm.Parse(raw)
	if err != nil {
		b.Fatal(err)
	}
	return u
}

// BenchmarkLease is the way of a queued URL from the store to a worker, with 2,000
// hosts that have 200 URLs each.
func BenchmarkLease(b *testing.B) {
	kv, err := storage.OpenBadger(b.TempDir(), storage.BadgerOptions{})
	if err != nil {
		b.Fatal(err)
	}
	front, err := frontier.New(kv, frontier.Options{Node: "n1"})
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- front.Run(ctx) }()
	if err := front.Found(ctx, []crawl.Partition{0}, 1); err != nil {
		b.Fatal(err)
	}
	now := noon
	core := scheduler.New(scheduler.Config{})
	for i := range 2000 {
		host := crawl.Host(fmt.Sprintf("host-%d.test", i))
		var links []crawl.Routed
		for n := range 200 {
			links = append(links, crawl.Routed{Target: crawl.Target{
				URL:  mustParse(b, fmt.Sprintf("http://%s/some/path/page-%d.html", host, n)),
				Band: 2,
			}})
		}
		if _, err := front.Add(ctx, links); err != nil {
			b.Fatal(err)
		}
		core.Activate(now, scheduler.Queue{Host: host, More: true}, time.Time{})
		core.Resolved(now, host, []netip.Addr{netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)})},
			now.Add(10_000*time.Hour), nil)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		v, ok := core.Next(now)
		for !ok {
			refill(b, core, front, now)
			now = now.Add(100 * time.Millisecond)
			core.Advance(now)
			v, ok = core.Next(now)
		}
		core.Release(now, v.ID,
			crawl.Response{Kind: crawl.Fetched, Requested: true, Took: time.Millisecond})
		core.Completed(now, v.ID)
	}
	b.StopTimer()
	stop()
	if err := <-over; err != nil {
		b.Error(err)
	}
	if err := front.Close(); err != nil {
		b.Error(err)
	}
}

// refill loads what the core asks for; a host's URLs come round again.
func refill(b *testing.B, core *scheduler.Core, front *frontier.Frontier, now time.Time) {
	for _, a := range core.Actions() {
		if a.Kind != scheduler.Refill {
			continue
		}
		q, err := front.Load(0, a.Host, frontier.Cursor{}, a.N)
		if err != nil {
			b.Fatal(err)
		}
		core.Offer(now, a.Host, q.Items, scheduler.Cursor{}, true)
	}
}

// BenchmarkForward hands links to a node that holds their partitions: over the
// network, judged and stored there. The figure is for one batch of new links, both
// ends. Nobody has given a seed, so nothing is fetched meanwhile.
func BenchmarkForward(b *testing.B) {
	change := func(c *config.Config) { c.Mode = "any" }
	one := testConfig(b, "n1")
	change(&one)
	n1 := startNode(b, one)
	converged(b, 1, n1)
	two := testConfig(b, "n2")
	change(&two)
	two.Join = []string{n1.Info().Gossip}
	n2 := startNode(b, two)
	converged(b, 2, n1, n2)
	var hosts []string
	for i := 0; len(hosts) < 40; i++ {
		if host := fmt.Sprintf("host-%d.test", i); n2.holds(
			ring.PartitionOf(crawl.Host(host), n1.partitions())) {
			hosts = append(hosts, host)
		}
	}
	for _, links := range []int{20, 200} {
		b.Run(fmt.Sprintf("links=%d", links), func(b *testing.B) {
			batches := make([][]crawl.Routed, b.N)
			for i := range batches {
				for k := range links {
					u := mustParse(b, fmt.Sprintf("http://%s/%d/%d/%d.html", hosts[k%len(hosts)], b.N, i, k))
					batches[i] = append(batches[i],
						n1.router.Route([]crawl.Target{{URL: u, Depth: 1, Band: 1, Via: crawl.ViaLink}})...)
				}
			}
			b.ReportAllocs()
			b.ResetTimer()
			for _, batch := range batches {
				if s, err := n1.router.Submit(b.Context(), batch); err != nil || s.Added+s.Known != links {
					b.Fatalf("%d links came to %+v, %v", links, s, err)
				}
			}
		})
	}
}
