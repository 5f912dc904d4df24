package crawlnode

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// opening are the functions of output/archive that read records or find them.
var opening = []string{"Find", "FindAnswer", "FindBefore", "IndexFile", "MemberAt", "OpenMember",
	"ReadRecord", "ReadRef", "Scan", "ScanFrom"}

// openers are the packages that may call them. Whoever asks what the crawl saw of a page asks
// output/readback, so that all show the same.
var openers = map[string]string{
	"output/readback": "it is the reader",
	"cli/warcfiles":   "its verbs are about records themselves: it lists, extracts and verifies them",
	"output/upload":   "it passes members on from an object store, unread",
}

// TestOneReader: no package but the reader, and those that are about records themselves, opens a
// record.
func TestOneReader(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") ||
			strings.HasSuffix(path, "_test.go") {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name := ""
		for _, i := range file.Imports {
			if i.Path.Value == `"crawlnode/output/archive"` {
				if name = "archive"; i.Name != nil {
					name = i.Name.Name
				}
			}
		}
		if name == "" {
			return nil
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := call.X.(*ast.Ident); ok && x.Name == name &&
				slices.Contains(opening, call.Sel.Name) {
				used[dir] = true
				if openers[dir] == "" {
					t.Errorf("%s opens records by archive.%s: what the crawl saw of a page says output/readback",
						set.Position(call.Pos()), call.Sel.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir := range openers {
		if !used[dir] {
			t.Errorf("%s opens no record any more: take it off the list", dir)
		}
	}
}
