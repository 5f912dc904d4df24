package searchquality

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"crawlnode/search/index"
)

var pagesDir = flag.String("search.pages", "",
	"folder of web sites, one folder each: TestQuality searches their HTML files")
var prepareIn = flag.String("search.prepare", "",
	"folder to write the pages and questions of -search.pages to, "+
		"for integration/searchquality/engines")
var preparedIn = flag.String("search.prepared", "",
	"folder that -search.prepare has filled: TestQuality takes pages and questions from there")

// TestQuality searches real pages for known items, and logs the mean reciprocal rank within the
// first ten.
func TestQuality(t *testing.T) {
	dir := *preparedIn
	if *pagesDir != "" {
		if dir = *prepareIn; dir == "" {
			dir = t.TempDir()
		}
		if err := Prepare(*pagesDir, dir); err != nil {
			t.Fatal(err)
		}
	}
	if dir == "" {
		t.Log("no -search.pages: nothing to search")
		return
	}
	x, _, err := index.Open(t.TempDir(), index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	began, pages, text := time.Now(), 0, 0
	err = Documents(dir, 1000, func(docs []index.Document) error {
		pages += len(docs)
		for _, d := range docs {
			text += len(d.Text)
		}
		return x.Apply(context.Background(), index.Batch{Put: docs})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d pages, %d bytes of text: indexed in %v, %+v", pages, text, time.Since(began), x.Size())
	sets, err := Questions(dir)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(text string) ([]Found, error) {
		p, err := index.Search(context.Background(), x,
			index.Request{Text: text, Page: 1, Size: 10, Now: Noon})
		var out []Found
		for _, r := range p.Results {
			out = append(out, Found{r.URL, r.AlsoAt})
		}
		return out, err
	}
	for _, set := range sets {
		missed, nearer := 0, 0
		score, err := Measure(set, ask, func(q Question, results []Found) {
			missed++
			if len(results) > 0 && asNear(t, x, q, results[0].URL) {
				nearer++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf(
			"%s: %v, aim %.2f; %d not first, of these %d after a page with the same words as near or nearer",
			set.Name, score, set.Aim, missed, nearer)
	}
}

// asNear reports whether a page has the words of a question in a passage that is not longer than
// that of the wanted page.
func asNear(t *testing.T, x *index.Index, q Question, url string) bool {
	t.Helper()
	words := wordsOf(q.Text)
	var spans [2]int
	for i, u := range []string{url, q.URL} {
		d, _, err := x.Get(u)
		if err != nil {
			t.Fatal(err)
		}
		spans[i] = span(wordsOf(d.Text), words)
	}
	return spans[0] > 0 && spans[0] <= spans[1]
}

// TestMeasure: a set of questions about few pages, with a page that holds the same passage.
func TestMeasure(t *testing.T) {
	text := strings.Repeat("filler words stand before everything else here ", 8) +
		"the quick brown foxes jumped right over seventeen sleeping watchdogs near Heidelberg"
	docs := []index.Document{{URL: "u:1", Title: "One page", Text: text},
		{URL: "u:2", Title: "Another page", Text: text + " and more"}}
	sets := Sets(docs)
	if n := len(sets[0].Questions); n != 2 {
		t.Fatalf("%d titles", n)
	}
	if n := span(wordsOf("one two three one four two"), []string{"one", "two", "four"}); n != 3 {
		t.Errorf("a span of %d", n)
	}
	for _, q := range sets[2].Questions {
		if len(strings.Fields(q.Text)) != 3 || len(q.Same) != 1 && !strings.Contains(q.Text, "more") {
			t.Errorf("%+v", q)
		}
	}
	set := Set{Questions: []Question{{Text: "a", URL: "u:1", Same: []string{"u:2"}},
		{Text: "b", URL: "u:1"}, {Text: "c", URL: "u:3"}}}
	var missed []string
	score, err := Measure(set, func(text string) ([]Found, error) {
		return []Found{{URL: "u:2", AlsoAt: []string{"u:9"}}, {URL: "u:7", AlsoAt: []string{"u:1"}}}, nil
	}, func(q Question, _ []Found) { missed = append(missed, q.Text) })
	if err != nil || score.MRR != (0.5+0.5)/3 || score.Passage != (1+0.5)/3 || score.Found != 2 ||
		!slices.Equal(missed, []string{"b", "c"}) {
		t.Errorf("%+v, missed %v, %v", score, missed, err)
	}
}

// TestParseDocuments: documents that are read in pieces are those that were written, also where a
// piece ends within one.
func TestParseDocuments(t *testing.T) {
	var raw []byte
	var want []string
	for i := range 200 {
		d := index.Document{URL: fmt.Sprint("u:", i), Text: strings.Repeat("word ", i%60)}
		raw, want = index.AppendDocument(raw, &d), append(want, d.URL+d.Text)
	}
	for _, in := range []io.Reader{bytes.NewReader(raw), iotest.OneByteReader(bytes.NewReader(raw)),
		iotest.DataErrReader(bytes.NewReader(raw))} {
		var got []string
		if err := parseDocuments(in, 512, func(d index.Document) error {
			got = append(got, d.URL+d.Text)
			return nil
		}); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d documents of %d, %v", len(got), len(want), err)
		}
	}
	none := func(index.Document) error { return nil }
	if err := parseDocuments(bytes.NewReader(raw[:len(raw)-1]), 512, none); !errors.Is(err,
		index.ErrDocument) {
		t.Errorf("a file that is cut off: %v", err)
	}
	if err := parseDocuments(iotest.ErrReader(io.ErrClosedPipe), 512, none); !errors.Is(err,
		io.ErrClosedPipe) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// TestKnownItems: a triple has one answer when no other page has its words as near each other.
func TestKnownItems(t *testing.T) {
	pages := pagesOf([]index.Document{
		{URL: "u:1", Text: "alpha filler beta gamma, and later again alpha beta gamma delta"},
		{URL: "u:2", Text: "gamma and alpha beta"},
		{URL: "u:3", Text: "delta beta alpha"},
	})
	for _, c := range []struct {
		text, url string
		only      bool
	}{
		{"alpha beta gamma", "u:1", true},
		{"alpha beta gamma", "u:2", false}, // the first page has them nearer
		{"beta alpha delta", "u:3", true},
		{"alpha beta", "u:1", false}, // all have them as near
		{"gamma delta", "u:1", true}, // no other page has both
	} {
		if got := pages.only(Question{Text: c.text, URL: c.url}); got != c.only {
			t.Errorf("%q of %s: %v", c.text, c.url, got)
		}
	}
}
