package crawlnode

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// watchers are the names by which docs/ownership.md may say what enforces or watches a rule:
// tests, scripts of pure packages, mutants, and functions as "Type.method" or "function".
func watchers(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for name := range declared(t) {
		_, function, _ := strings.Cut(name, ".")
		names[function] = true
	}
	for _, s := range sources(t) {
		names[s.path], names[path.Base(s.path)], names[s.dir] = true, true, true
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && s.test && strings.HasPrefix(f.Name.Name, "Test") {
				names[f.Name.Name] = true
			}
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range g.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names[spec.Name.Name] = true
				case *ast.ValueSpec:
					for _, id := range spec.Names {
						names[id.Name] = true
					}
				}
			}
		}
	}
	for _, dir := range []string{"handoff/machine/testdata", "membership/consensus/testdata"} {
		scripts, err := fs.Glob(os.DirFS(dir), "*.txt")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range scripts {
			names[s] = true
		}
	}
	mutants, err := os.ReadFile("integration/mutants/mutants.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^== (\S+) `).FindAllSubmatch(mutants, -1) {
		names["*"+string(m[1])+"*"] = true
	}
	return names
}

// TestOwnershipRules: docs/ownership.md has the rules 1 to 16, the functions, tests, scripts
// and mutants that it names exist, and the code cites no other rule.
func TestOwnershipRules(t *testing.T) {
	raw, err := os.ReadFile("docs/ownership.md")
	if err != nil {
		t.Fatal(err)
	}
	known, rule := watchers(t), 0
	name := regexp.MustCompile("`([^`]+)`|\\*[a-z-]+\\*")
	for _, line := range strings.Split(string(raw), "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 4 || !regexp.MustCompile(`^\| \d`).MatchString(line) {
			continue
		}
		if rule++; !strings.HasPrefix(line, "| "+strconv.Itoa(rule)+" ") {
			t.Errorf("rule %d is missing before %q", rule, cells[0])
		}
		for _, c := range cells[2:] {
			found := name.FindAllString(c, -1)
			if len(found) == 0 {
				t.Errorf("rule %d: nothing is named in %q", rule, c)
			}
			for _, n := range found {
				if n = strings.Trim(n, "`"); !known[n] && !known[strings.TrimPrefix(n, "core.")] &&
					!endsInPath(known, n) {
					t.Errorf("rule %d names %s, which does not exist", rule, n)
				}
			}
		}
	}
	if rule != 16 {
		t.Errorf("%d rules, want 16", rule)
	}
	cited := regexp.MustCompile(`(?i)ownership\s+(?://\s+)?rules? (\d+)`)
	for _, s := range sources(t) {
		for _, g := range s.file.Comments {
			for _, c := range cited.FindAllStringSubmatch(g.Text(), -1) {
				if n, err := strconv.Atoi(c[1]); err != nil || n < 1 || n > rule {
					t.Errorf("%s cites %q, which docs/ownership.md does not have", s.path, c[0])
				}
			}
		}
	}
}

// endsInPath reports whether a file's path ends in a name such as "consensus/plan.go".
func endsInPath(known map[string]bool, name string) bool {
	for k := range known {
		if strings.HasSuffix(k, "/"+name) {
			return true
		}
	}
	return false
}
