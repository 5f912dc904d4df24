package retry

import (
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/statuses"
)

const (
	// MaxRetries bounds the setting: 100 tries take an hour and a half.
	MaxRetries = 100
	// LimitedTries is how often a URL is tried that answers 429 or 503. It is no setting: that
	// answer is the host's, and the host waits.
	LimitedTries = 3
	// None is the list without a status.
	None = "none"
)

// delays are the waits after the first failures; the last one repeats.
var delays = [...]time.Duration{time.Second, 10 * time.Second, MaxDelay}

const (
	tooManyRequests    = 429
	serviceUnavailable = 503
)

// MaxDelay is the longest wait between two tries of a URL.
const MaxDelay = time.Minute

// After says when a URL is fetched again that has failed so many times, the last one included:
// false when that was its last try. retries is how often it may be tried again.
func After(failures, retries int) (time.Duration, bool) {
	if failures < 1 || failures > retries {
		return 0, false
	}
	return delays[min(failures, len(delays))-1], true
}

// Limited reports whether a status asks the client for fewer requests. It is never one of
// Statuses: the host waits.
func Limited(status int) bool {
	return status == tooManyRequests || status == serviceUnavailable
}

// Statuses is a list of statuses that are tried again, as ParseStatuses reads it. The zero value
// has none.
type Statuses struct {
	set statuses.Set
}

// Has reports whether a status is tried again.
func (s Statuses) Has(status int) bool { return s.set.Has(status) && !Limited(status) }

// leastError is the least status of an error. Others are results: a page, or a redirect, that is
// fetched again and again would never be followed.
const leastError = 400

// ParseStatuses reads a list such as 408,500-504. None, and the empty list, have no status.
func ParseStatuses(text string) (s Statuses, err error) {
	if t := strings.TrimSpace(text); t == "" || t == None {
		return s, nil
	}
	s.set, err = statuses.Parse(text, leastError,
		"a list such as "+crawl.DefaultRetryStatuses+", or none")
	return s, err
}
