package pipeline

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/web/scope"
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
		"http://a.test/1 link d3 h0 b3", "http://a.test/2 link d3 h0 b3", "http://a.test/3 link d3 h0 b3", "http://a.test/4 link d3 h0 b3")
	if o.Skipped[crawl.SkipOutOfScope] != 1 || o.Skipped[crawl.SkipScheme] != 1 || o.Skipped[crawl.SkipInvalid] != 1 || o.LinksFound != 12 {
		t.Errorf("skipped %v, found %d", o.Skipped, o.LinksFound)
	}

	b = newBench(t, scope.Options{MaxDepth: 2})
	b.rules.Settings.Assets = true
	b.serve("http://a.test/", 200, "", page)
	b.visit("http://a.test/")
	_, o = b.one()
	wantTargets(t, o.Targets, "http://a.test/1 link d1 h0 b1", "http://a.test/2 link d1 h0 b1", "http://a.test/3 link d1 h0 b1",
		"http://a.test/i.png asset d1 h0 b1", "http://a.test/s.js asset d1 h0 b1", "http://a.test/c asset d1 h0 b1", "http://a.test/4 link d1 h0 b1")

	b = newBench(t, scope.Options{MaxDepth: 2})
	b.serve("http://a.test/", 200, "", page)
	b.visit("http://a.test/", func(v *crawl.Visit) { v.Item.Depth = 2 })
	if _, o = b.one(); len(o.Targets) != 0 || o.Skipped[crawl.SkipDepth] != 4 {
		t.Errorf("behind the depth: %q, skipped %v", targets(o.Targets), o.Skipped)
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
		{"missing", "", link, 404, 0},
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
		if _, o := b.one(); len(o.Targets) != c.want || o.Kind != crawl.Fetched {
			t.Errorf("%s: %q", c.name, targets(o.Targets))
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
				b.serve("http://a.test/", 200, "", fmt.Sprintf(`<meta http-equiv="refresh" content="0; url=%s">`, c.to))
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
			if (o.ScopeAlias != "") != c.alias || c.alias && o.ScopeAlias != b.rules.Scope.EntryOf(url(t, c.to)) {
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
	}{{302, ""}, {302, "Location: http://a.test/"}, {300, "Location: /x"}, {304, "Location: /x"}, {200, "Location: /x"}} {
		b := newBench(t, scope.Options{})
		b.serve("http://a.test/", c.status, c.header, "")
		b.visit("http://a.test/")
		if _, o := b.one(); len(o.Targets) != 0 {
			t.Errorf("%d with %q: %q", c.status, c.header, targets(o.Targets))
		}
	}
}

func TestSitemap(t *testing.T) {
	t.Parallel()
	file := func(depth int) func(*crawl.Visit) {
		return func(v *crawl.Visit) { v.Item.Via, v.Item.Depth = crawl.ViaSitemapFile, depth }
	}
	const ns = ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"`
	const set = `<urlset` + ns + `><url><loc>http://a.test/1</loc><priority>1.0</priority></url>
		<url><loc>http://a.test/2</loc></url><url><loc>http://a.test/3</loc><priority>0.0</priority></url>
		<url><loc>http://b.test/</loc></url><url><loc>http://a.test/1</loc></url></urlset>`
	b := newBench(t, scope.Options{MaxDepth: 1})
	b.serve("http://a.test/sitemap.xml", 200, "Content-Type: application/xml", set)
	b.visit("http://a.test/sitemap.xml", file(2))
	_, o := b.one()
	wantTargets(t, o.Targets, "http://a.test/1 sitemap d1 h0 b1", "http://a.test/2 sitemap d1 h0 b4", "http://a.test/3 sitemap d1 h0 b6")
	if !o.IsSitemap || o.Skipped[crawl.SkipOutOfScope] != 1 || o.LinksFound != 5 {
		t.Errorf("outcome %+v", o)
	}

	const index = `<sitemapindex` + ns + `><sitemap><loc>http://a.test/s1.xml</loc></sitemap></sitemapindex>`
	for depth := range maxSitemapDepth + 1 {
		b := newBench(t, scope.Options{MaxDepth: 1})
		b.serve("http://a.test/sitemap.xml", 200, "Content-Type: application/xml", index)
		b.visit("http://a.test/sitemap.xml", file(depth))
		_, o := b.one()
		if depth < maxSitemapDepth {
			wantTargets(t, o.Targets, fmt.Sprintf("http://a.test/s1.xml sitemap_file d%d h0 b1", depth+1))
		} else if wantTargets(t, o.Targets); o.Skipped[crawl.SkipDepth] != 1 {
			t.Errorf("behind the deepest index: skipped %v", o.Skipped)
		}
	}

	b = newBench(t, scope.Options{})
	b.serve("http://a.test/sitemap.xml", 301, "Location: /other.xml", "")
	b.visit("http://a.test/sitemap.xml", file(1))
	_, o = b.one()
	wantTargets(t, o.Targets, "http://a.test/other.xml sitemap_file d1 h1 b1")

	b = newBench(t, scope.Options{})
	b.serve("http://a.test/sitemap.xml", 404, "", `<a href="/x">`)
	b.visit("http://a.test/sitemap.xml", file(0))
	if _, o = b.one(); !o.IsSitemap || o.Kind != crawl.Fetched || len(o.Targets) != 0 {
		t.Errorf("missing sitemap: %+v", o)
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
		{crawl.ViaSitemap, 1, 1, false, 1}, {crawl.ViaSitemap, 1, 0.8, false, 2}, {crawl.ViaSitemap, 1, 0.5, false, 4}, {crawl.ViaSitemap, 1, 0, false, 6},
		{crawl.ViaSitemap, 1, math.NaN(), false, 4}, {crawl.ViaSitemap, 1, -3, false, 4}, {crawl.ViaSitemap, 1, math.Inf(1), false, 4},
		{crawl.ViaLink, -1, 0, false, 0},
	} {
		if got := BandOf(c.via, c.depth, c.priority, c.suspicious); got != c.want {
			t.Errorf("BandOf(%v, %d, %v, %v) = %d, want %d", c.via, c.depth, c.priority, c.suspicious, got, c.want)
		}
	}
}

// TestBrokenParser checks that a panic over a page costs its links and
// nothing more. Rules that are missing stand for a parser that is broken.
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
