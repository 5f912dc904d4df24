package pipeline

import (
	"errors"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/sitemap"
	"crawlnode/web/urlnorm"
)

const (
	// maxSitemapDepth is how deep sitemap indexes may be nested.
	maxSitemapDepth = 3
	// An entry that changed within fresh is queued one band higher; one unchanged for longer than
	// stale one band lower.
	fresh = 7 * 24 * time.Hour
	stale = 365 * 24 * time.Hour
)

// sitemapPriority is the priority by which a sitemap entry served by host is queued: its own, moved
// by one band according to its last change. now is the time of the fetch; a change more than a day
// in the future is ignored. A sitemap sets the priority of its own host only (sitemaps.org, sitemap
// file location): entries of other hosts come last.
func sitemapPriority(e *sitemap.Entry, host string, now time.Time) float64 {
	const (
		day     = 24 * time.Hour
		oneBand = 1.0 / (lowestBand - 2) // entries have the bands 1 to 6
	)
	p := e.Priority
	switch age := now.Sub(e.LastMod); {
	case e.Loc.Host() != host:
		return 0
	case e.LastMod.IsZero() || age < -day:
	case age <= fresh:
		p += oneBand
	case age > stale:
		p -= oneBand
	}
	return min(max(p, 0), 1)
}

// sitemapBytes is the least limit of the payload of a sitemap file: one byte more than the protocol
// allows, so that the parser can tell a file that is too large from one that ends there.
const sitemapBytes = sitemap.MaxBytes + 1

// largeSitemap is the size from which few sitemaps are read at a time. A packed one may have any.
const largeSitemap = 1 << 20

// sitemapTurn waits for the right to read a sitemap whose entries may take much memory: as many are
// read and stored at a time as there are processors. end must be called when the visit is complete.
func (w *worker) sitemapTurn(v *crawl.Visit, resp *fetcher.Response) (end func()) {
	if v.Item.Via != crawl.ViaSitemapFile ||
		len(resp.Body) < largeSitemap && !sitemap.Packed(resp.Body) {
		return func() {}
	}
	w.p.sitemaps <- struct{}{}
	return func() { <-w.p.sitemaps }
}

// parseSitemap reads a sitemap, of which the fetch may have only a part. The readable part of a
// broken file counts.
func (f *linkCollector) parseSitemap(resp *fetcher.Response) (sitemap.Sitemap, error) {
	parse := sitemap.Parse
	if resp.Truncated != "" || resp.DecodeErr != nil {
		parse = sitemap.ParsePart
	}
	return parse(resp.Body, resp.ContentType, f.v.Item.URL)
}

// sitemapFile takes the entries of a sitemap file.
func (f *linkCollector) sitemapFile(resp *fetcher.Response) {
	sm, err := f.parseSitemap(resp)
	if err != nil {
		f.o.Reason = "sitemap: " + err.Error()
	}
	f.entries(&sm, f.v.Item.Depth)
}

// linkedSitemap takes the entries of a sitemap that was fetched because a page links to it. When
// robots.txt or an index names the same file later, it is known and not fetched again. It counts as
// a page. Feeds are read where pages are visited again, other XML is not.
func (f *linkCollector) linkedSitemap(resp *fetcher.Response) {
	_, noFollow := directives(resp, f.rules.Settings.Agent())
	sm, err := f.parseSitemap(resp)
	if len(sm.Entries) > 0 && (errors.Is(err, sitemap.ErrCut) || errors.Is(err, sitemap.ErrTooLarge)) {
		f.o.Reason = "sitemap: " + err.Error() // other XML is no broken sitemap
	}
	switch {
	case sm.Feed && !f.rules.Settings.Revisits():
	case noFollow:
		f.o.LinksFound += len(sm.Entries)
		for i := range sm.Entries {
			f.skip(sm.Entries[i].Loc, crawl.ViaSitemap, crawl.SkipNoFollow)
		}
	case sm.Feed:
		f.feed(&sm)
	default:
		f.entries(&sm, 0)
	}
}

// entries takes a sitemap's entries: pages at depth 1, or the files that an index names, one level
// deeper. Indexes that name each other end at the depth limit, or earlier because their URLs are
// known.
func (f *linkCollector) entries(sm *sitemap.Sitemap, nested int) {
	f.o.LinksFound += len(sm.Entries) + sm.Invalid
	f.o.Skipped[crawl.SkipInvalid] += int64(sm.Invalid)
	for i := range sm.Entries {
		e := &sm.Entries[i]
		switch {
		case !sm.Index:
			f.add(crawl.Target{URL: e.Loc, Depth: 1, Via: crawl.ViaSitemap, Claimed: f.claimed(e)},
				sitemapPriority(e, f.v.Item.URL.Host(), f.o.FetchedAt))
		case nested >= maxSitemapDepth:
			f.skip(e.Loc, crawl.ViaSitemapFile, crawl.SkipDepth)
		default:
			f.add(crawl.Target{
				URL:     e.Loc,
				Depth:   nested + 1,
				Via:     crawl.ViaSitemapFile,
				Claimed: f.claimed(e),
			}, 0)
		}
	}
}

// addSitemaps adds to the outcome of a robots.txt the sitemap files that it names and the scope
// admits, or the one at the usual place if it names none.
func addSitemaps(o *crawl.Outcome, origin string, named []string, rules *Rules, complete bool) {
	f := &linkCollector{rules: rules, seen: make(map[string]struct{}), o: o, complete: complete}
	add := func(raw string) {
		u, err := urlnorm.Parse(raw)
		if err != nil {
			o.Skipped[invalidBy(err)]++
			return
		}
		f.add(crawl.Target{URL: u, Via: crawl.ViaSitemapFile}, 0)
	}
	for _, raw := range named {
		add(raw)
	}
	if len(o.Targets)+len(o.Unjudged) == 0 {
		add(origin + "/sitemap.xml")
	}
}
