package urllist

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// days are the units of ParseSince that time.ParseDuration does not know.
var days = map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour}

// ParseSince reads a time: RFC 3339, a date (its beginning in UTC), or how long ago it was, such as
// 90m, 24h, 7d or 2w.
func ParseSince(text string, now time.Time) (time.Time, error) {
	for _, form := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	ago, err := time.ParseDuration(text)
	for unit, long := range days {
		if number, ok := strings.CutSuffix(text, unit); ok {
			n, bad := strconv.ParseUint(number, 10, 16)
			ago, err = time.Duration(n)*long, bad
		}
	}
	if err != nil || ago < 0 {
		return time.Time{}, fmt.Errorf("%q is no time: give one such as 2026-11-28T12:00:00Z or "+
			"2026-11-28, or how long ago it was, such as 24h or 7d", text)
	}
	return now.Add(-ago), nil
}
