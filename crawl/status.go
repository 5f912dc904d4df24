package crawl

import "time"

// Status is the document of GET /status. It is computed from the blocks that the nodes send each
// other, in O(nodes), never by counting URLs. Names contain the units, ratios are from 0 to 1,
// times are RFC 3339 in UTC. Unknown values are null; fields are never removed.
type Status struct {
	APIVersion string           `json:"api_version"` // StatusAPIVersion
	AsOf       time.Time        `json:"as_of"`
	ServedBy   string           `json:"served_by"` // human name of the answering node
	Version    VersionStatus    `json:"version"`
	Cluster    ClusterStatus    `json:"cluster"`
	Ring       RingStatus       `json:"ring"`
	Crawl      CrawlStatus      `json:"crawl"`
	Throughput ThroughputStatus `json:"throughput"`
	Frontier   FrontierStatus   `json:"frontier"`
	Fetch      FetchStatus      `json:"fetch"`
	DNS        DNSStatus        `json:"dns"`
	Links      LinkStatus       `json:"links"`
	Bottleneck BottleneckStatus `json:"bottleneck"`
	Output     OutputStatus     `json:"output"`
	Freshness  FreshnessStatus  `json:"freshness"`
	// Preferences tells of pages whose owner said no to a purpose of the crawl.
	Preferences PreferencesStatus `json:"preferences"`
	Index       IndexStatus       `json:"index"`
	Workers     WorkersStatus     `json:"workers"`
	Render      RenderStatus      `json:"render"`
	Nodes       []NodeStatus      `json:"nodes"` // by name, then id
}

// StatusAPIVersion is the value of Status.APIVersion.
const StatusAPIVersion = "v1"

// VersionStatus has the versions of the software and of its protocol.
type VersionStatus struct {
	Crawlnode string `json:"crawlnode"`
	Protocol  int    `json:"protocol"` // between nodes; all of a cluster share it
}

// The states of a cluster (ClusterStatus.State).
const (
	ClusterJoining = "joining" // no view lists this node yet: no crawling
	ClusterRunning = "running" // every partition is where the table says
	// partitions move to new owners, or are taken over from a failed one
	ClusterRebalancing = "rebalancing"
	ClusterPaused      = "paused" // the crawl is paused by an operator
	// the answering node has no lease and can get none: it may not fetch
	ClusterPausedMinority = "paused_minority"
	ClusterDraining       = "draining" // the answering node hands over its partitions and leaves
	ClusterFinished       = "finished" // the crawl has ended on every node
	ClusterStopped        = "stopped"  // no node runs: it was read from data directories
)

// ClusterStatus is the state of the cluster as a whole.
type ClusterStatus struct {
	Name    string       `json:"name"`
	State   string       `json:"state"`
	Message string       `json:"message"` // the state in one sentence
	Health  Health       `json:"health"`
	Members MemberCounts `json:"members"`
}

// The levels of health (Health.Level), from good to bad.
const (
	HealthOK       = "ok"
	HealthWarn     = "warn"
	HealthCritical = "critical"
)

// Health is the worst level of its reasons; with no reason it is "ok".
type Health struct {
	Level   string         `json:"level"`
	Reasons []HealthReason `json:"reasons"`
}

// The codes of health reasons (HealthReason.Code).
const (
	ReasonInsecure = "insecure" // warn: no key, and reachable from elsewhere
	// critical: a node does not fetch, or does not store what it fetches
	ReasonLowDisk = "low_disk"
	// critical: a node stores nothing new; also reports low_disk
	ReasonDiskFull    = "disk_full"
	ReasonDiskStalled = "disk_stalled" // critical: the disk of a node does not answer
	ReasonDNSDown     = "dns_down"     // critical: no name server answers a node
	// warn: a node cannot get the scope entries that another has
	ReasonScopeBehind    = "scope_behind"
	ReasonJoinSilent     = "join_address_silent" // warn: no answer at an address of --join
	ReasonJoinWrong      = "join_address_wrong"  // warn: something else answers there
	ReasonPausedMinority = "paused_minority"     // critical: a node has no lease and can get none
	// warn: the members answer a node and do not admit it
	ReasonNotAdmitted = "not_admitted"
	ReasonUnanswered  = "calls_unanswered" // warn: a node calls others and cannot be called
	// critical: too few members of its last view answer a restarted node
	ReasonWaitsForMembers = "waits_for_members"
	ReasonOffline         = "offline" // critical: no usable copy is available
	// critical: no node fetches their hosts, which needs an operator
	ReasonUnserved        = "partitions_unserved"
	ReasonTakingOver      = "taking_over"      // warn: no node fetches their hosts at the moment
	ReasonNodeFailed      = "node_failed"      // warn: a member was excluded and is not back
	ReasonUnderReplicated = "under_replicated" // warn: too few copies
	ReasonPartitionsStuck = "partitions_stuck" // warn: moves or copies without progress
	// warn: their node was forgotten, and there was no copy
	ReasonPartitionsLost = "partitions_lost"
	// warn: most hosts of a domain fail or answer too slowly, and wait
	ReasonDomainFails = "domain_fails"
	// warn: addresses wait, for nobody says whose turn it is to request them
	ReasonKeeperSilent = "keeper_silent"
	ReasonNotDeleted   = "copies_not_deleted" // warn: unused copies stay on a node's disk
	ReasonOverdue      = "revisits_overdue"   // warn: due pages have waited for long
	ReasonSinkFails    = "sink_fails"         // warn: a sink takes no results; they wait on disk
	ReasonWebhookFails = "webhook_fails"      // warn: a webhook takes no events; they wait on disk
	ReasonWebhookFull  = "webhook_full"       // warn: events were lost before a webhook took them
	// warn: the object store takes no files; they wait on disk
	ReasonUploadFails = "upload_fails"
	// warn: a node cannot write its index; the texts wait on disk
	ReasonIndexFails = "index_fails"
	ReasonNoBrowser  = "no_browser"         // warn: a node takes pages as they were fetched
	ReasonNoSandbox  = "browser_no_sandbox" // warn: a browser runs as root, without its sandbox
	ReasonTrap       = "trap"               // warn: a site makes pages without end
	// critical: a node fetches nothing, because the others sign with another key
	ReasonBotKey        = "bot_key_differs"
	ReasonHostsBlock    = "hosts_block_us" // warn: hosts answer with bot walls, and rest for a day
	ReasonSecretMissing = "secret_missing" // warn: a node lacks a secret that a rule for sites names
	ReasonProxyFailing  = "proxy_failing"  // warn: a proxy of the rules for sites does not work
	// ReasonSourceMissing, warn: a node lacks the source address that a rule for sites names.
	ReasonSourceMissing = "source_address_missing"
	// warn: a node refuses addresses that the crawl allows, for want of its own flag
	ReasonRefused = "addresses_refused"
)

// HealthReasons are all codes.
var HealthReasons = [...]string{ReasonInsecure, ReasonLowDisk, ReasonDiskFull, ReasonDiskStalled,
	ReasonDNSDown, ReasonPausedMinority, ReasonWaitsForMembers, ReasonOffline, ReasonUnserved,
	ReasonTakingOver,
	ReasonScopeBehind, ReasonJoinSilent, ReasonJoinWrong, ReasonNotAdmitted, ReasonUnanswered,
	ReasonNodeFailed, ReasonUnderReplicated, ReasonPartitionsStuck, ReasonPartitionsLost,
	ReasonNotDeleted, ReasonDomainFails, ReasonKeeperSilent, ReasonOverdue, ReasonSinkFails,
	ReasonWebhookFails, ReasonWebhookFull, ReasonUploadFails, ReasonIndexFails, ReasonNoBrowser,
	ReasonNoSandbox, ReasonTrap, ReasonBotKey, ReasonRefused, ReasonHostsBlock,
	ReasonSecretMissing, ReasonProxyFailing, ReasonSourceMissing}

// HealthReason is one problem that needs attention.
type HealthReason struct {
	Code    string    `json:"code"`    // stable, for programs: ReasonLowDisk...
	Message string    `json:"message"` // what it is and what to do
	Since   time.Time `json:"since"`
}

// The states of a node (NodeStatus.State), as gossip and the view see it.
const (
	NodeAlive    = "alive"
	NodeSuspect  = "suspect"
	NodeDraining = "draining"
	NodeLeft     = "left"
	NodeStopped  = "stopped" // as ClusterStopped
	NodeFailed   = "failed"
)

// MemberCounts counts the nodes by state.
type MemberCounts struct {
	Alive    int `json:"alive"`
	Suspect  int `json:"suspect"`
	Draining int `json:"draining"`
	Left     int `json:"left"`
	Failed   int `json:"failed"`
}

// RingStatus summarises the assignment of partitions and the progress of changes.
type RingStatus struct {
	View       Epoch  `json:"view"`
	Digest     string `json:"digest"`    // of the table; equal on all converged nodes
	Converged  bool   `json:"converged"` // every partition is held by its owner
	Partitions int    `json:"partitions"`
	// held by a member that answered a moment ago and may fetch
	Served            int `json:"served"`
	ReplicationFactor int `json:"replication_factor"`
	// held, with fewer copies than the factor and the number of members allow
	UnderReplicated int        `json:"under_replicated"`
	SingleCopy      SingleCopy `json:"single_copy"` // of those, partitions on one disk only
	// partitions none of whose usable copies is available
	Offline int `json:"offline"`
	// without a holder: being promoted from copies, or being handed over
	Promoting  int           `json:"promoting"`
	Handoff    HandoffStatus `json:"handoff"`
	Repair     RepairStatus  `json:"repair"`
	LastChange ChangeStatus  `json:"last_change"`
}

// SingleCopy says how long partitions have been on one disk only: no available replica has every
// acknowledged change.
type SingleCopy struct {
	Partitions int `json:"partitions"`
	// Seconds is the longest time that one has been in this state; 0: none is.
	Seconds float64 `json:"seconds"`
}

// HandoffStatus is the progress of moving partitions, summed over the nodes.
type HandoffStatus struct {
	Active          bool          `json:"active"`
	PartitionsDone  int           `json:"partitions_done"`
	PartitionsTotal int           `json:"partitions_total"`
	BytesPerSecond  float64       `json:"bytes_per_second"`
	ETASeconds      *float64      `json:"eta_seconds"`
	Stuck           []StuckStatus `json:"stuck"`
}

// RepairStatus is the progress of making missing copies, summed over the nodes. Total counts since
// the last time when none was missing.
type RepairStatus struct {
	Active          bool `json:"active"`
	PartitionsDone  int  `json:"partitions_done"`
	PartitionsTotal int  `json:"partitions_total"`
	// CopiedTotal counts the whole copies of partitions that the members have sent since they
	// started. CaughtUpTotal counts replicas that caught up after a silence without a whole copy.
	CopiedTotal   int64 `json:"copied_total"`
	CaughtUpTotal int64 `json:"caught_up_total"`
}

// StuckStatus is a partition whose move or copy makes no progress, and why.
type StuckStatus struct {
	Partition Partition `json:"partition"`
	From      string    `json:"from"` // node name, "" when nobody holds it
	To        string    `json:"to"`
	Reason    string    `json:"reason"`
	Since     time.Time `json:"since"`
}

// The causes of a change of members (ChangeStatus.Cause).
const (
	CauseJoin   = "join"
	CauseLeave  = "leave"
	CauseFailed = "failed"
)

// ChangeStatus is the last change of members and its cost. All is null before the first change
// since this node started. A failure stays the last change until its partitions have been taken
// over.
type ChangeStatus struct {
	Cause *string    `json:"cause"`
	Node  *string    `json:"node"` // human name
	At    *time.Time `json:"at"`
	// from the change to the last partition served
	TakeoverSeconds *float64 `json:"takeover_seconds"`
	// open fetches of the failed node, as it last reported
	InflightRequeued *int64 `json:"inflight_requeued"`
	PartitionsLost   *int   `json:"partitions_lost"`
}

// TakingOver reports whether a failed node's partitions are not taken over yet.
func (c *ChangeStatus) TakingOver() bool {
	return c.Cause != nil && *c.Cause == CauseFailed && c.TakeoverSeconds == nil
}

// The states of a crawl (CrawlStatus.State).
const (
	CrawlIdle     = "idle"    // no seed yet
	CrawlRunning  = "running" // URLs are queued, being fetched or being sent
	CrawlPaused   = "paused"
	CrawlFinished = "finished"
	// everything known was fetched; FreshnessStatus.NextDueAt is the next revisit
	CrawlWaiting = "waiting"
)

// Why a crawl ended (CrawlStatus.FinishReason).
const (
	FinishExhausted   = "frontier_exhausted"
	FinishMaxPages    = "max_pages"
	FinishMaxDuration = "max_duration"
	FinishStopped     = "stopped"
)

// CrawlStatus is the state of the crawl.
type CrawlStatus struct {
	State          string      `json:"state"`
	Message        string      `json:"message"` // the state in one sentence
	FinishReason   *string     `json:"finish_reason"`
	StartedAt      *time.Time  `json:"started_at"` // of the first seed
	EndedAt        *time.Time  `json:"ended_at"`   // null while it has not ended
	RunningSeconds float64     `json:"running_seconds"`
	Limits         LimitStatus `json:"limits"`
	AllowedActions []string    `json:"allowed_actions"` // pause, resume, stop...
}

// LimitStatus has the configured limits; null means none.
type LimitStatus struct {
	MaxPages           *int64   `json:"max_pages"`
	MaxPagesPerHost    *int64   `json:"max_pages_per_host"`
	MaxDepth           *int     `json:"max_depth"`
	MaxDurationSeconds *float64 `json:"max_duration_seconds"`
}

// ThroughputStatus is the crawl's speed. The totals are stored in the partitions, so they survive
// the nodes that counted them.
type ThroughputStatus struct {
	PagesPerSecond   Rate  `json:"pages_per_second"`
	BytesInPerSecond Rate  `json:"bytes_in_per_second"`
	PagesTotal       int64 `json:"pages_total"` // queued URLs that got a response of any status
	BytesInTotal     int64 `json:"bytes_in_total"`
}

// Rate is a speed per second, over several windows. Now is 0 once the crawl has ended.
type Rate struct {
	Now   float64 `json:"now"`    // the last seconds
	Avg1m float64 `json:"avg_1m"` // the last minute
	Avg   float64 `json:"avg"`    // since the crawl began
	Peak  float64 `json:"peak"`   // highest of these that a member has seen
}

// FrontierStatus counts the URLs that wait.
type FrontierStatus struct {
	Queued          int64        `json:"queued"`
	ByBand          [Bands]int64 `json:"by_band"`
	InFlight        int64        `json:"in_flight"` // open requests, as of Hosts
	Outbox          int64        `json:"outbox"`    // links not yet acknowledged by their owner
	SeenTotal       int64        `json:"seen_total"`
	DuplicatesTotal int64        `json:"duplicates_total"`
	Hosts           HostCounts   `json:"hosts"`
}

// HostCounts counts hosts by state. Total counts all hosts ever seen; the others count those in
// memory.
type HostCounts struct {
	Total    int64 `json:"total"`
	InFlight int64 `json:"in_flight"`
	Ready    int64 `json:"ready"`
	Waiting  int64 `json:"waiting"`
	Backoff  int64 `json:"backoff"`
	Frozen   int64 `json:"frozen"`
	// OverShare counts hosts that are ready, but whose domain or block of addresses has used its
	// share of the fetchers.
	OverShare int64 `json:"over_share"`
}

// FetchStatus summarises the results of the requests.
type FetchStatus struct {
	Responses        ResponseCounts `json:"responses"`
	ErrorsTotal      int64          `json:"errors_total"`
	ErrorsByCategory ErrorCounts    `json:"errors_by_category"`
	SkippedByReason  SkippedCounts  `json:"skipped_by_reason"`
	LatencySeconds   Quantiles      `json:"latency_seconds"`
	RetriesTotal     int64          `json:"retries_total"`
	GivenUpTotal     int64          `json:"given_up_total"`
	GivenUpByReason  GivenUpCounts  `json:"given_up_by_reason"`
	// BlockedTotal counts the answers that were bot walls, BlockedByKind by product those that there
	// were.
	BlockedTotal  int64            `json:"blocked_total"`
	BlockedByKind map[string]int64 `json:"blocked_by_kind"`
	// HostsBlocking counts the hosts that rest because they answer with walls, or have done so to the
	// last.
	HostsBlocking int64        `json:"hosts_blocking"`
	Traps         []TrapStatus `json:"traps"` // those with the most pages first, MaxTraps of each node
}

// TrapStatus is a series of pages that a site makes without end, such as the months of a calendar.
type TrapStatus struct {
	Host string `json:"host"`
	// the --exclude that leaves it out, and nothing else that was seen
	Exclude string    `json:"exclude"`
	Example string    `json:"example"` // the URL of one of its pages
	Pages   int64     `json:"pages"`   // how many were fetched
	Since   time.Time `json:"since"`   // when it was noticed
	Node    string    `json:"node"`    // human name of the node that fetches them
	// leaves it out of the running crawl, beside what is excluded already
	Command string `json:"command"`
}

// MaxTraps bounds the traps that one node reports, those with the most pages.
const MaxTraps = 10

// GivenUpCounts are Counters.GivenUp by name.
type GivenUpCounts struct {
	DNS            int64 `json:"dns"`
	Connect        int64 `json:"connect"`
	TLS            int64 `json:"tls"`
	Timeout        int64 `json:"timeout"`
	Protocol       int64 `json:"protocol"`
	Truncated      int64 `json:"truncated"`
	BlockedAddress int64 `json:"blocked_address"`
	Other          int64 `json:"other"`
	RateLimited    int64 `json:"rate_limited"`
	Blocked        int64 `json:"blocked"`
}

// ResponseCounts counts answers by class of status.
type ResponseCounts struct {
	C2xx int64 `json:"2xx"`
	C3xx int64 `json:"3xx"`
	C4xx int64 `json:"4xx"`
	C5xx int64 `json:"5xx"`
}

// ErrorCounts are Counters.Errors by name.
type ErrorCounts struct {
	DNS            int64 `json:"dns"`
	Connect        int64 `json:"connect"`
	TLS            int64 `json:"tls"`
	Timeout        int64 `json:"timeout"`
	Protocol       int64 `json:"protocol"`
	Truncated      int64 `json:"truncated"`
	BlockedAddress int64 `json:"blocked_address"`
	Other          int64 `json:"other"`
	Proxy          int64 `json:"proxy"`
}

// SkippedCounts are Counters.Skipped by name.
type SkippedCounts struct {
	OutOfScope int64 `json:"out_of_scope"`
	Robots     int64 `json:"robots"`
	Depth      int64 `json:"depth"`
	Trap       int64 `json:"trap"`
	TooLong    int64 `json:"too_long"`
	HostBudget int64 `json:"host_budget"`
	Scheme     int64 `json:"scheme"`
	Invalid    int64 `json:"invalid"`
	NoFollow   int64 `json:"nofollow"`
	Focus      int64 `json:"focus"`
}

// Quantiles are computed from the merged histogram; null before the first answer.
type Quantiles struct {
	P50 *float64 `json:"p50"`
	P90 *float64 `json:"p90"`
	P99 *float64 `json:"p99"`
}

// DNSStatus counts name look-ups since the nodes started, including nodes that are gone, as they
// last reported. A restarted node counts from 0.
type DNSStatus struct {
	Lookups      int64 `json:"lookups"`
	Hits         int64 `json:"hits"`
	NegativeHits int64 `json:"negative_hits"`
	StaleServed  int64 `json:"stale_served"`
	Failures     int64 `json:"failures"`
}

// LinkStatus counts the destinations of links. Found is stored in the partitions; the others count
// since the nodes started, as DNSStatus does.
type LinkStatus struct {
	Found                 int64 `json:"found"`
	Local                 int64 `json:"local"`
	Forwarded             int64 `json:"forwarded"`
	SuppressedBySentCache int64 `json:"suppressed_by_sent_cache"`
}

// The causes of a bottleneck (BottleneckStatus.Cause).
const (
	BottleneckPoliteness = "politeness"
	BottleneckFetchers   = "fetchers"
	BottleneckCPU        = "cpu"
	BottleneckDNS        = "dns"
	BottleneckDisk       = "disk"
	BottleneckHandoff    = "handoff"
	BottleneckNothingDue = "nothing_due" // every known page was fetched, and none is due again
	BottleneckIndex      = "index"       // the processors are busy, and the index is behind
	BottleneckRender     = "render"      // pages wait for a browser
	BottleneckNone       = "none"
)

// BottleneckStatus names the main limit of the crawl's speed.
type BottleneckStatus struct {
	Cause   string `json:"cause"`
	Message string `json:"message"`
}

// OutputStatus describes the archives and derived outputs. RecordsTotal and the duplicates are
// stored in the partitions; files and bytes are what each node last reported, even a node that is
// gone, as far as the answering node knows.
type OutputStatus struct {
	WARCFiles      int64 `json:"warc_files"`
	WARCBytesTotal int64 `json:"warc_bytes_total"`
	// Parts of these: on the disks of nodes that do not answer, failed or left, and on nodes that
	// were forgotten.
	WARCFilesAway          int64 `json:"warc_files_away"`
	WARCBytesAway          int64 `json:"warc_bytes_away"`
	WARCFilesLost          int64 `json:"warc_files_lost"`
	WARCBytesLost          int64 `json:"warc_bytes_lost"`
	RecordsTotal           int64 `json:"records_total"`
	RecordsLost            int64 `json:"records_lost"` // were on a forgotten node
	ContentDuplicatesTotal int64 `json:"content_duplicates_total"`
	// ContentUnansweredTotal counts payloads that were stored whole because no node answered in
	// time whether they are known, since the nodes started: up to so many may be stored twice.
	ContentUnansweredTotal int64 `json:"content_unanswered_total"`
	// pages whose text is nearly that of another
	NearDuplicatesTotal int64 `json:"near_duplicates_total"`
	DerivedFiles        int64 `json:"derived_files"` // --derive and --log-skipped
	DerivedBytesTotal   int64 `json:"derived_bytes_total"`
	IndexBytesTotal     int64 `json:"index_bytes_total"` // of the CDXJ indexes beside the files
	// Growth of the archives over the last seconds. RecordsPerSecond counts responses and revisits.
	WARCBytesPerSecond float64      `json:"warc_bytes_per_second"`
	RecordsPerSecond   float64      `json:"records_per_second"`
	Upload             UploadStatus `json:"upload"`
	// Sinks are those of --sink, each once for all nodes that have it; none: empty.
	Sinks []SinkStatus `json:"sinks"`
	// Webhooks are those of --webhook, each once for all nodes that have it; none: empty.
	Webhooks []WebhookStatus `json:"webhooks"`
}

// UploadStatus describes the copies in an object store (--upload); without one all is 0.
type UploadStatus struct {
	QueuedFiles int64 `json:"queued_files"` // finished, and not in the store yet
	BytesTotal  int64 `json:"bytes_total"`  // in the store, verified
	FailedTotal int64 `json:"failed_total"` // attempts since the nodes started
	// BehindSeconds is how long the oldest of the queued files has been finished.
	BehindSeconds float64 `json:"behind_seconds"`
}

// SinkStatus is a place to which results are sent.
type SinkStatus struct {
	Sink        string `json:"sink"` // as --sink names it
	EventsTotal int64  `json:"events_total"`
	// batches that were not taken, since the nodes started
	ErrorsTotal int64 `json:"errors_total"`
	// age of the oldest result that is not sent, of the node that is most behind
	BehindSeconds float64 `json:"behind_seconds"`
	Error         *string `json:"error"` // the last one, until a batch is taken
	// FailsSince is when the first batch in a row was not taken; nil: the last one was.
	FailsSince *time.Time `json:"fails_since"`
}

// WebhookStatus is a URL to which events are sent.
type WebhookStatus struct {
	Webhook     string `json:"webhook"`      // WebhookTarget.String
	EventsTotal int64  `json:"events_total"` // that it has taken, of all runs of the nodes
	Queued      int64  `json:"queued"`       // that wait on the disks
	LostTotal   int64  `json:"lost_total"`   // that were never sent, of all runs
	ErrorsTotal int64  `json:"errors_total"` // attempts that failed, since the nodes started
	// age of the event that is sent next, of the node that is most behind
	BehindSeconds float64 `json:"behind_seconds"`
	Error         *string `json:"error"` // the last one, until an event is taken
	// FailsSince is when the first attempt in a row failed; nil: the last one did not.
	FailsSince *time.Time `json:"fails_since"`
	// LostAt is when a loss was seen last; nil: none since the nodes started.
	LostAt *time.Time `json:"lost_at"`
}

// NodeStatus is one node's block. A node that cannot be reached is shown with its last data;
// unknown values are null. The rows agree with the totals: a silent node has no speed and no busy
// fetcher, and what a former member held counts with its new holders.
type NodeStatus struct {
	ID             NodeID          `json:"id"`
	Name           string          `json:"name"`
	State          string          `json:"state"`       // NodeAlive...
	AgeSeconds     *float64        `json:"age_seconds"` // age of this block
	HTTP           string          `json:"http"`
	RPC            string          `json:"rpc"`
	Gossip         string          `json:"gossip"`
	PID            *int            `json:"pid"`
	UptimeSeconds  *float64        `json:"uptime_seconds"`
	Partitions     PartitionCounts `json:"partitions"`
	PagesTotal     *int64          `json:"pages_total"` // of the partitions that it holds
	PagesPerSecond *float64        `json:"pages_per_second"`
	Queued         *int64          `json:"queued"`
	Fetchers       FetcherCounts   `json:"fetchers"`
	RSSBytes       *int64          `json:"rss_bytes"` // resident memory, page cache included
	DiskFreeBytes  *int64          `json:"disk_free_bytes"`
	// for the archive, which may be on a volume of its own
	WARCDiskFreeBytes *int64 `json:"warc_disk_free_bytes"`
	// of unused copies that are being deleted
	DeletingBytes         *int64   `json:"deleting_bytes"`
	LeaseRemainingSeconds *float64 `json:"lease_remaining_seconds"` // 0: it may not fetch
	// one sentence; null when it is not paused
	PausedReason *string `json:"paused_reason"`
	Version      *string `json:"version"` // of its program
	Weight       int     `json:"weight"`  // its share of the partitions, 1 to MaxWeight
	Zone         *string `json:"zone"`    // null: none
}

// PartitionCounts counts the partitions that a node has.
type PartitionCounts struct {
	Held    *int `json:"held"`
	Replica *int `json:"replica"`
}

// FetcherCounts counts a node's concurrent fetches.
type FetcherCounts struct {
	Busy *int `json:"busy"`
	Max  *int `json:"max"`
}

// PreferencesStatus tells of what owners say of the use of their pages.
type PreferencesStatus struct {
	// LeftOutTotal counts visits whose page is left out, by the purposes that are refused; with obey.
	LeftOutTotal PurposeCounts `json:"left_out_total"`
}

// PurposeCounts are counts by purpose.
type PurposeCounts struct {
	Search  int64 `json:"search"`
	Archive int64 `json:"archive"`
	AIInput int64 `json:"ai-input"`
	AITrain int64 `json:"ai-train"`
}

// FreshnessStatus tells of revisits. Counts are of the cluster and move with the partitions.
type FreshnessStatus struct {
	Mode string `json:"mode"` // RecrawlOff...
	// Due counts pages whose next visit is due: those in a queue, and those that wait for their place
	// in it.
	Due int64 `json:"due"`
	// NextDueAt is the earliest time at which a page becomes due; null without one, and when it is not
	// known.
	NextDueAt *time.Time `json:"next_due_at"`
	// OverdueSeconds are quantiles of how late due pages were queued.
	OverdueSeconds   OverdueQuantiles `json:"overdue_seconds"`
	RevisitsTotal    int64            `json:"revisits_total"`
	NotModifiedTotal int64            `json:"not_modified_total"` // answered by 304
	UnchangedTotal   int64            `json:"unchanged_total"`    // 304 included
	ChangedTotal     int64            `json:"changed_total"`
	GoneTotal        int64            `json:"gone_total"` // answered by 404 or 410
	// Useful is the share of the newest 10,000 revisits of each node that found a change; null before
	// the first one since the nodes were started.
	Useful *float64 `json:"useful"`
	// Expected is the share of the known pages, weighted by importance, whose copy is as the page is
	// now, as the model believes by when pages were really visited; 0 to 1. Null until there is a
	// model.
	Expected *float64 `json:"expected"`
}

// OverdueQuantiles are computed from the merged histogram; null before the first revisit.
type OverdueQuantiles struct {
	P50 *float64 `json:"p50"`
	P99 *float64 `json:"p99"`
}
