package crawlnode

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// onRequest begins the reason of a test that is left out because it takes long.
const onRequest = "on request: "

// TestSkipsAreMeant: a test is left out for one of three reasons only. It takes minutes to hours,
// and has to be asked for: then the reason begins with onRequest, so that `make test` does not
// count it among what it left out. Or this system is not Linux. Or what it needs is missing: then
// it fails where CI is set. Whatever the reason, it is given.
func TestSkipsAreMeant(t *testing.T) {
	found := 0
	for _, s := range sources(t) {
		if !s.test {
			continue
		}
		asked, mistakes := skips(s)
		found += len(asked)
		for _, m := range mistakes {
			t.Error(m)
		}
	}
	if found == 0 {
		t.Error("no test has to be asked for: the check looks for the wrong thing")
	}
}

// skips are the functions of a file that leave a test out until it is asked for; and where a test
// leaves itself out otherwise, also where CI is set.
func skips(s *source) (asked, mistakes []string) {
	for _, d := range s.file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		excused, calls := false, []*ast.CallExpr(nil)
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				excused = excused || n.Value == `"CI"`
			case *ast.SelectorExpr:
				excused = excused || n.Sel.Name == "GOOS"
			case *ast.CallExpr:
				if leavesOut(n) {
					calls = append(calls, n)
				}
			}
			return true
		})
		for _, call := range calls {
			switch at := s.fset.Position(call.Pos()); {
			case len(call.Args) == 0:
				mistakes = append(mistakes, fmt.Sprintf("%v: a test is left out without a reason", at))
			case strings.HasPrefix(leadingText(call.Args[0]), `"`+onRequest):
				asked = append(asked, f.Name.Name)
			case !excused:
				mistakes = append(mistakes, fmt.Sprintf("%v: a test leaves itself out, also where CI is set: "+
					"begin the reason with %q when it takes long, and let it fail where CI is set when "+
					"something is missing", at, onRequest))
			}
		}
	}
	return asked, mistakes
}

// leavesOut tells whether a call is one of t.Skip, t.Skipf and t.SkipNow, whatever kind of test t
// is.
func leavesOut(call *ast.CallExpr) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, fun.Sel.Name) {
		return false
	}
	of, ok := fun.X.(*ast.Ident)
	return ok && slices.Contains([]string{"t", "tb", "f", "b"}, of.Name)
}

// leadingText is the literal with which an expression begins, in quotes.
func leadingText(e ast.Expr) string {
	for {
		switch of := e.(type) {
		case *ast.BinaryExpr:
			e = of.X
		case *ast.BasicLit:
			if of.Kind == token.STRING {
				return of.Value
			}
			return ""
		default:
			return ""
		}
	}
}

// The check itself.
func TestSkipsAreFound(t *testing.T) {
	const text = `package x
func TestLong(t *testing.T) { t.Skip("on request: takes long") }
func asks(t *testing.T, why string) { t.Skip("on request: " + why) }
func TestHidden(t *testing.T) { helper(t) }
func helper(t *testing.T) { t.Skipf("takes %s", "long") }
func given(t *testing.T, why string) { t.Skip(why) }
func needs(t *testing.T) { if os.Getenv("CI") != "" { t.Fatal("no") }; t.Skip("no browser") }
func TestLinux(t *testing.T) { if runtime.GOOS != "linux" { t.Skip("only Linux") } }
func TestSilent(t *testing.T) { if runtime.GOOS != "linux" { t.SkipNow() } }
func TestRuns(t *testing.T) { TestOf(t.Skipped) }
`
	asked, mistakes := skips(parsed(t, "x/x_test.go", text))
	if want := []string{"TestLong", "asks"}; !slices.Equal(asked, want) {
		t.Errorf("%q have to be asked for, want %q", asked, want)
	}
	for i, want := range []string{"x_test.go:5:", "x_test.go:6:", "x_test.go:9:"} {
		if len(mistakes) != 3 || !strings.Contains(mistakes[i], want) {
			t.Fatalf("found %q, want lines 5, 6 and 9", mistakes)
		}
	}
}
