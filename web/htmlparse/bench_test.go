package htmlparse

import (
	"fmt"
	"strings"
	"testing"
)

// typicalPage is 20 KB with 40 links, a head and a good deal of markup.
func typicalPage() []byte {
	var b strings.Builder
	b.WriteString(
		`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A typical page</title>` +
			`<meta name="description" content="What it is about"><link rel="stylesheet" href="/style.css"><script src="/app.js"></script></head><body>`)
	for i := range 40 {
		fmt.Fprintf(&b, `<div class="item"><h2 id="s%d">Section %d</h2><p class="text">`, i, i)
		for range 7 {
			b.WriteString("Some words of <em>ordinary</em> text that say little. ")
		}
		switch i % 4 {
		case 0:
			fmt.Fprintf(&b,
				`<a class="more" href="http://example.org/guide/chapter-%d.html?lang=en">more</a>`, i)
		case 1:
			fmt.Fprintf(&b, `<a href="/guide/chapter-%d.html">more</a>`, i)
		case 2:
			fmt.Fprintf(&b, `<a href="../chapter-%d.html#top" rel="nofollow">more</a>`, i)
		case 3:
			fmt.Fprintf(&b, `<a href="chapter-%d.html" title="the &quot;next&quot; one">more</a>`, i)
		}
		b.WriteString("</p></div>\n")
	}
	b.WriteString("</body></html>")
	return []byte(b.String())
}

func BenchmarkParse(b *testing.B) {
	page, base := typicalPage(), mustURL(b, home)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if d := Parse(page, "text/html", base); len(d.Links) != 42 {
			b.Fatalf("%d links", len(d.Links))
		}
	}
}
