package pipeline

import (
	"strings"
	"testing"

	"crawlnode/web/scope"
)

// TestRobotsDirectives checks that nofollow is obeyed and noindex marked, from the page's head and
// from X-Robots-Tag, for all crawlers and for this one.
func TestRobotsDirectives(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		header, head    string
		noIndex, follow bool
	}{
		"none": {follow: true},
		"meta noindex": {
			head:    `<meta name="robots" content="noindex">`,
			noIndex: true,
			follow:  true,
		},
		"meta nofollow":    {head: `<meta name="robots" content="nofollow">`},
		"meta none":        {head: `<meta name="robots" content="NONE">`, noIndex: true},
		"meta for another": {head: `<meta name="otherbot" content="none">`, follow: true},
		"tag noindex":      {header: "X-Robots-Tag: noindex", noIndex: true, follow: true},
		"tag nofollow":     {header: "X-Robots-Tag: nofollow"},
		"tag none":         {header: "X-Robots-Tag: none", noIndex: true},
		"tag for us":       {header: "X-Robots-Tag: crawlnode: noindex, nofollow", noIndex: true},
		"tag for another":  {header: "X-Robots-Tag: otherbot: none", follow: true},
		"gone by a date": {
			header:  "X-Robots-Tag: unavailable_after: Friday, 25 Jun 2010 15:00:00 PST, nofollow",
			noIndex: true,
		},
		"gone later": {
			header: "X-Robots-Tag: unavailable_after: Friday, 25 Jun 2088 15:00:00 PST, nofollow",
		},
		"meta, by a date": {
			head:    `<meta name=robots content="unavailable_after: 2010-06-25, nofollow">`,
			noIndex: true,
		},
		"two tags": {
			header:  "X-Robots-Tag: otherbot: none\nX-Robots-Tag: noindex",
			noIndex: true,
			follow:  true,
		},
		"tag and meta": {
			header:  "X-Robots-Tag: noindex",
			head:    `<meta name="robots" content="nofollow">`,
			noIndex: true,
		},
		"noindex, not HTML": {
			header:  "X-Robots-Tag: noindex\nContent-Type: application/pdf",
			noIndex: true,
		},
	} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.Archive = true
		b.serve("http://a.test/", 200, c.header, "<head>"+c.head+`</head><a href="/next">next</a>`)
		b.visit("http://a.test/")
		_, o := b.one()
		if o.NoIndex != c.noIndex || b.captures[0].NoIndex != c.noIndex ||
			strings.Contains(o.Reason, "noindex") != c.noIndex {
			t.Errorf("%s: noindex %v, %v, %q; want %v", name, o.NoIndex, b.captures[0].NoIndex, o.Reason,
				c.noIndex)
		}
		if follow := len(o.Targets) == 1; follow != c.follow {
			t.Errorf("%s: followed: %v, want %v", name, follow, c.follow)
		}
	}
}
