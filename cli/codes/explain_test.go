//race:none

package codes

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"crawlnode/api/codes"
	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/wall"
)

// constants says of which kind the exported string constants of package crawl are, by how their
// names begin; "" is none that people read as a code of the program: they give it, or it is no
// word.
var constants = map[string]codes.Kind{
	"Reason": codes.Health, "Finish": codes.Finish, "Bottleneck": codes.Limit, "Crawl": codes.Crawl,
	"Cluster": codes.Cluster, "Health": codes.Level, "Node": codes.Member, "Cause": codes.Change,
	"Host": codes.Host, "List": codes.URL, "Analysis": codes.URL, "RobotsSays": codes.Robots,
	"Partition": codes.Partition, "Event": codes.Event, "Worker": codes.Result,
	"RotationOver": codes.Step,
	"RenderedPage": codes.Showing, "PlainPage": codes.Showing, "FailureRateLimited": codes.Fetch,
	"FailureBlocked": codes.Fetch,
	"Removal":        codes.Removed,
	"Record":         codes.URL,
	"EventInfo":      codes.Weight, "EventWarn": codes.Weight, "EventError": codes.Weight,

	"Sort": "", "Action": "", "Assets": "", "Cookies": "", "Blocked": "", "Documents": "",
	"Preferences": "", "Recrawl": "", "Render": "", "Default": "",
	"StatusAPIVersion": "", "KeyCaller": "", "RobotsIgnored": "", "TopicPrefix": "",
	"TriedInItsPlace": "",
	"RemovedByHand":   "", "OwnCrawl": "", "OtherCrawls": "",
}

// codesOf lists the codes that the program may print, by kind. Most are constants of package
// crawl: all of them are read from its source, so that none can be forgotten.
func codesOf(t *testing.T) map[codes.Kind][]string {
	t.Helper()
	want := map[codes.Kind][]string{
		codes.Health: crawl.HealthReasons[:], codes.Fetch: crawl.ErrCategoryNames[:],
		codes.Skip: crawl.SkipReasonNames[:],
		codes.Step: {"known", "used"},
		// crawl.Record.Reason begins with it (scheduler), and a host's robots.txt is told so
		// (status/inspect).
		codes.URL:    {"host_dead"},
		codes.Robots: {"rules", "allow_all", "deny_all"},
		codes.Cut: {string(fetcher.CutLength), string(fetcher.CutTime),
			string(fetcher.CutDisconnect)},
	}
	for _, m := range command.ExitMeanings {
		want[codes.Exit] = append(want[codes.Exit], fmt.Sprint(m.Code))
	}
	// the numbers without a name are written as numbers
	for s := range crawl.RecordState(math.MaxUint8) {
		want[codes.URL] = append(want[codes.URL], s.String())
	}
	for v := range crawl.Via(math.MaxUint8) {
		want[codes.Found] = append(want[codes.Found], v.String())
	}
	for k := range crawl.Kind(math.MaxUint8) {
		want[codes.Outcome] = append(want[codes.Outcome], k.String())
	}
	for r := crawl.RoleNobody; r <= crawl.RoleAdmin; r++ {
		want[codes.Role] = append(want[codes.Role], r.String())
	}
	for p := wall.Other; p == wall.Other || p.String() != wall.Other.String(); p++ {
		want[codes.Wall] = append(want[codes.Wall], p.String())
	}
	files, err := filepath.Glob("../../crawl/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.CONST {
				addConstants(t, want, d)
			}
		}
	}
	for kind, words := range want {
		words = slices.DeleteFunc(slices.Clone(words),
			func(w string) bool { return strings.Contains(w, "(") })
		slices.Sort(words)
		want[kind] = slices.Compact(words)
	}
	return want
}

// addConstants adds the exported string constants of a declaration.
func addConstants(t *testing.T, want map[codes.Kind][]string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		spec := spec.(*ast.ValueSpec)
		for i, name := range spec.Names {
			if !name.IsExported() || i >= len(spec.Values) {
				continue
			}
			text, ok := spec.Values[i].(*ast.BasicLit)
			if !ok || text.Kind != token.STRING {
				continue
			}
			begins := ""
			for prefix := range constants {
				if strings.HasPrefix(name.Name, prefix) && len(prefix) > len(begins) {
					begins = prefix
				}
			}
			kind, ok := constants[begins]
			if !ok {
				t.Errorf("crawl.%s: say in this test whether people read %s as a code", name.Name, text.Value)
			}
			if word, err := strconv.Unquote(text.Value); err != nil {
				t.Error(err)
			} else if kind != "" {
				want[kind] = append(want[kind], word)
			}
		}
	}
}

// TestEveryCode holds the table against the codes that the program knows, in both directions, and
// asks the verb for each.
func TestEveryCode(t *testing.T) {
	t.Parallel()
	want := codesOf(t)
	for _, g := range codes.Groups {
		var have []string
		for _, e := range codes.Entries {
			if e.Kind != g.Kind {
				continue
			}
			have = append(have, e.Code)
			if e = complete(e); e.Meaning == "" || (e.Causes == "" || e.Do == "") != g.States {
				t.Errorf("%s %s is not explained in full, or too much", g.Kind, e.Code)
			}
		}
		if slices.Sort(have); !slices.Equal(have, want[g.Kind]) {
			t.Errorf("%s: explained are %v, the program has %v", g.Title, have, want[g.Kind])
		}
		delete(want, g.Kind)
		for _, code := range have {
			var out, errs bytes.Buffer
			exit := (&Verb{Code: code}).Run(context.Background(), &command.Env{Stdout: &out, Stderr: &errs})
			if exit != command.ExitOK ||
				!strings.Contains(out.String(), fmt.Sprintf("%s (%s)", code, g.Kind)) {
				t.Errorf("explain %s: exit code %d\n%s%s", code, exit, out.String(), errs.String())
			}
		}
	}
	for kind := range want {
		t.Errorf("%s is no group", kind)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code string
		exit int
		out  string
	}{
		{"low_disk", 0, "low_disk (health reason)"},
		{"LOW-DISK", 0, "256 MiB"},
		{"4", 0, "4 (exit code)"},
		{"robots", 0, "robots (skip reason)"},
		{"", 0, "Error categories"},
		{"disk", 0, "disk (bottleneck)"},
		{"nothing-due", 0, "nothing_due (bottleneck)"},
		{"nothing", 2, "did you mean nothing_due?"},
		{"dns", 0, "dns (error category)"},
		{"disks", 2, "did you mean disk_full?"},
		{"partitions_stukc", 2, "did you mean partitions_stuck?"},
		{"frontier_exhausted", 0, "frontier_exhausted (end of a crawl)"},
		{"frontier exhausted", 0, "frontier_exhausted (end of a crawl)"}, // as the dashboard writes it
		{"max-pages", 0, "max_pages (end of a crawl)"},
		{"finished", 0, "finished (state of a cluster)"},
		{"suspect", 0, "has not reported"},
		{"7", 2, `"7" is no code; crawlnode explain lists them all`},
	} {
		var out, errs bytes.Buffer
		code := (&Verb{Code: c.code}).Run(context.Background(), &command.Env{Stdout: &out, Stderr: &errs})
		if text := out.String() + errs.String(); code != c.exit || !strings.Contains(text, c.out) {
			t.Errorf("explain %q: exit code %d, %q; want %d and %q", c.code, code, text, c.exit, c.out)
		}
	}
}

// TestSymptoms: each code stands in one chapter of docs/troubleshooting.md, which links to it, and
// docs/codes.md links back.
func TestSymptoms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	chapters := map[string]string{}
	for _, chapter := range strings.Split(string(text), "\n## ")[1:] {
		title, body, _ := strings.Cut(chapter, "\n")
		chapters[title] = body
	}
	places := map[string]int{}
	for _, s := range symptoms {
		for _, code := range s.codes {
			places[code]++
			if !strings.Contains(chapters[s.title], "](codes.md#"+code+")") {
				t.Errorf("docs/troubleshooting.md: %q has no link to codes.md#%s", s.title, code)
			}
		}
	}
	reference := string(Reference())
	for _, e := range codes.Entries {
		want := 1
		for _, g := range codes.Groups {
			if g.Kind == e.Kind && g.States {
				want = 0 // nobody has to do anything
			}
		}
		if places[e.Anchor()] != want {
			t.Errorf("%s stands in %d chapters, want %d", e.Anchor(), places[e.Anchor()], want)
		}
		delete(places, e.Anchor())
		if strings.Count(reference, `<a id="`+e.Anchor()+`"></a>`) != 1 {
			t.Errorf("docs/codes.md has not one anchor %s", e.Anchor())
		}
	}
	for code := range places {
		t.Errorf("%s is no code", code)
	}
}
