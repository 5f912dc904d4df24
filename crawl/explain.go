package crawl

import (
	"errors"
	"time"

	"crawlnode/web/metadata"
	"crawlnode/web/preferences"
)

// ErrUnknownHost is inside an error about a host without any record. The API answers 404.
var ErrUnknownHost = errors.New("unknown host")

// ErrNoCapture is inside an error about a position at which no member that answers has a record.
// The API answers 404.
var ErrNoCapture = errors.New("no such capture")

// NodeRef names a node in a report.
type NodeRef struct {
	ID   NodeID `json:"id"`
	Name string `json:"name"` // the id when no name is known
}

// URLReport is the document of GET /api/v1/urls?url=: what the cluster knows of one URL, and how it
// would treat it. Unknown values are null.
type URLReport struct {
	Input   string  `json:"input"`   // as given in the request
	Summary string  `json:"summary"` // one sentence for a person
	URL     *string `json:"url"`     // the canonical form; null: not a URL to crawl
	Host    *Host   `json:"host"`
	// Partition is that of the host. Owner is its owner by the table, Holder the node that reports
	// to hold it.
	Partition *Partition   `json:"partition"`
	Owner     *NodeRef     `json:"owner"`
	Holder    *NodeRef     `json:"holder"`
	Scope     ScopeReport  `json:"scope"`
	Robots    RobotsReport `json:"robots"`
	// Record is null when the URL was never admitted, and when the holder did not answer;
	// Unanswered is the reason for that.
	Record     *RecordReport `json:"record"`
	Unanswered *string       `json:"unanswered"`
	// Render says whether the page was shown to a browser; null: nobody has decided, as without
	// --render.
	Render *RenderReport `json:"render"`
	// Preferences is what the owner said of the use of the page at the newest visit; null: there was
	// none.
	Preferences *preferences.PagePreferences `json:"preferences"`
	// Metadata is what the page, or the document, says of itself in the newest capture; null: it says
	// nothing, or nothing is stored.
	Metadata *metadata.Record `json:"metadata"`
	// History are the last visits, the newest first, at most eight. Without revisits (--recrawl) it is
	// the last one alone.
	History []VisitReport `json:"history"`
	// NextVisitAt is when the page is visited again, by the present plan; null: it is not planned.
	NextVisitAt *time.Time `json:"next_visit_at"`
	// ChangeIntervalSeconds is the mean time between two changes of the page, as its visits and its
	// site make believe.
	ChangeIntervalSeconds *float64    `json:"change_interval_seconds"`
	Referrer              *string     `json:"referrer"` // the page on which it was found first
	Links                 LinksReport `json:"links"`
}

// VisitReport is one visit of a page. Unknown values are null.
type VisitReport struct {
	At           time.Time `json:"at"`
	Status       *int      `json:"status"`       // null: there was no answer
	Milliseconds *int64    `json:"milliseconds"` // until the end of the answer
	Changed      *bool     `json:"changed"`      // since the visit before
}

// LinksReport is what links say of a URL. Unknown values are null.
type LinksReport struct {
	In         *int64   `json:"in"`
	Out        *int64   `json:"out"`
	Importance *float64 `json:"importance"` // 1 is that of a page without links to it
	Rank       *float64 `json:"rank"`       // 1 the most important, 0 the least
}

// ScopeReport is the scope rules' verdict on a URL.
type ScopeReport struct {
	Admit      bool   `json:"admit"`
	Reason     string `json:"reason"`     // as in skipped_by_reason; "" with Admit
	Rule       string `json:"rule"`       // the rule that decided, for a person
	Suspicious bool   `json:"suspicious"` // admitted, in the lowest band and under its host's budget
	Depth      int    `json:"depth"`      // the judged depth, in links from a seed
}

// The verdicts of a RobotsReport.
const (
	RobotsSaysAllowed     = "allowed"
	RobotsSaysForbidden   = "forbidden"
	RobotsSaysUnreachable = "unreachable" // robots.txt is unavailable, so nothing is fetched
	RobotsSaysUnknown     = "unknown"     // not read yet, or the holder did not answer
)

// RobotsIgnored is the rule of an origin whose robots.txt is not asked for (RobotsReport.Rule).
const RobotsIgnored = "robots.txt is ignored inside --allow-net (--robots ignore), and was not read"

// RobotsReport is the verdict of the stored robots.txt of a URL's origin.
type RobotsReport struct {
	Verdict   string     `json:"verdict"` // RobotsSaysAllowed...
	Rule      string     `json:"rule"`    // the line that decided, or why there is none
	Origin    string     `json:"origin"`
	Status    *int       `json:"status"` // of the answer; null when there is none
	FetchedAt *time.Time `json:"fetched_at"`
	ExpiresAt *time.Time `json:"expires_at"` // a later request fetches it again first
	// CrawlDelaySeconds is the delay that it asks for; null: it was not read, or asks for none.
	CrawlDelaySeconds *float64 `json:"crawl_delay_seconds"`
}

// RecordReport is the record of a URL.
type RecordReport struct {
	State     string     `json:"state"` // queued, done, failed or refused
	Depth     int        `json:"depth"` // links from a seed, at the first discovery
	Band      Band       `json:"band"`  // priority class: 0 is fetched first
	Via       string     `json:"via"`   // link, seed, redirect...
	Hops      int        `json:"hops"`  // redirects in a row that led here
	Attempts  int        `json:"attempts"`
	NotBefore *time.Time `json:"not_before"` // earliest next attempt; null: no limit
	Status    *int       `json:"status"`     // of the last answer; null: there was none
	// why it failed or was refused, or a remark about the answer
	Reason    *string        `json:"reason"`
	Wall      *string        `json:"wall"` // the product of a bot wall, when the reason is blocked
	FetchedAt *time.Time     `json:"fetched_at"`
	Digest    *string        `json:"digest"`  // of the payload, as WARC-Payload-Digest: sha1:BASE32
	Archive   *ArchiveReport `json:"archive"` // null: not stored
	// DuplicateOf is an earlier page with the same payload, NearDuplicateOf one with nearly the
	// same text; null: none is known.
	DuplicateOf     *string `json:"duplicate_of"`
	NearDuplicateOf *string `json:"near_duplicate_of"`
}

// ArchiveReport is the position of a URL's capture.
type ArchiveReport struct {
	Node   NodeRef `json:"node"`
	File   string  `json:"file"`   // in that node's <data-dir>/warc
	Offset int64   `json:"offset"` // of the record's gzip member, in bytes
	Length int64   `json:"length"`
}

// The states of a host (HostReport.State).
const (
	HostIdle   = "idle"   // nothing is queued
	HostParked = "parked" // on disk, until there is room in memory
	// its URLs are being read from disk, its address is being looked up, or what was fetched is being
	// read or shown
	HostLoading  = "loading"
	HostWaiting  = "waiting"   // its delay has not passed
	HostReady    = "ready"     // it may be requested now
	HostInFlight = "in_flight" // a request is open
	HostBackoff  = "backoff"   // it asked for fewer requests, or failed
	HostFrozen   = "frozen"    // it failed too often
	HostHeld     = "held"      // its partition is about to move
	// HostOverShare: its domain or block of addresses has used its share of the fetchers.
	HostOverShare = "over_share"
)

// HostReport is the document of GET /api/v1/hosts/{host}. Refused links are counted per partition,
// not per host; see /status.
type HostReport struct {
	Host      Host      `json:"host"`
	Partition Partition `json:"partition"`
	Owner     NodeRef   `json:"owner"` // by the table
	Holder    NodeRef   `json:"holder"`
	State     string    `json:"state"`   // HostIdle...
	Summary   string    `json:"summary"` // the state in one sentence, with the reason of a back-off
	// NextAllowedAt is the earliest start of the next request; null: at once.
	NextAllowedAt *time.Time   `json:"next_allowed_at"`
	Queued        int64        `json:"queued"`
	ByBand        [Bands]int64 `json:"by_band"`
	Requests      int64        `json:"requests"` // of every kind, robots.txt included
	Pages         int64        `json:"pages"`
	// Suspicious counts admitted URLs that look like a trap; beyond
	// SuspiciousBudget, unless that is 0, they are refused as host_budget.
	Suspicious       int64            `json:"suspicious"`
	SuspiciousBudget int64            `json:"suspicious_budget"`
	Politeness       PolitenessReport `json:"politeness"`
	Robots           []RobotsSummary  `json:"robots"` // by origin, 8 at most
}

// PolitenessReport is what determines the time of the next request to a host.
type PolitenessReport struct {
	// applies now; null while the host is not in memory
	GapSeconds        *float64 `json:"gap_seconds"`
	CrawlDelaySeconds float64  `json:"crawl_delay_seconds"`
	LatencySeconds    float64  `json:"latency_seconds"` // of the last request
	// AverageLatencySeconds is the mean over the requests since the host came into memory; null: there
	// was none.
	AverageLatencySeconds *float64 `json:"average_latency_seconds"`
	BackoffSeconds        float64  `json:"backoff_seconds"` // after 429 and 503
	BackoffReason         *string  `json:"backoff_reason"`  // null: it is not held back
	// WalledSince is when the host began to rest because it answers with bot walls; null: it does not.
	WalledSince *time.Time `json:"walled_since"`
	Failures    int        `json:"failures"` // in a row
	FrozenUntil *time.Time `json:"frozen_until"`
	HoldUntil   *time.Time `json:"hold_until"` // as its Retry-After asked
	Address     *string    `json:"address"`    // used for requests; null while none is known
	// LastFailure is why the host was last unreachable; null: it was reached, or it is not in
	// memory.
	LastFailure *HostFailure `json:"last_failure"`
}

// HostFailure is why a host could not be reached.
type HostFailure struct {
	Category string `json:"category"` // as in /status.fetch.errors_by_category
	Reason   string `json:"reason"`   // one sentence for a person
}

// RobotsSummary is one stored robots.txt.
type RobotsSummary struct {
	Origin            string    `json:"origin"`
	Verdict           string    `json:"verdict"` // rules, allow_all or deny_all
	Status            int       `json:"status"`
	FetchedAt         time.Time `json:"fetched_at"`
	ExpiresAt         time.Time `json:"expires_at"`
	CrawlDelaySeconds float64   `json:"crawl_delay_seconds"`
	Bytes             int       `json:"bytes"` // of the rules that were kept
	// BlockedPaths are the patterns of its Disallow lines for this crawler, at most MaxBlockedPaths.
	BlockedPaths []string `json:"blocked_paths"`
}

// MaxBlockedPaths bounds RobotsSummary.BlockedPaths.
const MaxBlockedPaths = 100
