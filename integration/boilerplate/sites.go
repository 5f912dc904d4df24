package main

import (
	"cmp"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// site is a set of pages with rules for these alone.
type site struct {
	name string
	// dir is below the folder of documentation.
	dir string
	// main reports whether an element is the main one. A page without one has no main text.
	main func(element) bool
	// around reports whether an element within the main one is no part of it, such as a menu.
	around func(element) bool
	// contents reports whether an element is a list of what the page, or the pages below, have.
	contents func(element) bool
}

// element is what rules look at.
type element struct{ tag, class, id, role string }

func elementOf(n *html.Node) (e element) {
	e.tag = n.Data
	for _, a := range n.Attr {
		switch a.Key {
		case "class":
			e.class = a.Val
		case "id":
			e.id = a.Val
		case "role":
			e.role = a.Val
		}
	}
	return e
}

// has reports whether one of the element's classes is the given one.
func (e element) has(class string) bool { return slices.Contains(strings.Fields(e.class), class) }

func body(e element) bool { return e.tag == "body" }

// sphinx are the rules for pages that Sphinx made.
func sphinx(name, dir string) site {
	return site{
		name: name, dir: dir,
		main:   func(e element) bool { return e.has("body") && e.role == "main" },
		around: func(e element) bool { return e.has("headerlink") },
		contents: func(e element) bool {
			return e.has("toctree-wrapper") || e.has("contents") || e.has("topic")
		},
	}
}

var sites = []site{
	{
		name: "sqlite3", dir: "sqlite3", main: body,
		around: func(e element) bool {
			return strings.Contains(e.class, "menu") || e.has("tagline") || e.id == "headersearch"
		},
		contents: func(e element) bool { return e.has("fancy_toc") },
	},
	{
		name: "postgresql", dir: "postgresql-doc-15/html", main: body,
		around:   func(e element) bool { return e.has("navheader") || e.has("navfooter") },
		contents: func(e element) bool { return e.has("toc") },
	},
	sphinx("debian-policy", "debian-policy/policy.html"),
	{
		name: "gnuplot", dir: "gnuplot/htmldocs", main: body,
		around:   func(e element) bool { return e.has("navigation") },
		contents: func(e element) bool { return e.has("ChildLinks") },
	},
	sphinx("fish", "fish"),
	{
		name: "nodejs", dir: "nodejs/api",
		main:     func(e element) bool { return e.id == "apicontent" },
		around:   func(element) bool { return false },
		contents: func(e element) bool { return e.id == "toc" },
	},
	{
		name: "valgrind", dir: "valgrind/html", main: body,
		around:   func(e element) bool { return e.tag == "table" && e.has("nav") },
		contents: func(e element) bool { return e.has("toc") },
	},
}

// pages are at most n files of a site, the same ones each time: those whose names, from the site's
// folder on, have the smallest hashes.
func (s site) pages(docs string, n int) ([]string, error) {
	// The folder may be a symbolic link, which WalkDir would not follow.
	root, err := filepath.EvalSymlinks(filepath.Join(docs, s.dir))
	if err != nil {
		return nil, err
	}
	var names []string
	err = fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.HasSuffix(name, ".html") {
			names = append(names, name)
		}
		return err
	})
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(hashOf(a), hashOf(b)), cmp.Compare(a, b))
	})
	names = names[:min(n, len(names))]
	for i, name := range names {
		names[i] = filepath.Join(root, filepath.FromSlash(name))
	}
	return names, err
}

func hashOf(name string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	return h.Sum64()
}

// wanted is the text of the main elements of a page. withContents keeps lists of contents.
func (s site) wanted(doc *html.Node, withContents bool) string {
	var all strings.Builder
	leave := func(n *html.Node) bool {
		e := elementOf(n)
		return s.around(e) || !withContents && s.contents(e)
	}
	var find func(*html.Node)
	find = func(n *html.Node) {
		if n.Type == html.ElementNode && s.main(elementOf(n)) {
			writeText(&all, n, leave)
			return
		}
		for k := n.FirstChild; k != nil; k = k.NextSibling {
			find(k)
		}
	}
	find(doc)
	return all.String()
}
