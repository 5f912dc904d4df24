package crawlnode

import (
	"fmt"
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// walkLine is a line of a walk in docs/walks.md: the file that is entered, and what runs there.
var walkLine = regexp.MustCompile("^[0-9]+\\. `([^`]+)`: (`[^-]*`) - ")

// walk is one list of docs/walks.md.
type walk struct {
	files   map[string]bool
	entries int
	root    int            // entries of files in the root of node
	onNode  map[string]int // entries by node and file
}

// walks reads the lists of a document, by their headings, and calls line for each line.
func walks(text string, line func(heading, file string, functions []string)) map[string]*walk {
	all := map[string]*walk{}
	heading, node := "", ""
	for l := range strings.Lines(text) {
		l = strings.TrimRight(l, "\n")
		if h, ok := strings.CutPrefix(l, "### "); ok {
			heading = h
			all[heading] = &walk{files: map[string]bool{}, onNode: map[string]int{}}
		} else if strings.HasSuffix(l, ":") {
			node = strings.TrimSuffix(strings.TrimSuffix(l, ":"), " again")
		}
		m := walkLine.FindStringSubmatch(l)
		if m == nil || all[heading] == nil {
			continue
		}
		w := all[heading]
		w.files[m[1]] = true
		w.entries++
		w.onNode[node+" "+m[1]]++
		if path.Dir(m[1]) == "node" {
			w.root++
		}
		line(heading, m[1], strings.Split(strings.ReplaceAll(m[2], "`", ""), ", "))
	}
	return all
}

// functionsOf lists the functions of each file, methods as Type.Name.
func functionsOf(all []*source) map[string][]string {
	found := map[string][]string{}
	for _, s := range all {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.Name.Name
			if f.Recv != nil {
				t := f.Recv.List[0].Type
				if star, ok := t.(*ast.StarExpr); ok {
					t = star.X
				}
				if id, ok := t.(*ast.Ident); ok {
					name = id.Name + "." + name
				}
			}
			found[s.path] = append(found[s.path], name)
		}
	}
	return found
}

// TestWalks: the walks of docs/walks.md go through files and functions that exist, and its
// table counts what is listed.
func TestWalks(t *testing.T) {
	raw, err := os.ReadFile("docs/walks.md")
	if err != nil {
		t.Fatal(err)
	}
	found := functionsOf(sources(t))
	all := walks(string(raw), func(heading, file string, functions []string) {
		if !strings.HasSuffix(heading, ": now") {
			return
		}
		for _, f := range functions {
			if !slices.Contains(found[file], f) {
				t.Errorf("docs/walks.md, %s: there is no function %s in %s", heading, f, file)
			}
		}
	})
	if len(all) != 6 {
		t.Fatalf("docs/walks.md has %d walks, want three, each before and now", len(all))
	}
	for heading, w := range all {
		most := 0
		for _, n := range w.onNode {
			most = max(most, n)
		}
		name, when, _ := strings.Cut(heading, ": ")
		row := fmt.Sprintf("| %s | %s | %d | %d | %d | %d |\n", name, when, len(w.files), w.entries, w.root, most)
		if !strings.Contains(string(raw), row) {
			t.Errorf("the table of docs/walks.md lacks %q", row)
		}
	}
}
