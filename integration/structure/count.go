package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path"
	"strconv"
	"strings"
)

// pkg is what is counted of one package.
type pkg struct {
	lines, generated int
	functionFields   int             // fields of structs whose type is a function
	imports          map[string]bool // folders of this module
}

// read counts the packages of a commit, by folder.
func read(commit string) (map[string]*pkg, error) {
	raw, err := exec.Command("git", "archive", "--format=tar", commit).Output()
	if err != nil {
		return nil, err
	}
	packages := map[string]*pkg{}
	for r := tar.NewReader(bytes.NewReader(raw)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return packages, nil
		}
		if err != nil {
			return nil, err
		}
		if !strings.HasSuffix(h.Name, ".go") || strings.HasSuffix(h.Name, "_test.go") ||
			strings.Contains(h.Name, "testdata/") {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return nil, err
		}
		dir := path.Dir(h.Name)
		if packages[dir] == nil {
			packages[dir] = &pkg{imports: map[string]bool{}}
		}
		if err := packages[dir].add(h.Name, text); err != nil {
			return nil, err
		}
	}
}

// add counts a file.
func (p *pkg) add(name string, text []byte) error {
	f, err := parser.ParseFile(token.NewFileSet(), name, text,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	lines := bytes.Count(text, []byte("\n"))
	p.lines += lines
	if ast.IsGenerated(f) {
		p.generated += lines
	}
	for _, spec := range f.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		if dir, ours := strings.CutPrefix(imported, "crawlnode/"); ours {
			p.imports[dir] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		st, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range st.Fields.List {
			if _, ok := field.Type.(*ast.FuncType); ok {
				p.functionFields += max(1, len(field.Names))
			}
		}
		return true
	})
	return nil
}

// sum is what is told of the packages below one folder, or of all.
type sum struct{ packages, lines, generated, functionFields, oneImporter, largest int }

// sums counts by the first part of a package's folder; "" has the whole.
func sums(packages map[string]*pkg) map[string]sum {
	importers := map[string]int{}
	for _, p := range packages {
		for dir := range p.imports {
			importers[dir]++
		}
	}
	all := map[string]sum{}
	for dir, p := range packages {
		for _, folder := range []string{"", top(dir)} {
			s := all[folder]
			s.packages++
			s.lines += p.lines
			s.generated += p.generated
			s.functionFields += p.functionFields
			s.largest = max(s.largest, p.lines)
			if importers[dir] == 1 {
				s.oneImporter++
			}
			all[folder] = s
		}
	}
	return all
}

// top is the first part of a folder's path.
func top(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}
