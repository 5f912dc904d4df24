package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// firstPages of a template that seem to need a browser are rendered; when that adds nothing to
	// them, the rest is not.
	firstPages = 3
	// trialPages of a template that seem to need none, but may, are rendered, and maxTrials of a site.
	trialPages = 2
	maxTrials  = 6
	// maxFruitless pages of a site that have little text and no other sign are rendered for nothing,
	// whatever their templates: a site of stubs in many folders has as many templates.
	maxFruitless = 9

	// maxTemplates bounds what is remembered, and maxShape the bytes of a template's name.
	maxTemplates = 4096
	maxShape     = 48
)

// template names the pages that one piece of a site's program makes: those of a site below one
// folder, with one extension.
type template struct{ site, shape string }

// lesson is what the pages of a template have taught.
type lesson struct {
	by     [signs]tally
	wanted bool // the last page was to be rendered
	used   uint64
}

// tally counts pages with one sign.
type tally struct {
	begun  uint8 // pages that were rendered for the lesson
	done   uint8
	gained uint8
}

// Learner decides about pages by their signs and by what rendering has added to pages of their
// template. It is not for several goroutines at once.
type Learner struct {
	lessons map[template]*lesson
	sites   map[string]sum // what does not depend on templates
	clock   uint64
}

// sum is about all templates of a site.
type sum struct {
	trials    int // pages that were rendered for a trial, without a gain so far
	fruitless int // pages with little text that gained nothing; 0 after one that did
}

// NewLearner makes a Learner that knows nothing.
func NewLearner() *Learner {
	return &Learner{lessons: make(map[template]*lesson), sites: make(map[string]sum)}
}

// shapeOf is the first folder of a path, its digits as one, and the extension of its last part.
func shapeOf(path string) string {
	first, rest, inside := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	last := first
	if inside {
		last = rest[strings.LastIndexByte(rest, '/')+1:]
	} else {
		first = ""
	}
	ext := ""
	if k := strings.LastIndexByte(last, '.'); k >= 0 {
		ext = last[k:]
	}
	var b strings.Builder
	for _, c := range []byte(first + "/*" + ext) {
		if b.Len() >= maxShape {
			break
		}
		if c >= '0' && c <= '9' {
			if c = '0'; strings.HasSuffix(b.String(), "0") {
				continue
			}
		}
		b.WriteByte(c)
	}
	return b.String()
}

// of finds the lesson of a page, or begins one.
func (l *Learner) of(site, path string) *lesson {
	k := template{site, shapeOf(path)}
	x := l.lessons[k]
	if x == nil {
		l.makeRoom()
		x = &lesson{}
		l.lessons[k] = x
	}
	l.clock++
	x.used = l.clock
	return x
}

// makeRoom forgets an eighth of the templates when there are too many: sorting them costs more than
// forgetting.
func (l *Learner) makeRoom() {
	if len(l.lessons) < maxTemplates {
		return
	}
	old := slices.SortedFunc(maps.Keys(l.lessons),
		func(a, b template) int { return cmp.Compare(l.lessons[a].used, l.lessons[b].used) })
	kept := make(map[string]bool)
	for k, t := range old {
		if k < maxTemplates/8 {
			delete(l.lessons, t)
		} else {
			kept[t.site] = true
		}
	}
	maps.DeleteFunc(l.sites, func(site string, _ sum) bool { return !kept[site] })
}

// Decide decides about a page of a site (its host), and counts it as one of the first of its
// template when it is.
func (l *Learner) Decide(site, path string, s Signs) Verdict {
	v := Auto(s)
	x := l.of(site, path)
	t := &x.by[v.sign]
	all := l.sites[site]
	switch {
	case v.sign == littleBesideScripts && t.gained == 0 && all.fruitless >= maxFruitless:
		v.Render = false
		v.Reason = fmt.Sprintf("rendering added neither text nor links to %d pages of the site with as "+
			"little text, though it has %s", all.fruitless, v.Reason)
	case v.Render && t.begun < firstPages:
		t.begun++
	case v.Render && t.gained == 0 && t.done >= firstPages:
		v.Render = false
		v.Reason = fmt.Sprintf("rendering added neither text nor links to %d pages like it, though %s",
			t.done, v.Reason)
	case v.Render:
	case v.sign == hinted && t.gained > 0 && t.gained == t.done:
		v.Render, v.Reason = true, "rendering added text or links to the pages like it"
	case v.sign == hinted && t.begun < trialPages && all.trials < maxTrials:
		t.begun++
		all.trials++
		l.sites[site] = all
		v.Render, v.Reason = true, fmt.Sprintf("a trial: it has %s beside %d bytes of text", hintOf(&s),
			s.TextBytes)
	}
	x.wanted = v.Render
	return v
}

// hintOf names what a page with much text has of an application.
func hintOf(s *Signs) string {
	switch {
	case s.Framework != "":
		return "the marks of " + s.Framework
	case s.Noscript:
		return "a noscript that asks for JavaScript"
	}
	return fmt.Sprintf("an empty root #%s", s.EmptyRoot)
}

// Learn takes what rendering has added to a page about which Decide said that it is rendered.
func (l *Learner) Learn(site, path string, s Signs, gained bool) {
	sign := Auto(s).sign
	t := &l.of(site, path).by[sign]
	if t.done == 255 {
		return
	}
	t.done++
	if gained {
		t.gained++
	}
	all := l.sites[site]
	switch {
	case sign == littleBesideScripts && gained:
		all.fruitless = 0
	case sign == littleBesideScripts:
		all.fruitless++
	case sign == hinted && gained && all.trials > 0:
		all.trials--
	default:
		return
	}
	l.sites[site] = all
}

// Expects guesses before the fetch whether a page will be rendered: as the last one of its template
// was.
func (l *Learner) Expects(site, path string) bool {
	x := l.lessons[template{site, shapeOf(path)}]
	return x != nil && x.wanted
}
