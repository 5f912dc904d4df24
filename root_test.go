//race:none

// Package crawlnode holds the tests that read the tree itself: who imports whom, and
// that every package explains itself.
package crawlnode

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

const module = "crawlnode"

// rule is one row of the import table; docs/architecture.md has the same rows, without why. It is
// about the packages in a folder that have no row of their own below it. They may import each
// other.
type rule struct {
	folder string
	may    []string // folders and packages of the project, with all that is below them
	why    string
}

// table says which project packages the packages of a folder may import. Everything else of the
// project is forbidden to them.
var table = []rule{
	{"web", nil, "what the web is made of: usable, testable and readable alone"},
	{"crawl", []string{
		"web/metadata", "web/preferences", "web/urlnorm", "web/wall",
	}, "the nouns; urlnorm is the only maker of canonical URLs, wall names the products, " +
		"preferences the purposes, and metadata what pages say of themselves"},
	{"ticks", nil, "a leaf"},
	{"metrics", nil, "a leaf"},
	{"simweb", nil, "a judge that knows nothing of the crawler"},
	{"dnscache", nil, "a leaf"},
	{"focus", nil, "pure: it learns from words and judges words"},
	{"retry", []string{"crawl", "web/statuses"}, "a pure table: scheduler, pipeline and config read the same one"},
	{"local", []string{
		"ticks",
	}, "this machine: files, disks and memory; what is on them is known above"},

	// The cluster knows no web.
	{"ring", []string{"crawl"}, "a pure core"},
	{"peer", []string{"security/door"}, "calls between nodes; what they mean is known above"},
	{"membership/consensus", []string{"crawl", "ring"},
		"a pure core: it knows neither gossip, disk, network nor time"},
	{"membership", []string{"crawl", "peer", "ring", "security/door", "ticks"},
		"views and leases come before partitions"},
	{"handoff/machine", []string{"crawl", "ring"},
		"a pure core: it knows neither store, peers nor time"},
	{"handoff/transfer", []string{"crawl", "frontier", "handoff", "local", "membership", "peer"},
		"it fits the moves to the frontier and to peers"},
	{"handoff", []string{"crawl", "ring", "ticks"},
		"views, stores and streams reach it through interfaces that it declares"},

	// The engine knows no cluster.
	{"frontier/layout", []string{"crawl", "importance/opic", "web/urlnorm"},
		"pure: what keys and values look like"},
	{"frontier/storage", []string{"crawl", "local/files"},
		"it stores bytes; what keys and values mean is known above"},
	{"frontier", []string{
		"crawl", "importance/opic", "local/files", "recrawl/visits", "web/scope", "web/urlnorm",
		"web/wall",
	},
		"one node's store of URLs; it knows the pure rules by which pages come again and count"},
	{"scheduler/core", []string{"crawl", "retry", "scheduler/shares"},
		"a pure core: it knows neither disk, network nor its callers"},
	{"scheduler/shares", nil, "pure: it divides what is scarce"},
	{"scheduler/addresses", []string{"crawl"}, "a pure core: whose turn an address is"},
	{"scheduler", []string{
		"crawl", "dnscache", "frontier", "peer", "retry", "ring", "settings/sites", "ticks",
		"web/robots", "web/urlnorm",
	},
		"which host is visited next; lease, view and moves reach it as hooks and orders"},
	{"pipeline", []string{"crawl", "retry", "settings/sites", "web"},
		"one page's trip; where pages come from and go to are interfaces that it declares"},
	{"links", []string{"crawl", "frontier", "handoff", "peer", "pipeline", "ring", "ticks", "web"},
		"it carries links between frontier and peers"},

	// Capabilities know the engine's nouns and ports, and not each other.
	{"recrawl/judge", []string{
		"crawl", "frontier", "recrawl/policy", "recrawl/visits", "settings/sites",
	},
		"it joins the rules of revisits to the frontier's writes, and keeps nothing"},
	{"recrawl/policy", []string{"crawl"}, "a pure core: it divides visits among beliefs"},
	{"recrawl/visits", []string{"crawl", "recrawl/policy"}, "a pure core: what a visit teaches"},
	{"recrawl", []string{"crawl", "frontier", "settings/sites"}, "when known pages are visited again"},
	{"importance/opic", []string{"crawl"}, "a pure core: numbers of URLs, and not what a link is"},
	{"importance/pagerank", nil, "pure"},
	{"importance", []string{"crawl", "frontier", "handoff", "peer", "ticks", "web/urlnorm"},
		"it carries credits between partitions"},
	{"search", []string{
		"crawl", "frontier", "importance/opic", "local/files", "peer/fanout", "pipeline", "ticks",
		"web",
	},
		"the index and the questions to it; the cluster is an interface that it declares"},
	{"render/browser", nil, "it drives a browser, whoever asks"},
	{"render", []string{"crawl", "peer", "pipeline", "ring", "scheduler", "settings/sites", "web"},
		"what pages ask for is fetched in the hosts' turns"},
	{"workers/leases", nil, "a pure core: which worker has which URLs"},
	{"workers", []string{
		"crawl", "frontier", "peer/fanout", "pipeline", "retry", "ring", "scheduler",
		"security/door", "web/urlnorm",
	},
		"leases for programs of others, in the hosts' turns; what their clients say is stored"},
	{"output/upload/s3", nil, "it copies files that it is given, and knows nothing of crawls"},
	{"output/wacz", nil, "it packs bytes that it is given"},
	{"documents/page", nil, "pure: what documents become"},
	{"documents/office", []string{"documents/page"}, "pure: bytes in, a page out"},
	{"documents", []string{"pipeline", "web"}, "files become pages; what becomes of pages is known above"},
	{"output", []string{"config", "crawl", "documents", "frontier", "local", "pipeline", "web"},
		"what a crawl leaves, written and read back"},
	{"config", []string{
		"crawl", "focus", "importance/opic", "output/upload/s3", "retry", "settings/sites", "web",
	},
		"flags become values; it starts nothing"},
	{"settings/sites", []string{"crawl", "web/scope", "web/urlnorm"},
		"pure: rules for sites, and which of them apply to a URL"},
	{"settings", []string{
		"config", "crawl", "focus", "local", "membership", "peer", "pipeline", "security/clusterkey",
		"web",
	},
		"what the nodes agree on, its file, and how it spreads"},
	{"security/clusterkey", nil, "a leaf"},
	{"security/door", nil, "a leaf: limits for strangers"},
	{"security", []string{
		"config", "crawl", "dnscache", "local", "membership", "peer/fanout", "web/botauth",
		"web/cookies", "web/fetcher",
	},
		"keys, tokens, secrets, callers and addresses; what callers may do is the API's"},
	{"finish", []string{"crawl", "membership", "peer", "settings/crawldoc", "ticks"},
		"when the crawl ends; how others are reached, and what ends the process, is node's"},
	{"status/report", []string{
		"config", "crawl", "dnscache", "finish", "frontier", "handoff", "links", "local",
		"membership", "metrics", "output", "peer", "recrawl", "scheduler", "security/egress",
		"settings/crawldoc", "status", "web/scope", "workers/leases",
	},
		"it reads every part of a node, and changes none"},
	{"status", []string{
		"crawl", "frontier", "local/datadir", "membership", "output/archive", "peer/fanout",
		"pipeline", "recrawl/visits", "ring", "scheduler/core", "settings/crawldoc", "web",
	},
		"what is told of the crawl; it changes nothing"},

	// Above: what wires, shows and tests.
	{"node", []string{
		"config", "crawl", "dnscache", "documents", "finish", "frontier", "handoff", "importance",
		"links", "local", "membership", "metrics", "output", "peer", "pipeline", "recrawl", "render",
		"ring",
		"scheduler", "search", "security", "settings", "status", "ticks", "web", "workers",
	},
		"it opens, connects, runs and stops the parts; what shows it to people stands above it"},
	{"api/codes", nil, "a table: what is printed as a code, for whoever explains it"},
	{"api", []string{
		"config", "crawl", "metrics", "output/archive", "output/readback", "security/door", "ticks",
		"web/botauth", "web/metadata", "web/preferences", "web/urlnorm",
	},
		"HTTP in front of interfaces that it declares; the definitions of settings make their schema"},
	{"cli", []string{
		"api", "config", "crawl", "focus", "frontier/offline", "importance/pagerank", "local",
		"node", "output", "render/browser", "search", "security/keyfile", "security/secrets",
		"settings/crawldoc",
		"simweb", "status/ended", "web", "workers/urlfrontier",
	},
		"what a person types and reads"},
	{"cmd", []string{"cli"}, "the command holds no logic"},
	{"integration", []string{"*"}, "the tests of the whole may use everything"},
}

// forTests are the packages that any package's tests may import beside its
// row: judges and fakes that know nothing of the package under test (the store in memory
// is one), and urlnorm, because the nouns hold canonical URLs and nobody else can make one.
// A package's tests may also import the packages below it.
var forTests = []string{
	"simweb", "integration/simnet", "integration/heldcalls", "web/urlnorm", "frontier/storage",
	"frontier/frontiertest", "local/closedport", "output/upload/s3test",
}

// source is one parsed Go file of the project.
type source struct {
	path  string // slash-separated, from the root
	dir   string
	test  bool
	file  *ast.File
	fset  *token.FileSet
	lines int
}

// sources are all Go files below the root. They are parsed once, for all tests: none may change
// them.
func sources(t *testing.T) []*source {
	t.Helper()
	all, err := parsedOnce()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var parsedOnce = sync.OnceValues(func() (all []*source, err error) {
	err = fs.WalkDir(os.DirFS("."), ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && p != "." &&
			(name == "testdata" || name == "bin" || name[0] == '.' || name[0] == '_') {
			return fs.SkipDir
		}
		if _, err := os.Stat(filepath.Join(filepath.FromSlash(p), "go.mod")); err == nil && d.IsDir() &&
			p != "." {
			return fs.SkipDir // a module of its own
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		text, err := os.ReadFile(filepath.FromSlash(p))
		if err != nil {
			return err
		}
		s, err := parse(p, string(text))
		all = append(all, s)
		return err
	})
	return all, err
})

// parsed parses the text of one file.
func parsed(t *testing.T, p, text string) *source {
	t.Helper()
	s, err := parse(p, text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(p, text string) (*source, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, p, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{
		path: p, dir: path.Dir(p), test: strings.HasSuffix(p, "_test.go"), file: file, fset: fset,
		lines: strings.Count(text, "\n"),
	}, nil
}

// rowOf finds the row of a package: that of the deepest folder it is in.
func rowOf(dir string) (row rule, ok bool) {
	for _, r := range table {
		if inside(dir, r.folder) && len(r.folder) >= len(row.folder) {
			row, ok = r, true
		}
	}
	return row, ok
}

// inside reports whether a package is a folder or below it.
func inside(dir, folder string) bool {
	return folder == "*" || dir == folder || strings.HasPrefix(dir, folder+"/")
}

// judge says why the package in dir may not import target, or nothing. Helpers of a package's
// tests, named like it with "test" behind (frontier/frontiertest), are for tests.
func judge(dir, target string, test bool) string {
	row, ok := rowOf(dir)
	if !ok {
		return fmt.Sprintf("package %s is in no folder of the import table of root_test.go: "+
			"give it a row, here and in docs/architecture.md", dir)
	}
	room := path.Dir(target)
	switch helps := target == room+"/"+path.Base(room)+"test"; {
	case helps && !test && !strings.HasSuffix(dir, "test"):
		return fmt.Sprintf("%s must not import %s, which is for tests", dir, target)
	case helps && room != dir:
		return judge(dir, room, test) // a package's helpers come with the package
	}
	own, _ := rowOf(target)
	allowed := slices.ContainsFunc(row.may, func(f string) bool { return inside(target, f) })
	if allowed || own.folder == row.folder {
		return ""
	}
	if strings.HasPrefix(target, row.folder+"/") { // a core with a row of its own, below its driver
		return ""
	}
	if test && (slices.Contains(forTests, target) || strings.HasPrefix(target, dir+"/")) {
		return ""
	}
	may := "nothing else of the project"
	if len(row.may) > 0 {
		may = strings.Join(row.may, ", ")
	}
	return fmt.Sprintf("%s must not import %s. It may import %s; of %s is said: %s",
		dir, target, may, row.folder, row.why)
}

func TestImportTable(t *testing.T) {
	for _, s := range sources(t) {
		if s.dir == "." {
			continue
		}
		for _, spec := range s.file.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			target, ok := strings.CutPrefix(p, module+"/")
			if !ok {
				continue
			}
			if why := judge(s.dir, target, s.test); why != "" {
				t.Errorf("%s: %s", s.fset.Position(spec.Pos()), why)
			}
		}
	}
}

var rewrite = flag.Bool("rewrite", false, "write the import table into docs/architecture.md")

// documented is the import table as docs/architecture.md has it.
func documented() string {
	var b strings.Builder
	b.WriteString("| folder | may import |\n|---|---|\n")
	for _, r := range table {
		may := strings.Join(r.may, ", ")
		switch may {
		case "":
			may = "nothing else of the project"
		case "*":
			may = "everything"
		}
		fmt.Fprintf(&b, "| %s | %s |\n", r.folder, may)
	}
	return b.String()
}

// TestImportTableIsDocumented: docs/architecture.md has the table of this file.
func TestImportTableIsDocumented(t *testing.T) {
	raw, err := os.ReadFile(architecture)
	if err != nil {
		t.Fatal(err)
	}
	const head = "\n| folder | may import |\n"
	before, rest, found := strings.Cut(string(raw), head)
	rows, after, ended := strings.Cut(rest, "\n\n")
	if !found || !ended {
		t.Fatalf("%s has no import table", architecture)
	}
	if *rewrite {
		if err := os.WriteFile(architecture, []byte(before+"\n"+documented()+"\n"+
			after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	real := strings.Split(strings.TrimSuffix(documented(), "\n"), "\n")[1:]
	if written := strings.Split(rows, "\n"); !slices.Equal(written, real) {
		differ(t, "the import table", written, real)
		t.Error("its rows differ from root_test.go: go test . -run TestImportTableIsDocumented -rewrite")
	}
}

// The rules themselves: what the table forbids is found, with the reason.
func TestImportTableForbids(t *testing.T) {
	for _, c := range []struct {
		dir, target string
		test, ok    bool
	}{
		{"web/urlnorm", "crawl", false, false},
		{"web/fetcher", "web/urlnorm", false, true},
		{"web/fetcher", "simweb", false, false},
		{"scheduler/core", "scheduler", false, false},
		{"scheduler", "scheduler/core", false, true},
		{"handoff", "frontier", false, false},
		{"recrawl", "importance", false, false},
		{"web/fetcher", "simweb", true, true},
		{"frontier", "membership", false, false},
		{"frontier/frontiertest", "frontier", false, true},
		{"frontier", "frontier/frontiertest", true, true},
		{"frontier", "frontier/frontiertest", false, false},
		{"node", "frontier/frontiertest", true, true},
		{"pipeline", "frontier/frontiertest", true, false},
		{"pipeline", "web/robots", false, true},
		{"node", "api", false, false},
		{"cmd/crawlnode", "node", false, false},
		{"integration", "output/archive", true, true},
		{"util", "crawl", false, false},
	} {
		if why := judge(c.dir, c.target, c.test); (why == "") != c.ok {
			t.Errorf("%s -> %s (test %v): %q", c.dir, c.target, c.test, why)
		}
	}
}

func TestEveryPackageExplainsItself(t *testing.T) {
	explained := map[string]bool{}
	for _, s := range sources(t) {
		if s.dir == "." || s.test {
			continue
		}
		explained[s.dir] = explained[s.dir] || false
		if path.Base(s.path) != "doc.go" {
			continue
		}
		opening := "Package " + s.file.Name.Name + " "
		if s.file.Name.Name == "main" {
			opening = "Command " + path.Base(s.dir) + " "
		}
		if !strings.HasPrefix(s.file.Doc.Text(), opening) {
			t.Errorf("%s: the package comment must begin with %q", s.path, opening)
		}
		explained[s.dir] = true
	}
	for dir, ok := range explained {
		if !ok {
			t.Errorf("%s has no doc.go: say there what the package is for, the life of its thing, "+
				"its queues, and what it does not do", dir)
		}
	}
}

// TestNoConflictMarkers: no text of the tree holds what a merge leaves behind.
func TestNoConflictMarkers(t *testing.T) {
	t.Parallel()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "node_modules" ||
			d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !slices.Contains([]string{".go", ".md", ".txt", ".yaml", ".yml", ".proto", ".html", ".css",
			".js"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(text), "\n") {
			if strings.HasPrefix(line, "<<<<"+"<<< ") || strings.HasPrefix(line, ">>>>"+">>> ") {
				t.Errorf("%s:%d: %s", path, i+1, line)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
