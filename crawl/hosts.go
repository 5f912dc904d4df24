package crawl

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// The orders of a HostsReport, the largest first. SortErrors and SortBackoff leave out hosts
// without errors or back-off.
const (
	SortQueued  = "queued"  // URLs that wait
	SortFetched = "fetched" // pages since the first visit
	SortErrors  = "errors"  // failed visits since the host came into memory
	SortBackoff = "backoff" // remaining back-off of a host that failed or asked for fewer requests
	SortLatency = "latency" // of the last request
)

// HostSorts lists the orders, the default first.
var HostSorts = [...]string{SortQueued, SortFetched, SortErrors, SortBackoff, SortLatency}

// MaxHostLines bounds a HostsReport.
const MaxHostLines = 100

// HostsReport is the document of GET /api/v1/hosts: the first hosts, in an order, among those that
// the members have in memory. Hosts on disk are not included: ranking them would need a scan of the
// whole frontier.
type HostsReport struct {
	Sort  string     `json:"sort"`
	Hosts []HostLine `json:"hosts"` // MaxHostLines at most
	// InMemory counts the compared hosts, Total all hosts ever seen.
	InMemory int64 `json:"in_memory"`
	Total    int64 `json:"total"`
	// Unanswered names the members whose hosts are missing, because they did not answer in time.
	Unanswered []string `json:"unanswered"`
}

// HostLine is one host in a list.
type HostLine struct {
	Host      Host      `json:"host"`
	Partition Partition `json:"partition"`
	Holder    NodeRef   `json:"holder"`
	State     string    `json:"state"` // HostReady...
	Queued    int64     `json:"queued"`
	Pages     int64     `json:"pages"`
	Requests  int64     `json:"requests"`
	// Errors counts failed visits since the holder loaded the host into memory, including 429 and
	// 503; Failures the latest ones in a row.
	Errors   int64 `json:"errors"`
	Failures int   `json:"failures"`
	// NextAllowedAt is the earliest start of the next request; null: at once.
	NextAllowedAt *time.Time `json:"next_allowed_at"`
	// BackoffSeconds is the remaining back-off; 0: none.
	BackoffSeconds float64 `json:"backoff_seconds"`
	LatencySeconds float64 `json:"latency_seconds"`
}

// rank is the value by which a host is ordered; ok is false when it does not belong in the list.
func (l *HostLine) rank(sort string) (value float64, ok bool) {
	switch sort {
	case SortFetched:
		return float64(l.Pages), true
	case SortErrors:
		return float64(l.Errors), l.Errors > 0
	case SortBackoff:
		return l.BackoffSeconds, l.BackoffSeconds > 0
	case SortLatency:
		return l.LatencySeconds, true
	}
	return float64(l.Queued), true
}

// SortHosts orders lines, drops those that do not belong in the list or are beyond limit, and lists
// each host once. During a move two members may report the same host; the report with more requests
// is the newer one.
func SortHosts(lines []HostLine, sort string, limit int) []HostLine {
	slices.SortFunc(lines, func(a, b HostLine) int {
		return cmp.Or(strings.Compare(string(a.Host), string(b.Host)),
			cmp.Compare(b.Requests, a.Requests))
	})
	lines = slices.CompactFunc(lines, func(a, b HostLine) bool { return a.Host == b.Host })
	lines = slices.DeleteFunc(lines, func(l HostLine) bool {
		_, ok := l.rank(sort)
		return !ok
	})
	slices.SortStableFunc(lines, func(a, b HostLine) int {
		x, _ := a.rank(sort)
		y, _ := b.rank(sort)
		return cmp.Compare(y, x)
	})
	return lines[:min(len(lines), limit)]
}
