package retry

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"crawlnode/crawl"
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
	set [600/64 + 1]uint64
}

// Has reports whether a status is tried again.
func (s Statuses) Has(status int) bool {
	return status >= 0 && status < 600 && s.set[status/64]>>(status%64)&1 == 1 && !Limited(status)
}

// ParseStatuses reads a list such as 408,500-504. None, and the empty list, have no status.
func ParseStatuses(text string) (s Statuses, err error) {
	if t := strings.TrimSpace(text); t == "" || t == None {
		return s, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err := parseStatus(from)
		if err != nil {
			return Statuses{}, err
		}
		last, err := parseStatus(to)
		if err != nil {
			return Statuses{}, err
		}
		if last < first {
			return Statuses{}, fmt.Errorf("%q ends before it begins: write %d-%d", strings.TrimSpace(part), last, first)
		}
		for n := first; n <= last; n++ {
			s.set[n/64] |= 1 << (n % 64)
		}
	}
	return s, nil
}

// parseStatus reads the status of an error. Others are results: a page, or a redirect, that is
// fetched again and again would never be followed.
func parseStatus(text string) (int, error) {
	text = strings.TrimSpace(text)
	n, err := strconv.Atoi(text)
	if err != nil || len(text) != 3 || n < 400 || n > 599 {
		return 0, fmt.Errorf("%q is not a status from 400 to 599: write a list such as %s, or none", text, crawl.DefaultRetryStatuses)
	}
	return n, nil
}
