package crawlnode

import (
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pureCores are the packages that decide and do nothing: no clock, no I/O, no
// goroutine, no channel. Time and randomness are arguments, so each of their tests can be
// repeated exactly.
var pureCores = []string{"ring", "scheduler/core", "scheduler/shares", "importance/opic",
	"importance/pagerank", "membership/consensus", "handoff/machine", "scheduler/addresses",
	"workers/leases", "recrawl/visits", "recrawl/policy/estimate", "recrawl/policy", "focus", "retry",
	"web/statuses"}

// pureImports are the packages from outside the project that a pure core may
// import. They compute. Of net only the type of an address is allowed.
var pureImports = []string{
	"cmp", "container/heap", "container/list", "crypto/sha256", "encoding/binary", "encoding/hex",
	"encoding/json", "errors", "fmt",
	"hash/crc32", "hash/fnv", "maps", "math", "math/bits", "net/netip", "slices", "strconv", "strings",
	"time", "unicode", "unicode/utf8",
	"github.com/buraksezer/consistent", "github.com/cespare/xxhash/v2",
	"golang.org/x/net/publicsuffix",
}

// clockReaders are the functions of package time that read the clock or wait.
var clockReaders = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep",
	"Tick", "Until"}

// impurities lists what a pure core must not have.
func impurities(s *source) []string {
	var out []string
	report := func(n ast.Node, what string) {
		out = append(out, s.fset.Position(n.Pos()).String()+": "+what)
	}
	for _, spec := range s.file.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !strings.HasPrefix(p, module+"/") && !slices.Contains(pureImports, p) {
			report(spec, "a pure core must not import "+spec.Path.Value)
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			report(n, "a pure core starts no goroutine")
		case *ast.SendStmt, *ast.SelectStmt:
			report(n, "a pure core uses no channel")
		case *ast.UnaryExpr:
			if n.Op == token.ARROW {
				report(n, "a pure core uses no channel")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" &&
				slices.Contains(clockReaders, n.Sel.Name) {
				report(n, "a pure core must not call time."+n.Sel.Name+": take the time as an argument")
			}
		}
		return true
	})
	return out
}

func TestPureCores(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || !slices.Contains(pureCores, s.dir) {
			continue
		}
		found[s.dir] = true
		for _, what := range impurities(s) {
			t.Error(what)
		}
		for _, spec := range s.file.Imports {
			below, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), module+"/")
			if ok && below != "crawl" && below != "web/urlnorm" && !slices.Contains(pureCores, below) {
				t.Errorf("%s is a pure core and imports %s, which is none", s.path, below)
			}
		}
	}
	for _, p := range pureCores {
		if !found[p] {
			t.Errorf("no package %s: correct pureCores", p)
		}
	}
}

// The check itself: what is impure is found.
func TestPureCoresFindsImpurities(t *testing.T) {
	const text = "package x\nimport (\n\"os\"\n\"time\"\n)\nfunc f(d time.Duration) { go f(0); " +
		"_ = time.Now(); <-time.After(d); _, _ = os.Getwd() }\n"
	if got := impurities(parsed(t, "x/x.go", text)); len(got) != 5 {
		t.Errorf("found %q, want os, the goroutine, the channel, time.Now and time.After", got)
	}
}
