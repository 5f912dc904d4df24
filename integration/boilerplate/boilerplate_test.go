package main

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestWanted has a page of each site's shape.
func TestWanted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ site, page, without, with string }{
		{
			"sqlite3",
			`<body><div class="menu mainmenu"><a>Home</a></div><div class="tagline desktoponly">Small.
			</div><div class=fancy_toc><a>1. First</a></div><h1>First</h1>Text<script>s</script>`,
			"First Text", "1 First First Text",
		},
		{
			"postgresql",
			`<body><div class="navheader">Prev</div><h1>First</h1><div class="toc"><dl><dt>1. One
			</dl></div><p>Text</p><div class="navfooter">Next</div>`, "First Text", "First 1 One Text",
		},
		{"debian-policy", `<body><div class="related">next</div><div class="body" role="main"><h1>First<a
			class="headerlink">Permalink</a></h1><div class="toctree-wrapper compound">One</div>Text</div>
			<div class="footer">Created</div>`, "First Text", "First One Text"},
		{"gnuplot", `<body><div class="navigation">Next:</div><h4>First</h4><ul class="ChildLinks"><li>One
			</ul>Text`, "First Text", "First One Text"},
		{"fish", `<body><div class="body" role="main"><h1>First</h1><div class="contents topic">One</div>
			Text</div><div class="sphinxsidebar">Documents</div>`, "First Text", "First One Text"},
		{
			"nodejs",
			`<body><div id="column2">Buffer</div><div id="apicontent"><h2>First</h2><details id="toc">
			One</details>Text</div>`, "First Text", "First One Text",
		},
		{"nodejs", `<body><div id="column2">Buffer</div>`, "", ""},
		{
			"valgrind",
			`<body><table class="nav"><tr><th>Manual</table><h1>First</h1><div class="toc">One</div>
			<table><tr><td>Text</table>`, "First Text", "First One Text",
		},
	} {
		for _, s := range sites {
			if s.name != c.site {
				continue
			}
			doc, err := html.Parse(strings.NewReader(c.page))
			if err != nil {
				t.Fatal(err)
			}
			for contents, want := range map[bool]string{false: c.without, true: c.with} {
				if got := bagOf(s.wanted(doc, contents)); !maps.Equal(got, bagOf(want)) {
					t.Errorf("%s, contents %t: %v, want %q", c.site, contents, got, want)
				}
			}
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		found, wanted         string
		precision, recall, f1 float64
	}{
		{"a b", "a b", 1, 1, 1},
		{"a, b!", "(a) b", 1, 1, 1},
		{"", "a", 0, 0, 0},
		{"b", "a", 0, 0, 0},
		{"a", "a a a a", 1, 0.25, 0.4},
		{"a a a a", "a", 0.25, 1, 0.4},
		{"a b c d", "a b e f", 0.5, 0.5, 0.5},
	} {
		s := compare(bagOf(c.found), bagOf(c.wanted))
		for _, v := range [][2]float64{{s.precision, c.precision}, {s.recall, c.recall}, {s.f1, c.f1}} {
			if math.Abs(v[0]-v[1]) > 1e-9 {
				t.Errorf("%q of %q: %v", c.found, c.wanted, s)
			}
		}
	}
}

// TestText: words end where a line does, not where markup within a line does.
func TestText(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		`<p>a<p>b<br>c<table><tr><td>d<td>e</table>`:           "a b c d e",
		`<p>a<b>b</b><code>c</code><span>d</span>`:             "abcd",
		`<title>t</title><style>s</style><!-- c --><p>a`:       "a",
		`<p>a<select><option>b</select><noscript>c</noscript>`: "a",
	} {
		doc, err := html.Parse(strings.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(textOf(doc)), " "); got != want {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
}

// TestReaders: each reader finds the paragraphs of a plain page, all but one without its menu.
func TestReaders(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("A sentence with some words, which somebody wrote to be read. ", 12)
	page := []byte(
		`<html><body><div class="menu"><ul><li><a href="/x">Menuentry</a></ul></div><div><h1>Heading</h1><p>` +
			words + `</p><p>` + words + `</p></div></body></html>`)
	for _, r := range readers {
		text, err := r.read(page, "https://docs.example/a.html")
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		found := bagOf(text())
		if found["sentence"] != 24 {
			t.Errorf("%s: %d sentences, want 24", r.name, found["sentence"])
		}
		if whole := r.name == "the whole page"; whole != (found["Menuentry"] > 0) {
			t.Errorf("%s: %d entries of the menu", r.name, found["Menuentry"])
		}
	}
}

// TestLoad: redirects and lists are left out, and the choice of pages does not depend on n.
func TestLoad(t *testing.T) {
	t.Parallel()
	docs := t.TempDir()
	dir := filepath.Join(docs, "fish", "cmds")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	const begin = `<body><div class="body" role="main">`
	for name, page := range map[string]string{
		"a.html": begin + `one two</div>`, "b.html": `<body>moved`,
		"c.html": begin + `one<div class="contents">two three</div></div>`, "d.txt": begin + `one`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := sphinx("fish", "fish")
	names, err := s.pages(docs, 9)
	if err != nil || len(names) != 3 {
		t.Fatalf("%q, %v", names, err)
	}
	if first, err := s.pages(docs, 1); err != nil || len(first) != 1 || first[0] != names[0] {
		t.Errorf("first %q of %q, %v", first, names, err)
	}
	if pages, err := s.load(names, 10, false); err != nil || len(pages) > 0 {
		t.Errorf("%v, %v: larger than 10 bytes", pages, err)
	}
	pages, err := s.load(names, 1<<20, false)
	if err != nil || len(pages) != 1 || filepath.Base(pages[0].name) != "a.html" {
		t.Errorf("%v, %v", pages, err)
	}
}
