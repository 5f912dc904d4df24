package report

import (
	"runtime"
	"strconv"
	"time"

	"crawlnode/crawl"
	"crawlnode/handoff/transfer"
	"crawlnode/local/datadir"
	"crawlnode/metrics"
)

// Timings measure, for the metrics only, what no counter of the crawl does: look-ups of names,
// commits of the frontier, and the pause of a partition that changes hands.
type Timings struct {
	Lookup, Commit, Pause *metrics.Durations
}

// NewTimings chooses buckets around what was measured: a name takes some
// milliseconds to some seconds, a commit fractions of a millisecond, with --sync
// or on a slow disk a second, a hand-over some tenths of a second.
func NewTimings() Timings {
	ms := func(bounds ...int) *metrics.Durations {
		ds := make([]time.Duration, len(bounds))
		for i, b := range bounds {
			ds[i] = time.Duration(b) * time.Millisecond / 4
		}
		return metrics.NewDurations(ds...)
	}
	return Timings{ // in quarters of a millisecond
		Lookup: ms(4, 10, 20, 40, 80, 200, 400, 1000, 2000, 4000, 8000, 20_000, 40_000),
		Commit: ms(1, 2, 4, 10, 20, 40, 80, 200, 400, 1000, 2000, 4000, 20_000, 40_000),
		Pause:  ms(40, 100, 200, 400, 800, 1200, 2000, 4000, 8000, 20_000, 40_000),
	}
}

// Pages counts the pages that this process has fetched.
func (r *Reporter) Pages() int64 { return r.fetched.read().Pages }

// Metrics is the sample of this moment.
func (r *Reporter) Metrics() metrics.Sample {
	c, held := r.fetched.read(), r.Front.Totals()
	d, w, l := r.DNS.Stats(), r.Outputs.Archive().Stats(), r.Router.Counts()
	s := metrics.Sample{
		Workers: r.sampleWorkers(),
		Build:   metrics.Build{Version: r.Version, GoVersion: runtime.Version(), Protocol: strconv.Itoa(r.Protocol), Format: strconv.Itoa(datadir.FormatVersion)},
		Pages:   c.Pages, Bytes: c.Bytes, RobotsFetches: c.Robots, Failed: held.Failed,
		Responses: metrics.Counts{"2xx": c.Responses[0], "3xx": c.Responses[1], "4xx": c.Responses[2], "5xx": c.Responses[3]},
		Errors:    metrics.Counts{}, Skipped: metrics.Counts{}, Queued: metrics.Counts{},
		Seen: held.Seen, Duplicates: held.Duplicates, Outbox: held.Outbox, HostsKnown: held.Hosts, LinksFound: c.LinksFound,
		Links: metrics.Counts{"local": l.Local, "forwarded": l.Forwarded, "suppressed_by_sent_cache": l.Suppressed},
		DNS:   metrics.DNS{Lookups: d.Lookups, Hits: d.Hits, NegativeHits: d.NegativeHits, StaleServed: d.StaleServed, Failures: d.Failures, Queries: d.Queries},
		View:  int64(r.Node.View()), FetchersMax: int64(r.Breadth.Now()), Paused: !r.Node.MayCrawl(),
		WARCFiles: w.Files, WARCBytes: w.Bytes, Records: w.Records, ContentDuplicates: w.ContentDuplicates, DiskFree: r.Space.Free(), WARCDiskFree: r.Space.ArchiveFree(),
		WARCWritten: w.Written, WARCIndexBytes: w.IndexBytes, ContentUnanswered: r.Contents.Unanswered(),
		DNSLatency: r.Timings.Lookup.Histogram(), Commit: r.Timings.Commit.Histogram(), HandoffPause: r.Timings.Pause.Histogram()}
	s.Raised, s.Retries, s.GivenUp = int64(r.Raised()), held.Retries, metrics.Counts{}
	for i, v := range held.GivenUp {
		s.GivenUp[crawl.GiveUpReason(i).String()] = v
	}
	s.WARCByteRate, s.RecordRate = r.meter.Archive()
	for i, v := range c.Errors {
		s.Errors[crawl.ErrCategoryNames[i]] = v
	}
	for i, v := range c.Skipped {
		s.Skipped[crawl.SkipReasonNames[i]] = v
	}
	for i, v := range held.Queued {
		s.Queued[strconv.Itoa(i)] = v
	}
	s.DerivedFiles, s.DerivedBytes = r.Outputs.DerivedFiles()
	s.Latency = metrics.Histogram{Bounds: latencyBounds(), Counts: c.Latency[:]}
	if left := r.lease().Seconds(); left > 0 {
		s.LeaseRemaining = &left
	}
	r.sampleCluster(&s)
	r.sampleRevisits(&s, &held)
	r.sampleIndex(&s)
	s.Webhooks = webhookFigures(r.Webhooks.State(time.Now()))
	if r.Outputs.Uploading() {
		u := r.Outputs.Uploads(time.Now())
		s.Upload = metrics.Upload{Queued: &u.QueuedFiles, Bytes: &u.BytesTotal, Behind: &u.BehindSeconds, Failed: u.FailedTotal}
	}
	r.sampleRender(&s)
	s.PeerCalls, s.PeerBytes = metrics.Counts{}, metrics.Counts{}
	for method, t := range r.Traffic() {
		s.PeerCalls[method], s.PeerBytes[method] = t.Calls, t.Bytes
	}
	if d, moves := r.Node.Engine(); d != nil {
		m, f, h := moves.Status(), transfer.FiguresOf(moves, r.Front), hostCounts(d.Counts())
		s.InFlight = int64(d.Busy())
		s.Fetchers = min(s.InFlight, s.FetchersMax)
		s.Partitions, s.Moving = metrics.Counts{"held": int64(f.Held), "replica": int64(f.Replicas)}, int64(m.Moving)
		s.Hosts = metrics.Counts{"in_flight": h.InFlight, "ready": h.Ready, "waiting": h.Waiting,
			"backoff": h.Backoff, "frozen": h.Frozen, "over_share": h.OverShare}
		s.HandoffBytes, s.CatchUpBytes = moves.BytesMoved(), moves.HintBytes()
	}
	return s
}

// sampleCluster fills what the node knows of the whole cluster. Every label is always present:
// a series that comes and goes is hard to alert on.
func (r *Reporter) sampleCluster(s *metrics.Sample) {
	st := r.Status(false)
	s.Ready, _ = r.Node.Ready()
	m, ring := st.Cluster.Members, st.Ring
	s.Members = metrics.Counts{crawl.NodeAlive: int64(m.Alive), crawl.NodeSuspect: int64(m.Suspect), crawl.NodeDraining: int64(m.Draining),
		crawl.NodeLeft: int64(m.Left), crawl.NodeFailed: int64(m.Failed)}
	s.ClusterPartitions = metrics.Counts{"total": int64(ring.Partitions), "served": int64(ring.Served), "under_replicated": int64(ring.UnderReplicated), "single_copy": int64(ring.SingleCopy.Partitions),
		"offline": int64(ring.Offline), "promoting": int64(ring.Promoting)}
	s.CrawlState = metrics.Counts{crawl.CrawlIdle: 0, crawl.CrawlRunning: 0, crawl.CrawlPaused: 0, crawl.CrawlFinished: 0, crawl.CrawlWaiting: 0}
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

// webhookFigures are those of all receivers together.
func webhookFigures(states []crawl.WebhookStatus) (w metrics.Webhooks) {
	if len(states) == 0 {
		return w
	}
	w.Queued, w.Behind = new(int64), new(float64)
	for i := range states {
		s := &states[i]
		*w.Queued += s.Queued
		*w.Behind = max(*w.Behind, s.BehindSeconds)
		w.Taken, w.Lost, w.Failed = w.Taken+s.EventsTotal, w.Lost+s.LostTotal, w.Failed+s.ErrorsTotal
	}
	return w
}
