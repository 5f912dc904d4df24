package simweb

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// robotsKind is the form of a host's robots.txt.
type robotsKind uint8

const (
	robotsMissing robotsKind = iota // 404: everything is allowed
	robotsAll                       // one group for everybody
	robotsOwn                       // the crawler has a group of its own, others are kept out
	robotsKinds
)

// maxSitemapURLs bounds one sitemap, far below the protocol's 50,000.
const maxSitemapURLs = 10_000

// robotsTxt returns a host's robots.txt; ok is false when it has none.
func (w *Web) robotsTxt(hostIndex int) (body string, ok bool) {
	h := &w.hosts[hostIndex]
	var b strings.Builder
	switch h.robots {
	case robotsMissing:
		return "", false
	case robotsAll:
		b.WriteString("# " + h.name + "\nUser-agent: *\n")
	case robotsOwn:
		if w.cfg.Agent != "*" {
			b.WriteString("User-agent: *\nDisallow: /\n\n")
		}
		b.WriteString("User-agent: " + w.cfg.Agent + "\n")
	}
	b.WriteString("Allow: /private/open/\nDisallow: /private/\n")
	if h.slowed {
		fmt.Fprintf(&b, "Crawl-delay: %g\n", w.cfg.CrawlDelay.Seconds())
	}
	if h.sitemap {
		b.WriteString("\nSitemap: " + w.origin(hostIndex) + "/sitemap.xml\n")
	}
	return b.String(), true
}

// allowed is the expected verdict of robotsTxt for one page.
func (w *Web) allowed(h *host, n uint32) bool {
	if h.robots == robotsMissing || w.kind(h, n) != private {
		return true
	}
	var buf [64]byte
	return bytes.HasPrefix(w.appendPath(buf[:0], h, n), []byte("/private/open/"))
}

// sitemapPages returns the pages in a host's sitemap: the hidden ones and a few
// that are linked as well; with dates, all of them that are allowed.
func (w *Web) sitemapPages(h *host) []uint32 {
	if !h.sitemap {
		return nil
	}
	var pages []uint32
	for n := uint32(0); n < h.pages && len(pages) < maxSitemapURLs; n++ {
		if n%16 == 0 || w.kind(h, n) == hidden || h.says.lastmods != silent && w.allowed(h, n) {
			pages = append(pages, h.first+n)
		}
	}
	return pages
}

// sitemapXML returns a host's sitemap; ok is false when it has none.
func (w *Web) sitemapXML(hostIndex int, at time.Time) (body string, ok bool) {
	h := &w.hosts[hostIndex]
	if !h.sitemap {
		return "", false
	}
	var b bytes.Buffer
	b.WriteString(xml.Header + `<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` + "\n")
	for _, p := range w.sitemapPages(h) {
		b.WriteString("<url><loc>")
		// A bytes.Buffer does not fail.
		_ = xml.EscapeText(&b, []byte(w.url(p)))
		b.WriteString("</loc>")
		if date := w.lastmod(hostIndex, p, at); date != "" {
			b.WriteString("<lastmod>" + date + "</lastmod>")
		}
		b.WriteString("</url>\n")
	}
	b.WriteString("</urlset>\n")
	return b.String(), true
}
