package pipeline

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/settings/sites/sitestest"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/normalize"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

func TestLinks(t *testing.T) {
	t.Parallel()
	const page = `<a href="/1">1</a><a href="/1#again">1</a><a href="/">self</a><area href="/2"><iframe src="/3"></iframe>
		<img src="/i.png"><script src="/s.js"></script><link rel="canonical" href="/c"><a href="http://b.test/">b</a>
		<a href="mailto:x@y">m</a><a href="http://[">bad</a><a rel="nofollow" href="/4">4</a>`
	b := newBench(t, scope.Options{})
	b.serve("http://a.test/", 200, "", page)
	b.visit("http://a.test/", func(v *crawl.Visit) { v.Item.Depth = 2 })
	_, o := b.one()
	wantTargets(t, o.Targets,
		"http://a.test/1 link d3 h0 b3", "http://a.test/2 link d3 h0 b3", "http://a.test/3 link d3 h0 b3",
		"http://a.test/4 link d3 h0 b3")
	for _, to := range o.Targets {
		if to.From != "http://a.test/" {
			t.Errorf("%s was found on %q", to.URL, to.From)
		}
	}
	if o.Skipped[crawl.SkipOutOfScope] != 1 || o.Skipped[crawl.SkipScheme] != 1 ||
		o.Skipped[crawl.SkipInvalid] != 1 || o.LinksFound != 12 {
		t.Errorf("skipped %v, found %d", o.Skipped, o.LinksFound)
	}

	b = newBench(t, scope.Options{MaxDepth: 2})
	b.rules.Settings.Assets = true
	b.serve("http://a.test/", 200, "", page)
	b.visit("http://a.test/")
	_, o = b.one()
	wantTargets(t, o.Targets, "http://a.test/1 link d1 h0 b1", "http://a.test/2 link d1 h0 b1",
		"http://a.test/3 link d1 h0 b1",
		"http://a.test/i.png asset d1 h0 b1", "http://a.test/s.js asset d1 h0 b1",
		"http://a.test/c link d1 h0 b1", "http://a.test/4 link d1 h0 b1")

	b = newBench(t, scope.Options{MaxDepth: 2})
	b.serve("http://a.test/", 200, "", page)
	b.visit("http://a.test/", func(v *crawl.Visit) { v.Item.Depth = 2 })
	if _, o = b.one(); len(o.Targets) != 0 || o.Skipped[crawl.SkipDepth] != 4 {
		t.Errorf("behind the depth: %q, skipped %v", targets(o.Targets), o.Skipped)
	}
}

// Links are stored as the URLs that stand for them; a redirect to another form of the same page is
// followed as it is, and so are sitemap files.
func TestLinksAreNormalized(t *testing.T) {
	t.Parallel()
	rules, err := normalize.Parse(
		[]string{normalize.IndexFiles, normalize.TrailingSlash, normalize.SessionIDs, normalize.WWW})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, scope.Options{Mode: scope.Domain})
	b.rules.Normalize, b.rules.Settings.Assets = rules, true
	b.serve("http://a.test/", 200, "",
		`<a href="/index.html">self</a><a href="/1/">1</a><a href="/1;jsessionid=3">1</a><a href="http://www.a.test/2">2</a><img src="/i.png?PHPSESSID=1">`)
	b.visit("http://a.test/")
	_, o := b.one()
	wantTargets(t, o.Targets, "http://a.test/1 link d1 h0 b1", "http://a.test/2 link d1 h0 b1",
		"http://a.test/i.png asset d1 h0 b1")

	for to, want := range map[string]string{
		"/index.html":        "http://a.test/index.html",
		"/x/":                "http://a.test/x",
		"http://www.a.test/": "http://www.a.test/",
	} {
		b = newBench(t, scope.Options{Mode: scope.Domain})
		b.rules.Normalize = rules
		b.serve("http://a.test/", 302, "Location: "+to, "")
		b.visit("http://a.test/")
		_, o = b.one()
		wantTargets(t, o.Targets, want+" redirect d0 h1 b0")
	}
}

func TestWhatIsParsed(t *testing.T) {
	t.Parallel()
	const link = `<a href="/x">`
	for _, c := range []struct {
		name, header, body string
		status, want       int
	}{
		{"page", "", link, 200, 1},
		{"xhtml", "Content-Type: application/xhtml+xml", link, 200, 1},
		{"text", "Content-Type: text/plain", link, 200, 0},
		{"text that looks like a page", "Content-Type: text/plain", "<!DOCTYPE html>" + link, 200, 0},
		{"header that says nothing", "Content-Type: unknown/unknown", "<!DOCTYPE html>" + link, 200, 1},
		{"repeated type", "Content-Type: text/html, text/html", link, 200, 1},
		{"two headers, last invalid", "Content-Type: text/html\nContent-Type: broken", link, 200, 1},
		{"invalid type, page", "Content-Type: html", "<!DOCTYPE html>" + link, 200, 1},
		{"invalid type, no page", "Content-Type: text", "words " + link, 200, 0},
		{"later type", "Content-Type: text/html, text/plain", link, 200, 0},
		{"quoted comma", "Content-Type: text/html;x=\",text/plain\"", link, 200, 1},
		{"header that says nothing, image", "Content-Type: */*", "\x89PNG\x0d\x0a\x1a\x0a" + link, 200, 0},
		{"partial", "", link, 206, 1},
		{"choices", "", link, 300, 1},
		{"choices, one preferred", "Location: /y", link, 300, 1},
		{"redirect to nowhere", "", link, 302, 1},
		{"redirect to nowhere, for good", "Location: ", link, 301, 1},
		{"redirect to nowhere, nofollow", "X-Robots-Tag: nofollow", link, 307, 0},
		{"odd redirect", "", link, 306, 1},
		{"missing", "", link, 404, 0},
		{"gone", "", link, 410, 0},
		{"forbidden", "", link, 403, 0},
		{"broken", "", link, 500, 0},
		{"feed", "Content-Type: application/xml", "<rss><channel><item><link>http://a.test/x</link></item></channel></rss>", 200, 0},
		{"feed by its type", "Content-Type: application/rss+xml",
			"<rss><channel><item><link>http://a.test/x</link></item></channel></rss>", 200, 0},
		{"other XML", "Content-Type: text/xml", "<note>" + link + "</a></note>", 200, 0},
		{"XHTML as XML", "Content-Type: application/xml", `<html xmlns="http://www.w3.org/1999/xhtml">` + link + "</a></html>", 200, 1},
		{"XHTML without a type", "", `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">` + link + "</a></html>", 200, 1},
		{"XHTML with a prefix", "Content-Type: text/xml", `<h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:a href="/x"/></h:html>`, 200, 1},
		{"XHTML with a prefix, meta nofollow", "Content-Type: text/xml",
			`<h:html xmlns:h="http://www.w3.org/1999/xhtml"><h:meta name="robots" content="nofollow"/><h:a href="/x"/></h:html>`,
			200, 0},
		{"XHTML in other XML", "Content-Type: application/xml",
			`<doc xmlns:h="http://www.w3.org/1999/xhtml"><a href="/y"/><h:a href="/x"/></doc>`, 200, 1},
		{"drawing", "Content-Type: image/svg+xml", `<svg xmlns="http://www.w3.org/2000/svg"><a href="/x"/></svg>`, 200, 1},
		{"drawing, header nofollow", "Content-Type: image/svg+xml\nX-Robots-Tag: nofollow",
			`<svg xmlns="http://www.w3.org/2000/svg"><a href="/x"/></svg>`, 200, 0},
		{"linked sitemap with XHTML", "Content-Type: text/xml",
			`<urlset xmlns:xhtml="http://www.w3.org/1999/xhtml"><url><loc>http://a.test/x</loc><xhtml:link href="/y"/></url></urlset>`,
			200, 1},
		{"linked sitemap", "Content-Type: text/xml", "<urlset><url><loc>http://a.test/x</loc></url></urlset>", 200, 1},
		{"linked index", "Content-Type: text/xml", "<sitemapindex><sitemap><loc>http://a.test/x</loc></sitemap></sitemapindex>", 200, 1},
		{"linked sitemap, header nofollow", "Content-Type: text/xml\nX-Robots-Tag: nofollow",
			"<urlset><url><loc>http://a.test/x</loc></url></urlset>", 200, 0},
		{"meta nofollow", "", `<meta name="robots" content="nofollow">` + link, 200, 0},
		{"meta for another", "", `<meta name="otherbot" content="nofollow">` + link, 200, 1},
		{"header nofollow", "X-Robots-Tag: nofollow", link, 200, 0},
		{"header none, second", "X-Robots-Tag: noindex\nX-Robots-Tag: crawlnode: none", link, 200, 0},
		{"header for another", "X-Robots-Tag: otherbot: nofollow", link, 200, 1},
		{"deep", "", strings.Repeat("<div>", 5000) + link, 200, 1},
		{"empty", "", "", 200, 0},
	} {
		b := newBench(t, scope.Options{})
		b.serve("http://a.test/", c.status, c.header, c.body)
		b.visit("http://a.test/")
		_, o := b.one()
		if len(o.Targets) != c.want || o.Kind != crawl.Fetched {
			t.Errorf("%s: %q", c.name, targets(o.Targets))
		}
		asked := strings.Contains(c.name, "nofollow") || strings.Contains(c.name, "none")
		if got := o.Skipped[crawl.SkipNoFollow]; (got == 1) != asked || got > 0 && o.LinksFound != 1 {
			t.Errorf("%s: %d of %d links are not followed", c.name, got, o.LinksFound)
		}
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	seed := func(v *crawl.Visit) { v.Item.Via = crawl.ViaSeed }
	deep := func(v *crawl.Visit) { v.Item.Depth, v.Item.Hops = 3, 1 }
	chain := func(v *crawl.Visit) { v.Item.Via, v.Item.Hops = crawl.ViaRedirect, 1 }
	last := func(v *crawl.Visit) { v.Item.Hops = maxHops }
	for _, c := range []struct {
		name, to string
		change   func(*crawl.Visit)
		want     string // the target, or ""
		skip     crawl.SkipReason
		alias    bool
	}{
		{"plain", "/next", deep, "http://a.test/next redirect d3 h2 b3", 0, false},
		{"ten hops", "/next", last, "", crawl.SkipTrap, false},
		{"out of scope", "http://www.a.test/", deep, "", crawl.SkipOutOfScope, false},
		{"seed to www", "http://www.a.test/", seed, "http://www.a.test/ redirect d0 h1 b0", 0, true},
		{"seed's chain", "http://www.a.test/", chain, "http://www.a.test/ redirect d0 h2 b0", 0, true},
		{"seed within scope", "https://a.test/", seed, "https://a.test/ redirect d0 h1 b0", 0, false},
		{"seed to excluded", "http://www.a.test/secret", seed, "", crawl.SkipOutOfScope, false},
		{"file", "file:///etc/passwd", seed, "", crawl.SkipScheme, false},
		{"javascript", "javascript:alert(1)", seed, "", crawl.SkipScheme, false},
		{"data", "data:text/html,x", seed, "", crawl.SkipScheme, false},
		{"nonsense", "http://[", seed, "", crawl.SkipInvalid, false},
		{"too long", "/" + strings.Repeat("x", 3000), seed, "", crawl.SkipTooLong, false},
		{"user info", "http://u:p@a.test/x", seed, "http://a.test/x redirect d0 h1 b0", 0, false},
	} {
		for _, form := range []string{"301", "302", "303", "307", "308", "refresh"} {
			b := newBench(t, scope.Options{Exclude: []string{"prefix:http://www.a.test/secret"}})
			b.rules.Settings.Archive = true
			if form == "refresh" {
				b.serve("http://a.test/", 200, "",
					fmt.Sprintf(`<meta http-equiv="refresh" content="0; url=%s">`, c.to))
			} else {
				var status int
				fmt.Sscan(form, &status)
				b.serve("http://a.test/", status, "Location: "+c.to, `<a href="/not-this">`)
			}
			b.visit("http://a.test/", c.change)
			_, o := b.one()
			if len(b.asked) != 1 || len(b.captures) != 1 {
				t.Errorf("%s by %s: %d requests, %d captures", c.name, form, len(b.asked), len(b.captures))
			}
			if (o.ScopeAlias != "") != c.alias ||
				c.alias && o.ScopeAlias != b.rules.Scope.EntryOf(url(t, c.to)) {
				t.Errorf("%s by %s: scope alias %q", c.name, form, o.ScopeAlias)
			}
			if c.want != "" {
				wantTargets(t, o.Targets, c.want)
			} else if wantTargets(t, o.Targets); form != "refresh" && o.Skipped[c.skip] != 1 {
				t.Errorf("%s by %s: skipped %v", c.name, form, o.Skipped)
			}
		}
	}
	for _, c := range []struct {
		status int
		header string
	}{{302, ""}, {302, "Location: http://a.test/"}, {300, "Location: /x"}, {304, "Location: /x"},
		{200, "Location: /x"}} {
		b := newBench(t, scope.Options{})
		b.serve("http://a.test/", c.status, c.header, "")
		b.visit("http://a.test/")
		if _, o := b.one(); len(o.Targets) != 0 {
			t.Errorf("%d with %q: %q", c.status, c.header, targets(o.Targets))
		}
	}
}

// TestTooManyLinks checks that links beyond the limit are counted and reported.
func TestTooManyLinks(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	for i := range htmlparse.MaxLinks + 3 {
		fmt.Fprintf(&page, "<a href=%d>", i)
	}
	b := newBench(t, scope.Options{})
	b.serve("http://a.test/", 200, "", page.String())
	b.visit("http://a.test/")
	_, o := b.one()
	if len(o.Targets) != htmlparse.MaxLinks || o.Skipped[crawl.SkipTrap] != 3 ||
		o.LinksFound != htmlparse.MaxLinks+3 ||
		!strings.Contains(o.Reason, "3 of the page's 50003 links") {
		t.Errorf("%d targets, skipped %v, found %d, reason %q", len(o.Targets), o.Skipped, o.LinksFound,
			o.Reason)
	}
}

func TestBandOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		via        crawl.Via
		depth      int
		priority   float64
		suspicious bool
		want       crawl.Band
	}{
		{crawl.ViaSeed, 0, 0, false, 0}, {crawl.ViaSeed, 0, 0, true, 7},
		{crawl.ViaLink, 1, 0, false, 1}, {crawl.ViaLink, 6, 0, false, 6}, {crawl.ViaLink, 99, 0, false, 6}, {crawl.ViaLink, 1, 0, true, 7},
		{crawl.ViaRedirect, 0, 0, false, 0}, {crawl.ViaAsset, 2, 0, false, 2}, {crawl.ViaSitemapFile, 3, 0, false, 1},
		{crawl.ViaSitemap, 1, 1, false, 1}, {crawl.ViaSitemap, 1, 0.8, false, 2},
		{crawl.ViaSitemap, 1, 0.5, false, 4}, {crawl.ViaSitemap, 1, 0, false, 6},
		{crawl.ViaSitemap, 1, math.NaN(), false, 4}, {crawl.ViaSitemap, 1, -3, false, 4}, {crawl.ViaSitemap, 1, math.Inf(1), false, 4},
		{crawl.ViaLink, -1, 0, false, 0},
	} {
		if got := BandOf(c.via, c.depth, c.priority, c.suspicious); got != c.want {
			t.Errorf("BandOf(%v, %d, %v, %v) = %d, want %d", c.via, c.depth, c.priority, c.suspicious, got,
				c.want)
		}
	}
}

// TestPriorityOfSites checks that a rule's priority chooses the bands of what is found, like that
// of a sitemap entry, and leaves seeds and what they redirect to where they are.
func TestPriorityOfSites(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	b.rules.Sites = sitestest.Table(t, &b.rules.Settings, `
- match: prefix:http://a.test/news/
  priority: 1
- match: prefix:http://a.test/archive/
  priority: 0
- match: glob:*/sitemap.xml
  priority: 0
`)
	b.serve("http://a.test/", 200, "", `<a href="/news/1"><a href="/archive/1"><a href="/other">`)
	b.visit("http://a.test/")
	_, o := b.one()
	got := map[string]crawl.Band{}
	for i := range o.Targets {
		got[o.Targets[i].URL.Path()] = o.Targets[i].Band
	}
	if want := map[string]crawl.Band{"/news/1": 1, "/archive/1": 6, "/other": 1}; !maps.Equal(got,
		want) {
		t.Errorf("bands %v, want %v", got, want)
	}
	for name, c := range map[string]struct {
		raw   string
		via   crawl.Via
		depth int
		given bool
	}{
		"a link":                   {"http://a.test/archive/", crawl.ViaLink, 1, true},
		"a sitemap's entry":        {"http://a.test/archive/", crawl.ViaSitemap, 1, true},
		"a redirect":               {"http://a.test/archive/", crawl.ViaRedirect, 1, true},
		"a seed":                   {"http://a.test/archive/", crawl.ViaSeed, 0, false},
		"what a seed redirects to": {"http://a.test/archive/", crawl.ViaRedirect, 0, false},
		"a sitemap":                {"http://a.test/sitemap.xml", crawl.ViaSitemapFile, 1, false},
	} {
		u, err := urlnorm.Parse(c.raw)
		if err != nil {
			t.Fatal(err)
		}
		p := PriorityOf(b.rules.Sites, &crawl.Target{URL: u, Via: c.via, Depth: c.depth})
		if (p != nil) != c.given {
			t.Errorf("%s: priority %v", name, p)
		}
	}
}

// TestBrokenParser checks that a panic while parsing a page costs only its links. Missing rules
// stand for a broken parser.
func TestBrokenParser(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	b.rules.Scope = nil
	b.serve("http://a.test/", 200, "", `<a href="/x">`)
	b.visit("http://a.test/")
	if _, o := b.one(); o.Kind != crawl.Fetched || o.Reason == "" || len(o.Targets) != 0 {
		t.Errorf("outcome %+v", o)
	}
}

// TestLocationBytes: a Location is made of bytes, for a page and for robots.txt.
func TestLocationBytes(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]string{
		"/caf\xe9":            "http://a.test/caf%E9",
		"/caf\xc3\xa9":        "http://a.test/caf%C3%A9",
		"/\xe9\xc3\xa9?\xfc":  "http://a.test/%E9%C3%A9?%FC",
		"//a.test/\xff":       "http://a.test/%FF",
		"http://a.test/\x80/": "http://a.test/%80/",
		"\xa0":                "http://a.test/%A0",
	} {
		b := newBench(t, scope.Options{})
		b.web["http://a.test/"] = func(fetcher.Request) (*fetcher.Response, error) {
			r := answer(302, "", "")
			r.Header.Set("Location", ref)
			return r, nil
		}
		b.visit("http://a.test/")
		if _, o := b.one(); len(o.Targets) != 1 || o.Targets[0].URL.String() != want {
			t.Errorf("%q: %+v, want %s", ref, o.Targets, want)
		}
		if got := redirectOf(url(t, "http://a.test/robots.txt"), 302, ref); got.String() != want {
			t.Errorf("robots.txt, %q: %s, want %s", ref, got, want)
		}
	}
}
