package markdown

import (
	"fmt"
	"strings"
	"testing"

	"crawlnode/web/maintext"
)

// BenchmarkOf is for a page of 20 KB, beside what search reads of it.
func BenchmarkOf(b *testing.B) {
	var p strings.Builder
	p.WriteString("<title>A page</title><nav><a href=/>Home</a></nav><main><h1>A page</h1>")
	for i := range 40 {
		fmt.Fprintf(&p, `<h2 id="s%d">Section %d</h2><p class="text">`, i, i)
		for range 7 {
			p.WriteString("Some words of <em>ordinary</em> text that say little. ")
		}
		fmt.Fprintf(&p, `<a href="/guide/%d.html">more</a></p><ul><li>one<li>two <code>x</code></ul>`, i)
	}
	page, base := []byte(p.String()), mustURL(b, "https://a.example/")
	b.Run("markdown", func(b *testing.B) {
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			if md, err := Of(page, "text/html", base); err != nil || !strings.HasPrefix(md, "# A page\n") {
				b.Fatal(md, err)
			}
		}
	})
	b.Run("search", func(b *testing.B) {
		b.SetBytes(int64(len(page)))
		b.ReportAllocs()
		for b.Loop() {
			if d := maintext.Extract(page, "text/html", ""); d.Title != "A page" {
				b.Fatal(d.Title)
			}
		}
	})
}
