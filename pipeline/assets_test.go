package pipeline

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/web/scope"
)

// assetsBench is a bench with a policy.
func assetsBench(t *testing.T, policy crawl.AssetPolicy, o scope.Options) *bench {
	t.Helper()
	b := newBench(t, o)
	b.rules.Settings.Assets, b.rules.Settings.AssetsSameHost = policy != crawl.AssetsOff,
		policy == crawl.AssetsSameHost
	return b
}

// A page's parts are taken by the policy, whatever the scope says; its relatives and links by the
// scope.
func TestAssets(t *testing.T) {
	t.Parallel()
	const page = `<link rel="stylesheet" href="http://cdn.test/s.css"><link rel="icon" href="/i.ico"><link rel="canonical" href="http://b.test/"><link rel=next href="/2">
		<img src="http://cdn.test/1.png" srcset="/2.png 2x"><script src="http://cdn.test/zip.js"></script><a href="http://b.test/">b</a>
		<style>@import "http://cdn.test/i.css"; a{b:url(/3.png)}</style><p style="background:url('http://cdn.test/4.png')"><svg><use href="/u.svg#x"/></svg><body background=/bg.png>`
	for _, c := range []struct {
		policy  crawl.AssetPolicy
		want    []string
		outside int64
	}{
		{crawl.AssetsOff, nil, 1},
		{crawl.AssetsSameHost, []string{"http://a.test/i.ico asset d3 h0 b3",
			"http://a.test/2 link d3 h0 b3", "http://a.test/2.png asset d3 h0 b3",
			"http://a.test/3.png asset d3 h0 b3", "http://a.test/u.svg asset d3 h0 b3",
			"http://a.test/bg.png asset d3 h0 b3"}, 6},
		{crawl.AssetsAny, []string{"http://cdn.test/s.css asset d3 h0 b3",
			"http://a.test/i.ico asset d3 h0 b3", "http://a.test/2 link d3 h0 b3",
			"http://cdn.test/1.png asset d3 h0 b3", "http://a.test/2.png asset d3 h0 b3",
			"http://cdn.test/i.css asset d3 h0 b3", "http://a.test/3.png asset d3 h0 b3",
			"http://cdn.test/4.png asset d3 h0 b3", "http://a.test/u.svg asset d3 h0 b3",
			"http://a.test/bg.png asset d3 h0 b3"}, 2},
	} {
		b := assetsBench(t, c.policy, scope.Options{Exclude: []string{"*/zip.js"}})
		b.serve("http://a.test/", 200, "", page)
		b.visit("http://a.test/", func(v *crawl.Visit) { v.Item.Depth = 2 })
		_, o := b.one()
		wantTargets(t, o.Targets, c.want...)
		if o.Skipped[crawl.SkipOutOfScope] != c.outside {
			t.Errorf("%s: %d out of scope, want %d", c.policy, o.Skipped[crawl.SkipOutOfScope], c.outside)
		}
	}
	// Neither the depth limit nor include patterns keep a page's parts from it.
	b := assetsBench(t, crawl.AssetsAny, scope.Options{MaxDepth: 2, Include: []string{"/docs/*"}})
	b.serve("http://a.test/docs/", 200, "", `<img src="/1.png"><a href="/docs/2">`)
	b.visit("http://a.test/docs/", func(v *crawl.Visit) { v.Item.Depth = 2 })
	_, o := b.one()
	wantTargets(t, o.Targets, "http://a.test/1.png asset d3 h0 b3")
}

// From an asset only its redirect and, for a style sheet, its own assets lead on; one in scope is a
// page like any other.
func TestFromAssets(t *testing.T) {
	t.Parallel()
	const links = `<a href="http://a.test/9">x</a><img src="/8.png">`
	for _, c := range []struct {
		name, url, header, body string
		status, hops            int
		policy                  crawl.AssetPolicy
		want                    []string
	}{
		{"a page that poses as an image", "http://cdn.test/p", "", links, 200, 0, crawl.AssetsAny, nil},
		{"a page in scope", "http://a.test/p", "", links, 200, 0, crawl.AssetsAny,
			[]string{"http://a.test/9 link d3 h0 b3", "http://a.test/8.png asset d3 h0 b3"}},
		{"a sheet", "http://cdn.test/s.css", "Content-Type: text/css",
			`@import "t.css";a{b:url(http://d.test/1.png)}`, 200, 0, crawl.AssetsAny,
			[]string{"http://cdn.test/t.css asset d2 h1 b2", "http://d.test/1.png asset d2 h1 b2"}},
		{"a sheet on the page's host", "http://a.test/s.css", "Content-Type: text/css",
			`@import "t.css";a{b:url(http://d.test/1.png)}`, 200, 0, crawl.AssetsSameHost,
			[]string{"http://a.test/t.css asset d2 h1 b2"}},
		{"the last sheet of a chain", "http://cdn.test/s.css", "Content-Type: text/css", `@import "t.css"`, 200, maxHops, crawl.AssetsAny, nil},
		{"a sheet that nobody wants", "http://a.test/s.css", "Content-Type: text/css", `@import "t.css"`, 200, 0, crawl.AssetsOff, nil},
		{"a sheet that forbids it", "http://cdn.test/s.css",
			"Content-Type: text/css\nX-Robots-Tag: nofollow", `@import "t.css"`, 200, 0, crawl.AssetsAny,
			nil},
		{"a redirect", "http://cdn.test/1", "Location: http://e.test/2", "", 302, 3, crawl.AssetsAny, []string{"http://e.test/2 asset d2 h4 b2"}},
		{"the last redirect", "http://cdn.test/1", "Location: http://e.test/2", "", 302, maxHops, crawl.AssetsAny, nil},
		{"a redirect to another host", "http://a.test/1", "Location: http://e.test/2", "", 302, 0, crawl.AssetsSameHost, nil},
		{"a redirect after a change of policy", "http://a.test/1", "Location: http://a.test/2", "", 302,
			0, crawl.AssetsOff, []string{"http://a.test/2 redirect d2 h1 b2"}},
	} {
		b := assetsBench(t, c.policy, scope.Options{})
		b.serve(c.url, c.status, c.header, c.body)
		b.visit(c.url,
			func(v *crawl.Visit) { v.Item.Depth, v.Item.Hops, v.Item.Via = 2, c.hops, crawl.ViaAsset })
		_, o := b.one()
		t.Log(c.name)
		wantTargets(t, o.Targets, c.want...)
	}
}

// A queued asset stays one when the rules change, and is judged by them.
func TestAssetsAreJudgedAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url    string
		policy crawl.AssetPolicy
		out    bool
	}{
		{"http://cdn.test/1.png", crawl.AssetsAny, false}, {"http://cdn.test/1.png", crawl.AssetsSameHost,
			true}, {"http://cdn.test/1.png", crawl.AssetsOff, true},
		{"http://a.test/docs/1.png", crawl.AssetsOff, false}, {"http://a.test/1.png", crawl.AssetsOff,
			true}, {"http://a.test/1.png", crawl.AssetsSameHost, false},
		{"http://cdn.test/no/1.png", crawl.AssetsAny, true},
	} {
		b := assetsBench(t, c.policy, scope.Options{Mode: "prefix", Exclude: []string{"*/no/*"}})
		b.rules.Seeds, b.rules.Rejudge =
			scope.NewSeeds([]string{b.rules.Scope.EntryOf(url(t, "http://a.test/docs/"))}), true
		b.serve(c.url, 200, "Content-Type: image/png", "x")
		b.visit(c.url, func(v *crawl.Visit) { v.Item.Via = crawl.ViaAsset })
		if _, o := b.one(); (o.Kind == crawl.Refused) != c.out {
			t.Errorf("%s with %s: %v", c.url, c.policy, o.Kind)
		}
	}
}
