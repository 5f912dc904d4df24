package node

import (
	"runtime"
	"strconv"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/metrics"
	"crawlnode/node/datadir"
	"crawlnode/node/status"
	"crawlnode/node/transfer"
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
	case crawl.URLFailed, crawl.HostFailed, crawl.Blocked:
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

// timings measure, for the metrics only, what no counter of the crawl does.
type timings struct {
	lookup, commit, pause *metrics.Durations
}

// newTimings chooses buckets around what was measured: a name takes some
// milliseconds to some seconds, a commit fractions of a millisecond, with --sync
// or on a slow disk a second, a hand-over some tenths of a second.
func newTimings() timings {
	ms := func(bounds ...int) *metrics.Durations {
		ds := make([]time.Duration, len(bounds))
		for i, b := range bounds {
			ds[i] = time.Duration(b) * time.Millisecond / 4
		}
		return metrics.NewDurations(ds...)
	}
	return timings{ // in quarters of a millisecond
		lookup: ms(4, 10, 20, 40, 80, 200, 400, 1000, 2000, 4000, 8000, 20_000, 40_000),
		commit: ms(1, 2, 4, 10, 20, 40, 80, 200, 400, 1000, 2000, 4000, 20_000, 40_000),
		pause:  ms(40, 100, 200, 400, 800, 1200, 2000, 4000, 8000, 20_000, 40_000),
	}
}

// sample fills the metrics when they are asked for.
func (n *Node) sample() metrics.Sample {
	c, held := n.fetched.read(), n.front.Totals()
	d, w, l := n.dns.Stats(), n.archive.Stats(), n.router.Counts()
	s := metrics.Sample{
		Build: metrics.Build{Version: n.version, GoVersion: runtime.Version(), Protocol: strconv.Itoa(protocolVersion), Format: strconv.Itoa(datadir.FormatVersion)},
		Pages: c.Pages, Bytes: c.Bytes, RobotsFetches: c.Robots, Failed: held.Failed,
		Responses: metrics.Counts{"2xx": c.Responses[0], "3xx": c.Responses[1], "4xx": c.Responses[2], "5xx": c.Responses[3]},
		Errors:    metrics.Counts{}, Skipped: metrics.Counts{}, Queued: metrics.Counts{},
		Seen: held.Seen, Duplicates: held.Duplicates, Outbox: held.Outbox, HostsKnown: held.Hosts, LinksFound: c.LinksFound,
		Links: metrics.Counts{"local": l.Local, "forwarded": l.Forwarded, "suppressed_by_sent_cache": l.Suppressed},
		DNS:   metrics.DNS{Lookups: d.Lookups, Hits: d.Hits, NegativeHits: d.NegativeHits, StaleServed: d.StaleServed, Failures: d.Failures, Queries: d.Queries},
		View:  int64(n.viewNumber()), FetchersMax: int64(n.cfg.Fetchers), Paused: !n.mayCrawl(),
		WARCFiles: w.Files, WARCBytes: w.Bytes, Records: w.Records, ContentDuplicates: w.ContentDuplicates, DiskFree: n.disk.free(n.dir.Path()), WARCDiskFree: n.archiveFree(),
		WARCWritten: w.Written, WARCIndexBytes: w.IndexBytes, ContentUnanswered: n.contents.Unanswered(),
		DNSLatency: n.timings.lookup.Histogram(), Commit: n.timings.commit.Histogram(), HandoffPause: n.timings.pause.Histogram()}
	s.WARCByteRate, s.RecordRate = n.meter.Archive()
	for i, v := range c.Errors {
		s.Errors[crawl.ErrCategoryNames[i]] = v
	}
	for i, v := range c.Skipped {
		s.Skipped[crawl.SkipReasonNames[i]] = v
	}
	for i, v := range held.Queued {
		s.Queued[strconv.Itoa(i)] = v
	}
	if n.derived != nil {
		d := n.derived.Stats()
		s.DerivedFiles, s.DerivedBytes = d.Files, d.Bytes
	}
	s.Latency = metrics.Histogram{Bounds: latencyBounds(), Counts: c.Latency[:]}
	if left := n.lease().Seconds(); left > 0 {
		s.LeaseRemaining = &left
	}
	n.sampleCluster(&s)
	if e := n.engine.Load(); e != nil {
		m, f, h := e.moves.Status(), transfer.FiguresOf(e.moves, n.front), e.dispatcher.Counts()
		s.InFlight = int64(e.dispatcher.Busy())
		s.Fetchers = min(s.InFlight, s.FetchersMax)
		s.Partitions, s.Moving = metrics.Counts{"held": int64(f.Held), "replica": int64(f.Replicas)}, int64(m.Moving)
		s.Hosts = metrics.Counts{"in_flight": int64(h.InFlight), "ready": int64(h.Ready), "waiting": int64(h.Waiting), "backoff": int64(h.Backoff), "frozen": int64(h.Frozen), "over_share": int64(h.OverShare)}
		s.HandoffBytes = e.moves.BytesMoved()
	}
	return s
}

// sampleCluster fills what the node knows of the cluster as a whole. Every label
// is there at all times: a series that comes and goes is hard to alert on.
func (n *Node) sampleCluster(s *metrics.Sample) {
	st := status.Merge(n.picture(time.Now(), false))
	s.Ready, _ = n.Ready()
	m, r := st.Cluster.Members, st.Ring
	s.Members = metrics.Counts{crawl.NodeAlive: int64(m.Alive), crawl.NodeSuspect: int64(m.Suspect), crawl.NodeDraining: int64(m.Draining),
		crawl.NodeLeft: int64(m.Left), crawl.NodeFailed: int64(m.Failed)}
	s.ClusterPartitions = metrics.Counts{"total": int64(r.Partitions), "served": int64(r.Served), "under_replicated": int64(r.UnderReplicated), "single_copy": int64(r.SingleCopy.Partitions),
		"offline": int64(r.Offline), "promoting": int64(r.Promoting)}
	s.CrawlState = metrics.Counts{crawl.CrawlIdle: 0, crawl.CrawlRunning: 0, crawl.CrawlPaused: 0, crawl.CrawlFinished: 0}
	s.CrawlState[st.Crawl.State] = 1
	s.Health = metrics.Counts{}
	for _, code := range crawl.HealthReasons {
		s.Health[code] = 0
	}
	for _, reason := range st.Cluster.Health.Reasons {
		s.Health[reason.Code] = 1
	}
}

func latencyBounds() []float64 {
	bounds := make([]float64, len(crawl.LatencyBuckets))
	for i, ms := range crawl.LatencyBuckets {
		bounds[i] = (time.Duration(ms) * time.Millisecond).Seconds()
	}
	return bounds
}
