package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"crawlnode/config"
	"crawlnode/crawl"
)

func (f *fakeNode) CrawlConfig(context.Context) (crawl.CrawlReport, error) {
	return crawl.CrawlReport{
		State:    crawl.CrawlIdle,
		Version:  "3-a",
		Settings: config.Report(&crawl.Settings{}),
	}, f.err
}

func (f *fakeNode) ChangeCrawl(
	ctx context.Context,
	c crawl.CrawlChange,
) (crawl.CrawlReport, error) {
	report, err := f.CrawlConfig(ctx)
	if err != nil {
		return crawl.CrawlReport{}, err
	}
	if c.Version != "" && c.Version != report.Version {
		return crawl.CrawlReport{}, fmt.Errorf("%w: it is %s", crawl.ErrChanged, report.Version)
	}
	if c.Settings["partitions"] != nil {
		return crawl.CrawlReport{}, &crawl.FieldErrors{
			Fields: []crawl.FieldError{{Field: "partitions", Detail: "fixed"}},
			Fixed:  true,
		}
	}
	if raw := c.Settings["sites"]; raw != nil {
		return f.changeSites(report, raw)
	}
	if c.Settings["delay"] == nil {
		return crawl.CrawlReport{}, &crawl.FieldErrors{Fields: []crawl.FieldError{
			{Field: "x\x1b", Detail: "is no setting"}, {Field: "y", Detail: "nor this"}}}
	}
	report.Version = "4-a"
	return report, nil
}

func TestCrawlSettings(t *testing.T) {
	t.Parallel()
	h := New(&fakeNode{}, Options{})
	if w := ask(h, "GET", "/api/v1/crawl", ""); w.Code != 200 || w.Header().Get("ETag") != `"3-a"` ||
		!strings.Contains(w.Body.String(), `"untold":[]`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if w := ask(h, "PUT", "/api/v1/crawl", ask(h, "GET", "/api/v1/crawl", "").Body.String()); w.Code !=
		200 {
		t.Errorf("what GET gives, written back: %d %s", w.Code, w.Body)
	}
	for _, tc := range []struct {
		body, match string
		code        int
		want        string
	}{
		{`{"settings":{"delay":"2s"}}`, "", 200, `"version":"4-a"`},
		{`{"version":"3-a","settings":{"delay":"2s"}}`, "", 200, "4-a"},
		{`{"settings":{"delay":"2s"}}`, `"3-a"`, 200, "4-a"},
		{`{"settings":{"delay":"2s"}}`, `*`, 200, "4-a"},
		{`{"version":"2-a","settings":{"delay":"2s"}}`, "", 412, "it is 3-a"},
		{`{"settings":{"delay":"2s"}}`, `"2-a"`, 412, "it is 3-a"},
		{`{"version":"3-a","settings":{"delay":"2s"}}`, `"2-a"`, 400, "differ"},
		{`{"settings":{}}`, "", 400, "names no setting"},
		{`{"delay":"2s"}`, "", 400, "unknown field"},
		{`{"settings":{"delay":"2s"}} x`, "", 400, "something follows"},
		{``, "", 400, "the body is not"},
		{strings.Repeat(" ", maxChangeBytes+1), "", 413, "larger than"},
		{`{"settings":{"partitions":1}}`, "", 409, `{"field":"partitions","detail":"fixed"}`},
		{`{"settings":{"x":1}}`, "", 400, `"errors":[{"field":"x\\x1b","detail":"is no setting"},{"field":"y","detail":"nor this"}]`},
	} {
		var headers []string
		if tc.match != "" {
			headers = append(headers, "If-Match: "+tc.match)
		}
		w := ask(h, "PUT", "/api/v1/crawl", tc.body, headers...)
		if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%.50s %s: %d %s; want %d %s", tc.body, tc.match, w.Code, w.Body, tc.code, tc.want)
		}
		var p Problem
		if tc.code != 200 && (w.Header().Get("Content-Type") != problemType ||
			json.Unmarshal(w.Body.Bytes(), &p) != nil || p.Status != tc.code) {
			t.Errorf("%.50s: no problem: %s", tc.body, w.Body)
		}
	}
	for _, line := range []string{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site"} {
		if w := ask(h, "PUT", "/api/v1/crawl", `{"settings":{"delay":"2s"}}`, line); w.Code != 403 {
			t.Errorf("%s: %d", line, w.Code)
		}
	}
}
