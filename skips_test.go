package crawlnode

import (
	"fmt"
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// TestSkipsAreMeant: a test is left out for one of three reasons only. It takes long, and has to be
// asked for: then LONG or SLOW in the Makefile names it, so that `make test` does not count it
// among what it left out. Or this system is not Linux. Or what it needs is missing: then it fails
// where CI is set. Whatever the reason, it is given.
func TestSkipsAreMeant(t *testing.T) {
	byFolder := map[string][]*source{}
	for _, s := range sources(t) {
		if s.test {
			byFolder[s.dir] = append(byFolder[s.dir], s)
		}
	}
	found, all := map[string][]string{}, map[string]int{} // by the variable that has to name them
	for dir, files := range byFolder {
		list := "SLOW"
		if dir == "integration" {
			list = "LONG"
		}
		names, mistakes := skippers(files)
		for _, m := range mistakes {
			t.Error(m)
		}
		found[list] = append(found[list], names...)
		for _, s := range files {
			for _, d := range s.file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					all[list+f.Name.Name]++
				}
			}
		}
	}
	for list, tests := range found {
		pattern := makeVariable(t, list)
		named := strings.Split(strings.TrimSuffix(strings.TrimPrefix(pattern, "^("), ")$$"), "|")
		for _, name := range tests {
			if !slices.Contains(named, name) {
				t.Errorf("%s leaves itself out, also where CI is set: add it to %s in the Makefile when "+
					"it takes long, and let it fail where CI is set when something is missing", name, list)
			}
		}
		for _, name := range named {
			if !slices.Contains(tests, name) {
				t.Errorf("%s in the Makefile names %s, which has not to be asked for", list, name)
			}
			if n := all[list+name]; n > 1 {
				t.Errorf("%s in the Makefile names %s, and there are %d: rename one", list, name, n)
			}
		}
	}
}

// skippers are the tests of a package that leave themselves out where CI is set, by a function that
// they call, too; and where a reason is missing. needsProcesses is for -short, which the
// integration tests are not run with.
func skippers(files []*source) (tests, mistakes []string) {
	calls := map[string][]string{} // the functions that one calls
	leaves := map[string]bool{}    // functions that leave a test out
	for _, s := range files {
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			name, skips, excused := f.Name.Name, false, f.Name.Name == "needsProcesses"
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.BasicLit:
					excused = excused || n.Value == `"CI"`
				case *ast.SelectorExpr:
					excused = excused || n.Sel.Name == "GOOS"
				case *ast.CallExpr:
					switch fun := n.Fun.(type) {
					case *ast.Ident:
						calls[name] = append(calls[name], fun.Name)
					case *ast.SelectorExpr:
						called := fun.Sel.Name
						if called == "SkipNow" || called == "Skip" && len(n.Args) == 0 {
							mistakes = append(mistakes, fmt.Sprintf("%v: a test is left out without a reason",
								s.fset.Position(n.Pos())))
						}
						of, ok := fun.X.(*ast.Ident)
						skips = skips || ok && strings.Contains("t f b", of.Name) && strings.HasPrefix(called, "Skip")
					}
				}
				return true
			})
			leaves[name] = leaves[name] || skips && !excused
		}
	}
	for changed := true; changed; {
		changed = false
		for name, called := range calls {
			if !leaves[name] && slices.ContainsFunc(called, func(c string) bool { return leaves[c] }) {
				leaves[name], changed = true, true
			}
		}
	}
	for name := range leaves {
		if leaves[name] && strings.HasPrefix(name, "Test") {
			tests = append(tests, name)
		}
	}
	slices.Sort(tests)
	return tests, mistakes
}

// The check itself.
func TestSkippersAreFound(t *testing.T) {
	const text = `package x
func TestLong(t *testing.T) { t.Skip("takes long") }
func TestHidden(t *testing.T) { helper(t) }
func helper(t *testing.T) { other(t) }
func other(t *testing.T) { t.Skipf("takes %s", "long") }
func TestMissing(t *testing.T) { needs(t) }
func needs(t *testing.T) { if os.Getenv("CI") != "" { t.Fatal("no") }; t.Skip("no browser") }
func TestLinux(t *testing.T) { if runtime.GOOS != "linux" { t.Skip("only Linux") } }
func TestSilent(t *testing.T) { t.SkipNow() }
func TestRuns(t *testing.T) { TestOf(t.Skipped) }
`
	tests, mistakes := skippers([]*source{parsed(t, "x/x_test.go", text)})
	if want := []string{"TestHidden", "TestLong", "TestSilent"}; !slices.Equal(tests, want) {
		t.Errorf("%q leave themselves out, want %q", tests, want)
	}
	if len(mistakes) != 1 || !strings.Contains(mistakes[0], "without a reason") {
		t.Errorf("%q", mistakes)
	}
}
