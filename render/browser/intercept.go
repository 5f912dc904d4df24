package browser

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// verdict is what happens to a request of the browser.
type verdict int

const (
	refuse   verdict = iota // it fails
	document                // the page itself, answered from what was fetched
	away                    // a navigation of the page: aborted, and a link
	ask                     // the Fetcher is asked
)

// classify decides about one request. answered: the document was given already.
func classify(
	kind network.ResourceType,
	method, address, pageURL string,
	mainFrame, answered bool,
) verdict {
	u, err := url.Parse(address)
	web := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" &&
		len(address) <= maxURL
	switch {
	case kind == network.ResourceTypeDocument && mainFrame && !answered &&
		address == withoutFragment(pageURL):
		return document
	case kind == network.ResourceTypeDocument && mainFrame && web && method == http.MethodGet:
		return away
	case kind == network.ResourceTypeDocument || !web ||
		method != http.MethodGet && method != http.MethodHead:
		return refuse
	}
	switch kind {
	case network.ResourceTypePing, network.ResourceTypeCSPViolationReport,
		network.ResourceTypePrefetch, network.ResourceTypeWebSocket, network.ResourceTypeEventSource:
		return refuse
	}
	return ask
}

func withoutFragment(address string) string {
	address, _, _ = strings.Cut(address, "#")
	return address
}

// paused handles one request of the tab: it belongs to the page that is shown. Between two pages
// there is an empty document, and nothing else.
func (t *tab) paused(e fetch.EventRequestPaused) {
	if s := t.showing(); s != nil {
		s.paused(e)
		return
	}
	if e.ResourceType == network.ResourceTypeDocument && e.FrameID == t.main &&
		e.Request.URL == t.origin+blankPath {
		_, _ = chromedp.Call(t.ctx, fetch.FulfillRequest, blankDocument(e.RequestID))
		return
	}
	_, _ = chromedp.Call(t.ctx, fetch.FailRequest,
		fetch.FailRequestParams{RequestID: e.RequestID, ErrorReason: network.ErrorReasonBlockedByClient})
}

// blankPath is the address, on the origin of a tab, of the document between two pages. It is
// answered here.
const blankPath = "/crawlnode-blank"

func blankDocument(id fetch.RequestID) fetch.FulfillRequestParams {
	return fetch.FulfillRequestParams{
		RequestID:       id,
		ResponseCode:    http.StatusOK,
		ResponseHeaders: []*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/html"}},
		Body:            []byte("<!DOCTYPE html>"),
	}
}

// paused handles one request. It never waits: what has to be fetched gets a goroutine, as far as
// there is room.
func (s *showing) paused(e fetch.EventRequestPaused) {
	s.mu.Lock()
	what := classify(e.ResourceType, e.Request.Method, e.Request.URL, s.page.URL,
		e.FrameID == s.tab.main, s.answered)
	if what == document {
		s.answered = true
	}
	full := s.requests+s.refused >= maxRequests || s.bytes >= maxBytes
	s.mu.Unlock()
	switch {
	case what == document:
		s.fulfil(e.RequestID, s.page.Response)
		return
	case what == away:
		s.route(e.Request.URL + e.Request.URLFragment)
		s.fail(e.RequestID, network.ErrorReasonAborted)
		return
	case what == refuse || full || s.asking.Err() != nil:
		s.fail(e.RequestID, network.ErrorReasonBlockedByClient)
		return
	}
	select {
	case s.waiting <- struct{}{}:
	default:
		s.fail(e.RequestID, network.ErrorReasonBlockedByClient)
		return
	}
	if !s.begins() {
		<-s.waiting
		s.fail(e.RequestID, network.ErrorReasonBlockedByClient)
		return
	}
	go func() {
		defer s.wg.Done()
		s.fetch(e)
		<-s.waiting
		s.ended.Store(time.Now().UnixNano())
		s.open.Add(-1)
	}()
}

// begins counts one more request that is fetched, unless the page is over: then nobody waits for
// it.
func (s *showing) begins() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return false
	}
	s.wg.Add(1)
	s.open.Add(1)
	return true
}

// fetch asks the Fetcher and passes its answer on.
func (s *showing) fetch(e fetch.EventRequestPaused) {
	r, err := s.fetcher.Fetch(s.asking, Request{
		URL:    withoutFragment(e.Request.URL),
		Method: e.Request.Method,
		Kind:   string(e.ResourceType),
	})
	if err != nil {
		s.fail(e.RequestID, network.ErrorReasonBlockedByClient)
		return
	}
	s.mu.Lock()
	s.requests++
	s.bytes += len(r.Body)
	s.mu.Unlock()
	s.fulfil(e.RequestID, r)
}

// fail refuses a request and counts it.
func (s *showing) fail(id fetch.RequestID, reason network.ErrorReason) {
	s.mu.Lock()
	s.refused++
	s.mu.Unlock()
	// the tab may be gone
	_, _ = chromedp.Call(s.tab.ctx, fetch.FailRequest,
		fetch.FailRequestParams{RequestID: id, ErrorReason: reason})
}

// fulfil answers a request. Headers that speak of the transport, or make the browser do requests of
// its own, are left out.
func (s *showing) fulfil(id fetch.RequestID, r Response) {
	params := fetch.FulfillRequestParams{RequestID: id, ResponseCode: int64(r.Status), Body: r.Body}
	for name, values := range r.Header {
		if dropped[http.CanonicalHeaderKey(name)] {
			continue
		}
		for _, value := range values {
			params.ResponseHeaders = append(params.ResponseHeaders,
				&fetch.HeaderEntry{Name: name, Value: strings.ToValidUTF8(value, "")})
		}
	}
	if _, err := chromedp.Call(s.tab.ctx, fetch.FulfillRequest, params); err != nil &&
		s.tab.ctx.Err() == nil {
		s.fail(id, network.ErrorReasonFailed)
	}
}

var dropped = map[string]bool{
	"Content-Encoding":                    true,
	"Content-Length":                      true,
	"Transfer-Encoding":                   true,
	"Connection":                          true,
	"Keep-Alive":                          true,
	"Content-Disposition":                 true,
	"Link":                                true,
	"Refresh":                             true,
	"Report-To":                           true,
	"Reporting-Endpoints":                 true,
	"Nel":                                 true,
	"Alt-Svc":                             true,
	"Content-Security-Policy-Report-Only": true,
	"Strict-Transport-Security":           true,
	"Clear-Site-Data":                     true,
	"Set-Cookie":                          true,
}
