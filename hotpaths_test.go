package crawlnode

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// hotPaths are the packages through which each page goes, with the benchmarks that say
// what they cost. A path that is split or renamed keeps its benchmark.
var hotPaths = map[string][]string{
	"web/urlnorm":   {"Resolve", "Page"},
	"web/htmlparse": {"Parse", "ParseAnchors"},
	"web/robots":    {"Allowed", "ParseLarge"},
	"web/scope":     {"Judge"},
	"web/simhash":   {"Fingerprint"},
	"web/fetcher":   {"KeepAlive", "Read", "Gzip"},
	"dnscache":      {"Lookup"},
	"pipeline":      {"Page"},
	"frontier":      {"Add", "Complete", "Load", "Seen", "Outbox", "Due"},
	"scheduler":     {"Visit"},
	"fairshare":     {"Visit"},
	"focus":         {"Score", "Link"},
	"importance":    {"Visit", "Score"},
	"node/dispatch": {"Visit"},
	"node/judge":    {"Visited"},
	"node/links":    {"Complete", "Wire"},
	"peer":          {"Forward"},
	"store/archive": {"Put"},
	"store/derived": {"Page"},
	"ring":          {"Lookup"},
	"membership":    {"Lease"},
	"node/status":   {"Merge", "Block"},
}

func TestHotPathsHaveBenchmarks(t *testing.T) {
	found := map[string][]string{}
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test && f.Recv == nil {
				if name, ok := strings.CutPrefix(f.Name.Name, "Benchmark"); ok {
					found[s.dir] = append(found[s.dir], name)
				}
			}
		}
	}
	for dir, names := range hotPaths {
		for _, name := range names {
			if !slices.Contains(found[dir], name) && !movedBelow(found, dir, name) {
				t.Errorf("%s has no Benchmark%s", dir, name)
			}
		}
	}
}

// movedBelow reports whether a benchmark stands in a package below, where a part of the
// path may have moved.
func movedBelow(found map[string][]string, dir, name string) bool {
	for other, names := range found {
		if strings.HasPrefix(other, dir+"/") && slices.Contains(names, name) {
			return true
		}
	}
	return false
}
