package page

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"
)

func TestWriter(t *testing.T) {
	t.Parallel()
	w := New(1 << 10)
	w.Title(" A <title>\n ")
	w.Title("another")
	w.Language("de")
	w.Property(Author, `"Ada" & Co`)
	w.Property(Keywords, " ")
	w.Time(Created, time.Date(2024, 5, 6, 7, 8, 9, 0, time.FixedZone("", 7200)))
	w.Time(Modified, time.Time{})
	w.Heading(9)
	w.Text("a\x00b\x1b<c>\xff")
	w.Close()
	w.Open("p")
	w.Text("see ")
	w.Link("https://example.org/?a=1&b=\"2\"")
	w.Text("there")
	w.Close()
	w.Link("")
	w.Text("!")
	w.Close()
	want := `<!DOCTYPE html>
<html lang="de">
<head>
<meta charset="utf-8">
<title>A &lt;title&gt;</title>
<meta name="author" content="&#34;Ada&#34; &amp; Co">
<meta name="dcterms.created" content="2024-05-06T07:08:09+02:00">
</head>
<body>
<h6>ab&lt;c&gt;` + "\uFFFD" + `</h6>
<p>see <a href="https://example.org/?a=1&amp;b=&#34;2&#34;">there</a>!</p>
</body>
</html>
`
	if got := string(w.HTML()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if w.Truncated() {
		t.Error("it is said to be truncated")
	}
}

// What is marked as left out elsewhere, such as a property too many, leaves the text alone; text
// that does not fit ends the page.
func TestTruncated(t *testing.T) {
	t.Parallel()
	w := New(64)
	for range maxMetas + 1 {
		w.Property(Author, "A")
	}
	w.Truncate()
	w.Paragraph("first")
	w.Paragraph(strings.Repeat("x", 100))
	w.Text("last")
	w.Break()
	body := string(w.HTML())
	_, body, _ = strings.Cut(body, "<body>\n")
	if want := "<p>first</p>\n<p>" + strings.Repeat("x", 43) +
		"</p>"; !strings.HasPrefix(body, want) ||
		strings.Contains(body, "last") || !w.Truncated() {
		t.Errorf("got %q, want %q and no more", body, want)
	}
}

// FuzzWriter: whatever is written, the page is well-formed, within its limit, and its text is a
// beginning of what was written.
func FuzzWriter(f *testing.F) {
	f.Add(40, "hello & <you>", 3)
	f.Add(200, "\xff\xfe\u2028ü𝄞", 70)
	f.Fuzz(func(t *testing.T, limit int, text string, depth int) {
		limit, depth = min(max(limit, 0), 1<<16), min(max(depth, 0), 200)
		w := New(limit)
		for range depth {
			w.Open("section")
		}
		w.Paragraph(text)
		w.Link(text)
		w.Text(text)
		out := w.HTML()
		if !utf8.Valid(out) {
			t.Fatal("not UTF-8")
		}
		_, body, _ := strings.Cut(string(out), "<body>\n")
		body, _, _ = strings.Cut(body, "</body>")
		if len(body) > limit {
			t.Fatalf("%d bytes of %d", len(body), limit)
		}
		var words strings.Builder
		z, open := html.NewTokenizer(strings.NewReader(body)), 0
		for {
			switch z.Next() {
			case html.ErrorToken:
				if open != 0 {
					t.Fatalf("%d elements are open", open)
				}
				all := strings.ReplaceAll(clean(text)+clean(text), "\n", "")
				got := strings.ReplaceAll(words.String(), "\n", "")
				if !w.Truncated() && got != all && depth <= maxDepth-2 {
					t.Fatalf("%q, want %q", got, all)
				}
				return
			case html.StartTagToken:
				open++
			case html.EndTagToken:
				open--
			case html.TextToken:
				words.Write(z.Text())
			}
		}
	})
}
