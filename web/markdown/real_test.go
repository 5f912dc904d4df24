package markdown

import (
	"bytes"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

var realPages = flag.Bool("realpages", false,
	"count what is in the Markdown of pages of documentation that Debian has installed")

// counts are the parts of a page.
type counts struct{ headings, items, tables, cells, code, links, words int }

func (c *counts) add(d counts) {
	c.headings += d.headings
	c.items += d.items
	c.tables += d.tables
	c.cells += d.cells
	c.code += d.code
	c.links += d.links
	c.words += d.words
}

func (c counts) String() string {
	return fmt.Sprintf("%d\t%d\t%d\t%d\t%d\t%d\t%d", c.headings, c.items, c.tables, c.cells, c.code,
		c.links, c.words)
}

// site is a set of pages, with what of a page is its main part, by a rule for these pages alone.
type site struct {
	name, dir string
	// boiler reports whether an element is none of the main part.
	boiler func(tag, class, id string) bool
}

var sites = []site{
	{"sqlite3-doc", "/usr/share/doc/sqlite3", func(_, class, id string) bool {
		return strings.Contains(class, "menu") || strings.Contains(class, "tagline") ||
			class == "fancy_toc" || id == "headersearch"
	}},
	{"postgresql-doc-15", "/usr/share/doc/postgresql-doc-15/html", func(_, class, _ string) bool {
		return class == "navheader" || class == "navfooter" || class == "toc"
	}},
	{"debian-policy", "/usr/share/doc/debian-policy/policy.html", func(_, class, _ string) bool {
		return class == "sphinxsidebar" || class == "related" || class == "footer" ||
			class == "headerlink" ||
			strings.Contains(class, "toctree-wrapper") || class == "contents" ||
			strings.HasPrefix(class, "topic")
	}},
	{"gnuplot-doc", "/usr/share/doc/gnuplot/htmldocs", func(_, class, _ string) bool {
		return class == "navigation" || class == "ChildLinks"
	}},
}

// TestRealPages counts headings, items, tables, code and links of the main part of pages, by a tree
// of golang.org/x/net/html and rules for the site, and of their Markdown, as goldmark reads it.
func TestRealPages(t *testing.T) {
	if !*realPages {
		// The set is not part of the project. One page of each shape stands for it.
		checkCounts(t,
			[]byte(
				`<body><div class=navheader><a href=x>x</a></div><h1>a</h1><ul><li>b<li>c</ul><table><tr><th>d<th>e
			<tr><td>f<td><a href=g>g</a></table><pre>h</pre>`), sites[1], counts{1, 2, 1, 4, 1, 1, 8})
		return
	}
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "pages\tof\theadings\titems\ttables\tcells\tcode\tlinks\twords")
	for _, s := range sites {
		var in, out counts
		pages := s.pages(t, 34)
		for _, name := range pages {
			page, err := os.ReadFile(name) //nolint:gosec // of the set
			if err != nil {
				t.Fatal(err)
			}
			md, err := Of(page, "text/html", mustURL(t, "https://a.example/"+filepath.Base(name)))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			i, o := countHTML(t, page, s), countMarkdown(md)
			in.add(i)
			out.add(o)
			if testing.Verbose() && i != o {
				fmt.Printf("%s\n  %v\n  %v\n", name, i, o)
			}
		}
		fmt.Fprintf(table, "%d\t%s, HTML\t%v\n\tMarkdown\t%v\n", len(pages), s.name, in, out)
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
}

func checkCounts(t *testing.T, page []byte, s site, want counts) {
	t.Helper()
	md, err := Of(page, "text/html", mustURL(t, "https://a.example/"))
	if err != nil {
		t.Fatal(err)
	}
	if in, out := countHTML(t, page, s), countMarkdown(md); in != want || out != want {
		t.Errorf("HTML %v, Markdown %v, want %v of %q", in, out, want, md)
	}
}

// pages are some of a site's, the same ones each time: those whose names have the smallest hashes.
func (s site) pages(t *testing.T, n int) (names []string) {
	t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, ".html") {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(names, func(a, b string) int { return bytes.Compare(hashOf(a), hashOf(b)) })
	return names[:min(n, len(names))]
}

func hashOf(name string) []byte {
	h := fnv.New64a()
	h.Write([]byte(name))
	return h.Sum(nil)
}

// countHTML counts what the main part of a page has. Items are those of lists; tables are those
// with several columns and no table, list, heading or code within, as Markdown can have them.
func countHTML(t *testing.T, page []byte, s site) (c counts) {
	t.Helper()
	doc, err := html.Parse(bytes.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var walk func(n *html.Node, pre bool)
	walk = func(n *html.Node, pre bool) {
		if n.Type == html.TextNode {
			c.words += len(strings.Fields(n.Data))
			return
		}
		class, id, href := "", "", ""
		for _, a := range n.Attr {
			switch a.Key {
			case "class":
				class = a.Val
			case "id":
				id = a.Val
			case "href":
				href = a.Val
			}
		}
		if n.Type == html.ElementNode && s.boiler(n.Data, class, id) {
			return
		}
		switch n.DataAtom {
		case atom.Head, atom.Script, atom.Style, atom.Nav, atom.Footer, atom.Template, atom.Svg,
			atom.Noscript:
			return
		case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
			if words(n) > 0 {
				c.headings++
			}
		case atom.Li:
			if words(n) > 0 {
				c.items++
			}
		case atom.Table:
			if columns, cells := grid(n); columns > 1 {
				c.tables++
				c.cells += cells
			}
		case atom.Pre:
			if !pre && words(n) > 0 {
				c.code++
			}
			pre = true
		case atom.A:
			if href != "" && words(n) > 0 && !pre && strings.TrimSpace(textOf(n)) != "¶" {
				c.links++
			}
		}
		for k := n.FirstChild; k != nil; k = k.NextSibling {
			walk(k, pre)
		}
	}
	walk(doc, false)
	return c
}

func textOf(n *html.Node) string {
	if n.Type == html.TextNode {
		return n.Data
	}
	all := ""
	for k := n.FirstChild; k != nil; k = k.NextSibling {
		all += textOf(k)
	}
	return all
}

func words(n *html.Node) int { return len(strings.Fields(textOf(n))) }

// grid counts the cells of a table, and of its longest row; no columns when it has parts of a page.
func grid(table *html.Node) (columns, cells int) {
	parts, row := false, 0
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		switch n.DataAtom {
		case atom.Tr:
			row = 0
		case atom.Td, atom.Th:
			row++
			cells++
			columns = max(columns, row)
		case atom.Table, atom.Pre, atom.Ul, atom.Ol, atom.Dl, atom.H1, atom.H2, atom.H3, atom.H4,
			atom.Blockquote:
			parts = parts || n != table
		}
		for k := n.FirstChild; k != nil; k = k.NextSibling {
			walk(k)
		}
	}
	walk(table)
	if parts || len(textOf(table)) > 500*max(cells, 1) {
		return 0, 0
	}
	return columns, cells
}

// countMarkdown counts what goldmark finds.
func countMarkdown(md string) (c counts) {
	source := []byte(md)
	doc := goldmark.New(goldmark.WithExtensions(extension.Table,
		extension.Strikethrough)).Parser().Parse(
		text.NewReader(source))
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			c.headings++
		case *ast.ListItem:
			c.items++
		case *extast.Table:
			c.tables++
		case *extast.TableCell:
			c.cells++
		case *ast.FencedCodeBlock:
			c.code++
			c.words += len(strings.Fields(string(n.Lines().Value(source))))
		case *ast.Link:
			c.links++
		case *ast.Text:
			c.words += len(strings.Fields(string(n.Segment.Value(source))))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		panic(err)
	}
	return c
}
