package crawlnode

import (
	"go/ast"
	"go/token"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const architecture = "docs/architecture.md"

// diagram returns the lines of the mermaid diagram under a heading of docs/architecture.md.
func diagram(t *testing.T, heading string) []string {
	t.Helper()
	text, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+heading+"\n")
	_, rest, begun := strings.Cut(rest, "```mermaid\n")
	body, _, ended := strings.Cut(rest, "\n```\n")
	if !found || !begun || !ended || strings.Contains(body, "\n## ") {
		t.Fatalf("%s has no mermaid diagram under %q", architecture, heading)
	}
	return strings.Split(body, "\n")
}

// arrow is a line "from --> to" of a diagram; a text after a colon is a label.
var arrow = regexp.MustCompile(`^\s*([\w/\[\]*]+) --> ([\w/\[\]*]+)\s*(?::.*)?$`)

// arrowsOf returns the arrows of a diagram, sorted, as "from --> to".
func arrowsOf(lines []string) []string {
	var all []string
	for _, l := range lines {
		if m := arrow.FindStringSubmatch(l); m != nil {
			all = append(all, m[1]+" --> "+m[2])
		}
	}
	slices.Sort(all)
	return all
}

// differ reports which of two sorted lists lacks what.
func differ(t *testing.T, what string, drawn, real []string) {
	t.Helper()
	for _, a := range drawn {
		if !slices.Contains(real, a) {
			t.Errorf("%s: %s draws %q, which the code does not have", what, architecture, a)
		}
	}
	for _, a := range real {
		if !slices.Contains(drawn, a) {
			t.Errorf("%s: %s lacks %q, which the code has", what, architecture, a)
		}
	}
}

// importsOfRows are the imports between the rows of the import table: folders, and cores with a row
// of their own, such as handoff/machine.
func importsOfRows(t *testing.T) map[string]map[string]bool {
	t.Helper()
	all := map[string]map[string]bool{}
	for _, s := range sources(t) {
		if s.test || s.dir == "." || strings.HasSuffix(s.dir, "test") {
			continue
		}
		row, _ := rowOf(s.dir)
		from := row.folder
		if from == "integration" {
			continue
		}
		if all[from] == nil {
			all[from] = map[string]bool{}
		}
		for _, spec := range s.file.Imports {
			if target, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/"); ok {
				if to, _ := rowOf(target); to.folder != from {
					all[from][to.folder] = true
				}
			}
		}
	}
	return all
}

// reaches reports whether to follows from from by imports, without the direct one.
func reaches(imports map[string]map[string]bool, from, to string) bool {
	seen, next := map[string]bool{}, []string{}
	for via := range imports[from] {
		if via != to {
			next = append(next, via)
		}
	}
	for len(next) > 0 {
		at := next[0]
		next = next[1:]
		if at == to {
			return true
		}
		if !seen[at] {
			seen[at] = true
			next = slices.AppendSeq(next, maps.Keys(imports[at]))
		}
	}
	return false
}

// readsAll are the rows that import nearly everything. The diagram leaves them out.
var readsAll = []string{"node", "cli", "status/report"}

// TestPackagesDiagram: the diagram has every import between two rows of the import table, except
// imports that follow from others, those of leaves, and those by readsAll. No two import each
// other.
func TestPackagesDiagram(t *testing.T) {
	imports := importsOfRows(t)
	var real []string
	for from, targets := range imports {
		for to := range targets {
			if reaches(imports, to, from) {
				t.Errorf("%s and %s import each other", from, to)
			}
			leaf, _ := rowOf(to)
			if !reaches(imports, from, to) && len(leaf.may) > 0 && !slices.Contains(readsAll, from) {
				real = append(real, from+" --> "+to)
			}
		}
	}
	slices.Sort(real)
	if drawn := diagram(t, "Packages"); *rewrite {
		text, err := os.ReadFile(architecture)
		if err != nil {
			t.Fatal(err)
		}
		lines := "flowchart TD\n  " + strings.Join(real, "\n  ")
		now := strings.Replace(string(text), strings.Join(drawn, "\n"), lines, 1)
		if err := os.WriteFile(architecture, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	} else {
		differ(t, "packages", arrowsOf(drawn), real)
	}
}

// TestPartitionDiagram: the diagram's arrows are the rows of legalMoves in handoff/machine.
func TestPartitionDiagram(t *testing.T) {
	var real []string
	for _, s := range sources(t) {
		if s.dir != "handoff/machine" || s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || v.Names[0].Name != "legalMoves" {
				return true
			}
			for _, row := range v.Values[0].(*ast.CompositeLit).Elts {
				move := row.(*ast.KeyValueExpr)
				for _, to := range move.Value.(*ast.CompositeLit).Elts {
					real = append(real, move.Key.(*ast.Ident).Name+" --> "+to.(*ast.Ident).Name)
				}
			}
			return false
		})
	}
	if len(real) == 0 {
		t.Fatal("handoff/machine has no table legalMoves")
	}
	slices.Sort(real)
	var drawn []string
	for _, a := range arrowsOf(diagram(t, "The life of a partition")) {
		if !strings.Contains(a, "[*]") { // where a partition starts
			drawn = append(drawn, a)
		}
	}
	differ(t, "a partition's life", drawn, real)
}

// stateSetters are the functions of handoff/machine that may assign a field named state.
var stateSetters = map[string]string{
	"part.become":    "a partition's state, by the table of legal moves",
	"Machine.onLink": "a link's state, as replication reports it",
}

// stateChanges lists where a file assigns a field named state, takes its address, or sets it
// in the literal of a partition, outside of stateSetters.
func stateChanges(s *source) []string {
	var out []string
	for _, d := range s.file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && stateSetters[receiver(f)+f.Name.Name] != "" {
			continue
		}
		report := func(n ast.Node) { out = append(out, s.fset.Position(n.Pos()).String()) }
		field := func(e ast.Expr) {
			if sel, ok := ast.Unparen(e).(*ast.SelectorExpr); ok && sel.Sel.Name == "state" {
				report(sel)
			}
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, e := range n.Lhs {
					field(e)
				}
			case *ast.IncDecStmt:
				field(n.X)
			case *ast.UnaryExpr:
				if n.Op == token.AND {
					field(n.X)
				}
			case *ast.CompositeLit:
				if id, ok := n.Type.(*ast.Ident); !ok || id.Name != "part" {
					return true
				}
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						if key, ok := kv.Key.(*ast.Ident); !ok || key.Name != "state" {
							continue
						}
					}
					report(e) // also a literal without keys, which sets all fields
				}
			}
			return true
		})
	}
	return out
}

// TestOnlyBecomeSetsTheState: a partition's state is assigned where its legal moves are checked.
func TestOnlyBecomeSetsTheState(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.dir != "handoff/machine" || s.test {
			continue
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				found[receiver(f)+f.Name.Name] = true
			}
		}
		for _, at := range stateChanges(s) {
			t.Errorf("%s changes a state: call become", at)
		}
	}
	for name, what := range stateSetters {
		if !found[name] {
			t.Errorf("no %s (%s): correct stateSetters", name, what)
		}
	}
}

// The check itself: what changes a state is found.
func TestOnlyBecomeSetsTheStateFindsOthers(t *testing.T) {
	const text = "package x\nfunc (m *Machine) f(p *part) { p.state = 1; (p.state)++; g(&p.state); " +
		"*p = part{state: 1}; *p = part{set: p.set} }\n" +
		"func (p *part) become(s State) { p.state = s }\nfunc become(p *part) { p.state, p.to = 1, 2 }\n"
	if got := stateChanges(parsed(t, "x/x.go", text)); len(got) != 5 {
		t.Errorf("found %q, want four in f and one in become, which is no method", got)
	}
}

// receiver is the type of a method's receiver with a dot, or nothing.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "."
	}
	return "" // a generic type
}

// declared are the functions and methods of the product code: "links.Router.Submit".
func declared(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				r := receiver(d)
				if d.Recv != nil && r == "" {
					continue // a generic type: no diagram has one
				}
				all[path.Base(s.dir)+"."+r+d.Name.Name] = true
			case *ast.GenDecl:
				if d.Tok != token.TYPE {
					continue
				}
				for _, spec := range d.Specs {
					i, ok := spec.(*ast.TypeSpec).Type.(*ast.InterfaceType)
					if !ok {
						continue
					}
					for _, m := range i.Methods.List {
						for _, name := range m.Names {
							all[path.Base(s.dir)+"."+spec.(*ast.TypeSpec).Name.Name+"."+name.Name] = true
						}
					}
				}
			}
		}
	}
	return all
}

// TestURLDiagram: each function that the diagram names exists.
func TestURLDiagram(t *testing.T) {
	named := regexp.MustCompile(`\b[a-z]+(?:\.[A-Z]\w*){1,2}\b`)
	code, found := declared(t), 0
	for _, l := range diagram(t, "The life of a URL") {
		for _, name := range named.FindAllString(l, -1) {
			if found++; !code[name] {
				t.Errorf("a URL's life: %s names %s, which the code does not have", architecture, name)
			}
		}
	}
	if found < 10 {
		t.Errorf("a URL's life: only %d functions are named", found)
	}
}
