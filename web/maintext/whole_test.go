package maintext

import (
	"strings"
	"testing"

	"golang.org/x/net/html/atom"
)

// TestWhole: of a page without menus all text counts that can be seen, also what looks like a menu.
func TestWhole(t *testing.T) {
	t.Parallel()
	const page = `<html lang=de><title>A report</title><h1>Contents</h1>
<ul><li><a href=#1>One</a><li><a href=#2>Two</a></ul><div class=footer>Footer words</div>
<script>no()</script><p hidden>Secret</p><h2>One</h2><p>` // long enough for menus to be left out
	body := page + strings.Repeat("Some words of the report. ", 40)
	whole, main := Whole([]byte(body), "text/html", ""), Extract([]byte(body), "text/html", "")
	for _, want := range []string{"Contents", "One", "Two", "Footer words", "words of the report"} {
		if !strings.Contains(whole.Text, want) {
			t.Errorf("%q is missing in %.200q", want, whole.Text)
		}
	}
	for _, not := range []string{"no()", "Secret"} {
		if strings.Contains(whole.Text, not) {
			t.Errorf("%q is in %.200q", not, whole.Text)
		}
	}
	if strings.Contains(main.Text, "Footer words") {
		t.Errorf("the page does not tell the two apart: %.200q", main.Text)
	}
	if whole.Title != "A report" || whole.Language != "de" {
		t.Errorf("title %q, language %q", whole.Title, whole.Language)
	}
	long := Whole([]byte("<p>"+strings.Repeat("A paragraph of some words.\n<p>", 60_000)+"The end."),
		"text/html", "")
	if !strings.HasSuffix(long.Text, "The end.") || long.Truncated {
		t.Errorf("of %d bytes the end is %q, cut %v", len(long.Text), long.Text[len(long.Text)-20:],
			long.Truncated)
	}
	if long.Shorten(); len(long.Text) > MaxText || !long.Truncated {
		t.Errorf("%d bytes, cut %v", len(long.Text), long.Truncated)
	}
	var w seenText
	WalkWhole([]byte(body), "text/html", &w)
	if text := string(w); !strings.Contains(text, "Footer words") || strings.Contains(text, "Secret") {
		t.Errorf("walked over %.200q", text)
	}
}

// seenText is a Visitor that keeps the text.
type seenText []byte

func (w *seenText) Start(Element)    {}
func (w *seenText) End(atom.Atom)    {}
func (w *seenText) Text(text []byte) { *w = append(*w, text...) }
func (w *seenText) Line()            { *w = append(*w, '\n') }
