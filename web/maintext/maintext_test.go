package maintext

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const lorem = "A database must be vacuumed regularly, because updates leave dead rows behind " +
	"that take room on the disk and in memory. "

func TestExtract(t *testing.T) {
	for _, c := range []struct {
		name, body     string
		text, headings string // joined by |
	}{
		{"a paragraph", "<p>One <b>two</b>three.<p>Four", "One twothree.|Four", ""},
		{"menus go", `<nav><a href=/>Home</a> <a href=/x>Shop</a></nav><h1>Title</h1><p>` + lorem +
			`<footer>Imprint</footer>`, "Title|" + lorem, "Title"},
		{"names of classes",
			`<div class="sphinxsidebar"><h3>Contents</h3><ul><li>One</ul></div><div class="page-nav">Next</div><h1>Title<a class="headerlink" href="#t">¶</a></h1><p>` +
				lorem,
			"Title|" + lorem, "Title"},
		{"the main part", `<div>Top of the page</div><main><h1>Title</h1><p>` + lorem +
			`</main><div>Bottom of the page</div>`, "Title|" + lorem, "Title"},
		{"a list of links stays", `<ul><li><a href=1>One page</a><li><a href=2>Another page</a></ul>`, "One page|Another page", ""},
		{"a sentence of links stays, a menu goes", "<p>" + lorem +
			"<ul><li>Added the <a href=1>SQLITE_DBSTATUS_CACHE_USED_SHARED</a> option to " +
			"<a href=2>sqlite3_db_status()</a>.<li><a href=3>One</a> | <a href=4>Two</a></ul>",
			lorem + "|Added the SQLITE_DBSTATUS_CACHE_USED_SHARED option to sqlite3_db_status().", ""},
		{"what was left out divides", "<p>" + lorem +
			"<div class=menu>x</div><p>one<p hidden>y</p><p>two<nav>z</nav>three", lorem +
			"||one|two||three", ""},
		{"ids name a subject", "<main><section id=sharing-files><h2 id=contents>Sharing</h2>" +
			"<p id=related>" + lorem + "<div class=menu>x</div></section></main>", "Sharing|" +
			lorem, "Sharing"},
		{"contents of a table",
			"<p>" + lorem + "<div class=table-contents><table><tr><td>a cell</td></table></div>" +
				"<div class=table-of-contents>x</div><ul class=contents><li>y</ul>", lorem + "|a cell", ""},
		{"ids name a part", "<div id=footer>Imprint</div><section id=related>x</section>" +
			"<h2 id=search>Search</h2><p>" + lorem, "Search|" + lorem, "Search"},
		{"a named body stays", `<body class="has-sidebar nav"><p>` + lorem + `</body>`, lorem, ""},
		{"scripts and hidden text",
			`<script>var x="<p>no</p>"</script><style>p{}</style><div style="display: none">secret</div><template><p>no</template><p>` +
				lorem,
			lorem, ""},
		{"words across elements", "<div>a<span>b</span> c<br>d</div><td>e</td><td>f</td>", "ab c d|e|f", ""},
		{"no end tags", `<div class=menu><a href=1>x</a></div><ul><li>` + lorem + `<li>two <ul><li>three</ul>`, lorem + "|two|three", ""},
		{"white space of all kinds", "<p> a\tb &nbsp;c\u2003d\x01e\n</p>", "a b c de", ""},
		{"no scripts", `<noscript>Turn on <b>scripts</b></noscript><p>` + lorem, lorem, ""},
		{"text without markup", `<p>a</p><xmp>b <b> &amp;</xmp><plaintext>c </p>`, "a|b <b> &amp;|c </p>", ""},
		{"a drawing", `<p>a<svg><style/><title>b</title>c</svg>d`, "ad", ""},
		{"a page cut off", `<p>a</p><p class="`, "a", ""},
		{"nothing", "", "", ""},
		{"broken UTF-8", "<p>a\xff\xfeb", "a�b", ""},
	} {
		p := Extract([]byte(c.body), "text/html; charset=utf-8", "")
		want := strings.Split(c.text, "|")
		for i := range want {
			want[i] = strings.TrimSpace(want[i])
		}
		if got := strings.ReplaceAll(p.Text, "\n", "|"); got != strings.Join(want, "|") {
			t.Errorf("%s: text\n%q, want\n%q", c.name, got, strings.Join(want, "|"))
		}
		if got := strings.Join(p.Headings, "|"); got != c.headings {
			t.Errorf("%s: headings %q, want %q", c.name, got, c.headings)
		}
	}
}

func TestWhatAPageSaysOfItself(t *testing.T) {
	p := Extract([]byte(`<html lang="de-CH"><head><title> Das
		Haus &amp; Hof</title><meta name=Description content="Ein  Haus"><svg><title>no</title></svg></head><p>`+lorem), "text/html",
		"fr")
	if p.Title != "Das Haus & Hof" || p.Description != "Ein Haus" || p.Language != "de" || p.Detected {
		t.Errorf("%+v", p)
	}
	p = Extract([]byte(
		`<meta property="og:title" content="Shared"><meta property="og:description" content="Text">`),
		"text/html", "")
	if p.Title != "Shared" || p.Description != "Text" {
		t.Errorf("%+v", p)
	}
	if p = Extract([]byte("<h1>Only a heading</h1>"), "text/html", ""); p.Title != "Only a heading" {
		t.Errorf("%+v", p)
	}
}

func TestLanguage(t *testing.T) {
	german := strings.Repeat("Wer ein Haus bauen will, der braucht nicht nur ein Grundstück, "+
		"sondern auch sehr viel Geduld und Geld. ", 3)
	russian := strings.Repeat(
		"Тот, кто хочет построить дом, нуждается не только в участке, но и в большом терпении. ", 3)
	for _, c := range []struct {
		declared, text, want string
		detected             bool
	}{
		{"", german, "de", true},
		{"", russian, "ru", true},
		{"", "zu kurz", "", false},
		{"en-US", german, "en", false},
		{"en", russian, "ru", true},
		{"EN", "x", "en", false},
		{"und", "x", "", false},
		{"", strings.Repeat("東京は日本の首都です。", 10), "ja", true},
	} {
		p := Extract([]byte("<p>"+c.text), "text/html; charset=utf-8", c.declared)
		if p.Language != c.want || p.Detected != c.detected {
			t.Errorf("declared %q, %.20q: %q, detected %v", c.declared, c.text, p.Language, p.Detected)
		}
	}
}

func TestPlainText(t *testing.T) {
	p := Extract([]byte("One  line\r\n<b>two</b>\x00"), "text/plain", "")
	if p.Text != "One line\n<b>two</b>" {
		t.Errorf("%q", p.Text)
	}
}

func TestLimits(t *testing.T) {
	for name, body := range map[string]string{
		"deep":       strings.Repeat("<div>", 200_000) + "x" + strings.Repeat("</div>", 200_000),
		"blocks":     strings.Repeat("<p>x", 200_000),
		"text":       "<p>" + strings.Repeat("word ", 500_000),
		"attributes": "<div" + strings.Repeat(" a=b", 300_000) + ">x",
		"headings":   strings.Repeat("<h1>x</h1>", 10_000),
		"closes":     strings.Repeat("<b class=x>", 100_000) + strings.Repeat("</i>", 100_000),
	} {
		p := Extract([]byte(body), "text/html", "")
		if len(p.Text) > MaxText || len(p.Headings) > MaxHeadings ||
			(p.Text == "") != (name == "closes") {
			t.Errorf("%s: %d bytes, %d headings", name, len(p.Text), len(p.Headings))
		}
	}
}

// BenchmarkExtract reads a page of 20 KB as documentation has them: a menu, sections with code and
// links, a footer.
func BenchmarkExtract(b *testing.B) {
	section := `<h2 id="s">A section<a class="headerlink" href="#s">¶</a></h2><p>` + lorem + lorem +
		`See <a href="x.html"><code class="docutils">vacuum</code></a> &amp; more.</p>
<div class="highlight-sql notranslate"><pre><span class="k">SELECT</span> <span class="o">*</span> <span class="k">FROM</span> <span class="n">t</span>;</pre></div>`
	menu := `<nav class="sidebar">` + strings.Repeat(
		`<li class="toctree-l1"><a class="reference internal" href="page.html">Another page</a></li>`,
		40) + `</nav>`
	page := []byte(
		`<!DOCTYPE html><html lang="en"><head><title>Vacuum</title><meta name="description" content="How to"></head><body>` +
			menu + `<main>` +
			strings.Repeat(section, 25) + `</main><footer>Imprint</footer></body></html>`)
	b.SetBytes(int64(len(page)))
	b.ReportAllocs()
	for b.Loop() {
		if p := Extract(page, "text/html; charset=utf-8", ""); p.Title != "Vacuum" {
			b.Fatal(p.Title)
		}
	}
}

func FuzzExtract(f *testing.F) {
	f.Add([]byte("<nav>x</nav><h1 class=a>b</h1><p>text <a href=x>y</a>"), "text/html")
	f.Add([]byte("<title><title></b><svg></p><main role=main><td><li><li>"), "")
	f.Add([]byte("\xff\xfe<\x00p>"), "text/html; charset=utf-16le")
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		p := Extract(body, contentType, "")
		if len(p.Text) > MaxText || len(p.Headings) > MaxHeadings || len(p.Title) > maxTitle ||
			len(p.Description) > maxTitle {
			t.Error("a limit was passed")
		}
		for _, s := range append(p.Headings, p.Text, p.Title, p.Description, p.Language) {
			if !utf8.ValidString(s) {
				t.Errorf("not UTF-8: %q", s)
			}
		}
	})
}
