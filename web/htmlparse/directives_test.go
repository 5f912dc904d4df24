package htmlparse

import (
	"strings"
	"testing"
	"time"
)

// TestRobotsHeader has header lines as sites send them. What is right follows from the examples in
// the documentation of the header by Google and Bing: a prefix addresses what follows it, a date
// may have commas and colons, and lines add up.
func TestRobotsHeader(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	const past, future = "Friday, 25 Jun 2010 15:00:00 PST", "Friday, 25 Jun 2077 15:00:00 PST"
	none := [2]bool{}
	index, follow, both := [2]bool{true, false}, [2]bool{false, true}, [2]bool{true, true}
	for _, tt := range []struct {
		lines string // separated by "|"
		want  [2]bool
	}{
		{"unavailable_after: " + past + ", nofollow", both},
		{"unavailable_after: " + future + ", nofollow", follow},
		{"unavailable_after: " + future + "; noindex", index},
		{"unavailable_after: " + past, index},
		{"UNAVAILABLE_AFTER:" + past, index},
		{"unavailable_after: " + future, none},
		{"nofollow, unavailable_after: " + future + ", otherbot: noindex", follow},
		{"otherbot: unavailable_after: " + past + ", nofollow", none},
		{"otherbot: unavailable_after: " + past + ", nofollow, crawlnode: nofollow", follow},
		{"crawlnode: unavailable_after: " + past, index},
		{"crawlnode: unavailable_after: " + future + ", nofollow", follow},
		{"unavailable_after: 25 Jun 2010 15:00:00 PST, noindex", index},
		{"unavailable_after: not before, next, week, nofollow", follow},
		{"unavailable_after: Friday, 99 Jun 2010 15:00:00 PST, nofollow", follow},
		{"unavailable_after: , nofollow", follow},
		{"unavailable_after:", none},
		{"unavailable_after", none},
		{"25 Jun 2010 15:00:00 PST, nofollow", follow},

		{"otherbot: noindex, nofollow", none},
		{"otherbot: noindex, nofollow, CrawlNode: nofollow", follow},
		{"crawlnode: noindex", index},
		{"crawlnode : noindex", index},
		{"crawlnode/2.1: noindex", index},
		{"crawlnodes: noindex", none},
		{"*: noindex", index},
		{"googlebot: nofollow|otherbot: noindex, nofollow", none},
		{"googlebot: nofollow|noindex", index},
		{"nofollow|crawlnode: noindex", both},
		{"otherbot: nofollow, noindex|crawlnode: none", both},
		{"noindex otherbot: nofollow", index},
		{"crawlnode: max-snippet: 20, nofollow", follow},
		{"otherbot: max-snippet: 20, nofollow", none},
		{"max-snippet: 20, nofollow", follow},
		{"max-snippet:-1, max-image-preview: large, max-video-preview: -1, noindex", index},
		{"max-image-preview: none", none},
		{"max-anything: whatever, nofollow", follow},
		{"some-score: 0.5, nofollow", follow},
		{"noarchive, nosnippet, noai", none},
		{"NOINDEX", index},
		{"NoIndex,NoFollow", both},
		{"noindex nofollow", both},
		{"noindex;nofollow", both},
		{"noindex: true", index},
		{"all", none},
		{"|", none},
		{", ,;:, nofollow", follow},
	} {
		lines := strings.Split(tt.lines, "|")
		i, f := RobotsHeader(lines, "crawlnode", now)
		if got := [2]bool{i, f}; got != tt.want {
			t.Errorf("%q: %v, want %v", lines, got, tt.want)
		}
	}
	if i, f := RobotsHeader([]string{"fieldbot: nofollow, crawlnode: noindex"}, "FieldBot", now); i ||
		!f {
		t.Errorf("another crawler's name: %v, %v; want nofollow alone", i, f)
	}
}

// TestUnavailableAfter has one time in the forms of RFC 822, RFC 850, asctime and ISO 8601.
func TestUnavailableAfter(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 6, 25, 23, 0, 0, 0, time.UTC)
	day, minute := time.Date(2026, 6, 25, 0, 0, 0, 0, time.UTC), at.Add(0)
	for date, from := range map[string]time.Time{
		"Thursday, 25 Jun 2026 15:00:00 PST": at,
		"Thu, 25 Jun 2026 23:00:00 GMT":      at,
		"Thu, 25 Jun 2026 23:00:00 UTC":      at,
		"25 Jun 2026 15:00:00 pst":           at,
		"25 Jun 26 18:00 EST":                minute,
		"Thursday, 25-Jun-26 23:00:00 GMT":   at,
		"Thu, 25-Jun-2026 23:00:00 GMT":      at,
		"Thu Jun 25 23:00:00 2026":           at,
		"Thu, 25 Jun 2026 19:00:00 -0400":    at,
		"26 Jun 2026 01:00:00 CEST":          at,
		"2026-06-25T23:00:00Z":               at,
		"2026-06-26T01:00:00+02:00":          at,
		"2026-06-25T19:00:00-0400":           at,
		"2026-06-25T23:00":                   minute,
		"2026-06-25 23:00:00 UTC":            at,
		"20260625T230000Z":                   at,
		"June 25, 2026, 23:00:00 UTC":        at,
		"Thursday, June 25, 2026":            day,
		"2026-06-25":                         day,
		"25 Jun 2026":                        day,
	} {
		for _, line := range []string{"unavailable_after: " + date,
			"unavailable_after:" + date + ",nofollow"} {
			before, _ := RobotsHeader([]string{line}, "crawlnode", from.Add(-time.Second))
			after, follow := RobotsHeader([]string{line}, "crawlnode", from)
			if before || !after || follow != strings.Contains(line, "nofollow") {
				t.Errorf("%q: noindex a second before %v, at the time %v; nofollow %v", line, before, after,
					follow)
			}
			if !NoIndexLater([]string{line}, "crawlnode", from.Add(-time.Second)) ||
				NoIndexLater([]string{line}, "crawlnode", from) {
				t.Errorf("%q: not later just before its time, or later after it", line)
			}
		}
		meta := `<meta name=robots content="unavailable_after: ` + date + `, nofollow">`
		for _, now := range []time.Time{{}, from.Add(-time.Second), from} {
			d := ParseWith(Options{Now: now}, []byte(meta), "text/html", mustURL(t, home))
			if d.NoIndex != (now == from) || d.NoIndexLater == d.NoIndex || !d.NoFollow {
				t.Errorf("%s at %v: noindex %v, nofollow %v", meta, now, d.NoIndex, d.NoFollow)
			}
		}
	}
}

// FuzzRobotsHeader checks what holds for each header: it is read in bounded time; a directive in a
// line of its own counts, whatever stands in others; and time only adds noindex.
func FuzzRobotsHeader(f *testing.F) {
	f.Add("unavailable_after: Friday, 25 Jun 2010 15:00:00 PST, nofollow")
	f.Add("otherbot: noindex, crawlnode: max-snippet: 20")
	f.Add(strings.Repeat("unavailable_after:2 Jan 06,", 100))
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, line string) {
		early, followEarly := RobotsHeader([]string{line}, "crawlnode", time.Time{})
		late, follow := RobotsHeader([]string{line}, "crawlnode", now)
		if early && !late || follow != followEarly {
			t.Errorf("%q: noindex %v and later %v, nofollow %v and later %v", line, early, late, followEarly,
				follow)
		}
		if i, f := RobotsHeader([]string{line, "none"}, "crawlnode", now); !i || !f {
			t.Errorf("%q takes back another line", line)
		}
		if i, f := RobotsHeader([]string{"none, " + line}, "crawlnode", now); !i || !f {
			t.Errorf("%q takes back what stands before it", line)
		}
	})
}
