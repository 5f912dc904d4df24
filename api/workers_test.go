package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// NextURLs answers with the query, or with what the worker's name asks for.
func (f *fakeNode) NextURLs(_ context.Context, q crawl.NextQuery) (crawl.WorkerLease, error) {
	if q.Worker == "full" {
		return crawl.WorkerLease{}, crawl.ErrTooManyLeased
	}
	at := time.Unix(1e9, 0).UTC()
	return crawl.WorkerLease{
		LeaseID:        fmt.Sprintf("%s %d %v", q.Worker, q.Most, q.Wait),
		LeaseExpiresAt: &at,
		URLs: []crawl.LeasedURL{
			{URL: "http://a/", Host: "a", Robots: crawl.LeasedRobots{Allowed: true}}},
	}, nil
}

func (f *fakeNode) SettleURLs(
	_ context.Context,
	r crawl.WorkerResults,
) (crawl.ResultsReport, error) {
	switch r.LeaseID {
	case "ended":
		return crawl.ResultsReport{}, crawl.ErrLeaseEnded
	case "moving":
		return crawl.ResultsReport{}, fmt.Errorf("its partition is moving")
	}
	return crawl.ResultsReport{Processed: len(r.Results)}, nil
}

func (f *fakeNode) AddFound(_ context.Context, found crawl.FoundURLs) (crawl.FoundReport, error) {
	return crawl.FoundReport{Accepted: len(found.URLs)}, nil
}

// TestWorkers: the paths for workers, their bounds and their errors.
func TestWorkers(t *testing.T) {
	t.Parallel()
	h := New(&fakeNode{}, Options{})
	const next = "/api/v1/frontier/next?worker_id=w"
	for _, c := range []struct {
		method, path, body string
		code               int
		says               string
		headers            []string
	}{
		{"GET", next, "", 200, `"lease_id":"w 100 5s"`, nil},
		{"GET", next + "&batch_size=1000&timeout_ms=60000", "", 200, `"lease_id":"w 1000 1m0s"`, nil},
		{"GET", next + "&timeout_ms=0", "", 200, `"robots_rules":{"allowed":true,"crawl_delay":null}`, nil},
		{"GET", next, "", 200, `"lease_expires_at":"2001-09-09T01:46:40Z"`, nil},
		{"GET", "/api/v1/frontier/next", "", 400, "worker_id", nil},
		{"GET", "/api/v1/frontier/next?worker_id=" + strings.Repeat("x", 129), "", 400, "worker_id", nil},
		{"GET", next + "&batch_size=1001", "", 400, "batch_size", nil},
		{"GET", next + "&batch_size=0", "", 400, "batch_size", nil},
		{"GET", next + "&batch_size=<b>", "", 400, "batch_size", nil},
		{"GET", next + "&timeout_ms=60001", "", 400, "timeout_ms", nil},
		{"GET", next + "&timeout_ms=-1", "", 400, "timeout_ms", nil},
		{"GET", "/api/v1/frontier/next?worker_id=full", "", 429, "send results first", nil},
		{"GET", next, "", 403, "another site", []string{"Sec-Fetch-Site: cross-site"}},
		{"GET", next, "", 403, "another site", []string{"Origin: https://other.test"}},
		{"POST", "/api/v1/frontier/results",
			`{"lease_id":"l","results":[{"url":"http://a/","status":"success","http_status":200}]}`, 200,
			`"processed":1`, nil},
		{"POST", "/api/v1/frontier/results", `{"lease_id":"l","results":[]}`, 200, `"processed":0`, nil},
		{"POST", "/api/v1/frontier/results",
			`{"lease_id":"l","results":[{"url":"http://a/","status":"error","simhash":1234,"retry_after":2.5}]}`,
			200, `"retries_scheduled":0`, nil},
		{"POST", "/api/v1/frontier/results",
			`{"lease_id":"l","results":[{"url":"http://a/","status":"success","http_status":999}]}`, 200,
			`"processed":1`, nil},
		{"POST", "/api/v1/frontier/results",
			`{"lease_id":"l","results":[{"url":"http://a/","status":"success","http_status":-1}]}`, 400,
			"results[0].http_status is -1", nil},
		{"POST", "/api/v1/frontier/results",
			`{"lease_id":"l","results":[{"url":"http://a/","status":"success","http_status":1000}]}`, 400,
			"from 100 to 999", nil},
		{"POST", "/api/v1/frontier/results", `{"lease_id":"ended","results":[]}`, 410, "queued again", nil},
		{"POST", "/api/v1/frontier/results", `{"lease_id":"moving","results":[]}`, 503, "moving", nil},
		{"POST", "/api/v1/frontier/results", `{"results":[]}`, 400, "lease_id", nil},
		{"POST", "/api/v1/frontier/results", `{"lease_id":"l","results":[{"url":"http://a/","status":"ok"}]}`, 400, "success or error", nil},
		{"POST", "/api/v1/frontier/results", `{"lease_id":"l","result":[]}`, 400, "openapi.json", nil},
		{"POST", "/api/v1/frontier/results", `{"lease_id":"l","results":[` +
			strings.Repeat(`{"url":"x","status":"error"},`, maxResults) +
			`{"url":"x","status":"error"}]}`, 413, "several requests", nil},
		{"POST", "/api/v1/frontier/urls",
			`{"urls":[{"url":"http://a/","priority":0.5,"source_url":"http://b/","depth":2,"discovered_at":"2026-01-01T00:00:00Z"}],"crawl_id":"c"}`,
			202, `{"accepted":1,"rejected":0,"duplicates":0}`, nil},
		{"POST", "/api/v1/frontier/urls", `[]`, 400, "openapi.json", nil},
	} {
		w := ask(h, c.method, c.path, c.body, c.headers...)
		if w.Code != c.code || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s %s %.80s: %d %s, want %d with %s", c.method, c.path, c.body, w.Code, w.Body, c.code,
				c.says)
		}
		if again := w.Header().Get("Retry-After"); (again != "") != (c.code == 429 || c.code == 503) {
			t.Errorf("%s %s: %d with Retry-After %q", c.method, c.path, w.Code, again)
		}
	}
}

// FuzzWorkerBodies: whatever a worker sends is answered.
func FuzzWorkerBodies(f *testing.F) {
	f.Add("results",
		`{"lease_id":"l","results":[{"url":"http://a/","status":"success","links":["x"]}]}`)
	f.Add("urls", `{"urls":[{"url":"http://a/","depth":-1}]}`)
	f.Fuzz(func(t *testing.T, path, body string) {
		if path != "results" && path != "urls" {
			return
		}
		w := ask(New(&fakeNode{}, Options{}), "POST", "/api/v1/frontier/"+path, body)
		if !json.Valid(w.Body.Bytes()) || w.Code >= 500 && w.Code != 503 {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
