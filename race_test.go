package crawlnode

import (
	"go/ast"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// makeVariable is the value of a variable of the Makefile.
func makeVariable(t *testing.T, name string) string {
	t.Helper()
	raw, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(string(raw), "\\\n", " ")) {
		if of, value, ok := strings.Cut(line, ":="); ok && strings.TrimSpace(of) == name {
			return strings.TrimSpace(value)
		}
	}
	t.Fatalf("the Makefile has no %s", name)
	return ""
}

// makeFolders are the folders that a variable of the Makefile lists.
func makeFolders(t *testing.T, name string) []string {
	t.Helper()
	dirs := strings.Fields(makeVariable(t, name))
	for i := range dirs {
		dirs[i] = strings.TrimPrefix(dirs[i], "./")
	}
	return dirs
}

// TestNoRaceHasNone: what is not tested under the race detector starts no goroutine and
// shares nothing. The commands under integration are tests themselves.
func TestNoRaceHasNone(t *testing.T) {
	dirs := makeFolders(t, "NORACE")
	for _, p := range pureCores {
		if !slices.Contains(dirs, p) {
			t.Errorf("%s is a pure core: add it to NORACE in the Makefile", p)
		}
	}
	for _, s := range sources(t) {
		if s.test || !slices.Contains(dirs, s.dir) || strings.HasPrefix(s.dir, "integration/") {
			continue
		}
		for _, what := range concurrency(s) {
			t.Errorf("%s, and NORACE in the Makefile keeps the race detector from %s", what, s.dir)
		}
	}
}

// TestMeetingsAreRaced: of the packages that the check has seldom under the race detector, each
// test that starts goroutines is run under it, and no name of the list leads nowhere.
func TestMeetingsAreRaced(t *testing.T) {
	meet, dirs := makeVariable(t, "MEET"), makeFolders(t, "SELDOM")
	names := strings.Split(strings.TrimSuffix(strings.TrimPrefix(meet, "^("), ")$$"), "|")
	found := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test || !slices.Contains(dirs, s.dir) {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			found[f.Name.Name] = true
			if startsGoroutines(f) && !slices.Contains(names, f.Name.Name) {
				t.Errorf("%s starts goroutines: add it to MEET in the Makefile", s.fset.Position(f.Pos()))
			}
		}
	}
	for _, name := range names {
		if !found[name] {
			t.Errorf("MEET in the Makefile names %s, which none of %v has", name, dirs)
		}
	}
}

// startsGoroutines tells whether a function has a go statement, or calls Go of a group.
func startsGoroutines(f *ast.FuncDecl) bool {
	starts := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			starts = true
		case *ast.SelectorExpr:
			starts = starts || n.Sel.Name == "Go"
		}
		return !starts
	})
	return starts
}

// concurrency lists where a file starts goroutines or guards something against them.
func concurrency(s *source) []string {
	var out []string
	for _, spec := range s.file.Imports {
		if p, err := strconv.Unquote(spec.Path.Value); err != nil || p == "sync" || p == "sync/atomic" {
			out = append(out, s.fset.Position(spec.Pos()).String()+" imports "+p)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			out = append(out, s.fset.Position(g.Pos()).String()+" starts a goroutine")
		}
		return true
	})
	return out
}

// The check itself: what is concurrent is found.
func TestConcurrencyIsFound(t *testing.T) {
	const text = "package x\nimport \"sync\"\nfunc f() { var m sync.Mutex; m.Lock(); go f() }\n"
	if got := concurrency(parsed(t, "x/x.go", text)); len(got) != 2 {
		t.Errorf("found %q, want the import and the goroutine", got)
	}
}
