//race:none

package htmlparse

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// anchored returns the text of each link.
func anchored(d *Document) []string {
	texts := []string{}
	for i := range d.Links {
		texts = append(texts, d.Anchor(i))
	}
	return texts
}

func TestAnchors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, page string
		want       []string
	}{
		{"plain", `<a href=x>one</a> and <a href=y>two</a>`, []string{"one", "two"}},
		{"white space", "<a href=x>\n\t one \n two  </a>", []string{"one two"}},
		{"references", `<a href=x>a &amp; b&nbsp;c &#60;</a>`, []string{"a & b c <"}},
		{"markup", `<a href=x>b<b>ol</b>d <i>word</i></a>`, []string{"bold word"}},
		{"blocks", `<a href=x><div>one</div><div>two</div>three</a>`, []string{"one two three"}},
		{"an image", `<a href=x>see <img src=y> it</a>`, []string{"see it", ""}},
		{"a script", `<a href=x>a<script>no</script>b<style>no</style></a>`, []string{"a b"}},
		{"no end", `<a href=x>one<a href=y>two`, []string{"one", "two"}},
		{"in the page", `<a href=x>one<a href=#top>two</a>three</a>`, []string{"one"}},
		{"not kept", `<a href=mailto:a@b>no</a><a href=x>yes</a>`, []string{"yes"}},
		{"no text", `<a href=x></a><a href=y> </a>`, []string{"", ""}},
		{"others", `<area href=x>no<iframe src=y></iframe>no`, []string{"", ""}},
		{"noscript", `<noscript><a href=x>yes</a></noscript>`, []string{"yes"}},
		{"control bytes", "<a href=x>a\x00b\x1b[1m\xff</a>", []string{"a\x00b\x1b[1m\uFFFD"}},
		{"a base behind", `<a href=x>one</a><base href=/y/>`, []string{"one"}},
		{"long", `<a href=x>` + strings.Repeat("wörd ", 1000) + `</a>`, []string{strings.TrimSpace(strings.Repeat("wörd ", 1000)[:MaxAnchor])}},
	} {
		d := ParseWith(Options{Anchors: true}, []byte(test.page), "text/html; charset=utf-8",
			mustURL(t, home))
		got := anchored(&d)
		for i := range got {
			got[i] = strings.TrimSpace(got[i])
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if d := Parse([]byte(test.page), "text/html", mustURL(t, home)); strings.Join(anchored(&d),
			"") != "" {
			t.Errorf("%s: %q, and nobody asked", test.name, anchored(&d))
		}
	}
}

func TestAnchorsInXML(t *testing.T) {
	t.Parallel()
	d := ParseWith(Options{Anchors: true}, []byte(`<a href="x"/>no <svg><a xlink:href="y"/>no</svg>`),
		"application/xhtml+xml", mustURL(t, home))
	if got := anchored(&d); !slices.Equal(got, []string{"", ""}) {
		t.Errorf("%q", got)
	}
}

// A page cannot make its links' texts larger than the bound.
func TestAnchorsAreBounded(t *testing.T) {
	t.Parallel()
	word := strings.Repeat("x", MaxAnchor)
	var page strings.Builder
	for i := range MaxAnchorBytes/MaxAnchor + 100 {
		fmt.Fprintf(&page, "<a href=/%d>%s%s</a>", i, word, word)
	}
	d := ParseWith(Options{Anchors: true}, []byte(page.String()), "text/html", mustURL(t, home))
	sum := 0
	for i := range d.Links {
		sum += len(d.Anchor(i))
	}
	if sum != MaxAnchorBytes || !d.AnchorsTruncated || len(d.Links) != MaxAnchorBytes/MaxAnchor+100 {
		t.Errorf("%d bytes of %d links, truncated %v", sum, len(d.Links), d.AnchorsTruncated)
	}
}

// FuzzAnchors: requesting texts changes nothing else, and the texts keep their bounds.
func FuzzAnchors(f *testing.F) {
	for _, page := range []string{"<a href=x>y</a>", "<a href=x>&#", "<a href=x>\xff<a href=y>z",
		"<a href=x><base href=/y>z", "<noscript><a href=x>y", "<svg><a href=x/>y"} {
		f.Add([]byte(page), "text/html")
		f.Add([]byte(page), "application/xhtml+xml; charset=shift_jis")
	}
	base := mustURL(f, home)
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		with, without := ParseWith(Options{Anchors: true}, body, contentType, base), Parse(body,
			contentType, base)
		if len(with.Links) != len(without.Links) || string(with.Text) != string(without.Text) ||
			with.LinksFound != without.LinksFound {
			t.Fatalf("with texts %+v, without %+v", with, without)
		}
		if len(with.Anchors) > len(with.Links) || without.Anchors != nil {
			t.Fatalf("%d texts of %d links; %q, and nobody asked", len(with.Anchors), len(with.Links),
				without.Anchors)
		}
		for i, l := range with.Links {
			if text := with.Anchor(i); !utf8.ValidString(text) || len(text) > MaxAnchor ||
				l.Tag != "a" && text != "" {
				t.Fatalf("text %q of a %s", text, l.Tag)
			}
			if l != without.Links[i] {
				t.Fatalf("link %+v, without texts %+v", l, without.Links[i])
			}
		}
	})
}

func BenchmarkParseAnchors(b *testing.B) {
	page, base := typicalPage(), mustURL(b, home)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if d := ParseWith(Options{Anchors: true}, page, "text/html", base); d.Anchor(5) != "more" {
			b.Fatalf("text %q", d.Anchor(5))
		}
	}
}
