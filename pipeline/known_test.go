package pipeline

import (
	"errors"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/web/scope"
)

// What is known of a page goes into its record and its outcome. A page that was promised to be
// stored first says so even when storing fails.
func TestKnownPages(t *testing.T) {
	t.Parallel()
	text := "<title>t</title>" + strings.Repeat("some words of a page that is long enough ", 8)
	elsewhere := &crawl.Original{URL: "http://b.test/"}
	itself := &crawl.Original{URL: "http://a.test/"}
	for name, c := range map[string]struct {
		answer    ContentAnswer
		duplicate string
	}{
		"new":                  {ContentAnswer{First: true}, ""},
		"the same elsewhere":   {ContentAnswer{Original: elsewhere}, "http://b.test/"},
		"not changed":          {ContentAnswer{Original: itself}, ""},
		"nearly the same":      {ContentAnswer{First: true, NearOf: "http://c.test/"}, ""},
		"nobody has an answer": {},
	} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.Archive = true
		b.serve("http://a.test/", 200, "Content-Type: text/html", text)
		b.content = map[string]ContentAnswer{"http://a.test/": c.answer}
		b.visit("http://a.test/")
		if err := b.run(); err != nil {
			t.Fatal(err)
		}
		q, o, got := b.questions[0], b.outcomes[0], b.captures[0]
		if len(b.questions) != 1 || !q.Countable || q.Simhash == 0 || q.Digest != got.Digest ||
			q.URL.String() != "http://a.test/" {
			t.Errorf("%s: asked %+v", name, b.questions)
		}
		if got.Original != c.answer.Original || got.NearOf != c.answer.NearOf ||
			got.Simhash != q.Simhash ||
			o.First != c.answer.First || o.Refers != (c.answer.Original != nil) ||
			o.NearOf != c.answer.NearOf || o.DuplicateOf != c.duplicate {
			t.Errorf("%s: archived %+v, completed %+v", name, got, o)
		}
	}

	b := newBench(t, scope.Options{})
	b.rules.Settings.Archive = true
	b.serve("http://a.test/", 200, "Content-Type: text/html", text)
	b.content = map[string]ContentAnswer{"http://a.test/": {First: true}}
	b.archiveErr = errors.New("disk full")
	b.visit("http://a.test/")
	if err := b.run(); !errors.Is(err, b.archiveErr) {
		t.Fatal(err)
	}
	if o := b.outcomes[0]; o.Kind != crawl.Aborted || !o.First || o.Digest != b.questions[0].Digest {
		t.Errorf("a payload that was not stored: completed %+v", o)
	}
}
