package recrawl

import (
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/settings/sites/sitestest"
	"crawlnode/web/urlnorm"
)

// rule gives the crawl rules for sites, as a new document does.
func (b *bench) rule(text string) {
	b.t.Helper()
	b.sites = nil
	if text != "" {
		b.sites = sitestest.Table(b.t, &b.settings, text)
	}
	b.change(func(s *crawl.Settings) { s.Sites = text })
}

// TestTermsOfSites checks that a page is planned by the rules for its URL, and its host by those
// for all of the host's URLs.
func TestTermsOfSites(t *testing.T) {
	t.Parallel()
	b := newBench(t, 1, crawl.RecrawlAdaptive)
	b.settings.RecrawlWorth, b.settings.Delay = 0.5, time.Second
	if b.JudgeTerms().Of != nil {
		t.Error("without rules for sites each page is looked up")
	}
	b.terms.Store(&Terms{Ease: 0.5})
	b.rule(`
- match: domain:news.test
  recrawl-min: 2m
  recrawl-worth: 0.2
  delay: 5s
- match: prefix:https://www.news.test/live/
  recrawl-max: 10m
  delay: 7s
`)
	for raw, want := range map[string]struct {
		shortest, longest, delay time.Duration
		worth                    float64
	}{
		"https://other.test/":             {time.Minute, 24 * time.Hour, time.Second, 0.25},
		"https://news.test/":              {2 * time.Minute, 24 * time.Hour, 5 * time.Second, 0.1},
		"https://www.news.test/live/game": {2 * time.Minute, 10 * time.Minute, 5 * time.Second, 0.1},
	} {
		u, err := urlnorm.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		r, delay := b.JudgeTerms().Of(&crawl.Item{URL: u})
		shortest, longest := max(want.shortest, crawl.RecrawlFloor), max(want.longest, crawl.RecrawlFloor)
		if got := r.Bounds; got.Min != shortest || got.Max != longest || got.Worth != want.worth ||
			delay != want.delay {
			t.Errorf("%s: %+v, delay %v, want %+v", raw, r.Bounds, delay, want)
		}
	}
	if first := b.JudgeTerms(); first != b.JudgeTerms() {
		t.Error("the terms are made anew although nothing has changed")
	}
	b.rule("")
	if b.JudgeTerms().Of != nil {
		t.Error("the rules are gone, and pages are looked up")
	}
}

// TestSiteRulesPlanAnew checks which changes of the rules for sites plan pages again: those of what
// revisits depend on, as those of the crawl's settings do.
func TestSiteRulesPlanAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t, 2, crawl.RecrawlFixed)
	const n = 20
	b.pages.add(1, "h", n, 100*time.Hour)
	at, planned := time.Duration(0), 0
	for _, step := range []struct {
		what, rules string
		anew        bool
	}{
		{"the first turn", "", false},
		{"a rule without bounds", "- match: host:h\n  delay: 2s\n", false},
		{"a bound", "- match: host:h\n  delay: 2s\n  recrawl-max: 2h\n", true},
		{"nothing", "- match: host:h\n  delay: 2s\n  recrawl-max: 2h\n", false},
		{"another delay", "- match: host:h\n  delay: 3s\n  recrawl-max: 2h\n", false},
		{"another bound", "- match: host:h\n  delay: 3s\n  recrawl-max: 3h\n", true},
		{"another host", "- match: host:g\n  delay: 3s\n  recrawl-max: 3h\n", true},
		{"a pattern more", "- match: [host:g, host:i]\n  delay: 3s\n  recrawl-max: 3h\n", true},
		{"an excluded path", "- match: [host:g, host:i]\n  recrawl-max: 3h\n  exclude: '*/x'\n", true},
		{"no rule", "", true},
	} {
		b.rule(step.rules)
		for range 4 {
			at += time.Second
			b.turnAt(at)
		}
		if step.anew {
			planned += n
		}
		if b.pages.again != planned || b.sweep.busy() {
			t.Errorf("%s: %d planned anew, want %d", step.what, b.pages.again, planned)
			planned = b.pages.again
		}
	}
}
