package simweb

import (
	"bytes"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/klauspost/compress/gzip"
)

// buffers holds one request's scratch space.
type buffers struct {
	links []uint32
	head  []byte
	body  []byte
	zip   *gzip.Writer // nil until it is needed
}

// answer is an answer before it is sent.
type answer struct {
	status int
	header [][2]string
	body   []byte
	delay  time.Duration // before the first byte
}

func (a *answer) set(key, value string) { a.header = append(a.header, [2]string{key, value}) }

func (a *answer) get(key string) string {
	for _, kv := range a.header {
		if kv[0] == key {
			return kv[1]
		}
	}
	return ""
}

// ServeHTTP answers a request by its Host header and records it. A host that is
// not of this web gets a 404 and is recorded as strange.
func (w *Web) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.serve(rw, r, time.Now()) }

// serve answers a request that began at a time.
func (w *Web) serve(rw http.ResponseWriter, r *http.Request, start time.Time) {
	w.note(rw, r)
	i, ok := w.hostIndex(r.Host)
	if !ok || w.hosts[i].dead {
		w.judge.strange(r.Host + r.URL.RequestURI())
		http.Error(rw, "no such host in this web", http.StatusNotFound)
		return
	}
	path := r.URL.RequestURI()
	v := w.visit(i, path)
	v.start = start
	v.who, _ = r.Context().Value(whoKey{}).(string)
	asked := w.judge.begin(v)
	if v.class == classUnknown {
		w.judge.strange(w.origin(i) + path)
	}

	buf := w.scratch.Get().(*buffers)
	defer w.scratch.Put(buf)
	a := w.answer(v, path, asked, r, buf)
	if a.delay += w.cfg.Latency; a.delay > 0 {
		select {
		case <-time.After(a.delay):
		case <-r.Context().Done():
		}
	}
	v.status = a.status
	v.end = time.Now()
	w.judge.end(v)
	sent := send(rw, r, &a) == nil
	if !sent {
		w.judge.unsent(v)
	}
	if w.cfg.OnRequest != nil {
		w.cfg.OnRequest(Request{Host: w.hosts[i].name, URL: w.origin(i) + path, Status: v.status,
			Start: v.start, End: v.end, Remote: r.RemoteAddr, Who: v.who,
			Door: w.door(r), Answered: sent && v.class == classPage && isFinal(v.status)})
	}
}

// door finds out through which door a request came, by its local address.
func (w *Web) door(r *http.Request) int {
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return w.doorOf(local.AddrPort().Addr().Unmap())
	}
	return 0
}

// visit identifies what a request asks for.
func (w *Web) visit(hostIndex int, path string) *visit {
	h := &w.hosts[hostIndex]
	v := &visit{host: hostIndex, class: classUnknown, delay: w.cfg.Delay, url: path}
	switch n, ok := w.parsePath(h, path); {
	case ok:
		v.class, v.page, v.forbidden = classPage, h.first+n, !w.allowed(h, n)
	case path == "/robots.txt":
		v.class = classRobots
	case path == "/sitemap.xml":
		v.class = classSitemap
	}
	if h.slowed {
		v.crawlDelay = w.cfg.CrawlDelay
	}
	return v
}

// answer chooses the answer; asked counts the requests for this page so far, including this one.
func (w *Web) answer(v *visit, path string, asked int, r *http.Request, buf *buffers) answer {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return text(http.StatusMethodNotAllowed, "this web is read only\n")
	case v.class == classRobots:
		if body, ok := w.robotsTxt(v.host); ok {
			return text(http.StatusOK, body)
		}
	case v.class == classSitemap:
		if body, ok := w.sitemapXML(v.host, v.start); ok {
			a := text(http.StatusOK, body)
			a.header[0] = [2]string{"Content-Type", "application/xml"}
			w.conditionFile(&a, v, r)
			return a
		}
	case v.class == classPage:
		return w.pageAnswer(v, asked, r, buf)
	}
	return text(http.StatusNotFound, "there is no "+path+" here\n")
}

// pageAnswer chooses the answer to a request for a page.
func (w *Web) pageAnswer(v *visit, asked int, r *http.Request, buf *buffers) answer {
	if asked == 1 && w.quirk(v.page, saltRate, w.cfg.RateLimited) {
		a := text(http.StatusTooManyRequests, "slow down\n")
		a.set("Retry-After", strconv.Itoa(int((w.cfg.RetryAfter+time.Second-1)/time.Second)))
		return a
	}
	if asked == 1 && w.quirk(v.page, saltBusy, w.cfg.Unavailable) {
		return text(http.StatusServiceUnavailable, "come back later\n")
	}
	a := w.finalAnswer(v, r, buf)
	if w.quirk(v.page, saltSlow, w.cfg.Slow) {
		a.delay = w.cfg.SlowBy
	}
	return a
}

// finalAnswer composes a page.
func (w *Web) finalAnswer(v *visit, r *http.Request, buf *buffers) answer {
	h := &w.hosts[v.host]
	buf.links = w.appendLinks(buf.links[:0], v.page)
	switch w.kind(h, v.page-h.first) {
	case missing:
		return text(http.StatusNotFound, "this page has never been written\n")
	case redirect:
		a := text(w.redirectStatus(v.page), "it stands elsewhere\n")
		a.set("Location", w.url(buf.links[0]))
		return a
	}
	if v.held = w.versionAt(v.page, v.start); v.held == gone {
		return w.goneAnswer(v.page)
	}
	contentType := "text/html"
	if cs := w.charset(v.page); cs.inHeader {
		contentType += "; charset=" + cs.label
	}
	a := answer{status: http.StatusOK, header: [][2]string{{"Content-Type", contentType}}}
	buf.head = w.appendHead(buf.head[:0], v.host, v.page, buf.links)
	buf.head = w.appendNews(buf.head, v)
	if w.quirk(v.page, saltGzip, w.cfg.Gzip) && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		a.set("Content-Encoding", "gzip")
		a.body = w.zipped(buf, v)
	} else {
		buf.head = w.appendPlain(buf.head, v.page, v.held)
		a.body = buf.head
	}
	if w.cfg.Changes.on() {
		w.describe(&a, v)
		w.condition(&a, v, r)
	}
	return a
}

// zipped is a page's body, of which buf has the head, as a gzip file. Natural text is one stream of
// deflate, as servers send it (wget2 1.99 crashes on long bodies that were joined); it costs the
// server a hundred times as much.
func (w *Web) zipped(buf *buffers, v *visit) []byte {
	if !w.cfg.NaturalText {
		buf.body = w.appendGzip(buf.body[:0], buf.head, v.page, v.held)
		return buf.body
	}
	buf.head = w.appendPlain(buf.head, v.page, v.held)
	out := bytes.NewBuffer(buf.body[:0])
	if buf.zip == nil {
		buf.zip, _ = gzip.NewWriterLevel(out, gzip.BestSpeed) // fails with an unknown level
	}
	buf.zip.Reset(out)
	_, _ = buf.zip.Write(buf.head) // a bytes.Buffer does not fail
	_ = buf.zip.Close()            // as above
	buf.body = out.Bytes()
	return buf.body
}

// goneAnswer is the answer of a page that has gone away.
func (w *Web) goneAnswer(page uint32) answer {
	if w.removed(page) {
		return text(http.StatusGone, "this page was removed\n")
	}
	return text(http.StatusNotFound, "this page is not here now\n")
}

func text(status int, body string) answer {
	return answer{
		status: status,
		body:   []byte(body),
		header: [][2]string{{"Content-Type", "text/plain; charset=utf-8"}},
	}
}

// send writes an answer in one piece.
func send(rw http.ResponseWriter, r *http.Request, a *answer) error {
	header := rw.Header()
	for _, kv := range a.header {
		header.Set(kv[0], kv[1])
	}
	if a.status != http.StatusNotModified {
		header.Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	rw.WriteHeader(a.status)
	if r.Method == http.MethodHead || len(a.body) == 0 {
		return nil
	}
	_, err := rw.Write(a.body)
	return err
}
