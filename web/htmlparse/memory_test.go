package htmlparse

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// TestMemory parses pages of many sizes one after the other in the same memory. Each must be as it
// is in memory of its own, and strings of the released ones must stay good.
func TestMemory(t *testing.T) {
	base := mustURL(t, home)
	pages := []string{string(typicalPage()), "", "<p>short",
		`<a href="/x">x</a> and <base href="http://other.test/"><a href="y">y</a>`,
		strings.Repeat("many words ", MaxText/8), strings.Repeat(`<a href="/l">l</a>`, 2*maxSpareLinks)}
	for i := range 30 {
		pages = append(pages,
			strings.Repeat(fmt.Sprintf(`<p>text %d <a href="/page-%d">link</a>`, i, i), 1+i*i))
	}
	var links, kept []string
	m := &Memory{}
	for _, page := range pages {
		want := Parse([]byte(page), "text/html", base)
		got := ParseWith(Options{Memory: m}, []byte(page), "text/html", base)
		if string(got.Text) != string(want.Text) || len(got.Links) != len(want.Links) {
			t.Fatalf("%.40q: %d bytes and %d links, want %d and %d", page, len(got.Text), len(got.Links),
				len(want.Text), len(want.Links))
		}
		for i := range got.Links {
			kept, links = append(kept, got.Links[i].URL.String()), append(links, want.Links[i].URL.String())
		}
		m = got.Release()
		if got.Text != nil || got.Links != nil {
			t.Fatal("released and still there")
		}
	}
	if !reflect.DeepEqual(kept, links) {
		t.Error("links of released documents have changed")
	}
}

// TestReleaseKeepsLittle: neither the memory of a large page nor many small pieces stay.
func TestReleaseKeepsLittle(t *testing.T) {
	for _, test := range []struct{ text, links, keptText, keptLinks int }{
		{minSpareText, minSpareLinks, minSpareText, minSpareLinks},
		{MaxText, maxSpareLinks, MaxText, maxSpareLinks},
		{100, 10, 0, 0},
		{MaxText + 1, MaxLinks, 0, 0},
	} {
		d := Document{Text: make([]byte, 7, test.text), Links: make([]Link, 7, test.links)}
		m := d.Release()
		if cap(m.text) != test.keptText || cap(m.links) != test.keptLinks {
			t.Errorf("%+v: kept %d and %d", test, cap(m.text), cap(m.links))
		}
		if len(m.text) > 0 || len(m.links) > 0 {
			t.Errorf("%+v: not empty", test)
		}
	}
}

func BenchmarkParseAgain(b *testing.B) {
	page, base := typicalPage(), mustURL(b, home)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	m := &Memory{}
	for b.Loop() {
		d := ParseWith(Options{Memory: m}, page, "text/html", base)
		if len(d.Links) != 42 {
			b.Fatalf("%d links", len(d.Links))
		}
		m = d.Release()
	}
}
