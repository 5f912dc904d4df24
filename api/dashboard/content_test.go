package dashboard

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// capture is a WARC record as an archive has it.
func capture(t *testing.T, head, body string) []byte {
	t.Helper()
	block := head + "\r\n\r\n" + body
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	kind := "text/html"
	if strings.Contains(head, "image/png") {
		kind = "image/png"
	}
	fmt.Fprintf(z, "WARC/1.1\r\nWARC-Type: response\r\n"+
		"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-000000000001>\r\n"+
		"WARC-Date: 2026-03-01T12:00:00Z\r\nWARC-Target-URI: http://a.test/\r\n"+
		"WARC-Identified-Payload-Type: %s\r\nContent-Type: application/http;msgtype=response\r\n"+
		"Content-Length: %d\r\n\r\n%s\r\n\r\n", kind, len(block), block)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestArchivedContent(t *testing.T) {
	t.Parallel()
	f := &fakeNode{text: "x", archive: capture(t, "HTTP/1.1 200 OK\r\nX-Served: \x1b[2J<b>",
		"<title>T</title><p>Read <b>me</b> <script>alert(1)</script>")}
	h := serve(f, nil)
	for target, want := range map[string]string{
		"/urls?url=http://a.test/":                       "Read me",
		"/urls?url=http://a.test/&view=text":             `aria-current="true">Text</a>`,
		"/urls?url=http://a.test/&view=headers":          `X-Served: \u{1b}[2J&lt;b&gt;`,
		"/urls?url=http://a.test/&view=page":             `<iframe class="stored" sandbox="" referrerpolicy="no-referrer" src="/archive?url=http%3A%2F%2Fa.test%2F"`,
		"/urls?url=http://a.test/&view=%3Cscript%3Ehi()": `aria-current="true">Text</a>`,
	} {
		if w := get(h, target); w.Code != 200 || !strings.Contains(w.Body.String(), want) ||
			strings.Contains(w.Body.String(), "alert(1)") {
			t.Errorf("%s: %d without %s\n%s", target, w.Code, want, mainOf(w.Body.String()))
		}
	}
	f.archive = capture(t, "HTTP/1.1 200 OK\r\nContent-Type: image/png", "x")
	for target, want := range map[string]string{
		"/urls?url=http://a.test/":           "it has no text: it is image/png",
		"/urls?url=http://a.test/&view=page": "only HTML is shown as a page, and this is image/png",
	} {
		if body := get(h, target).Body.String(); !strings.Contains(body, want) ||
			strings.Contains(body, "<iframe") {
			t.Errorf("%s of a picture:\n%s", target, mainOf(body))
		}
	}
	f.archive = nil
	if body := get(h, "/urls?url=http://a.test/").Body.String(); !strings.Contains(body,
		crawl.ErrNoCapture.Error()) {
		t.Errorf("no node answers:\n%s", mainOf(body))
	}
}

// An archived page comes with a policy that lets it do nothing, and as the passive page that it is
// made into; so does a failure.
func TestFrameIsSealed(t *testing.T) {
	t.Parallel()
	f := &fakeNode{text: "x", archive: capture(t,
		"HTTP/1.1 200 OK\r\nContent-Security-Policy: default-src *\r\nLink: </x>; rel=preload\r\n"+
			"Refresh: 0",
		"<p onclick=a()>Read<script>alert(1)</script><link rel=preconnect href=//evil.test>")}
	h := serve(f, nil)
	w := get(h, "/archive?url=http://a.test/")
	if body := w.Body.String(); w.Code != 200 || body != "<p>Read" ||
		w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d %q", w.Code, body)
	}
	sealed := func(h http.Header) {
		t.Helper()
		csp := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp,
			"sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:;") ||
			strings.Contains(csp, "allow-") ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "SAMEORIGIN" ||
			h.Get("Link")+h.Get("Refresh") != "" {
			t.Errorf("%v", h)
		}
	}
	sealed(w.Header())
	f.archive, f.text = nil, evil
	w = get(h, "/archive?url=http://a.test/")
	if w.Code != 404 || w.Header().Get("Content-Type") != "text/plain; charset=utf-8" ||
		strings.ContainsAny(w.Body.String(), "\x1b\u202e") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	sealed(w.Header())
}
