package node

import (
	"strconv"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/metrics"
)

// fetchCounters count what this process did since its start. The partitions'
// counters cannot serve for that: they move between nodes, and a Prometheus
// counter must never fall.
type fetchCounters struct {
	mu sync.Mutex // guards c
	c  crawl.Counters
}

// observe counts one outcome.
func (f *fetchCounters) observe(o *crawl.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &f.c
	c.LinksFound += int64(o.LinksFound)
	for i, n := range o.Skipped {
		c.Skipped[i] += n
	}
	switch o.Kind {
	case crawl.RobotsFetched:
		c.Robots++
	case crawl.Refused:
		c.Skipped[o.Skip]++
	case crawl.URLFailed, crawl.HostFailed:
		c.Errors[o.Category]++
	case crawl.Fetched:
		if !o.IsSitemap {
			c.Pages++
		}
	case crawl.RateLimited, crawl.Aborted, crawl.RobotsPending:
	}
	if o.Status >= 200 && o.Status < 600 && o.Kind != crawl.RobotsFetched && o.Kind != crawl.RobotsPending {
		c.Responses[o.Status/100-2]++
		c.Observe(o.Took.Milliseconds())
	}
	c.Bytes += o.Bytes
}

func (f *fetchCounters) read() crawl.Counters {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.c
}

// sample fills the metrics when they are asked for.
func (n *Node) sample() metrics.Sample {
	c, held := n.fetched.read(), n.front.Totals()
	d, w := n.dns.Stats(), n.archive.Stats()
	s := metrics.Sample{Version: n.version,
		Pages: c.Pages, Bytes: c.Bytes, RobotsFetches: c.Robots, Failed: held.Failed,
		Responses: metrics.Counts{"2xx": c.Responses[0], "3xx": c.Responses[1], "4xx": c.Responses[2], "5xx": c.Responses[3]},
		Errors:    metrics.Counts{}, Skipped: metrics.Counts{}, Queued: metrics.Counts{},
		Seen: held.Seen, Duplicates: held.Duplicates, Outbox: held.Outbox, HostsKnown: held.Hosts, LinksFound: c.LinksFound,
		Links: metrics.Counts{"local": n.links.local.Load(), "forwarded": n.links.forwarded.Load(), "suppressed_by_sent_cache": n.links.suppressed.Load()},
		DNS:   metrics.DNS{Lookups: d.Lookups, Hits: d.Hits, NegativeHits: d.NegativeHits, StaleServed: d.StaleServed, Failures: d.Failures, Queries: d.Queries},
		View:  int64(n.viewNumber()), FetchersMax: int64(n.cfg.Fetchers), Paused: !n.mayCrawl(), Members: metrics.Counts{},
		WARCFiles: w.Files, WARCBytes: w.Bytes, Records: w.Records, ContentDuplicates: w.ContentDuplicates, DiskFree: n.disk.free(n.dir.path), WARCDiskFree: n.archiveFree(),
		WARCWritten: w.Written, WARCIndexBytes: w.IndexBytes}
	s.WARCByteRate, s.RecordRate = n.meter.archive()
	for i, v := range c.Errors {
		s.Errors[crawl.ErrCategoryNames[i]] = v
	}
	for i, v := range c.Skipped {
		s.Skipped[crawl.SkipReasonNames[i]] = v
	}
	for i, v := range held.Queued {
		s.Queued[strconv.Itoa(i)] = v
	}
	for _, p := range n.members.Snapshot().Peers {
		s.Members[p.State]++
	}
	s.Latency = metrics.Histogram{Bounds: latencyBounds(), Counts: c.Latency[:]}
	if e := n.engine.Load(); e != nil {
		m, h := e.moves.Status(), e.dispatcher.Counts()
		s.InFlight = int64(e.dispatcher.Busy())
		s.Fetchers = min(s.InFlight, s.FetchersMax)
		s.Partitions, s.Moving = metrics.Counts{"held": int64(m.Held), "replica": 0}, int64(m.Moving)
		s.Hosts = metrics.Counts{"in_flight": int64(h.InFlight), "ready": int64(h.Ready), "waiting": int64(h.Waiting), "backoff": int64(h.Backoff), "frozen": int64(h.Frozen)}
	}
	return s
}

func latencyBounds() []float64 {
	bounds := make([]float64, len(crawl.LatencyBuckets))
	for i, ms := range crawl.LatencyBuckets {
		bounds[i] = (time.Duration(ms) * time.Millisecond).Seconds()
	}
	return bounds
}
