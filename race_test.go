package crawlnode

import (
	"go/ast"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The marks of test files that .ci/race reads.
const (
	raceNone   = "//race:none"
	raceMarked = "//race:marked"
	raceMeets  = "//race:meets"
)

// marked are the packages one of whose test files has a mark in a line of its own.
func marked(t *testing.T, mark string) (dirs []string) {
	t.Helper()
	for _, s := range sources(t) {
		for _, group := range s.file.Comments {
			for _, line := range group.List {
				if s.test && line.Text == mark && !slices.Contains(dirs, s.dir) {
					dirs = append(dirs, s.dir)
				}
			}
		}
	}
	slices.Sort(dirs)
	return dirs
}

// TestNoRaceHasNone: what is not tested under the race detector starts no goroutine and
// shares nothing. The commands under integration are tests themselves.
func TestNoRaceHasNone(t *testing.T) {
	dirs := marked(t, raceNone)
	tested := map[string]bool{}
	for _, s := range sources(t) {
		tested[s.dir] = tested[s.dir] || s.test
	}
	for _, p := range pureCores {
		if tested[p] && !slices.Contains(dirs, p) {
			t.Errorf("%s is a pure core: write %s at the head of one of its test files", p, raceNone)
		}
	}
	for _, s := range sources(t) {
		if s.test || !slices.Contains(dirs, s.dir) || strings.HasPrefix(s.dir, "integration/") {
			continue
		}
		for _, what := range concurrency(s) {
			t.Errorf("%s, and %s keeps the race detector from %s", what, raceNone, s.dir)
		}
	}
}

// TestMeetingsAreRaced: of the packages of which the check has only marked tests under the race
// detector, each test that starts goroutines is marked. A mark elsewhere would say nothing.
func TestMeetingsAreRaced(t *testing.T) {
	dirs := marked(t, raceMarked)
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			at, meets := s.fset.Position(f.Pos()), hasMark(f)
			switch of := slices.Contains(dirs, s.dir); {
			case meets && (!of || !strings.HasPrefix(f.Name.Name, "Test")):
				t.Errorf("%s: %s marks tests of packages with %s", at, raceMeets, raceMarked)
			case of && !meets && strings.HasPrefix(f.Name.Name, "Test") && startsGoroutines(f):
				t.Errorf("%s starts goroutines: write %s above it", at, raceMeets)
			}
		}
	}
}

// hasMark reports whether a test is marked by raceMeets.
func hasMark(f *ast.FuncDecl) bool {
	return f.Doc != nil && slices.ContainsFunc(f.Doc.List, func(c *ast.Comment) bool {
		return c.Text == raceMeets
	})
}

// TestRaceReadsTheMarks: .ci/race finds each mark that stands in the tests, each package with tests
// once, and no other.
func TestRaceReadsTheMarks(t *testing.T) {
	var tested, meets []string
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		if !slices.Contains(tested, s.dir) {
			tested = append(tested, s.dir)
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && hasMark(f) && !slices.Contains(meets, f.Name.Name) {
				meets = append(meets, f.Name.Name)
			}
		}
	}
	slices.Sort(tested)
	slices.Sort(meets)
	read := func(what string) string {
		out, err := exec.Command(filepath.Join(".ci", "race"), what).Output()
		if err != nil {
			t.Fatalf(".ci/race %s: %v", what, err)
		}
		return strings.TrimSpace(string(out))
	}
	folders := func(what string) (dirs []string) {
		for _, dir := range strings.Fields(read(what)) {
			dirs = append(dirs, strings.TrimPrefix(dir, "./"))
		}
		return dirs
	}
	all := []string{"integration"}
	for what, want := range map[string][]string{
		"none": marked(t, raceNone), "marked": marked(t, raceMarked), "rest": nil,
	} {
		got := folders(what)
		if all = append(all, got...); what == "rest" {
			continue
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf(".ci/race %s says %q, want %q", what, got, want)
		}
	}
	if slices.Sort(all); !slices.Equal(all, tested) {
		t.Errorf("the check tests %q, and tests are in %q", all, tested)
	}
	if got, want := read("meets"), "^("+strings.Join(meets, "|")+")$"; got != want {
		t.Errorf(".ci/race meets says %s, want %s", got, want)
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
