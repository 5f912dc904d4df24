package metrics

// Counts are numbers by the value of one label.
type Counts map[string]int64

// Sample is a node's figures at one moment. Everything that is not a gauge counts from the start of
// the process. A nil pointer or map is not shown. A map should always have all its labels: a series
// that comes and goes is hard to alert on.
type Sample struct {
	Build Build

	// Pages and the results of requests.
	Pages         int64 // queued URLs that got an HTTP response, of any status
	Bytes         int64 // body bytes read
	RobotsFetches int64
	Responses     Counts // by class: 2xx, 3xx, 4xx, 5xx
	Errors        Counts // by category, as in /status
	Skipped       Counts // by reason, as in /status
	Latency       Histogram

	// Frontier: gauges over the partitions that the node holds. Commit belongs to the process.
	Queued     Counts // by band, "0" to "7"
	Seen       int64
	Failed     int64  // URLs given up
	GivenUp    Counts // of Failed, by reason, as in /status
	Duplicates int64  // adds of URLs that were already known
	Outbox     int64
	InFlight   int64
	HostsKnown int64
	Hosts      Counts // hosts in memory, by state
	Commit     Histogram

	// Links, by where they went: local, forwarded, suppressed_by_sent_cache.
	LinksFound int64
	Links      Counts

	// Messages between nodes over the connections that this one has opened, by method.
	PeerCalls, PeerBytes Counts

	DNS        DNS
	DNSLatency Histogram

	// Cluster: gauges, except the last two.
	Ready      bool
	Partitions Counts // by role: held, replica
	Moving     int64  // partitions on their way in or out
	View       int64
	Members    Counts // by state
	// by state: served, under_replicated, single_copy, offline, promoting, total
	ClusterPartitions Counts
	CrawlState        Counts // by state: one is 1, the others 0
	Health            Counts // by code: 1 or 0
	FetchersMax       int64
	Fetchers          int64 // busy ones
	Paused            bool
	// LeaseRemaining is in seconds; nil when the node has no lease.
	LeaseRemaining *float64
	HandoffBytes   int64
	HandoffPause   Histogram

	Revisits Revisits
	Index    Index
	Upload   Upload
	Webhooks Webhooks
	Render   Render
	Workers  Workers

	// Archive, derived outputs and disk.
	WARCFiles         int64 // gauge
	WARCBytes         int64 // gauge
	Records           int64
	ContentDuplicates int64
	ContentUnanswered int64
	DiskFree          *int64 // bytes; gauge
	WARCWritten       int64  // bytes
	WARCIndexBytes    int64  // gauge
	// WARCByteRate and RecordRate are the growth of the archive per second, over the last seconds;
	// gauges.
	WARCByteRate, RecordRate   float64
	WARCDiskFree               *int64 // bytes; gauge
	DerivedFiles, DerivedBytes int64  // gauges

	Raised  int64 // queued URLs that were moved to better bands
	Retries int64 // requests that were, or will be, made again, in the partitions held; gauge
	// CatchUpBytes is what is kept on the disk for silent members; gauge.
	CatchUpBytes int64
}

// Build identifies the program.
type Build struct {
	Version   string // of the program
	GoVersion string
	Protocol  string // between nodes
	Format    string // of the data directory
}

// DNS counts name look-ups.
type DNS struct {
	Lookups, Hits, NegativeHits, StaleServed, Failures, Queries int64
}

// Histogram holds observations by size.
type Histogram struct {
	// Bounds are the upper bounds of the buckets in seconds, ascending.
	Bounds []float64
	// Counts are the observations of each bucket (not cumulative), plus one more for those beyond
	// the last bound.
	Counts []int64
	// Sum is the sum of the observations in seconds. 0: estimated from the middle of the buckets.
	Sum float64
}

// Index is the index of this node; nil is not known: it is off.
type Index struct {
	Documents, Bytes, Waiting *int64
	Behind                    *float64 // seconds
	Questions                 int64
}

// Webhooks are the receivers of events together; nil is not known: there are none.
type Webhooks struct {
	Queued *int64
	Behind *float64 // seconds
	Taken  int64
	Lost   int64
	Failed int64 // attempts
}

// Upload is what was copied to an object store; nil is not known: there is none.
type Upload struct {
	Queued, Bytes *int64
	Behind        *float64 // seconds
	Failed        int64
}

// Workers are the programs that fetch for this node. Active, Leases and URLs are gauges.
type Workers struct {
	Active, Leases, URLs, Expired, Results int64
}

// Render is the browser of this node; nil is not known: no page is shown to one.
type Render struct {
	Queued, Busy, Max                                *int64
	Pages, Failed, Timeouts, Restarts, Refused, Hits int64
	Seconds                                          Histogram
}

// Revisits are the visits of known pages. All but Total are gauges; nil is not known, or without
// revisits.
type Revisits struct {
	Total    int64  // visits of pages that were due
	Results  Counts // of the held partitions, by result: not_modified, unchanged, changed, gone
	Due      *int64
	Late     *float64 // seconds
	Price    *float64 // seconds of freshness
	Capacity *float64 // visits a second
	Expected *float64
}
