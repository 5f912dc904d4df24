package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"crawlnode/crawl"
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
	return &crawl.CapturesReport{URL: url, Captures: []crawl.CaptureReport{{File: "f", Offset: 7, Node: "n1"}}}, f.err
}

func (f *fakeNode) EachCapture(_ context.Context, r crawl.IndexRange, fn func(crawl.NodeRef, []byte) error) error {
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

func (f *fakeNode) OpenCapture(_ context.Context, file string, offset int64) (io.ReadCloser, error) {
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
		if kind, zstd := w.Header().Get("Content-Type"), strings.Contains(tc.path, ".zst/"); tc.code == 200 && strings.HasPrefix(tc.path, "captures") && (kind == "application/warc+zstd") != zstd {
			t.Errorf("%s is %s", tc.path, kind)
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
