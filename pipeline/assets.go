package pipeline

import (
	"crawlnode/crawl"
	"crawlnode/web/css"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/rewrite"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

// This file is about assets: parts of pages that are fetched with them although the scope does not
// include them. The mark is crawl.ViaAsset, which goes with a URL to other nodes and to the disk.
// It leads on from an asset in two ways only, to the target of its redirect and from a style sheet
// to what it refers to; Hops counts both, so a chain of them ends.

// asset takes a part of the page, unless the policy leaves it out. A refused one is not marked as
// seen: the page may link to it as well.
func (f *linkCollector) asset(u urlnorm.URL, depth, hops int) {
	u = f.rules.Normalize.Apply(u)
	switch {
	case hops > maxHops:
		f.skip(u, crawl.ViaAsset, crawl.SkipTrap)
	case f.rules.Settings.AssetPolicy() == crawl.AssetsSameHost && u.Host() != f.v.Item.URL.Host():
		f.skip(u, crawl.ViaAsset, crawl.SkipOutOfScope)
	case f.first(u):
		f.admit(crawl.Target{URL: u, Depth: depth, Hops: hops, Via: crawl.ViaAsset},
			f.rules.Scope.DecideAsset(u), 0)
	}
}

// isForeign reports whether the answer is an asset that is out of scope: whatever it is, its links
// are not followed. An asset in scope is a page like any other if it turns out to be one.
func (f *linkCollector) isForeign() bool {
	item := &f.v.Item
	if item.Via != crawl.ViaAsset {
		return false
	}
	t := crawl.Target{URL: item.URL, Depth: item.Depth, Via: crawl.ViaLink}
	return !f.rules.Scope.Decide(item.URL, ScopeDepth(&t), f.rules.Seeds).Admit
}

// sheet takes what a style sheet refers to: pictures, fonts, other style sheets. They count as
// parts of the page that the sheet belongs to.
func (f *linkCollector) sheet(resp *fetcher.Response) {
	if !f.rules.Settings.Assets {
		return
	}
	item := &f.v.Item
	depth := item.Depth
	if item.Via != crawl.ViaAsset {
		depth++
	}
	_, noFollow := directives(resp, f.rules.Settings.Agent())
	refs := css.Refs(resp.Body)
	f.o.LinksFound += len(refs)
	for _, ref := range refs {
		u, err := item.URL.Resolve(ref.Value)
		switch {
		case err != nil:
			f.o.Skipped[invalidBy(err)]++
		case noFollow:
			f.skip(u, crawl.ViaAsset, crawl.SkipNoFollow)
		default:
			f.asset(u, depth, item.Hops+1)
		}
	}
}

// hiddenParts takes the parts of a page that are no links in its markup: in styles and drawings.
func (f *linkCollector) hiddenParts(body []byte, doc *htmlparse.Document) {
	parts := rewrite.Parts(body, doc)
	f.o.LinksFound += len(parts)
	for _, u := range parts {
		f.asset(u, f.v.Item.Depth+1, 0)
	}
}

// decideItem decides about a queued URL by the rules as they are now. Which page an asset is part
// of is not known any more: with AssetsSameHost it must be on a host with pages in scope.
func decideItem(item *crawl.Item, rules *Rules) scope.Verdict {
	t := crawl.Target{Depth: item.Depth, Via: item.Via}
	v := rules.Scope.Decide(item.URL, ScopeDepth(&t), rules.Seeds)
	if v.Admit || item.Via != crawl.ViaAsset {
		return v
	}
	switch rules.Settings.AssetPolicy() {
	case crawl.AssetsAny:
		return rules.Scope.DecideAsset(item.URL)
	case crawl.AssetsSameHost:
		if rules.Scope.CoversHost(item.URL, rules.Seeds) {
			return rules.Scope.DecideAsset(item.URL)
		}
	}
	return v
}
