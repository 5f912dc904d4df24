package integration

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The check of every commit has no time for all faults on real processes. What is left
// to `make nightly` names quick tests of the same fault.

// quickTest says what is wrong with the name of a quick test; "": nothing. It is one of
//
//	TestName             of this package, or one of its scenarios: TestNetns/cut-20s
//	package.TestName     of another one or one below it, tested with -short
//	case NAME            of simCases
//	fault KIND           that seeds of the simulation draw, and the fixed ones of each check
func quickTest(t *testing.T, name string) (wrong string) {
	t.Helper()
	if kind, ok := strings.CutPrefix(name, "fault "); ok {
		if !slices.Contains(allKinds, faultKind(kind)) {
			return "the simulation has no such fault"
		}
		return ""
	}
	if wanted, ok := strings.CutPrefix(name, "case "); ok {
		for _, c := range simCases {
			if c.name == wanted && c.why == "" {
				return ""
			}
		}
		return "the simulation has no such case, or it is not run"
	}
	dir, function, ok := strings.Cut(name, ".")
	if !ok {
		dir, function = "integration", name
	}
	function, sub, _ := strings.Cut(function, "/")
	if sub != "" && !slices.ContainsFunc(slices.Concat(scenarios, cuts, renamed),
		func(s scenario) bool { return s.name == sub && s.quick }) {
		return "there is no such quick scenario"
	}
	var files []string
	for _, pattern := range []string{"*_test.go", "*/*_test.go"} {
		found, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(dir), pattern))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	is := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(function) + `\(`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if is.Match(text) {
			return ""
		}
	}
	return "there is no such test"
}

// Each fault keeps a quick test, in every check.
func TestEveryFaultHasAQuickTest(t *testing.T) {
	t.Parallel()
	for _, s := range slices.Concat(scenarios, cuts, renamed) {
		if s.quick == (len(s.instead) > 0) {
			t.Errorf("%s: either it is quick, or it names quick tests of the same fault", s.name)
		}
		for _, name := range s.instead {
			if wrong := quickTest(t, name); wrong != "" {
				t.Errorf("%s names %q: %s", s.name, name, wrong)
			}
		}
	}
}

// The check itself: a name that leads nowhere is found.
func TestQuickTestNames(t *testing.T) {
	t.Parallel()
	for name, ok := range map[string]bool{
		"TestFaults": true, "TestNetns/cut-20s": true, "TestNetns/cut-90s": false, "TestNothing": false,
		"ring.TestNothing": false,
		"case clock-ahead": true, "case nothing": false, "fault kill": true, "fault nothing": false,
	} {
		if wrong := quickTest(t, name); (wrong == "") != ok {
			t.Errorf("%s: %q", name, wrong)
		}
	}
}

// What the simulation's fixed seeds of each check draw: every fault.
func TestQuickSeedsDrawEveryFault(t *testing.T) {
	t.Parallel()
	drawn := map[faultKind][]uint64{}
	revisits := map[string]bool{}
	for _, seed := range quickSeeds {
		p := scheduleOf(t, seed, "")
		for _, kind := range drawnKinds(p) {
			drawn[kind] = append(drawn[kind], seed)
		}
		revisits[p.again.mode] = true
	}
	for _, kind := range append([]faultKind{lateName, wrongJoin}, allKinds...) {
		if len(drawn[kind]) == 0 {
			t.Errorf("none of the seeds %v draws %s", quickSeeds, kind)
		}
	}
	for _, mode := range []string{"", "fixed", "adaptive"} {
		if !revisits[mode] {
			t.Errorf("none of the seeds %v has --recrawl %q", quickSeeds, mode)
		}
	}
	t.Logf("drawn by the seeds: %v", drawn)
}
