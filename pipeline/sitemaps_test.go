package pipeline

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/scope"
	"crawlnode/web/sitemap"
)

func TestSitemap(t *testing.T) {
	t.Parallel()
	file := func(depth int) func(*crawl.Visit) {
		return func(v *crawl.Visit) { v.Item.Via, v.Item.Depth = crawl.ViaSitemapFile, depth }
	}
	const ns = ` xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"`
	const set = `<urlset` + ns + `><url><loc>http://a.test/1</loc><priority>1.0</priority></url>
		<url><loc>http://a.test/2</loc></url><url><loc>http://a.test/3</loc><priority>0.0</priority></url>
		<url><loc>http://b.test/</loc></url><url><loc>http://a.test/1</loc></url><url><loc>mailto:a@a.test</loc></url></urlset>`
	b := newBench(t, scope.Options{MaxDepth: 1})
	b.serve("http://a.test/sitemap.xml", 200, "Content-Type: application/xml", set)
	b.visit("http://a.test/sitemap.xml", file(2))
	_, o := b.one()
	wantTargets(t, o.Targets, "http://a.test/1 sitemap d1 h0 b1", "http://a.test/2 sitemap d1 h0 b4",
		"http://a.test/3 sitemap d1 h0 b6")
	if !o.IsSitemap || o.Skipped[crawl.SkipOutOfScope] != 1 || o.Skipped[crawl.SkipInvalid] != 1 ||
		o.LinksFound != 6 {
		t.Errorf("outcome %+v", o)
	}

	const index = `<sitemapindex` + ns +
		`><sitemap><loc>http://a.test/s1.xml</loc></sitemap></sitemapindex>`
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

// TestSitemapLoops follows indexes that name themselves and each other until they end.
func TestSitemapLoops(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	for _, name := range []string{"a", "b", "c"} {
		index := "<sitemapindex>"
		for _, other := range []string{"a", "b", "c"} {
			index += "<sitemap><loc>http://a.test/" + other + ".xml</loc></sitemap>"
		}
		b.serve("http://a.test/"+name+".xml", 200, "Content-Type: application/xml",
			index+"</sitemapindex>")
	}
	known := map[crawl.Target]bool{}
	next := []crawl.Target{{URL: url(t, "http://a.test/a.xml"), Via: crawl.ViaSitemapFile}}
	for rounds := 0; len(next) > 0; rounds++ {
		if rounds > 1+maxSitemapDepth {
			t.Fatalf("%d rounds: %q", rounds, targets(next))
		}
		b.outcomes = nil
		for _, at := range next {
			b.visit(at.URL.String(), func(v *crawl.Visit) { v.Item.Via, v.Item.Depth = at.Via, at.Depth })
		}
		if err := b.run(); err != nil {
			t.Fatal(err)
		}
		next = nil
		for _, o := range b.outcomes {
			for _, to := range o.Targets {
				if to.Via != crawl.ViaSitemapFile {
					t.Errorf("target %q", targets([]crawl.Target{to}))
				}
				if !known[to] {
					known[to], next = true, append(next, to)
				}
			}
		}
	}
}

// TestSitemapPriority checks the band of sitemap entries with and without a time.
func TestSitemapPriority(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		loc      string
		priority float64
		age      time.Duration // 0: none given
		want     crawl.Band
	}{
		{"http://a.test/", 0.5, 0, 4}, {"http://a.test/", 1, 0, 1}, {"http://a.test/", 0, 0, 6},
		{"http://a.test/", 0.5, time.Hour, 3}, {"http://a.test/", 0.5, fresh, 3}, {"http://a.test/", 0.5, fresh + 1, 4},
		{"http://a.test/", 0.5, stale, 4}, {"http://a.test/", 0.5, stale + 1, 5},
		{"http://a.test/", 1, time.Hour, 1}, {"http://a.test/", 0, 2 * stale, 6},
		{"http://a.test/", 0.5, -time.Hour, 3}, {"http://a.test/", 0.5, -48 * time.Hour, 4},
		{"https://a.test:8443/", 1, 0, 1}, {"http://b.test/", 1, time.Hour, 6},
	} {
		e := sitemap.Entry{Loc: url(t, c.loc), Priority: c.priority}
		if c.age != 0 {
			e.LastMod = now.Add(-c.age)
		}
		if got := BandOf(crawl.ViaSitemap, 1, sitemapPriority(&e, "a.test", now), false); got != c.want {
			t.Errorf("%s, priority %v, changed %v ago: band %d, want %d", c.loc, c.priority, c.age, got,
				c.want)
		}
	}
}

// TestSitemapOfOtherHosts: a sitemap may name pages of other hosts that are in scope, but does not
// set their priority.
func TestSitemapOfOtherHosts(t *testing.T) {
	t.Parallel()
	const set = `<urlset><url><loc>http://a.test/1</loc><priority>1.0</priority></url><url><loc>http://b.test/2</loc><priority>1.0</priority></url></urlset>`
	b := newBench(t, scope.Options{Mode: "any"})
	b.serve("http://a.test/sitemap.xml", 200, "Content-Type: application/xml", set)
	b.visit("http://a.test/sitemap.xml", func(v *crawl.Visit) { v.Item.Via = crawl.ViaSitemapFile })
	_, o := b.one()
	wantTargets(t, o.Targets, "http://a.test/1 sitemap d1 h0 b1", "http://b.test/2 sitemap d1 h0 b6")
}

// TestUsualSitemap: the usual place is tried unless robots.txt names a sitemap that may be fetched.
func TestUsualSitemap(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{})
	for _, c := range []struct {
		named, want string
		skipped     crawl.SkipCounts
	}{
		{"", "http://a.test/sitemap.xml", crawl.SkipCounts{}},
		{"http://a.test/s.xml", "http://a.test/s.xml", crawl.SkipCounts{}},
		{"http://a.test/s.xml http://a.test/sitemap.xml", "http://a.test/s.xml http://a.test/sitemap.xml", crawl.SkipCounts{}},
		{"http://cdn.test/s.xml :: ftp://a.test/s.xml", "http://a.test/sitemap.xml",
			crawl.SkipCounts{crawl.SkipOutOfScope: 1, crawl.SkipInvalid: 1, crawl.SkipScheme: 1}},
	} {
		var o crawl.Outcome
		addSitemaps(&o, "http://a.test", strings.Fields(c.named), &b.rules, true)
		var got []string
		for _, to := range o.Targets {
			got = append(got, to.URL.String())
		}
		if strings.Join(got, " ") != c.want || o.Skipped != c.skipped {
			t.Errorf("%q: %q, skipped %v; want %q, %v", c.named, got, o.Skipped, c.want, c.skipped)
		}
	}
}

// TestCutSitemap has sitemaps of which the fetch got only a part. Their whole entries are queued,
// and the reason names the cut, not the file.
func TestCutSitemap(t *testing.T) {
	t.Parallel()
	file := func(v *crawl.Visit) { v.Item.Via = crawl.ViaSitemapFile }
	page := func(*crawl.Visit) {}
	const set, index = "<urlset><url><loc>http://a.test/x</loc></url><url><loc>http://a.test/lo",
		"<sitemapindex><sitemap><loc>http://a.test/x</loc></sitemap><sitemap><loc>http://a.test/lo"
	for name, c := range map[string]struct {
		body string
		as   func(*crawl.Visit)
		how  func(*fetcher.Response)
	}{
		"limit":          {set, file, func(r *fetcher.Response) { r.Truncated = fetcher.CutLength }},
		"broken packing": {set, file, func(r *fetcher.Response) { r.DecodeErr = io.ErrUnexpectedEOF }},
		"index":          {index, file, func(r *fetcher.Response) { r.Truncated = fetcher.CutLength }},
		"list": {"http://a.test/x\nhttp://a.test/lo", file,
			func(r *fetcher.Response) { r.Truncated = fetcher.CutLength }},
		"linked":       {set, page, func(r *fetcher.Response) { r.Truncated = fetcher.CutLength }},
		"linked index": {index, page, func(r *fetcher.Response) { r.Truncated = fetcher.CutLength }},
	} {
		b := newBench(t, scope.Options{})
		b.web["http://a.test/sitemap.xml"] = func(fetcher.Request) (*fetcher.Response, error) {
			resp := answer(200, "Content-Type: text/xml", c.body)
			c.how(resp)
			return resp, nil
		}
		b.visit("http://a.test/sitemap.xml", c.as)
		_, o := b.one()
		if len(o.Targets) != 1 || o.Targets[0].URL.String() != "http://a.test/x" ||
			!strings.Contains(o.Reason, "cut off") || strings.Contains(o.Reason, "malformed") {
			t.Errorf("%s: %q, %q", name, targets(o.Targets), o.Reason)
		}
	}
}

// TestSitemapBodyLimit checks that the limit of pages does not bound sitemap files.
func TestSitemapBodyLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		via           crawl.Via
		maxBody, want int64
	}{
		{crawl.ViaSitemapFile, 10 << 20, sitemap.MaxBytes + 1},
		{crawl.ViaSitemapFile, 1 << 10, sitemap.MaxBytes + 1},
		{crawl.ViaSitemapFile, 100 << 20, 100 << 20},
		{crawl.ViaLink, 10 << 20, 10 << 20},
		{crawl.ViaSeed, 1 << 10, 1 << 10},
		{crawl.ViaSitemap, 10 << 20, 10 << 20},
	} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.MaxBody = c.maxBody
		b.web["http://a.test/sitemap.xml"] = func(r fetcher.Request) (*fetcher.Response, error) {
			if r.MaxBody != c.want {
				t.Errorf("%v with --max-body %d: at most %d bytes, want %d", c.via, c.maxBody, r.MaxBody,
					c.want)
			}
			return answer(200, "Content-Type: text/xml", "<urlset/>"), nil
		}
		b.visit("http://a.test/sitemap.xml", func(v *crawl.Visit) { v.Item.Via = c.via })
		b.one()
	}
}
