package replay

import (
	"context"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"crawlnode/output/archive"
	"crawlnode/output/readback"
	"crawlnode/output/wacz"
	"crawlnode/web/urlnorm"
)

// policy is the content policy of a replayed page, policyOfOurs that of the pages of this server.
const (
	policy = "sandbox; default-src 'none'; img-src 'self' data:; style-src 'self' 'unsafe-inline' " +
		"data:; font-src 'self' data:; media-src 'self' data:; frame-src 'self'; " +
		"base-uri 'none'; form-action 'none'"
	policyOfOurs = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; " +
		"base-uri 'none'; frame-ancestors 'self'"
)

// server serves archived pages.
type server struct {
	src     source
	limit   int64         // of what is unpacked of a capture
	reading chan struct{} // has one of each capture in memory

	starts   []wacz.Page           // with which the archive's makers begin
	counting siteCounter           // used by count alone, but for its count
	sites    atomic.Pointer[sites] // nil: they are being counted
}

const (
	// readsAtOnce bounds the captures in memory, those included that are being sent.
	readsAtOnce = 4
	// sendTimeout ends an answer that its client does not read: others wait for its place.
	sendTimeout = time.Minute
)

func newServer(src source, limit int64) *server {
	return &server{src: src, limit: limit, reading: make(chan struct{}, readsAtOnce),
		counting: siteCounter{hosts: map[string]*site{}}}
}

// count counts the sites for the front page, until ctx ends.
func (s *server) count(ctx context.Context) { s.sites.Store(countSites(ctx, s.src, &s.counting)) }

// ServeHTTP answers one request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Content-Security-Policy", policyOfOurs)
	if !ownHost(r.Host) {
		s.say(w, http.StatusForbidden,
			"This address has a name that anybody could own: use 127.0.0.1 or localhost.")
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		s.say(w, http.StatusMethodNotAllowed, "Only GET and HEAD.")
		return
	}
	path := r.URL.EscapedPath()
	switch {
	case path == "/" && r.URL.Query().Get("url") != "":
		http.Redirect(w, r, "/web/"+escaped(r.URL.Query().Get("url")), http.StatusFound) //nolint:gosec // a path of this server
	case path == "/":
		s.write(w, http.StatusOK, s.frontPage())
	case strings.HasPrefix(path, "/web/"):
		s.page(w, r, strings.TrimPrefix(path, "/web/"))
	case strings.HasPrefix(path, "/timemap/link/"):
		s.timeMap(w, r, strings.TrimPrefix(path, "/timemap/link/"))
	default:
		s.say(w, http.StatusNotFound,
			"There is nothing at this address. Archived pages are at /web/TIME/URL.")
	}
}

// ownHost accepts addresses and localhost: no page can have another name point here.
func ownHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || strings.EqualFold(host, "localhost")
}

// say answers with a page of this server that says something.
func (s *server) say(w http.ResponseWriter, code int, text string) {
	s.write(w, code, "<p>"+html.EscapeString(text))
}

// write answers with a page of this server, in HTML, with a form for URLs.
func (s *server) write(w http.ResponseWriter, code int, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(code)
	// the client has gone
	_, _ = fmt.Fprintf(w, "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "+
		"content=\"width=device-width\"><title>Archive</title>"+
		"<style>body{font:1rem/1.5 sans-serif;margin:2rem auto;max-width:40rem;padding:0 "+
		"1rem}input{width:100%%;box-sizing:border-box;font:inherit;padding:.4rem}"+
		"table{border-collapse:collapse;width:100%%}th,td{text-align:left;padding:.2rem .6rem .2rem "+
		"0}td:first-child{min-width:4.5rem}td:first-child,li,p{overflow-wrap:anywhere}</style>"+
		"<h1>Archive</h1><form action=/ method=get><label>URL <input name=url type=text "+
		"autofocus></label> <button>Show</button></form>%s", body)
}

// asked reads a URL out of an escaped path, and the query that belongs to it when it was not
// escaped.
func asked(rest string, r *http.Request) (urlnorm.URL, error) {
	text, err := url.PathUnescape(rest)
	if err != nil {
		return urlnorm.URL{}, err
	}
	if r.URL.RawQuery != "" {
		text += "?" + r.URL.RawQuery
	}
	if !strings.Contains(text, "://") {
		if fixed, ok := strings.CutPrefix(text, "http:/"); ok { // a client has merged the slashes
			text = "http://" + fixed
		} else if fixed, ok := strings.CutPrefix(text, "https:/"); ok {
			text = "https://" + fixed
		} else {
			text = "http://" + text
		}
	}
	return urlnorm.Parse(text)
}

// base is this server's address, for headers.
func base(r *http.Request) string { return "http://" + r.Host }

func (s *server) timeMap(w http.ResponseWriter, r *http.Request, rest string) {
	u, list, ok := s.find(w, r, rest)
	if !ok {
		return
	}
	w.Header().Set("Content-Type", "application/link-format")
	_, _ = w.Write([]byte(timeMap(base(r), u.String(), list))) // the client has gone
}

// find lists the captures of the URL that is asked for. When there are none it has answered.
func (s *server) find(
	w http.ResponseWriter,
	r *http.Request,
	rest string,
) (u urlnorm.URL, list []archive.Entry, ok bool) {
	u, err := asked(rest, r)
	if err != nil {
		s.say(w, http.StatusBadRequest, "This is no URL of the web: "+err.Error())
		return u, nil, false
	}
	list, err = s.src.captures(r.Context(), u)
	switch {
	case err != nil:
		s.say(w, http.StatusBadGateway, "The archive could not be read: "+err.Error())
		return u, nil, false
	case len(list) == 0:
		s.say(w, http.StatusNotFound, u.String()+" was not archived.")
		return u, nil, false
	}
	return u, list, true
}

// page shows a URL as it was at a time, or leads to such a page: rest is TIME/URL or URL.
func (s *server) page(w http.ResponseWriter, r *http.Request, rest string) {
	first, after, _ := strings.Cut(rest, "/")
	at, timed := parseStamp(first)
	if timed {
		rest = after
	}
	_, list, ok := s.find(w, r, rest)
	if !ok {
		return
	}
	if !timed { // a time gate
		at = time.Now()
		if wanted, err := http.ParseTime(r.Header.Get("Accept-Datetime")); err == nil {
			at = wanted
		}
	}
	e := closest(list, at)
	if !timed || first != e.At.UTC().Format(stamp) {
		w.Header().Set("Vary", "accept-datetime")
		w.Header().Set("Link", strings.Join(links(base(r), e.URL), ", "))
		w.Header().Set("Access-Control-Allow-Origin", "*")
		http.Redirect(w, r, address(e.At, e.URL), http.StatusFound)
		return
	}
	select {
	case s.reading <- struct{}{}:
		defer func() { <-s.reading }()
	case <-r.Context().Done():
		return
	}
	// a recorder in a test has none
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(sendTimeout))
	record, err := s.src.Record(r.Context(), e.Ref)
	var page *readback.Page
	if err == nil {
		page, err = readback.Of(r.Context(), s.src, record, s.limit)
	}
	if err != nil {
		s.say(w, http.StatusBadGateway, "The capture could not be read: "+err.Error())
		return
	}
	mementoHeaders(w.Header(), base(r), e, list)
	s.show(w, r, e, page)
}

// show sends a capture.
func (s *server) show(
	w http.ResponseWriter,
	r *http.Request,
	e *archive.Entry,
	page *readback.Page,
) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("Access-Control-Allow-Origin", "*") // a sandboxed page asks for its fonts as a stranger
	u, err := urlnorm.Parse(page.Record.TargetURI)
	if err != nil {
		s.say(w, http.StatusBadGateway, "The capture has no URL of the web: "+err.Error())
		return
	}
	if status := page.Record.Status; status >= 300 && status < 400 {
		if to, err := u.ResolveBytes(page.Header("Location")); err == nil &&
			page.Header("Location") != "" {
			http.Redirect(w, r, address(e.At, to.String()), status)
			return
		}
	}
	content, contentType, _, err := page.Seen()
	if err != nil && len(content) == 0 {
		s.say(w, http.StatusBadGateway, "The content could not be unpacked: "+err.Error())
		return
	}
	content, kind := sealed(r, page, content, contentType, u,
		func(to urlnorm.URL) (string, bool) { return address(e.At, to.String()), true })
	h.Set("Content-Type", kind)
	status := page.Record.Status
	if status < 200 || status > 599 || status == http.StatusNotModified {
		status = http.StatusOK
	}
	h.Set("Content-Length", fmt.Sprint(len(content)))
	w.WriteHeader(status)
	if status != http.StatusNoContent {
		_, _ = w.Write(content) // the client has gone
	}
}
