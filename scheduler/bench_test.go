package scheduler

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/dnscache"
	"crawlnode/frontier"
	"crawlnode/settings/sites"
	"crawlnode/settings/sites/sitestest"
	"crawlnode/web/urlnorm"
)

// endlessDisk is a frontier whose hosts never run out of queued pages. It costs nearly
// nothing, so that the dispatcher is what is measured.
type endlessDisk struct {
	hosts map[crawl.Host][]crawl.Item // a batch of each, whose numbers Load replaces
	robot *crawl.Robots
}

func newEndlessDisk(b *testing.B, hosts, batch int) *endlessDisk {
	b.Helper()
	now := time.Now()
	d := &endlessDisk{hosts: map[crawl.Host][]crawl.Item{}, robot: &crawl.Robots{
		Verdict: crawl.RobotsAllowAll,
		Fetched: now,
		Expires: now.Add(24 * time.Hour),
	}}
	for i := range hosts {
		host := crawl.Host(fmt.Sprintf("h%d.test", i))
		for n := range batch {
			u, err := urlnorm.Parse(fmt.Sprintf("http://%s/some/path/page-%d.html", host, n))
			if err != nil {
				b.Fatal(err)
			}
			d.hosts[host] = append(d.hosts[host], crawl.Item{URL: u})
		}
	}
	return d
}

func (d *endlessDisk) Meta(p crawl.Partition) (frontier.Meta, bool) {
	m := frontier.Meta{Partition: p, Epoch: 7, State: frontier.Holder}
	m.Counters.Queued[0] = int64(len(d.hosts))
	return m, true
}

func (d *endlessDisk) Load(
	p crawl.Partition,
	host crawl.Host,
	after frontier.Cursor,
	n int,
) (frontier.HostQueue, error) {
	batch := d.hosts[host]
	robots := *d.robot
	robots.Origin = batch[0].URL.Origin()
	q := frontier.HostQueue{
		Partition: p,
		Host:      host,
		Next:      after,
		More:      true,
		Queued:    1 << 20,
		Robots:    []*crawl.Robots{&robots},
	}
	for _, it := range batch[:min(n, len(batch))] {
		it.Seq = q.Next[0]
		q.Next[0]++
		q.Items = append(q.Items, it)
	}
	return q, nil
}

func (*endlessDisk) Host(
	crawl.Partition,
	crawl.Host,
) (s crawl.HostState, q [crawl.Bands]int64, ok bool, err error) {
	return s, q, false, nil
}

func (*endlessDisk) Record(crawl.Partition, urlnorm.URL) (rec crawl.Record, ok bool, err error) {
	return rec, false, nil
}

func (d *endlessDisk) Waiting(
	_ crawl.Partition,
	from frontier.WakeCursor,
	n int,
) (wakes []frontier.Wake, next frontier.WakeCursor, err error) {
	if from != "" {
		return nil, from, nil
	}
	for host := range d.hosts {
		wakes = append(wakes, frontier.Wake{Host: host})
	}
	if len(wakes) > n {
		return nil, "", fmt.Errorf("BUG: %d hosts are asked for, there are %d", n, len(wakes))
	}
	return wakes, "end", nil
}

func (d *endlessDisk) Park(context.Context, []frontier.Parked) error { return nil }

func (*endlessDisk) SetDelay(context.Context, crawl.Partition, crawl.Host, time.Duration) error {
	return nil
}

func (d *endlessDisk) Block(context.Context, crawl.Partition, crawl.Host, time.Time) error {
	return nil
}

func (d *endlessDisk) FailHost(context.Context, crawl.Partition, crawl.Host, string) (int, error) {
	return 0, nil
}

// oneAddress knows every name.
type oneAddress struct{}

func (oneAddress) Lookup(context.Context, string) (dnscache.Answer, error) {
	return dnscache.Answer{
		Addrs:   []netip.Addr{netip.MustParseAddr("10.1.2.3")},
		Expires: time.Now().Add(24 * time.Hour),
	}, nil
}

// BenchmarkVisit is the dispatcher's part of a page: Next, Release, HostState and
// Completed, from eight goroutines, with reading ahead.
func BenchmarkVisit(b *testing.B) { benchmarkVisit(b, "") }

// BenchmarkVisitSites is the same with rules for the host, for some of its URLs and for any host.
func BenchmarkVisitSites(b *testing.B) {
	benchmarkVisit(b, `
- match: domain:test
  retries: 2
- match: prefix:http://h1.test/some/path/page-1
  max-pages: 1000000000
- match: glob:*/archive/*
  delay: 5ms
`)
}

func benchmarkVisit(b *testing.B, text string) {
	// Inside AllowNet no gap is kept: nothing is waited for.
	settings := &crawl.Settings{AllowNet: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	var table *sites.Table
	if text != "" {
		table = sitestest.Table(b, settings, text)
	}
	node := newFakeNode(settings, table)
	d := New(Options{
		Store:    newEndlessDisk(b, 64, 16),
		Resolver: oneAddress{},
		Rules:    node,
		Node:     node,
	})
	ctx, stop := context.WithCancel(context.Background())
	var running, workers sync.WaitGroup
	running.Go(func() {
		if err := d.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	d.Hold(1, 7, time.Time{})
	b.ReportAllocs()
	b.ResetTimer()
	const callers = 8
	for c := range callers {
		workers.Go(func() {
			for n := c; n < b.N; n += callers {
				v, err := d.Next(ctx)
				if err != nil {
					b.Error(err)
					return
				}
				d.Release(v, crawl.Response{Kind: crawl.Fetched, Requested: true, Took: time.Microsecond})
				d.HostState(v)
				d.Completed(v)
			}
		})
	}
	workers.Wait()
	b.StopTimer()
	stop()
	running.Wait()
}
