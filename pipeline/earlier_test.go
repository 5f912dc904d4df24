package pipeline

import (
	"crypto/sha1" //nolint:gosec // payload digests of WARC are SHA-1
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/scope"
)

// otherArchive has payloads with the URLs under which they are stored, and counts questions.
type otherArchive struct {
	has   map[crawl.Digest]string
	asked int
}

func (a *otherArchive) Find(d crawl.Digest) *crawl.Original {
	a.asked++
	if url, ok := a.has[d]; ok {
		return &crawl.Original{URL: url, FetchedAt: time.Unix(1, 0)}
	}
	return nil
}

// TestEarlier: a payload of another archive is referred to and not claimed here, so that no other
// page refers to this one. What is no duplicate of our own pages is none of another archive's
// either.
func TestEarlier(t *testing.T) {
	t.Parallel()
	const page = "http://a.test/"
	text := "<title>t</title>" + strings.Repeat("some words of a page that is long enough ", 8)
	for name, c := range map[string]struct {
		status    int
		body      string
		cut       bool
		at        string // in the other archive; "": it has another payload
		off       bool   // there is no archive of our own
		asked     int
		refers    bool
		duplicate string
	}{
		"the same page":   {status: 200, body: text, at: page, asked: 1, refers: true},
		"spelt otherwise": {status: 200, body: text, at: "HTTP://A.test:80", asked: 1, refers: true},
		"another page": {
			status:    200,
			body:      text,
			at:        "http://b.test/",
			asked:     1,
			refers:    true,
			duplicate: "http://b.test/",
		},
		"of an odd URL": {
			status:    200,
			body:      text,
			at:        "dns:a.test",
			asked:     1,
			refers:    true,
			duplicate: "dns:a.test",
		},
		"an error page":    {status: 404, body: text, at: page, asked: 1, refers: true},
		"a short text":     {status: 200, body: "x", at: page, asked: 1, refers: true},
		"unknown":          {status: 200, body: text, asked: 1},
		"nothing":          {status: 200, body: "", at: page},
		"cut":              {status: 200, body: text, at: page, cut: true},
		"without archives": {status: 200, body: text, at: page, off: true},
	} {
		other := &otherArchive{has: map[crawl.Digest]string{}}
		if c.at != "" {
			other.has[sha1.Sum([]byte(c.body))] = c.at
		}
		b := newBench(t, scope.Options{})
		b.rules.Settings.Archive, b.earlier = !c.off, other
		b.web[page] = func(fetcher.Request) (*fetcher.Response, error) {
			r := answer(c.status, "Content-Type: text/html", c.body)
			if c.cut {
				r.Truncated = fetcher.CutLength
			}
			return r, nil
		}
		b.content = map[string]ContentAnswer{page: {First: true}}
		b.visit(page)
		if err := b.run(); err != nil {
			t.Fatal(err)
		}
		o := b.outcomes[0]
		if other.asked != c.asked || o.Refers != c.refers || o.DuplicateOf != c.duplicate ||
			c.refers && o.First {
			t.Errorf("%s: asked %d times, completed %+v", name, other.asked, o)
		}
		if claims := slices.ContainsFunc(b.questions, func(q ContentQuestion) bool {
			return q.Countable
		}); claims != (name == "unknown") {
			t.Errorf("%s: claimed %t: %+v", name, claims, b.questions)
		}
		if shown := len(b.questions) > 0; shown != (c.status == 200 && len(c.body) > 1 && !c.off) {
			t.Errorf("%s: its text was shown: %t", name, shown)
		}
		if c.off {
			continue
		}
		if got := b.captures[0].Original; (got != nil) != c.refers ||
			c.refers && (got.URL != c.at || got.Record != [16]byte{}) {
			t.Errorf("%s: archived with %+v", name, got)
		}
	}
}
