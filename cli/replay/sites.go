package replay

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"html"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/output/archive"
	"crawlnode/output/newest"
)

const (
	// maxSites bounds the sites that are counted, and shownSites those that the front page names.
	maxSites   = 100_000
	shownSites = 500
)

// site is what the archive has of one host.
type site struct {
	host        string
	pages       int64 // URLs
	captures    int64
	first, last time.Time
	start       archive.Entry // what to begin with; without a URL: nothing
	isPage      bool          // start is a page
}

// sites are the sites of an archive, those with the most pages first.
type sites struct {
	list    []*site
	more    bool  // there are more than were counted
	counted int64 // captures
	err     error // what was wrong with the index: the list is not whole
}

// siteCounter counts while an index is read.
type siteCounter struct {
	hosts map[string]*site
	more  bool
	read  atomic.Int64 // captures, for those who wait
}

// captured counts a capture.
func (c *siteCounter) captured(e *archive.Entry) *site {
	c.read.Add(1)
	u, err := url.Parse(e.URL)
	if err != nil || u.Host == "" {
		return nil
	}
	s := c.hosts[u.Host]
	switch {
	case s == nil && len(c.hosts) >= maxSites:
		c.more = true
		return nil
	case s == nil:
		s = &site{host: u.Host, first: e.At}
		c.hosts[u.Host] = s
	}
	s.captures++
	if e.At.Before(s.first) {
		s.first = e.At
	}
	if e.At.After(s.last) {
		s.last = e.At
	}
	return s
}

// page counts a page, by the entry of its URL that counts.
func (c *siteCounter) page(e *archive.Entry) {
	u, err := url.Parse(e.URL)
	if err != nil || e.Status < 200 || e.Status > 299 {
		return
	}
	s := c.hosts[u.Host]
	if s == nil {
		return
	}
	isPage := newest.IsPage(e)
	if isPage {
		s.pages++
	}
	// The page nearest to the top; without pages another content.
	better := isPage && !s.isPage
	if better || isPage == s.isPage && (s.start.URL == "" || shorter(e.URL, s.start.URL)) {
		s.start, s.isPage = *e, isPage
	}
}

// shorter reports whether a URL is nearer to the top of its site than another one.
func shorter(a, b string) bool {
	return cmp.Or(cmp.Compare(strings.Count(a, "?"), strings.Count(b, "?")),
		cmp.Compare(len(a), len(b)), strings.Compare(a, b)) < 0
}

// countSites reads the index of a source. Its memory grows with the sites, up to maxSites.
func countSites(ctx context.Context, src source, c *siteCounter) *sites {
	var writer sync.WaitGroup
	defer writer.Wait()
	r, w := io.Pipe()
	defer func() { _ = r.Close() }() // ends the writer
	writer.Go(func() { _ = w.CloseWithError(src.WriteIndex(ctx, w)) })
	err := newest.Each(io.TeeReader(r, &captureLines{c: c}), func(e *archive.Entry) error {
		c.page(e)
		return nil
	})
	s := &sites{more: c.more, counted: c.read.Load(), err: err}
	for _, found := range c.hosts {
		s.list = append(s.list, found)
	}
	slices.SortFunc(s.list, func(a, b *site) int {
		return cmp.Or(cmp.Compare(b.pages, a.pages), cmp.Compare(b.captures, a.captures),
			strings.Compare(a.host, b.host))
	})
	return s
}

// captureLines counts the lines that are written to it.
type captureLines struct {
	c    *siteCounter
	rest []byte // the beginning of a line
}

func (l *captureLines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, after, whole := bytes.Cut(p, []byte("\n"))
		if !whole {
			l.rest = append(l.rest, p...)
			return n, nil
		}
		if len(l.rest) > 0 {
			line = append(l.rest, line...)
		}
		if e, err := archive.ParseEntry(line); err == nil {
			l.c.captured(&e)
		}
		l.rest, p = l.rest[:0], after
	}
}

// frontPage is the list of sites in HTML. starts are the pages that the archive's maker names.
func (s *server) frontPage() string {
	var b strings.Builder
	if len(s.starts) > 0 {
		b.WriteString("<h2>Start pages</h2><ul>")
		for _, p := range s.starts {
			to := "/web/" + escaped(p.URL)
			if !p.At.IsZero() {
				to = address(p.At, p.URL)
			}
			fmt.Fprintf(&b, "<li><a href=\"%s\">%s</a>", html.EscapeString(to),
				html.EscapeString(cmp.Or(p.Title, p.URL)))
		}
		b.WriteString("</ul>")
	}
	found := s.sites.Load()
	if found == nil {
		return b.String() + fmt.Sprintf("<p>The sites are being counted: %s captures so far. "+
			"Load this page again.",
			plaintext.Count(s.counting.read.Load()))
	}
	b.WriteString("<h2>Sites</h2>")
	if found.err != nil {
		fmt.Fprintf(&b, "<p>The list is not whole: %s", html.EscapeString(found.err.Error()))
	}
	if len(found.list) == 0 {
		return b.String() + "<p>Nothing is archived here."
	}
	b.WriteString("<table><tr><th>Site<th>Pages<th>Captures<th>First<th>Last")
	for _, f := range found.list[:min(len(found.list), shownSites)] {
		host := html.EscapeString(f.host)
		if f.start.URL != "" {
			host = fmt.Sprintf("<a href=\"%s\">%s</a>",
				html.EscapeString(address(f.start.At, f.start.URL)), host)
		}
		fmt.Fprintf(&b, "<tr><td>%s<td>%s<td>%s<td>%s<td>%s", host, plaintext.Count(f.pages),
			plaintext.Count(f.captures),
			f.first.UTC().Format(time.DateTime), f.last.UTC().Format(time.DateTime))
	}
	b.WriteString("</table>")
	if n := len(found.list) - shownSites; n > 0 || found.more {
		b.WriteString("<p>There are more sites; these have the most pages.")
	}
	return b.String()
}
