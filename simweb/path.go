package simweb

import (
	"strconv"
	"strings"
)

// Paths of pages, by kind and by a draw per page, so that a URL tells its page
// without a table:
//
//	/                      the start page
//	/p/17.html             most pages
//	/d/3/17.html           one in four, in one of eight folders
//	/view?id=17            one in eight
//	/private/17.html       kind private, forbidden by most robots.txt
//	/private/open/17.html  one in four of those, allowed again
//	/calendar?day=3        the calendar

// appendPath appends the path and query of page n of h.
func (w *Web) appendPath(b []byte, h *host, n uint32) []byte {
	if n == 0 {
		return append(b, '/')
	}
	if n >= h.pages {
		return strconv.AppendUint(append(b, "/calendar?day="...), uint64(n-h.pages)+1, 10)
	}
	r := w.random(uint64(h.first+n), saltPath)
	switch {
	case w.kind(h, n) == private && r%4 == 0:
		b = append(b, "/private/open/"...)
	case w.kind(h, n) == private:
		b = append(b, "/private/"...)
	case r%8 < 2:
		b = append(strconv.AppendUint(append(b, "/d/"...), r>>8%8, 10), '/')
	case r%8 == 2:
		return strconv.AppendUint(append(b, "/view?id="...), uint64(n), 10)
	default:
		b = append(b, "/p/"...)
	}
	return append(strconv.AppendUint(b, uint64(n), 10), ".html"...)
}

// parsePath is the inverse of appendPath: any other path is no page.
func (w *Web) parsePath(h *host, path string) (uint32, bool) {
	var digits string
	var base uint64
	switch {
	case path == "/":
		return 0, true
	case strings.HasPrefix(path, "/calendar?day="):
		digits, base = path[len("/calendar?day="):], uint64(h.pages)-1
	case strings.HasPrefix(path, "/view?id="):
		digits = path[len("/view?id="):]
	default:
		digits = strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".html")
	}
	n, err := strconv.ParseUint(digits, 10, 32)
	n += base
	if err != nil || n >= uint64(h.pages+h.trap) {
		return 0, false
	}
	var buf [64]byte
	if string(w.appendPath(buf[:0], h, uint32(n))) != path {
		return 0, false
	}
	return uint32(n), true
}

// url returns the canonical URL of a page.
func (w *Web) url(page uint32) string {
	i := w.hostOf(page)
	h := &w.hosts[i]
	return string(w.appendPath([]byte(w.origin(i)), h, page-h.first))
}

// page finds the page of a canonical URL.
func (w *Web) page(rawURL string) (uint32, bool) {
	rest, ok := strings.CutPrefix(rawURL, w.scheme+"://")
	if !ok {
		return 0, false
	}
	slash := strings.IndexByte(rest, '/')
	if slash < 0 {
		return 0, false
	}
	i, ok := w.hostIndex(rest[:slash])
	if !ok {
		return 0, false
	}
	n, ok := w.parsePath(&w.hosts[i], rest[slash:])
	return w.hosts[i].first + n, ok
}
