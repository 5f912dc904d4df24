package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
)

// listed is how many URLs a fakeNode lists, and listedIn the partition of the second half.
const (
	listed   = 2500
	listedIn = 7
)

// ListURLs lists so many URLs that a walk needs three pages.
func (f *fakeNode) ListURLs(_ context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
	if f.err != nil {
		return nil, f.err
	}
	if q.State != "" && q.State != crawl.ListFailed {
		return &crawl.URLPage{}, nil
	}
	from := 0
	if q.After != "" {
		if _, err := fmt.Sscanf(q.After, "at%d", &from); err != nil {
			return nil, fmt.Errorf("%w: after is no cursor", crawl.ErrBadQuery)
		}
	}
	page := &crawl.URLPage{Scanned: int64(q.Limit)}
	if f.breaks && q.Partition == nil && from == 0 {
		page.Unread = []crawl.UnreadPartition{
			{Partition: listedIn, After: "at1200", Why: "it is just moving"}}
	}
	cause, reason, status := "timeout", "=timeout: \"a\"\x1b, b", 599
	for n := from; n < min(from+q.Limit, listed); n++ {
		page.URLs = append(page.URLs, crawl.URLLine{
			URL:    fmt.Sprintf("http://a.test/%d?a&b", n),
			Host:   "a.test",
			State:  crawl.ListFailed,
			Status: &status,
			Cause:  &cause,
			Reason: &reason,
			Depth:  n,
		})
	}
	if from+q.Limit < listed {
		next := fmt.Sprintf("at%d", from+q.Limit)
		page.Next = &next
	}
	return page, nil
}

func TestListPaths(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		query string
		err   error
		code  int
		want  string
	}{
		{"", nil, 200, `"next":"at100"`},
		{"limit=1000&after=at2000", nil, 200, `"next":null`},
		{"state=queued", nil, 200, `"urls":[]`},
		{"limit=1001", nil, 400, "limit must be"},
		{"limit=0", nil, 400, "limit must be"},
		{"after=x", nil, 400, "after is no cursor"},
		{"partition=-1", nil, 400, "partition must be"},
		{"changed=yes", nil, 400, "changed must be true or false"},
		{"referrer=1", nil, 400, "referrer must be true or false"},
		{"since=yesterday", nil, 400, "is no time"},
		{"format=xml", nil, 400, "format must be"},
		{"", errors.New("still joining"), 503, "still joining"},
		{"format=csv", errors.New("still joining"), 503, "still joining"},
		{"url=", nil, 400, "ask with ?url=URL"},
		{"format=jsonl&limit=3", nil, 200, "http://a.test/2?a&b"},
		{"format=csv&state=queued", nil, 200, "url,host,state"},
	} {
		w := ask(New(&fakeNode{err: tc.err}, Options{}), "GET", "/api/v1/urls?"+tc.query, "")
		if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%s: %d %.300s; want %d %s", tc.query, w.Code, w.Body, tc.code, tc.want)
		}
	}
}

// TestListStreams: both formats have every URL once, and what a stranger wrote does no harm.
func TestListStreams(t *testing.T) {
	t.Parallel()
	h := New(&fakeNode{}, Options{})
	lines := bytes.Split(bytes.TrimSpace(ask(h, "GET", "/api/v1/urls?format=jsonl", "").Body.Bytes()),
		[]byte("\n"))
	if len(lines) != listed {
		t.Fatalf("%d lines", len(lines))
	}
	for n, line := range lines {
		var l crawl.URLLine
		if err := json.Unmarshal(line, &l); err != nil || l.Depth != n {
			t.Fatalf("line %d: %s: %v", n, line, err)
		}
	}
	w := ask(h, "GET", "/api/v1/urls?format=csv", "")
	if kind := w.Header().Get("Content-Type"); !strings.HasPrefix(kind, "text/csv") {
		t.Errorf("it is %s", kind)
	}
	rows, err := csv.NewReader(w.Body).ReadAll()
	if err != nil || len(rows) != listed+1 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	if got := strings.Join(rows[listed], "|"); got !=
		`http://a.test/2499?a&b|a.test|failed|599|2499|0|||timeout|'=timeout: "a" , b|0|||` {
		t.Errorf("the last row is %s", got)
	}
}

// TestListOfMissingPartition: the rest of a partition that was not read comes at the end.
func TestListOfMissingPartition(t *testing.T) {
	t.Parallel()
	w := ask(New(&fakeNode{breaks: true}, Options{}), "GET", "/api/v1/urls?format=jsonl", "")
	if lines := strings.Count(w.Body.String(), "\n"); lines != listed+listed-1200 {
		t.Errorf("%d lines", lines)
	}
}

// TestListOutlastsTimeouts: the time limits of short requests do not end a list whose pages take
// long.
func TestListOutlastsTimeouts(t *testing.T) {
	t.Parallel()
	const limit = 500 * time.Millisecond
	srv := httptest.NewUnstartedServer(New(slowLister{&fakeNode{}, 3 * limit}, Options{}))
	srv.Config.ReadTimeout, srv.Config.WriteTimeout = limit, 2*limit
	srv.Start()
	defer srv.Close()
	var resp *http.Response
	for end := time.Now().Add(10 * time.Minute); resp == nil; {
		var err error
		resp, err = http.Get(srv.URL + "/api/v1/urls?format=jsonl")
		if err != nil && time.Now().After(end) { // a busy machine may not read the request in time
			t.Fatal(err)
		}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if lines := bytes.Count(body, []byte("\n")); err != nil || lines != listed {
		t.Errorf("%d lines: %v", lines, err)
	}
}

// slowLister takes its time for each page, unless its request is over.
type slowLister struct {
	*fakeNode
	takes time.Duration
}

func (s slowLister) ListURLs(ctx context.Context, q crawl.URLQuery) (*crawl.URLPage, error) {
	select {
	case <-time.After(s.takes):
		return s.fakeNode.ListURLs(ctx, q)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *fakeNode) Search(_ context.Context, q crawl.SearchQuery) (*crawl.SearchReport, error) {
	if q.Query == "off" {
		return nil, fmt.Errorf("%w: set index=on", crawl.ErrRefused)
	}
	lang := "en"
	return &crawl.SearchReport{
		Query:       q.Query,
		Interpreted: q.Query,
		Total:       41,
		TotalExact:  true,
		Coverage:    1,
		Results: []crawl.SearchResult{{Title: "<b>T\x1b", Snippet: "a hit", Highlight: []crawl.SearchPart{
			{Text: "a "}, {Text: "<hit>", Hit: true}},
			Link: "http://a.test/x?y=1&z=2", Host: "a.test", Lang: &lang, File: "f.warc.gz",
			AlsoAt: []string{}}},
	}, nil
}
