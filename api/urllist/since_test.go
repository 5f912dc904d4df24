package urllist

import (
	"testing"
	"time"
)

// TestParseSince reads times and how long ago something was.
func TestParseSince(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"2026-11-27":                "2026-11-27T00:00:00Z",
		"2026-11-27T10:00:00Z":      "2026-11-27T10:00:00Z",
		"2026-11-27T10:00:00+02:00": "2026-11-27T08:00:00Z",
		"2026-11-27T10:00:00.5Z":    "2026-11-27T10:00:00.5Z",
		"90m":                       "2026-11-28T10:30:00Z",
		"1h30m":                     "2026-11-28T10:30:00Z",
		"7d":                        "2026-11-21T12:00:00Z",
		"2w":                        "2026-11-14T12:00:00Z",
		"0s":                        "2026-11-28T12:00:00Z",
		"":                          "", "yesterday": "", "7": "", "-1h": "", "d": "", "-1d": "",
		"1.5d":      "",
		"99999999d": "", "2026-13-01": "", "2026-11-27 10:00": "", "now": "",
	} {
		got, err := ParseSince(text, now)
		if err != nil {
			if want != "" {
				t.Errorf("%q: %v", text, err)
			}
			continue
		}
		if s := got.UTC().Format(time.RFC3339Nano); s != want {
			t.Errorf("%q: %s, want %q", text, s, want)
		}
	}
}
