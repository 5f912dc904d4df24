//race:marked

package index

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/search/analyse"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

func open(t *testing.T, dir string) *Index {
	t.Helper()
	x, repair, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if repair.Damaged() {
		t.Fatalf("a sound index was repaired: %+v", repair)
	}
	t.Cleanup(func() {
		x.mu.Lock() // a merge may be under way
		crashed := x.now == nil
		x.mu.Unlock()
		if !crashed {
			_ = x.Close()
		}
	})
	return x
}

func apply(t *testing.T, x *Index, b Batch) {
	t.Helper()
	if err := x.Apply(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

// doc is a document of a URL such as "a.test/page".
func doc(url, title, text string) Document {
	host, _, _ := strings.Cut(url, "/")
	return Document{
		URL:       "http://" + url,
		Host:      host,
		Title:     title,
		Text:      text,
		Language:  "en",
		FetchedAt: noon,
	}
}

func find(t *testing.T, s Source, text string) Page {
	t.Helper()
	page, err := Search(context.Background(), s, Request{Text: text, Page: 1, Size: 10, Now: noon})
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return page
}

// urls are the URLs of a page's results, without http://.
func urls(p Page) string {
	var out []string
	for _, r := range p.Results {
		out = append(out, strings.TrimPrefix(r.URL, "http://"))
	}
	return strings.Join(out, " ")
}

func library() []Document {
	docs := []Document{
		doc("a.test/vacuum", "Vacuuming the database",
			"The vacuum command reclaims storage. Tables that are updated often must be vacuumed "+
				"frequently."),
		doc("a.test/index", "Indexes",
			"An index speeds up queries. Creating indexes on large tables takes a while."),
		doc("b.test/guide.pdf", "A guide to gardens",
			"Roses and the state of the art of pruning. Gardens need water, and patience."),
		doc("b.test/water", "Water", "Water runs downhill. The art of the state is another matter."),
		doc("de.test/haus", "Häuser bauen", "Wer Häuser baut, braucht Geduld und ein Grundstück."),
		doc("ja.test/tokyo", "東京都", "東京は日本の首都です。大阪は西にあります。"),
	}
	docs[4].Language, docs[5].Language = "de", "ja"
	docs[3].FetchedAt = noon.AddDate(-3, 0, 0)
	return docs
}

func TestQuestions(t *testing.T) {
	x := open(t, t.TempDir())
	apply(t, x, Batch{Put: library()})
	for _, c := range []struct{ text, want string }{
		{"vacuum", "a.test/vacuum"},
		{"VACUUMED tables", "a.test/vacuum"},
		{"tables", "a.test/vacuum a.test/index"},
		{"tables -vacuum", "a.test/index"},
		{`"state of the art"`, "b.test/guide.pdf"},
		{"title:water", "b.test/water"},
		{"water", "b.test/water b.test/guide.pdf"},
		{"water site:b.test", "b.test/water b.test/guide.pdf"},
		{"water host:a.test", ""},
		{"filetype:pdf", "b.test/guide.pdf"},
		{"lang:de", "de.test/haus"},
		{"haus", "de.test/haus"},
		{"hauser", "de.test/haus"},
		{"東京", "ja.test/tokyo"},
		{"首都", "ja.test/tokyo"},
		{"東大", ""},
		{"before:2024", "b.test/water"},
		{"water after:2025-06", "b.test/guide.pdf"},
		{"gard*", "b.test/guide.pdf"},
		{"vacum", "a.test/vacuum"},
		{"gradens water", "b.test/guide.pdf"},
		{"the", "a.test/vacuum"},
		{"zzzz tables nothing", "a.test/vacuum a.test/index"},
		{"!!! ((", ""},
	} {
		if got := urls(find(t, x, c.text)); got != c.want {
			t.Errorf("%q found %q, want %q", c.text, got, c.want)
		}
	}
	if p := find(t, x, "vacum"); p.DidYouMean != "vacuum" {
		t.Errorf("did you mean %q", p.DidYouMean)
	}
}

//race:meets
func TestManyBatchesAreOneIndex(t *testing.T) {
	dir := t.TempDir()
	x := open(t, dir)
	for i := range 100 {
		var b Batch
		for j := range 5 {
			d := doc(fmt.Sprintf("h%d.test/%d", j, i), fmt.Sprintf("Page %d of %d", i, j),
				fmt.Sprintf("word%d common text and more number%d", i, j))
			d.Partition = uint32(j)
			b.Put = append(b.Put, d)
		}
		apply(t, x, b)
	}
	check := func() {
		t.Helper()
		if n := x.Size().Documents; n != 500 {
			t.Errorf("%d documents", n)
		}
		if p := find(t, x, "common"); p.Total != 500 {
			t.Errorf("%d found", p.Total)
		}
		if got := urls(find(t, x, "word42 number3")); got != "h3.test/42" {
			t.Errorf("found %q", got)
		}
		if n := x.Count(3); n != 100 {
			t.Errorf("partition 3 has %d", n)
		}
	}
	check()
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	x.now = nil
	x = open(t, dir)
	check()
	if err := x.RemovePartition(context.Background(), 3, 4); err != nil {
		t.Fatal(err)
	}
	if p := find(t, x, "common"); p.Total != 300 {
		t.Errorf("%d found after the removal", p.Total)
	}
}

// TestStemsBeginAsTheirWords: a marker passes over words by their first byte, in every language.
func TestStemsBeginAsTheirWords(t *testing.T) {
	stem := analyse.NewStemmer()
	words := strings.Fields("yearly youth yes eye Yahoo inlining uberall ubernahme yoga ijs ijzer " +
		"ghost gegeven onvoldoende ausgegeben eau lhomme oeuvre " +
		"вопрос ёлка их iskandar ılık inek øre aeble åben äiti ihminen împărat y u i o a œuvre ÿ ß")
	for _, code := range []string{"", "en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "no", "fi",
		"hu", "ro", "ru", "tr"} {
		for _, w := range words {
			for s := analyse.NewScanner(w); s.Next(); {
				if _, got := analyse.Split(stem.Stem(analyse.LanguageOf(code), s.Word()).Term); got == "" ||
					got[0] != s.Word()[0] {
					t.Errorf("%s: the stem of %s is %q", code, s.Word(), got)
				}
			}
		}
	}
}

// TestStill: whoever only asks leaves the segments as they are, though some would be merged
// otherwise.
func TestStill(t *testing.T) {
	dir := t.TempDir()
	segments := func(o Options) int {
		var n int
		synctest.Test(t, func(t *testing.T) {
			x, _, err := Open(dir, o)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // for the merges
			n = x.Size().Segments
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
		})
		return n
	}
	const many = 40
	synctest.Test(t, func(t *testing.T) {
		x, _, err := Open(dir, Options{Still: true})
		if err != nil {
			t.Fatal(err)
		}
		x.stop()
		<-x.ended
		for i := range many {
			url := fmt.Sprintf("http://a.test/%d", i)
			if err := x.Apply(t.Context(), Batch{Put: []Document{{
				URL:       url,
				Host:      "a.test",
				Title:     "page",
				Text:      url,
				FetchedAt: time.Unix(int64(i+1), 0),
			}}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	})
	if n := segments(Options{Still: true}); n != many {
		t.Errorf("%d segments, and %d before", n, many)
	}
	if n := segments(Options{}); n >= many {
		t.Errorf("nothing is merged of %d segments: %d are left", many, n)
	}
}
