package render

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/settings/sites/sitestest"
	"crawlnode/web/scope"
)

// TestRulesForSites: a rule for a site has its pages shown, whatever the patterns of the crawl
// name, and the node says what its browser does although the rest of the crawl shows none.
func TestRulesForSites(t *testing.T) {
	t.Parallel()
	s := crawl.Settings{}
	r := rig(t, s)
	if r.Block() != nil {
		t.Error("no page is shown, and the browser is spoken of")
	}
	rules := r.o.Node.Rules()
	rules.Sites = sitestest.Table(t, &s, "- match: host:a.test\n  render: \"off\"\n")
	if r.Block() != nil {
		t.Error("a rule turns the browser off, and it is spoken of")
	}
	patterns := []string{"prefix:http://b.test/app"}
	s.RenderMatch = patterns
	var err error
	if rules.RenderMatch, err = scope.Compile(scope.Options{
		Mode:    scope.Any,
		Include: patterns,
	}); err != nil {
		t.Fatal(err)
	}
	rules.Sites = sitestest.Table(t, &s, `
- match: host:a.test
  render: all
- match: host:b.test
  delay: 1s
`)
	if b := r.Block(); b == nil || b.Browser == "" {
		t.Errorf("a rule has pages shown: %+v", b)
	}
	all := s
	all.Render = crawl.RenderAll
	for _, c := range []struct {
		url   string
		shown bool
	}{{"http://a.test/any", true}, {"http://b.test/app/1", true}, {"http://b.test/other", false}} {
		p := showing(t, c.url)
		place, wait := r.Reserve(p.Visit, &all)
		if d, known := r.Decide(p, nil, &all); wait != 0 || (place != nil) != c.shown ||
			d.Rendered != c.shown || !known || d.Reason == "" {
			t.Errorf("%s: %v, %+v", c.url, place, d)
		}
	}
	if r.browser = ""; r.Block() == nil || r.Block().Browser != "" {
		t.Error("the node does not say that it has no browser")
	}
}

// TestLoginOfOthers: a page may not have its browser ask a site for what only a login shows, unless
// the page's own site has the same login.
func TestLoginOfOthers(t *testing.T) {
	t.Parallel()
	table := sitestest.Table(t, &crawl.Settings{}, `
- match: domain:bank.test
  auth: {basic: secret:bank}
- match: host:www.bank.test
  headers: {X-Key: secret:key}
- match: host:cdn.test
  delay: 1s
- match: domain:shop.test
  cookies: host
`)
	for _, c := range []struct {
		page, part string
		may        bool
	}{
		{"https://evil.test/", "https://bank.test/account", false},
		{"https://cdn.test/", "https://bank.test/account", false},
		{"https://evil.test/", "https://cdn.test/x.js", true},
		{"https://bank.test/", "https://cdn.test/x.js", true},
		{"https://bank.test/", "https://static.bank.test/x.js", true},
		{"https://www.bank.test/", "https://bank.test/x.js", true},
		{"https://bank.test/", "https://www.bank.test/x.js", false},
		{"https://evil.test/", "https://shop.test/cart", false},
		{"https://www.shop.test/", "https://shop.test/cart", true},
	} {
		if err := loginOfOthers(table, url(t, c.page), url(t, c.part)); (err == nil) != c.may {
			t.Errorf("%s asks for %s: %v", c.page, c.part, err)
		}
	}
}
