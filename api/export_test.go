package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"

	"crawlnode/crawl"
	"crawlnode/output/readback"
)

func (f *fakeNode) WriteIndex(_ context.Context, out io.Writer) error {
	if f.err != nil {
		return f.err
	}
	_, err := io.WriteString(out, "org,a)/ 20261121101112 {}\n")
	if f.breaks {
		return errors.New("a member has gone")
	}
	return err
}

const cdxLine = `org,a)/ 20261121101112 {"url":"http://a.org/","mime":"text/html","status":"200","digest":"sha1:AB","length":"9","offset":"7","filename":"f.warc.gz"}`

func (f *fakeNode) Captures(_ context.Context, url string) (*crawl.CapturesReport, error) {
	if url == "no" {
		return nil, crawl.ErrBadQuery
	}
	return &crawl.CapturesReport{
		URL:      url,
		Captures: []crawl.CaptureReport{{File: "f", Offset: 7, Node: "n1"}},
	}, f.err
}

func (f *fakeNode) EachCapture(
	_ context.Context,
	r crawl.IndexRange,
	fn func(crawl.NodeRef, []byte) error,
) error {
	if f.err != nil {
		return f.err
	}
	if r != (crawl.IndexRange{From: "org,a)/ ", To: "org,a)/!"}) {
		return fmt.Errorf("asked for %+v", r)
	}
	return fn(crawl.NodeRef{}, []byte(cdxLine))
}

// TestCapturesOfAURL: both lists of captures, and what cannot be asked for.
func TestCapturesOfAURL(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		path string
		err  error
		code int
		want string
	}{
		{"/api/v1/captures?url=http://a.org/", nil, 200, `"captures":[{"at":`},
		{"/api/v1/captures?url=no", nil, 400, "Bad Request"},
		{"/api/v1/captures", nil, 400, "url"},
		{"/api/v1/captures?url=x", errors.New("still joining"), 503, "still joining"},
		{"/cdx?url=a.org", nil, 200, "org,a)/ 20261121101112 http://a.org/ text/html 200 AB 9\n"},
		{"/cdx?url=a.org&output=json&fl=filename,offset", nil, 200, `["f.warc.gz", "7"]]`},
		{"/cdx?url=a.org&showNumPages=true", nil, 200, "1\n"},
		{"/cdx?url=a.org&matchType=all", nil, 400, "exact, prefix, host, domain"},
		{"/cdx", nil, 400, "url is missing"},
		{"/cdx?url=a.org", errors.New("still joining"), 503, "still joining"},
	} {
		w := ask(New(&fakeNode{err: tc.err}, Options{}), "GET", tc.path, "")
		if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%s: %d %.300s; want %d %s", tc.path, w.Code, w.Body, tc.code, tc.want)
		}
	}
}

func (f *fakeNode) OpenCapture(
	_ context.Context,
	file string,
	offset int64,
) (io.ReadCloser, error) {
	if packed, ok := packedRecords()[file]; ok {
		return io.NopCloser(bytes.NewReader(packed)), f.err
	}
	if file != "x.warc.gz" && file != "x.warc.zst" {
		return nil, fmt.Errorf("%w: nobody has %s", crawl.ErrNoCapture, file)
	}
	return io.NopCloser(strings.NewReader(fmt.Sprintf("%s at %d", file, offset))), f.err
}

func TestExportPaths(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		path string
		err  error
		code int
		want string
	}{
		{"cdxj", nil, 200, "org,a)/ 2026"},
		{"cdxj", errors.New("still joining"), 503, "still joining"},
		{"captures/x.warc.gz/17", nil, 200, "x.warc.gz at 17"},
		{"captures/x.warc.zst/18", nil, 200, "x.warc.zst at 18"},
		{"captures/y.warc.gz/17", nil, 404, "nobody has y.warc.gz"},
		{"captures/x.warc.gz/-17", nil, 400, "the offset must be a number"},
		{"captures/x.warc.gz/%1b", nil, 400, `\\x1b`},
	} {
		w := ask(New(&fakeNode{err: tc.err}, Options{}), "GET", "/api/v1/"+tc.path, "")
		if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%s: %d %.300s; want %d %s", tc.path, w.Code, w.Body, tc.code, tc.want)
		}
		if kind, zstd := w.Header().Get("Content-Type"),
			strings.Contains(tc.path, ".zst/"); tc.code == 200 &&
			strings.HasPrefix(tc.path, "captures") && (kind == "application/warc+zstd") != zstd {
			t.Errorf("%s is %s", tc.path, kind)
		}
	}
}

// packedRecords are records of answers whose bodies are packed, by the names of their files.
func packedRecords() map[string][]byte {
	record := func(head, body string) string {
		block := head + "\r\n\r\n" + body
		return fmt.Sprintf("WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.org/\r\n"+
			"WARC-Date: 2026-11-30T00:00:00Z\r\n"+
			"WARC-Record-ID: <urn:uuid:1>\r\nContent-Type: application/http;msgtype=response\r\n"+
			"Content-Length: %d\r\n\r\n%s\r\n\r\n", len(block), block)
	}
	member := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = io.WriteString(z, text) // memory
		_ = z.Close()
		return b.Bytes()
	}
	var br bytes.Buffer
	z := brotli.NewWriter(&br)
	_, _ = io.WriteString(z, "hello, hello") // memory
	_ = z.Close()
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: "
	return map[string][]byte{
		"br.warc.gz":      member(record(head+"br", br.String())),
		"damaged.warc.gz": member(record(head+"gzip", "\x1f\x8b\x08\x00damaged")),
		"long.warc.gz":    member(record("HTTP/1.1 200 OK", strings.Repeat("x", readback.MaxContent+1))),
		"info.warc.gz": member("WARC/1.1\r\nWARC-Type: warcinfo\r\n" +
			"WARC-Date: 2026-11-30T00:00:00Z\r\nWARC-Record-ID: <urn:uuid:2>\r\nContent-Length: 1\r\n\r\n" +
			"x\r\n\r\n"),
		"none.warc.gz": []byte("no gzip"),
	}
}

// TestAnswerOfACapture: a body comes without content codings, as an attachment that says whether it
// is all.
func TestAnswerOfACapture(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		path      string
		code      int
		want, cut string
	}{
		{"br.warc.gz/0?form=answer", 200, "Content-Encoding: br\r\n\r\nhello, hello", ""},
		{"long.warc.gz/0?form=answer", 200, "\r\n\r\nxxxx", "length"},
		{"damaged.warc.gz/0?form=answer", 404, "decoded", ""},
		{"info.warc.gz/0?form=answer", 404, "no answer", ""},
		{"none.warc.gz/0?form=answer", 404, "no whole record", ""},
		{"y.warc.gz/0?form=answer", 404, "nobody has", ""},
		{"br.warc.gz/0?form=%1b", 400, "form must be", ""},
		{"x.warc.gz/17?form=record", 200, "x.warc.gz at 17", ""},
	} {
		w := ask(New(&fakeNode{}, Options{}), "GET", "/api/v1/captures/"+tc.path, "")
		if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.want) ||
			w.Header().Get("WARC-Truncated") != tc.cut {
			t.Errorf("%s: %d %q %.300s; want %d %s", tc.path, w.Code, w.Header(), w.Body, tc.code, tc.want)
		}
		if tc.code == 200 && (w.Header().Get("Content-Disposition") != "attachment" ||
			!strings.HasPrefix(w.Header().Get("Content-Security-Policy"), "sandbox")) {
			t.Errorf("%s: a browser may take it for a page: %q", tc.path, w.Header())
		}
	}
}

// TestBrokenOffExport: a client can tell a partial answer from a complete one.
func TestBrokenOffExport(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(New(&fakeNode{breaks: true}, Options{}))
	defer s.Close()
	r, err := http.Get(s.URL + "/api/v1/cdxj")
	if err != nil {
		return // the connection broke before the head came
	}
	defer func() { _ = r.Body.Close() }()
	if text, err := io.ReadAll(r.Body); err == nil {
		t.Errorf("a part was taken for the whole: %q", text)
	}
}
