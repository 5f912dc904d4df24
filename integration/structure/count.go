package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
)

// size is how many lines something has.
type size struct {
	name  string
	lines int
}

func (s size) String() string { return fmt.Sprintf("%s, %d", s.name, s.lines) }

func (s size) orLarger(o size) size {
	if o.lines > s.lines {
		return o
	}
	return s
}

// pkg is what is counted of one package.
type pkg struct {
	dir           string
	files, lines  int
	exportedTypes int
	file, longest size
	functions     []int          // lines of each
	methods       map[string]int // by the type's name
	fields        map[string]int // of other structs: pointers to a type of the package, by its name
}

func newPkg(dir string) *pkg {
	return &pkg{dir: dir, methods: map[string]int{}, fields: map[string]int{}}
}

// add counts a file, unless it is generated.
func (p *pkg) add(name string, text []byte) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if ast.IsGenerated(f) {
		return nil
	}
	lines := bytes.Count(text, []byte("\n"))
	p.files++
	p.lines += lines
	p.file = p.file.orLarger(size{path.Base(name), lines})
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			n := fset.Position(d.End()).Line - fset.Position(d.Pos()).Line + 1
			p.functions = append(p.functions, n)
			p.longest = p.longest.orLarger(size{d.Name.Name, n})
			if d.Recv != nil {
				p.methods[typeName(d.Recv.List[0].Type)]++
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok {
					p.addType(s)
				}
			}
		}
	}
	return nil
}

// addType counts a type, and its fields that point to another one.
func (p *pkg) addType(s *ast.TypeSpec) {
	if s.Name.IsExported() {
		p.exportedTypes++
	}
	st, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range st.Fields.List {
		star, ok := field.Type.(*ast.StarExpr)
		if to := typeName(field.Type); ok && to == typeName(star.X) && to != "" && to != s.Name.Name {
			p.fields[to] += max(1, len(field.Names))
		}
	}
}

// typeName is the name of a type of the same package, or of what it points to; "" for any other.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.IndexListExpr:
		return typeName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// largest is the type with most methods.
func (p *pkg) largest() (name string, methods int) {
	for n, m := range p.methods {
		if m > methods || m == methods && n < name {
			name, methods = n, m
		}
	}
	return name, methods
}

// row describes the package.
func (p *pkg) row() string {
	name, methods := p.largest()
	if name == "" {
		name = "-"
	}
	longest := "-"
	if len(p.functions) > 0 {
		longest = p.longest.String()
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %s | %d | %d | %s | %s |", p.dir, p.files, p.lines,
		p.exportedTypes, name, methods, p.fields[name], p.file, longest)
}
