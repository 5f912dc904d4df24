package crawl

import (
	"errors"
	"time"
)

// ErrUnknownHost is inside an error about a host of which there is no record.
// The API answers 404.
var ErrUnknownHost = errors.New("unknown host")

// ErrNoCapture is inside an error about a place at which no member that answers has
// a record. The API answers 404.
var ErrNoCapture = errors.New("no such capture")

// NodeRef names a node in a report.
type NodeRef struct {
	ID   NodeID `json:"id"`
	Name string `json:"name"` // the id again when nobody here knows a name
}

// URLReport is the document of GET /api/v1/urls?url=: all that a cluster knows
// of one URL, and what it would do with it. What is not known is null.
type URLReport struct {
	Input   string  `json:"input"`   // as it was asked for
	Summary string  `json:"summary"` // one sentence for a person
	URL     *string `json:"url"`     // the canonical form; null: it is no URL to crawl
	Host    *Host   `json:"host"`
	// Partition is that of the host; Owner is whose it is by the table, Holder
	// who says that it holds it.
	Partition *Partition   `json:"partition"`
	Owner     *NodeRef     `json:"owner"`
	Holder    *NodeRef     `json:"holder"`
	Scope     ScopeReport  `json:"scope"`
	Robots    RobotsReport `json:"robots"`
	// Record is null when the URL was never admitted, and when the holder could
	// not be asked; Unanswered says why it could not.
	Record     *RecordReport `json:"record"`
	Unanswered *string       `json:"unanswered"`
}

// ScopeReport is the scope rules' verdict on a URL.
type ScopeReport struct {
	Admit      bool   `json:"admit"`
	Reason     string `json:"reason"`     // as in skipped_by_reason; "" with Admit
	Rule       string `json:"rule"`       // the rule that decided, for a person
	Suspicious bool   `json:"suspicious"` // admitted, in the lowest band and under its host's budget
	Depth      int    `json:"depth"`      // that was judged, in links from a seed
}

// The verdicts of a RobotsReport.
const (
	RobotsSaysAllowed     = "allowed"
	RobotsSaysForbidden   = "forbidden"
	RobotsSaysUnreachable = "unreachable" // robots.txt cannot be read, so nothing is fetched
	RobotsSaysUnknown     = "unknown"     // it was not read yet, or the holder could not be asked
)

// RobotsReport is what the stored robots.txt of a URL's origin says of it.
type RobotsReport struct {
	Verdict   string     `json:"verdict"` // RobotsSaysAllowed...
	Rule      string     `json:"rule"`    // the line that decided, or why there is none
	Origin    string     `json:"origin"`
	Status    *int       `json:"status"` // of the answer; null when there is none
	FetchedAt *time.Time `json:"fetched_at"`
	ExpiresAt *time.Time `json:"expires_at"` // it is fetched again before a request that comes later
}

// RecordReport is the record of a URL.
type RecordReport struct {
	State     string         `json:"state"` // queued, done, failed or refused
	Depth     int            `json:"depth"` // links from a seed, as it was first found
	Band      Band           `json:"band"`  // priority class: 0 is served first
	Via       string         `json:"via"`   // link, seed, redirect...
	Hops      int            `json:"hops"`  // redirects in a row that led here
	Attempts  int            `json:"attempts"`
	NotBefore *time.Time     `json:"not_before"` // earliest next attempt; null: none is set
	Status    *int           `json:"status"`     // of the last answer; null: there was none
	Reason    *string        `json:"reason"`     // why it failed or was refused, or what is to be said of the answer
	FetchedAt *time.Time     `json:"fetched_at"`
	Archive   *ArchiveReport `json:"archive"` // null: nothing was stored
	// DuplicateOf is an earlier page with the same payload, NearDuplicateOf one with
	// nearly the same text; null: none is known.
	DuplicateOf     *string `json:"duplicate_of"`
	NearDuplicateOf *string `json:"near_duplicate_of"`
}

// ArchiveReport says where the capture of a URL stands.
type ArchiveReport struct {
	Node   NodeRef `json:"node"`
	File   string  `json:"file"`   // in that node's <data-dir>/warc
	Offset int64   `json:"offset"` // of the record's gzip member, in bytes
	Length int64   `json:"length"`
}

// The states of a host (HostReport.State).
const (
	HostIdle     = "idle"      // nothing is queued
	HostParked   = "parked"    // on disk, until a place in memory is free
	HostLoading  = "loading"   // its URLs are being read from disk, or its address is being looked up
	HostWaiting  = "waiting"   // its delay has not passed
	HostReady    = "ready"     // it may be asked; a fetcher comes
	HostInFlight = "in_flight" // a request is open
	HostBackoff  = "backoff"   // it asked for fewer requests, or failed
	HostFrozen   = "frozen"    // it failed too often
	HostHeld     = "held"      // its partition is about to change hands
	// HostOverShare: its domain or block of addresses has had its share of the fetchers.
	HostOverShare = "over_share"
)

// HostReport is the document of GET /api/v1/hosts/{host}. Counts of refused
// links are kept for each partition and not for each host; see /status.
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
	// SuspiciousBudget they are refused as host_budget.
	Suspicious       int64            `json:"suspicious"`
	SuspiciousBudget int64            `json:"suspicious_budget"`
	Politeness       PolitenessReport `json:"politeness"`
	Robots           []RobotsSummary  `json:"robots"` // by origin, 8 at most
}

// PolitenessReport is what stands between two requests to a host.
type PolitenessReport struct {
	GapSeconds        *float64   `json:"gap_seconds"` // that holds now; null while the host is not in memory
	CrawlDelaySeconds float64    `json:"crawl_delay_seconds"`
	LatencySeconds    float64    `json:"latency_seconds"` // of the last request
	BackoffSeconds    float64    `json:"backoff_seconds"` // after 429 and 503
	BackoffReason     *string    `json:"backoff_reason"`  // null: it is not held back
	Failures          int        `json:"failures"`        // in a row
	FrozenUntil       *time.Time `json:"frozen_until"`
	HoldUntil         *time.Time `json:"hold_until"` // as its Retry-After asked
	Address           *string    `json:"address"`    // that is asked; null while none is known
	// LastFailure is why the host could not be reached the last time; null: it could, or
	// it is not in memory.
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
}
