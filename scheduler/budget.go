package scheduler

import "crawlnode/crawl"

// This file decides what counts as a page, and which URLs of a host are over its budget.

// countedApart reports whether a URL that was found this way is never counted as a page.
func countedApart(via crawl.Via) bool { return via == crawl.ViaSitemapFile || via.Errand() }

// otherRequests is how many requests other than pages a host may get, beyond its limit of pages,
// before no more of its sitemap files are fetched: a host can list sitemaps without end.
const otherRequests = 100

// overBudget reports whether a host with a limit of pages (0: unlimited) has reached its limit for
// this kind of URL.
func overBudget(via crawl.Via, s *crawl.HostState, limit int64) bool {
	switch {
	case limit <= 0 || via.Errand():
		return false
	case s.Pages >= limit:
		return true // the pages that a sitemap file lists would not be fetched
	}
	return via == crawl.ViaSitemapFile && s.Requests-s.Pages >= limit+otherRequests
}

// isPage reports whether the visit fetches a page: not robots.txt, and not a
// sitemap file. It is the pipeline's rule.
func isPage(v crawl.Visit, s *crawl.Settings) bool {
	ignoreRobots := s.RobotsIgnore && s.Allowed(v.Addr)
	return v.Addr.IsValid() && !countedApart(v.Item.Via) && (v.Robots != nil || ignoreRobots)
}
