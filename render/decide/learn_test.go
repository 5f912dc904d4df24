package decide

import (
	"fmt"
	"strings"
	"testing"
)

var (
	app    = Signs{Scripts: 1, EmptyRoot: "app"}
	docs   = Signs{Scripts: 3, TextBytes: 5000}
	hint   = Signs{Scripts: 3, TextBytes: 5000, Noscript: true}
	little = Signs{Scripts: 2, TextBytes: 10}
)

// TestLearner: the first pages of a template decide about the rest.
func TestLearner(t *testing.T) {
	for _, c := range []struct {
		name     string
		s        Signs
		gains    bool
		rendered int // of 100 pages, each learnt before the next one
		reason   string
	}{
		{"an application", app, true, 100, "#app"},
		{"an application that shows nothing", app, false, firstPages, "neither text nor links"},
		{"documentation", docs, true, 0, "without scripts"},
		{"documentation with a hint", hint, false, trialPages, "without scripts"},
		{"text with more behind it", hint, true, 100, "like it"},
		{"small pages", little, false, firstPages, "neither text nor links"},
	} {
		l, rendered, last := NewLearner(), 0, ""
		for k := range 100 {
			path := fmt.Sprintf("/guide/%d/page", k)
			v := l.Decide("a.test", path, c.s)
			if v.Render {
				rendered++
				l.Learn("a.test", path, c.s, c.gains)
			}
			if last = v.Reason; l.Expects("a.test", "/guide/x") != v.Render ||
				l.Expects("b.test", "/guide/x") {
				t.Errorf("%s: expects the other", c.name)
			}
		}
		if rendered != c.rendered || !strings.Contains(last, c.reason) {
			t.Errorf("%s: %d rendered, the last because of %q", c.name, rendered, last)
		}
	}
}

// TestTrialsAreFew: a site with many templates costs no more trials than one with few; nor do pages
// that are under way.
func TestTrialsAreFew(t *testing.T) {
	l, rendered := NewLearner(), 0
	for k := range 1000 {
		if l.Decide("a.test", fmt.Sprintf("/%c%c/x", 'a'+k%26, 'a'+k/26%26), hint).Render {
			rendered++
		}
	}
	if rendered != maxTrials {
		t.Errorf("%d trials", rendered)
	}
	if !l.Decide("b.test", "/", hint).Render {
		t.Error("another site has its own")
	}
}

// TestStubs: pages with little text in many folders are given up after a few, but those with a
// better sign are not, nor those of a site where one of them has gained.
func TestStubs(t *testing.T) {
	for _, c := range []struct {
		name     string
		s        Signs
		gains    func(k int) bool
		rendered int
		reason   string
	}{
		{"stubs", little, func(int) bool { return false }, maxFruitless, "of the site with as little text"},
		{"empty roots", app, func(int) bool { return false }, 100, "#app"},
		{"one of nine gains", little, func(k int) bool { return k%maxFruitless == 0 }, 100, "10 bytes"},
	} {
		l, rendered, last := NewLearner(), 0, ""
		for k := range 100 {
			path := fmt.Sprintf("/%c%c/x", 'a'+k%26, 'a'+k/26)
			v := l.Decide("a.test", path, c.s)
			if last = v.Reason; v.Render {
				rendered++
				l.Learn("a.test", path, c.s, c.gains(k))
			}
		}
		if rendered != c.rendered || !strings.Contains(last, c.reason) {
			t.Errorf("%s: %d rendered, the last because of %q", c.name, rendered, last)
		}
		if !l.Decide("b.test", "/aa/x", c.s).Render {
			t.Errorf("%s: another site has its own lesson", c.name)
		}
	}
}

// TestOneGainIsEnough: an application may have empty pages.
func TestOneGainIsEnough(t *testing.T) {
	l := NewLearner()
	for k := range 10 {
		if !l.Decide("a.test", "/x", app).Render {
			t.Fatalf("page %d", k)
		}
		l.Learn("a.test", "/x", app, k == 1)
	}
}

// TestLearnerIsBounded, with the newest kept.
func TestLearnerIsBounded(t *testing.T) {
	l := NewLearner()
	for k := range 3 * maxTemplates {
		l.Decide(fmt.Sprintf("%d.test", k), strings.Repeat("/x", 2000), hint)
		if len(l.lessons) > maxTemplates || len(l.sites) > maxTemplates {
			t.Fatalf("%d templates of %d sites", len(l.lessons), len(l.sites))
		}
	}
	if l.Expects("1.test", "/x/x") || !l.Expects(fmt.Sprintf("%d.test", 3*maxTemplates-1), "/x/x") {
		t.Error("not the oldest are forgotten")
	}
}

func TestShapeOf(t *testing.T) {
	for path, want := range map[string]string{
		"/": "/*", "/about": "/*", "/a.html": "/*.html", "/p12/34/x.htm": "p0/*.htm",
		"/guide/": "guide/*", "": "/*",
		"/" + strings.Repeat("x", 99) + "/": strings.Repeat("x", maxShape),
	} {
		if got := shapeOf(path); got != want {
			t.Errorf("%.20s: %q, want %q", path, got, want)
		}
	}
}
