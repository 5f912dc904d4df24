package crawlnode

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// undocumentedNames lists the exported names of a file that have no doc comment:
// types, functions, methods of exported types, variables, constants. One comment
// above a group of constants or variables, or behind one of them, is enough for it.
func undocumentedNames(s *source) []string {
	var out []string
	add := func(n *ast.Ident, docs ...*ast.CommentGroup) {
		if n.IsExported() && !slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return d.Text() != "" }) {
			out = append(out, fmt.Sprintf("%s: %s", s.fset.Position(n.Pos()), n.Name))
		}
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if receiverExported(d) {
				add(d.Name, d.Doc)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name, d.Doc, spec.Doc, spec.Comment)
				case *ast.ValueSpec:
					for _, n := range spec.Names {
						add(n, d.Doc, spec.Doc, spec.Comment)
					}
				}
			}
		}
	}
	return out
}

// wellKnown are methods whose meaning the standard library's interfaces say.
var wellKnown = []string{"Error", "String", "Unwrap", "Is", "Len", "Less", "Swap", "Push", "Pop", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText"}

// receiverExported reports whether a function can be seen outside its package and
// has to explain itself.
func receiverExported(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	if slices.Contains(wellKnown, d.Name.Name) {
		return false
	}
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	name, ok := t.(*ast.Ident)
	return ok && name.IsExported()
}

func TestExportedNamesExplainThemselves(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.generated() || s.file.Name.Name == "main" {
			continue
		}
		for _, name := range undocumentedNames(s) {
			t.Errorf("%s has no doc comment", name)
		}
	}
}

// The check itself: what has no comment is found, and what needs none is not.
func TestUndocumentedNames(t *testing.T) {
	const text = `package x

// T is a type.
type T int

func (T) Bare() {}
func (T) String() string { return "" }

type hidden int

func (hidden) Method() {}

// The colours.
const (
	Red T = iota
	Blue
)

var Loose, Second int
`
	var names []string
	for _, n := range undocumentedNames(parsed(t, "x/x.go", text)) {
		names = append(names, n[strings.LastIndex(n, " ")+1:])
	}
	if want := []string{"Bare", "Loose", "Second"}; !slices.Equal(names, want) {
		t.Errorf("found %v, want %v", names, want)
	}
}
