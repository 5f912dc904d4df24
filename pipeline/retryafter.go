package pipeline

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter is the longest wait that a server can ask for: a year.
const maxRetryAfter = 365 * 24 * time.Hour

// askedWait is how long an answer asks the crawler to wait. A date is compared with the server's
// own Date header if there is one, since the clock of this machine may be wrong.
func askedWait(h http.Header, now time.Time) time.Duration {
	if at, err := http.ParseTime(strings.TrimSpace(h.Get("Date"))); err == nil {
		now = at
	}
	return retryAfter(h.Get("Retry-After"), now)
}

// retryAfter reads a Retry-After header (RFC 9110 section 10.2.3): seconds, or an HTTP date that is
// compared with now. Values that cannot be read, or lie in the past, are 0. Fractions of seconds,
// which some servers send, are rounded up.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value == "" {
		return 0
	}
	if whole, fraction, dotted := strings.Cut(value, "."); allDigits(whole) &&
		(!dotted || allDigits(fraction)) {
		n, err := strconv.ParseInt(whole, 10, 64)
		if err != nil || n >= int64(maxRetryAfter/time.Second) {
			return maxRetryAfter
		}
		if strings.Trim(fraction, "0") != "" {
			n++
		}
		return time.Duration(n) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil || !at.After(now) {
		return 0
	}
	return min(at.Sub(now), maxRetryAfter)
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
