package render

import (
	"net/http"
	"net/url"
	"strings"

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

// judge decides about one request. answered: the document was given already.
func judge(kind network.ResourceType, method, address, pageURL string, mainFrame, answered bool) verdict {
	u, err := url.Parse(address)
	web := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && len(address) <= maxURL
	switch {
	case kind == network.ResourceTypeDocument && mainFrame && !answered && address == withoutFragment(pageURL):
		return document
	case kind == network.ResourceTypeDocument && mainFrame && web && method == http.MethodGet:
		return away
	case kind == network.ResourceTypeDocument || !web || method != http.MethodGet && method != http.MethodHead:
		return refuse
	}
	switch kind {
	case network.ResourceTypePing, network.ResourceTypeCSPViolationReport, network.ResourceTypePrefetch, network.ResourceTypeWebSocket, network.ResourceTypeEventSource:
		return refuse
	}
	return ask
}

func withoutFragment(address string) string {
	address, _, _ = strings.Cut(address, "#")
	return address
}

// paused handles one request. It never waits: what has to be fetched gets a goroutine, as far as there
// is room.
func (t *tab) paused(e fetch.EventRequestPaused) {
	t.mu.Lock()
	what := judge(e.ResourceType, e.Request.Method, e.Request.URL, t.page.URL, e.FrameID == t.main, t.answered)
	if what == document {
		t.answered = true
	}
	full := t.requests+t.refused >= maxRequests || t.bytes >= maxBytes
	t.mu.Unlock()
	switch {
	case what == document:
		t.fulfil(e.RequestID, t.page.Response)
		return
	case what == away:
		t.route(e.Request.URL + e.Request.URLFragment)
		t.fail(e.RequestID, network.ErrorReasonAborted)
		return
	case what == refuse || full || t.asking.Err() != nil:
		t.fail(e.RequestID, network.ErrorReasonBlockedByClient)
		return
	}
	select {
	case t.waiting <- struct{}{}:
	default:
		t.fail(e.RequestID, network.ErrorReasonBlockedByClient)
		return
	}
	t.open.Add(1)
	t.wg.Go(func() {
		defer func() { <-t.waiting; t.open.Add(-1) }()
		t.fetch(e)
	})
}

// fetch asks the Fetcher and passes its answer on.
func (t *tab) fetch(e fetch.EventRequestPaused) {
	r, err := t.fetcher.Fetch(t.asking, Request{URL: withoutFragment(e.Request.URL), Method: e.Request.Method, Kind: string(e.ResourceType)})
	if err != nil {
		t.fail(e.RequestID, network.ErrorReasonBlockedByClient)
		return
	}
	t.mu.Lock()
	t.requests++
	t.bytes += len(r.Body)
	t.mu.Unlock()
	t.fulfil(e.RequestID, r)
}

// fail refuses a request and counts it.
func (t *tab) fail(id fetch.RequestID, reason network.ErrorReason) {
	t.mu.Lock()
	t.refused++
	t.mu.Unlock()
	_, _ = chromedp.Call(t.ctx, fetch.FailRequest, fetch.FailRequestParams{RequestID: id, ErrorReason: reason}) // the tab may be gone
}

// fulfil answers a request. Headers that speak of the transport, or make the browser do requests of its own, are
// left out.
func (t *tab) fulfil(id fetch.RequestID, r Response) {
	params := fetch.FulfillRequestParams{RequestID: id, ResponseCode: int64(r.Status), Body: r.Body}
	for name, values := range r.Header {
		if dropped[http.CanonicalHeaderKey(name)] {
			continue
		}
		for _, value := range values {
			params.ResponseHeaders = append(params.ResponseHeaders, &fetch.HeaderEntry{Name: name, Value: strings.ToValidUTF8(value, "")})
		}
	}
	if _, err := chromedp.Call(t.ctx, fetch.FulfillRequest, params); err != nil && t.ctx.Err() == nil {
		t.fail(id, network.ErrorReasonFailed)
	}
}

var dropped = map[string]bool{"Content-Encoding": true, "Content-Length": true, "Transfer-Encoding": true, "Connection": true, "Keep-Alive": true,
	"Content-Disposition": true, "Link": true, "Refresh": true, "Report-To": true, "Reporting-Endpoints": true, "Nel": true, "Alt-Svc": true,
	"Content-Security-Policy-Report-Only": true, "Strict-Transport-Security": true, "Clear-Site-Data": true, "Set-Cookie": true}
