package crawl

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// The orders of a HostsReport: the largest first. SortErrors and SortBackoff leave
// out hosts that have none.
const (
	SortQueued  = "queued"  // URLs that wait
	SortFetched = "fetched" // pages since the first visit
	SortErrors  = "errors"  // failed visits since the host came into memory
	SortBackoff = "backoff" // time until a host that failed, or asked for fewer requests, may be asked
	SortLatency = "latency" // of the last request
)

// HostSorts lists the orders, the usual one first.
var HostSorts = [...]string{SortQueued, SortFetched, SortErrors, SortBackoff, SortLatency}

// MaxHostLines bounds a HostsReport.
const MaxHostLines = 100

// HostsReport is the document of GET /api/v1/hosts: the first hosts, in an order, of
// those that the members have in memory. Hosts that wait on disk for a place in
// memory are not among them: to rank those, the whole frontier would have to be read.
type HostsReport struct {
	Sort  string     `json:"sort"`
	Hosts []HostLine `json:"hosts"` // MaxHostLines at most
	// InMemory counts the hosts that were looked at, Total all that were ever seen.
	InMemory int64 `json:"in_memory"`
	Total    int64 `json:"total"`
	// Unanswered names the members whose hosts are missing, because they did not
	// answer in time.
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
	// Errors counts failed visits since the host came into the holder's memory, with
	// 429 and 503; Failures those of the host in a row.
	Errors   int64 `json:"errors"`
	Failures int   `json:"failures"`
	// NextAllowedAt is the earliest start of the next request; null: at once.
	NextAllowedAt *time.Time `json:"next_allowed_at"`
	// BackoffSeconds is how long it is held back from now on; 0: it is not.
	BackoffSeconds float64 `json:"backoff_seconds"`
	LatencySeconds float64 `json:"latency_seconds"`
}

// rank is what a host is ordered by; ok is false when it does not belong into the
// list.
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

// SortHosts puts lines into an order, drops those that do not belong there and what
// is beyond limit, and names each host once: during a move two members may tell of
// it, and who has asked it more often is the newer.
func SortHosts(lines []HostLine, sort string, limit int) []HostLine {
	slices.SortFunc(lines, func(a, b HostLine) int {
		return cmp.Or(strings.Compare(string(a.Host), string(b.Host)), cmp.Compare(b.Requests, a.Requests))
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
