package markdown

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

var hostileKiB = flag.Int("hostile", 256, "the size of hostile pages in KiB")

// hostile are pages of that size.
func hostile() map[string]string {
	times := func(s string) string { return strings.Repeat(s, *hostileKiB<<10/len(s)) }
	return map[string]string{
		"nesting":           strings.Repeat("<div>", 100_000) + "x" + strings.Repeat("</div>", 100_000),
		"lists":             strings.Repeat("<ul><li>", 100_000) + "x",
		"quotations":        strings.Repeat("<blockquote>x", 100_000),
		"marks":             strings.Repeat("<b><i>", 100_000) + "x",
		"tables":            strings.Repeat("<table><tr><td>a<td>", 100_000),
		"nodes":             times("<p>x"),
		"words in marks":    times("a<b>b</b><code>c</code>"),
		"links":             times("<a href=x>y</a> "),
		"images":            times("<img src=x alt=y>"),
		"brackets":          "<p>" + times("["),
		"brackets by line":  times("<p>[[[[[[[["),
		"stars":             "<p>" + times("*a_ "),
		"signs":             "<p>" + times("-_*#>~`"),
		"backticks":         "<pre>" + times("`"),
		"backticks in code": "<p>" + times("<code>`</code> "),
		"digits":            "<p>" + times("1. "),
		"one word":          "<p>" + times("x"),
		"breaks":            "<p>" + times("x<br>"),
		"newlines":          "<pre>" + times("\n x"),
		"comments":          "<p>" + times("x<!-- -->"),
		"references":        "<p>" + times("&lt;&amp;"),
		"rows":              "<table>" + times("<tr><td>a<td>b"),
		"columns":           "<table><tr>" + times("<td>a") + "<tr><td>b",
		"a long row":        "<table>" + times("<tr><td>a") + "<tr>" + strings.Repeat("<td>b", 1000),
		"items":             "<ul>" + times("<li>x"),
		"definitions":       "<dl>" + times("<dt>x<dd>y"),
		"attributes":        "<p" + times(" a=b") + ">x",
	}
}

// TestHostile: pages that are long in each way. The time is the author's to look at (-v); what is
// checked is that there is an end, and that the bounds hold.
func TestHostile(t *testing.T) {
	t.Parallel()
	base := mustURL(t, "https://a.example/"+strings.Repeat("long/", 300))
	for name, page := range hostile() {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			out, err := Of([]byte(page), "text/html; charset=utf-8", base)
			if err != nil && !errors.Is(err, ErrTruncated) {
				t.Fatal(err)
			}
			if len(out) > 8*MaxBytes {
				t.Errorf("%d bytes", len(out))
			}
			if len(out) > MaxBytes/2 && err == nil && len(page) > 4*MaxBytes {
				t.Errorf("%d bytes of %d, and nothing is said to be cut", len(out), len(page))
			}
			t.Logf("%d bytes in %v", len(out), time.Since(start).Round(time.Millisecond))
		})
	}
}

// unsafeParts lists what must not be in Markdown: HTML but breaks, and addresses that are no http.
func unsafeParts(markdown string) (bad []string) {
	source := []byte(markdown)
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		address := []byte(nil)
		switch n := n.(type) {
		case *ast.RawHTML:
			if s := n.Segments.Value(source); string(s) != "<br />" {
				bad = append(bad, string(s))
			}
		case *ast.HTMLBlock:
			bad = append(bad, string(n.Lines().Value(source)))
		case *ast.Link:
			address = n.Destination
		case *ast.Image:
			address = n.Destination
		}
		if address != nil && !bytes.HasPrefix(address, []byte("https://")) &&
			!bytes.HasPrefix(address, []byte("http://")) {
			bad = append(bad, string(address))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		panic(err)
	}
	return bad
}

func TestUnsafeParts(t *testing.T) {
	t.Parallel()
	for markdown, want := range map[string]int{
		"a <b>b</b>":                                2,
		"<script>x</script>":                        1,
		"[a](javascript:x) ![b](data:x) [c](x)":     3,
		"`<b>` &lt;b&gt; <br /> [c](https://x/)":    0,
		"```\n<script>\n```\n\n| a |\n|---|\n| b |": 0,
	} {
		if got := unsafeParts(markdown); len(got) != want {
			t.Errorf("%q: %q, want %d", markdown, got, want)
		}
	}
}

// FuzzOf: whatever the page, the Markdown is text without control characters, and without HTML or
// addresses that a browser would run.
func FuzzOf(f *testing.F) {
	for _, s := range []string{
		"<h1>a<p>b<ul><li>c<ol><li>d</ul><pre class=lang-go>e<code>`f",
		"<table><tr><th>a|b<td><code>|</code><tr><td rowspan=2>c<td><p>d<p>e</table>",
		"<a href=' javascript:x'>a</a><a href='x y&#10;)(<>'>[b]</a><img src=//c alt='](javascript:x)'>",
		"&lt;script>a&lt;/script> <p>&lt;img src=x onerror=y> <code>&lt;b></code>\\<b>&#92;&lt;i>",
		"<blockquote><dl><dt>a<dd>b<hr>c<br><br>d<s>e</s><b> f </b><xmp><b></xmp>",
		"<p>a\x07<b>\x07<\x00b>\uf002`\x07[",
		"<p>&#60;b&#62; &amp;lt;b&amp;gt; [a]: javascript:x <p>[b][a] <p>&lt;javascript:x&gt;",
	} {
		f.Add([]byte(s), "text/html; charset=utf-8")
	}
	base := mustURL(f, "https://a.example/b")
	f.Fuzz(func(t *testing.T, page []byte, contentType string) {
		out, err := Of(page, contentType, base)
		if err != nil && !errors.Is(err, ErrTruncated) {
			t.Fatal(err)
		}
		if !utf8.ValidString(out) {
			t.Errorf("not UTF-8: %q", out)
		}
		if i := strings.IndexFunc(out, func(r rune) bool {
			return unicode.IsControl(r) && r != '\n' && r != '\t'
		}); i >= 0 {
			t.Errorf("a control character: %q", out[i:])
		}
		if isPlain(contentType) {
			return
		}
		if bad := unsafeParts(out); len(bad) > 0 {
			t.Errorf("%q has %q", out, bad)
		}
	})
}
