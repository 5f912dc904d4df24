package sitemap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestProtocolLimits reads files as large as the protocol allows (50,000 entries, 50 MiB), and
// larger ones up to that limit.
func TestProtocolLimits(t *testing.T) {
	t.Parallel()
	path := func(n int) string { return strings.Repeat("p", n) }
	urlset := func(entries, length int) string {
		var b strings.Builder
		b.WriteString(`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">`)
		for i := range entries {
			fmt.Fprintf(&b, "<url><loc>http://example.org/%s/%d</loc><lastmod>2026-01-02</lastmod></url>\n",
				path(length), i)
		}
		return b.String() + "</urlset>"
	}
	list := func(entries, length int) string {
		var b strings.Builder
		for i := range entries {
			fmt.Fprintf(&b, "http://example.org/%s/%d\n", path(length), i)
		}
		return b.String()
	}
	index := strings.NewReplacer("<url>", "<sitemap>", "</url>", "</sitemap>", "urlset",
		"sitemapindex").Replace
	cut := urlset(1000, 10)[:40_000]
	tooLong := strings.Count(list(50_000, 1100)[:MaxBytes], "\n")
	for name, c := range map[string]struct {
		body  []byte
		part  bool
		want  int
		class error
	}{
		"13 MiB":             {body: []byte(urlset(50_000, 190)), want: 50_000},
		"long addresses":     {body: []byte(urlset(50_000, 380)), want: 50_000},
		"list of 50 MiB":     {body: []byte(list(50_000, 1020)), want: 50_000},
		"index":              {body: []byte(index(urlset(50_000, 10))), want: 50_000},
		"packed":             {body: pack(t, urlset(50_000, 380)), want: 50_000},
		"packed twice":       {body: pack(t, string(pack(t, list(50_000, 300)))), want: 50_000},
		"one entry too many": {body: []byte(urlset(50_001, 10)), want: 50_000, class: ErrTooLarge},
		"one line too many":  {body: []byte(list(50_001, 10)), want: 50_000, class: ErrTooLarge},
		"more than 50 MiB":   {body: []byte(list(50_000, 1100)), want: tooLong, class: ErrTooLarge},
		"packed, more":       {body: pack(t, list(50_000, 1100)), want: tooLong, class: ErrTooLarge},
		"cut": {
			body:  []byte(cut),
			part:  true,
			want:  strings.Count(cut, "</loc>"),
			class: ErrCut,
		},
		"cut between": {
			body:  []byte("<urlset><url><loc>/a</loc></url>"),
			part:  true,
			want:  1,
			class: ErrCut,
		},
		"cut in an address": {
			body:  []byte("<urlset><url><loc>/a</loc></url><url><loc>http://example.org/lo"),
			part:  true,
			want:  1,
			class: ErrCut,
		},
		"cut in a line": {
			body:  []byte("http://example.org/a\nhttp://example.org/lo"),
			part:  true,
			want:  1,
			class: ErrCut,
		},
		"cut behind a line": {
			body:  []byte("http://example.org/a\nhttp://example.org/long\n"),
			part:  true,
			want:  2,
			class: ErrCut,
		},
		"cut, packed": {body: pack(t, list(1000, 40))[:2000], part: true, want: -1, class: ErrCut},
		"cut at once": {body: []byte("http://exam"), part: true, want: 0, class: ErrCut},
		"not cut":     {body: []byte("http://example.org/a\nhttp://example.org/long"), want: 2},
	} {
		parse := Parse
		if c.part {
			parse = ParsePart
		}
		got, err := parse(c.body, "", mustURL(t, home))
		if n := len(got.Entries); n != c.want && (c.want >= 0 || n == 0) || !errors.Is(err, c.class) ||
			(err == nil) != (c.class == nil) {
			t.Errorf("%s: %d entries of %d MiB, %v; want %d, %v", name, n, len(c.body)>>20, err, c.want,
				c.class)
		}
		for _, e := range got.Entries { // none of them was cut
			if u := e.Loc.String(); strings.HasSuffix(u, "p") || strings.HasSuffix(u, "/lo") {
				t.Errorf("%s: %.60s was cut", name, u)
				break
			}
		}
	}
}
