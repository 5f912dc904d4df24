package crawlnode

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryFetcherSigns: whatever makes requests to web servers gets the signer of --bot-key. Parts
// of rendered pages, robots.txt and sitemaps are visits of the same fetcher.
func TestEveryFetcherSigns(t *testing.T) {
	t.Parallel()
	made := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "integration" || d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok || !isFetcherOptions(literal.Type) {
				return true
			}
			made++
			for _, e := range literal.Elts {
				if field, ok := e.(*ast.KeyValueExpr); ok {
					if name, ok := field.Key.(*ast.Ident); ok && name.Name == "Signer" {
						return true
					}
				}
			}
			t.Errorf("%s: a fetcher is made without a Signer: its requests are not signed", path)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if made < 2 {
		t.Errorf("%d fetchers are made; those of nodes and workers are at least two", made)
	}
}

// isFetcherOptions reports whether a type is fetcher.Options.
func isFetcherOptions(t ast.Expr) bool {
	s, ok := t.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "Options" {
		return false
	}
	p, ok := s.X.(*ast.Ident)
	return ok && p.Name == "fetcher"
}
