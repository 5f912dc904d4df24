package pipeline

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/settings/sites"
	"crawlnode/web/cookies"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/scope"
	"crawlnode/web/urlnorm"
)

const (
	// maxHops is how many redirects in a row are followed.
	maxHops = 10
	// lowestBand is where suspicious URLs wait.
	lowestBand = crawl.Bands - 1
	// usualTargets is the initial capacity of a page's list of targets, maxTargets the largest that a
	// worker keeps.
	usualTargets = 64
	maxTargets   = 256
	// defaultPriority is the priority of a sitemap entry that names none (sitemaps.org).
	defaultPriority = 0.5
)

// BandOf is the priority class that a target asks for: 0 is first. While queues are ordered by
// scores, they decide (package frontier/order).
//
//	suspicious            7
//	seed                  0
//	sitemap file          1
//	sitemap entry         1 to 6 as its priority falls from 1 to 0
//	found, of a site      the same, by the priority that a rule for sites gives it
//	all others            their depth, at most 6
//
// priority is that of a sitemap entry (see sitemapPriority), 0 to 1. It is ignored for
// all others.
func BandOf(via crawl.Via, depth int, priority float64, suspicious bool) crawl.Band {
	const last = lowestBand - 1
	switch {
	case suspicious:
		return lowestBand
	case via.Named():
		return 0
	case via == crawl.ViaSitemapFile:
		return 1
	case via == crawl.ViaSitemap:
		if !(priority >= 0 && priority <= 1) { // NaN too
			priority = defaultPriority
		}
		return crawl.Band(1 + (1-priority)*(last-1) + 0.5)
	}
	return crawl.Band(min(max(depth, 0), last))
}

// PriorityOf is the priority that the rules for sites give a target, which counts like that of a
// sitemap entry; nil: none does. Seeds, what they redirect to and files with sitemaps keep their
// places.
func PriorityOf(table *sites.Table, t *crawl.Target) *float64 {
	if table == nil || OpensScope(t.Via, t.Depth) || t.Via == crawl.ViaSitemapFile {
		return nil
	}
	if site := table.Of(t.URL); site != nil {
		return site.Priority
	}
	return nil
}

// ReasonOf translates a verdict of the scope rules into the reason of a skip.
func ReasonOf(v scope.Verdict) crawl.SkipReason {
	switch v.Reason {
	case scope.TooDeep:
		return crawl.SkipDepth
	case scope.Trap:
		return crawl.SkipTrap
	}
	return crawl.SkipOutOfScope
}

// redirects reports whether a status redirects by a Location header.
func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// shown reports whether the content of an answer is the page, and not an error page: 2xx, and a 3xx
// other than 304 when it leads nowhere. Browsers show that one (Fetch, "HTTP-redirect fetch":
// without a Location the response is returned), and 300 offers its choices there (RFC 9110, section
// 15.4.1).
func shown(status int) bool {
	return status >= 200 && status < 400 && status != http.StatusNotModified
}

// mediaKind is the format from which an answer's links are read.
type mediaKind uint8

const (
	otherMedia   mediaKind = iota
	pageMedia              // HTML, and XML with elements of XHTML
	drawingMedia           // SVG, whose hyperlinks are followed
	xmlMedia               // may be a sitemap that a page links to
	sheetMedia             // a style sheet
	feedMedia              // RSS or Atom
)

// kindOf sorts the media type of an answer. Package mime found it: a valid header is believed, so
// that text/plain is never read as HTML, and without one the payload decides.
func kindOf(resp *fetcher.Response) mediaKind {
	switch {
	case htmlparse.IsPage(resp.ContentType, resp.Body):
		return pageMedia
	case htmlparse.IsDrawing(resp.ContentType, resp.Body):
		return drawingMedia
	}
	switch resp.MediaType {
	case "text/xml", "application/xml":
		return xmlMedia
	case "text/css":
		return sheetMedia
	case "application/rss+xml", "application/atom+xml", "application/rdf+xml":
		return feedMedia
	}
	return otherMedia
}

// linkCollector collects the links of one answer into its outcome.
type linkCollector struct {
	v     crawl.Visit
	rules *Rules
	seen  map[string]struct{} // canonical; strings hash faster than URLs, which carry offsets
	o     *crawl.Outcome
	log   *slog.Logger
	// deriver may need skipped, the URLs that were not taken. Nil: not needed.
	deriver Deriver
	skipped []crawl.Skip
	// fingerprints says that the archive needs the SimHash of texts. The deriver may need it too.
	fingerprints bool
	traps        Traps  // nil: nobody asks for them
	masked       []byte // memory for prints
	memory       *htmlparse.Memory
	targets      []crawl.Target // memory for those of a page
	shown        *Shown         // the page as a browser showed it; nil: as it was fetched
	// complete: no scope entry is missing, so a refusal is final.
	complete bool
	// topic is the page's score and anchor the text of the current link, with Rules.Focus.
	topic  float64
	anchor string
	// cookies are those that the request had to choose from, and setCookies what a redirect adds.
	cookies    cookies.Jar
	setCookies []string
}

// read adds to o what the answer leads to: the target of a redirect, or the links of a page or
// sitemap that was delivered (2xx), or of a redirect without a target. Pages that come with 404,
// 403, 500 and the like are error pages: their links are the site's navigation, which every real
// page has, or searches, and are not taken. A panic in a parser does not end the node: the page
// then counts as one without links. The Document is nil when the answer was no page. whole says
// that the same payload would bring nothing else, as long as the rules are the same: nothing
// failed, no link waits for its scope, and no date was read that is compared with the present time.
func (w *worker) read(
	v crawl.Visit,
	resp *fetcher.Response,
	rules *Rules,
	o *crawl.Outcome,
) (doc *htmlparse.Document, whole bool) {
	place := w.p.backlog.parse(v.Domain)
	begun := time.Now()
	defer func() {
		now := time.Now()
		if kept := w.p.backlog.parsed(v.Domain, place, now, now.Sub(begun), len(resp.Body)); v.Kept !=
			nil {
			v.Kept.Store(int64(kept))
		}
	}()
	defer func() {
		if cause := recover(); cause != nil {
			w.p.o.Log.Error("parser panicked on a page; its links are lost", "url", v.Item.URL.String(),
				"cause", fmt.Sprint(cause))
			o.Reason = fmt.Sprintf("the page could not be parsed: %v", cause)
			doc, whole = nil, false
		}
	}()
	if w.seen == nil || len(w.seen) > 4096 { // clearing costs as much as its largest use
		w.seen = make(map[string]struct{}, 256)
	}
	clear(w.seen)
	f := &linkCollector{
		v:            v,
		rules:        rules,
		seen:         w.seen,
		o:            o,
		log:          w.p.o.Log,
		deriver:      w.p.o.Deriver,
		skipped:      w.skipped[:0],
		fingerprints: rules.Settings.Archive && !w.p.o.NoFingerprints,
		complete:     w.complete,
		traps:        w.p.o.Traps,
	}
	f.masked, f.shown, f.targets = w.masked, w.shown, w.targets
	whole = true
	defer func() {
		w.skipped, w.masked = f.skipped, f.masked
		// the Sink is done with them when the worker reads its next page
		if n := cap(o.Targets); n > 0 && n <= maxTargets {
			w.targets = o.Targets[:0]
		}
	}()
	f.seen[v.Item.URL.String()] = struct{}{} // a link to the page itself is ignored
	o.NoIndex, _ = directives(resp, rules.Settings.Agent())
	switch to := resp.Header.Get("Location"); {
	case redirects(resp.Status) && to != "":
		f.cookies = w.cookiesOf(&v, rules)
		f.setCookies = resp.Header["Set-Cookie"]
		f.location(to)
	case !shown(resp.Status):
	case kindOf(resp) == sheetMedia:
		f.sheet(resp)
	case f.isForeign():
	case v.Item.Via == crawl.ViaSitemapFile:
		f.sitemapFile(resp)
	case kindOf(resp) == pageMedia:
		f.memory, _ = w.p.memories.Get().(*htmlparse.Memory)
		doc = f.page(resp)
	case kindOf(resp) == drawingMedia:
		f.page(resp) // a picture with links: no document to index or derive from
	case kindOf(resp) == xmlMedia, kindOf(resp) == feedMedia && rules.Settings.Revisits():
		f.linkedSitemap(resp)
		whole = false
	}
	if resp.Status >= 200 && resp.Status < 300 {
		f.refresh(resp, doc)
	}
	return doc, whole && len(o.Unjudged) == 0 && w.complete
}

// refresh takes the target of a Refresh header, which does what a meta refresh does, whatever the
// answer is otherwise (HTML Standard, section 7.5.1). Of several lines the first counts. doc is nil
// for an answer that is no page.
func (f *linkCollector) refresh(resp *fetcher.Response, doc *htmlparse.Document) {
	ref := htmlparse.RefreshHeader(resp.Header.Get("Refresh"))
	if ref == "" {
		return
	}
	f.o.LinksFound++
	to, err := f.v.Item.URL.ResolveBytes(ref)
	_, noFollow := directives(resp, f.rules.Settings.Agent())
	switch {
	case err != nil:
		f.o.Skipped[invalidBy(err)]++
	case noFollow, doc != nil && doc.NoFollow:
		f.skip(to, crawl.ViaRedirect, crawl.SkipNoFollow)
	default:
		f.redirect(to)
	}
}

// location takes the Location of a redirect as a link.
func (f *linkCollector) location(ref string) {
	if ref == "" {
		return
	}
	f.o.LinksFound++
	to, err := f.v.Item.URL.ResolveBytes(ref)
	if err != nil {
		f.o.Skipped[invalidBy(err)]++
		return
	}
	_, again := f.redirectCookies(to)
	if to == f.v.Item.URL && (!again || f.v.Item.Hops >= maxHops) {
		f.o.Reason = joined(f.o.Reason, crawl.RecordRedirectsToItself)
	}
	f.redirect(to)
}

// invalidBy classifies a reference that is not a URL that can be fetched.
func invalidBy(err error) crawl.SkipReason {
	switch {
	case errors.Is(err, urlnorm.ErrScheme):
		return crawl.SkipScheme
	case errors.Is(err, urlnorm.ErrTooLong):
		return crawl.SkipTooLong
	}
	return crawl.SkipInvalid
}

// redirect takes the target of a redirect or a meta refresh, at the depth of the page itself, at
// most ten in a row. The redirect of a seed extends the scope (apex to www): its target is judged
// as if it were a seed.
func (f *linkCollector) redirect(to urlnorm.URL) {
	to = f.rules.Normalize.Redirect(f.v.Item.URL, to)
	item := &f.v.Item
	t := crawl.Target{URL: to, Depth: item.Depth, Hops: item.Hops + 1, Via: crawl.ViaRedirect}
	if item.Via == crawl.ViaSitemapFile {
		t.Via = crawl.ViaSitemapFile
	}
	if t.Hops > maxHops {
		f.skip(to, t.Via, crawl.SkipTrap)
		return
	}
	if item.Via == crawl.ViaAsset && f.rules.Settings.Assets {
		f.asset(to, item.Depth, t.Hops)
		return
	}
	t.Cookies, t.CookieCheck = f.redirectCookies(to)
	if to == item.URL && t.CookieCheck {
		delete(f.seen, to.String()) // with other cookies it is another request
	}
	if !f.first(to) {
		return
	}
	v := f.rules.Scope.Decide(to, ScopeDepth(&t), f.rules.Seeds)
	if !v.Admit && ReasonOf(v) == crawl.SkipOutOfScope && OpensScope(item.Via, item.Depth) {
		alias := f.rules.Scope.EntryOf(to)
		if v = f.rules.Scope.Decide(to, t.Depth, scope.NewSeeds([]string{alias})); v.Admit {
			f.o.ScopeAlias = alias
		}
	}
	f.admit(t, v, 0)
}

// OpensScope reports whether a URL opens its own scope: a seed, or the target of a seed's redirect.
// Its scope entry follows from it, so it needs no entry to be admitted.
func OpensScope(via crawl.Via, depth int) bool {
	return via.Named() || via == crawl.ViaRedirect && depth == 0
}

// ScopeDepth is the depth that the scope rules bound. It is 0 for a sitemap file: the depth of
// such a file counts nested indexes.
func ScopeDepth(t *crawl.Target) int {
	if t.Via == crawl.ViaSitemapFile {
		return 0
	}
	return t.Depth
}

// first reports whether u is new on this page.
func (f *linkCollector) first(u urlnorm.URL) bool {
	before := len(f.seen)
	f.seen[u.String()] = struct{}{} // one look-up: the size tells whether it was new
	return len(f.seen) > before
}

// add judges a target and takes it when it passes.
func (f *linkCollector) add(t crawl.Target, priority float64) {
	if t.Via != crawl.ViaSitemapFile { // its place is the host's, not one of its pages'
		t.URL = f.rules.Normalize.Apply(t.URL)
	}
	if f.first(t.URL) {
		f.admit(t, f.rules.Scope.Decide(t.URL, ScopeDepth(&t), f.rules.Seeds), priority)
	}
}

func (f *linkCollector) admit(t crawl.Target, v scope.Verdict, priority float64) {
	list := &f.o.Targets
	if !v.Admit {
		opened, wants := wantsEntry(&t, f.rules)
		if f.complete || !wants || t.Via == crawl.ViaAsset {
			f.skip(t.URL, t.Via, ReasonOf(v))
			return
		}
		v, list = opened, &f.o.Unjudged
	}
	t.Suspicious = v.Suspicious || f.traps != nil && !t.Via.Named() && f.traps.Contains(t.URL)
	t.Band = f.band(&t, priority)
	if given := PriorityOf(f.rules.Sites, &t); given != nil {
		t.Band = BandOf(crawl.ViaSitemap, t.Depth, *given, t.Suspicious)
	}
	t.From = f.v.Item.URL.String()
	if t.Via == crawl.ViaLink && f.rules.of(t.URL).Settings.Index {
		t.Anchor = crawl.CutAnchor(f.anchor)
	}
	*list = append(*list, t)
}

// wantsEntry reports whether a refused target lacks only a scope entry, and the verdict it would
// get with one.
func wantsEntry(t *crawl.Target, rules *Rules) (scope.Verdict, bool) {
	v := rules.Scope.Decide(t.URL, ScopeDepth(t), scope.NewSeeds([]string{rules.Scope.EntryOf(t.URL)}))
	return v, v.Admit
}

// page takes the links of an HTML page, unless the page asks that they are not followed.
func (f *linkCollector) page(resp *fetcher.Response) *htmlparse.Document {
	doc := htmlparse.ParseWith(f.options(), resp.Body, resp.ContentType, f.v.Item.URL)
	if f.shown != nil {
		doc.Text = f.shown.text()
	}
	f.o.LinksFound += doc.LinksFound
	f.o.Skipped[crawl.SkipInvalid] += int64(doc.Invalid)
	f.o.Skipped[crawl.SkipTooLong] += int64(doc.TooLong)
	f.o.Skipped[crawl.SkipScheme] += int64(doc.OtherScheme)
	f.o.Skipped[crawl.SkipTrap] += int64(doc.LinksDropped) // more links than any real page has
	if doc.LinksDropped > 0 {
		f.o.Reason = fmt.Sprintf(
			"%d of the page's %d links were left out: it has more than the limit for one page",
			doc.LinksDropped, doc.LinksFound)
		f.log.Warn("page has more links than the limit; the rest are dropped", "url",
			f.v.Item.URL.String(), "found", doc.LinksFound, "dropped", doc.LinksDropped)
	}
	f.o.NoIndex = f.o.NoIndex || doc.NoIndex
	follow, why := f.follows(resp, &doc)
	f.o.Targets = slices.Grow(f.targets, min(len(doc.Links), usualTargets))
	for i := range doc.Links {
		switch l := &doc.Links[i]; {
		case follow, why == crawl.SkipFocus && l.Tag == "meta":
			// a page that redirects has no text to judge
			f.anchor = doc.Anchor(i)
			f.link(l)
		case !l.Asset() || f.rules.Settings.Assets:
			f.skip(l.URL, viaOf(l), why)
		}
	}
	f.anchor = "" // what else links to a page has no text
	if f.shown != nil {
		f.shown.take(f, &doc, follow, why)
	}
	if f.rules.Settings.Assets && follow {
		f.hiddenParts(resp.Body, &doc)
	}
	f.prints(doc.Text)
	return &doc
}

// viaOf is the way a link leads to its target.
func viaOf(l *htmlparse.Link) crawl.Via {
	switch {
	case l.Tag == "meta":
		return crawl.ViaRedirect
	case l.Part():
		return crawl.ViaAsset
	}
	return crawl.ViaLink
}

// directives reads the X-Robots-Tag headers that address every crawler or this one, agent.
func directives(resp *fetcher.Response, agent string) (noIndex, noFollow bool) {
	return htmlparse.RobotsHeader(resp.Header["X-Robots-Tag"], agent, resp.Started)
}

// link takes one link of a page. Links that a reader would follow are queued; parts of the page
// (images, scripts ...) and its relatives (canonical address ...) only with Settings.Assets.
func (f *linkCollector) link(l *htmlparse.Link) {
	switch {
	case l.Tag == "meta":
		f.redirect(l.URL)
	case !l.Asset(), l.Feed && f.v.Item.Depth == 0 && f.rules.Settings.Revisits():
		// feeds of a site, not of each page
		f.add(crawl.Target{URL: l.URL, Depth: f.v.Item.Depth + 1, Via: crawl.ViaLink}, 0)
	case f.rules.Settings.Assets && l.Part():
		f.asset(l.URL, f.v.Item.Depth+1, 0)
	case f.rules.Settings.Assets:
		f.add(crawl.Target{URL: l.URL, Depth: f.v.Item.Depth + 1, Via: crawl.ViaLink}, 0)
	}
}
