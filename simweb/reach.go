package simweb

import "iter"

// bitset holds one bit a page.
type bitset []uint64

func newBitset(n uint32) bitset    { return make(bitset, (n+63)/64) }
func (b bitset) has(i uint32) bool { return b[i/64]&(1<<(i%64)) != 0 }
func (b bitset) set(i uint32)      { b[i/64] |= 1 << (i % 64) }

// reach walks the web from the seeds, breadth first, as a crawler should: a page
// is reached when an allowed page, a redirect or a sitemap leads to it, when
// robots.txt allows it, and when its host has an address. A host's sitemap is
// read as soon as one of its pages is reached.
func (w *Web) reach() bitset {
	seen := newBitset(w.pages)
	visited := make([]bool, len(w.hosts))
	var queue, links []uint32
	push := func(page uint32, hostIndex int) {
		h := &w.hosts[hostIndex]
		if !seen.has(page) && !h.dead && w.allowed(h, page-h.first) {
			seen.set(page)
			queue = append(queue, page)
		}
	}
	for i := range w.cfg.SeedHosts {
		push(w.hosts[i].first, i)
	}
	for len(queue) > 0 {
		page := queue[0]
		queue = queue[1:]
		i := w.hostOf(page)
		if !visited[i] {
			visited[i] = true
			for _, p := range w.sitemapPages(&w.hosts[i]) {
				push(p, i)
			}
		}
		links = w.appendLinks(links[:0], page)
		for _, p := range links {
			push(p, w.hostOf(p))
		}
	}
	return seen
}

// Reachable yields the URL of every page that a correct crawl from Seeds
// requests, with the status of its answer (200, 404 or a redirect's).
// robots.txt and sitemaps are not pages.
func (w *Web) Reachable() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		seen := w.reach()
		for page := range w.pages {
			if seen.has(page) && !yield(w.url(page), w.status(page)) {
				return
			}
		}
	}
}

// Links returns the URLs that a page leads to, robots.txt or not; none when the
// URL is no page of this web.
func (w *Web) Links(url string) []string {
	page, ok := w.page(url)
	if !ok {
		return nil
	}
	var urls []string
	for _, p := range w.appendLinks(nil, page) {
		urls = append(urls, w.url(p))
	}
	return urls
}

// status returns the status of a page's answer, once it answers.
func (w *Web) status(page uint32) int {
	h := &w.hosts[w.hostOf(page)]
	switch w.kind(h, page-h.first) {
	case missing:
		return 404
	case redirect:
		return w.redirectStatus(page)
	default:
		return 200
	}
}
