//race:none

package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/local/closedport"
)

// fakeNode answers like a node's API.
type fakeNode struct {
	token string
	calls int // number of requests that added seeds
	fail  int // the one of them that fails, from 1
}

func (f *fakeNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f.token != "" && r.Header.Get("Authorization") != "Bearer "+f.token {
		f.problem(w, http.StatusUnauthorized, "a token, please")
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /status":
		f.answer(w, crawl.Status{ServedBy: "asked for " + r.URL.Query().Get("scope")})
	case "GET /api/v1/ring":
		f.answer(w, crawl.RingReport{View: 4})
	case "GET /api/v1/nodes":
		f.answer(w, []crawl.NodeStatus{{Name: "n1"}})
	case "GET /readyz":
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, "not ready: still joining\n")
	case "GET /healthz":
		_, _ = io.WriteString(w, "ok\n")
	case "GET /metrics":
		_, _ = io.WriteString(w, "up 1\n")
	case "POST /api/v1/nodes/a/b?/drain", "POST /api/v1/nodes/n1/forget":
		f.answer(w, map[string]string{"id": "id-n1", "name": "n1"})
	case "POST /api/v1/nodes/n2/forget":
		f.problem(w, http.StatusConflict, "n2 answers")
	case "GET /api/v1/urls":
		f.answer(w, crawl.URLReport{Input: r.URL.Query().Get("url"), Summary: r.URL.Query().Get("depth")})
	case "GET /api/v1/hosts/[::1]":
		f.answer(w, crawl.HostReport{Host: "[::1]"})
	case "POST /api/v1/crawl/pause":
		f.answer(w, crawl.ActionReport{State: crawl.CrawlPaused, Untold: []string{"n3"}})
	case "POST /api/v1/seeds":
		f.addSeeds(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (f *fakeNode) addSeeds(w http.ResponseWriter, r *http.Request) {
	if f.calls++; f.calls == f.fail {
		f.problem(w, http.StatusServiceUnavailable, "disk full")
		return
	}
	var body struct{ URLs []crawl.Seed }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil ||
		r.Header.Get("Content-Type") != "application/json" {
		f.problem(w, http.StatusBadRequest, "not JSON")
		return
	}
	report := crawl.SeedReport{Accepted: len(body.URLs)}
	for i, s := range body.URLs {
		if s.URL == "bad" {
			report.Accepted--
			report.Invalid = append(report.Invalid,
				crawl.SeedError{Line: i + 1, Input: s.URL, Error: "no scheme"})
		}
	}
	f.answer(w, report)
}

func (f *fakeNode) answer(w http.ResponseWriter, v any) { _ = json.NewEncoder(w).Encode(v) }

func (f *fakeNode) problem(w http.ResponseWriter, code int, detail string) {
	w.WriteHeader(code)
	f.answer(w, map[string]string{"detail": detail})
}

func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func open(t *testing.T, o Options) *Client {
	t.Helper()
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

func TestReads(t *testing.T) {
	t.Parallel()
	c := open(t, Options{Addr: "http://" + serve(t, &fakeNode{}) + "/"})
	ctx := t.Context()
	if st, err := c.Status(ctx, true); err != nil || st.ServedBy != "asked for node" {
		t.Errorf("status: %+v %v", st, err)
	}
	if ring, err := c.Ring(ctx); err != nil || ring.View != 4 {
		t.Errorf("ring: %+v %v", ring, err)
	}
	if nodes, err := c.Nodes(ctx); err != nil || len(nodes) != 1 {
		t.Errorf("nodes: %+v %v", nodes, err)
	}
	if r, err := c.ExplainURL(ctx, "http://a/?b&c=%20#d", 2); err != nil ||
		r.Input != "http://a/?b&c=%20#d" || r.Summary != "2" {
		t.Errorf("URL: %+v %v", r, err)
	}
	if r, err := c.ExplainURL(ctx, "x", -1); err != nil || r.Summary != "" {
		t.Errorf("URL at its own depth: %+v %v", r, err)
	}
	if r, err := c.DescribeHost(ctx, "[::1]"); err != nil || r.Host != "[::1]" {
		t.Errorf("host: %+v %v", r, err)
	}
	if text, err := c.Metrics(ctx); err != nil || string(text) != "up 1\n" {
		t.Errorf("metrics: %q %v", text, err)
	}
	if ok, why, err := c.Check(ctx, "ready"); ok || err != nil || why != "not ready: still joining" {
		t.Errorf("check: %v %q %v", ok, why, err)
	}
	if ok, _, err := c.Check(ctx, "healthy"); !ok || err != nil {
		t.Errorf("check: %v %v", ok, err)
	}
	if _, _, err := c.Check(ctx, "happy"); err == nil {
		t.Error("unknown check accepted")
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	c := open(t, Options{Addr: serve(t, &fakeNode{})})
	ctx := t.Context()
	// escaped in the path
	if n, err := c.DrainNode(ctx, "a/b?"); err != nil || n.ID != "id-n1" || n.Name != "n1" {
		t.Errorf("drain: %+v %v", n, err)
	}
	if n, err := c.ForgetNode(ctx, "n1"); err != nil || n.ID != "id-n1" {
		t.Errorf("forget: %+v %v", n, err)
	}
	var failed *Error
	if _, err := c.ForgetNode(ctx, "n2"); !errors.As(err, &failed) ||
		failed.Code != http.StatusConflict || failed.Detail != "n2 answers" {
		t.Errorf("forget: %v", err)
	}
	if r, err := c.ControlCrawl(ctx, crawl.ActionPause); err != nil || r.State != crawl.CrawlPaused ||
		len(r.Untold) != 1 {
		t.Errorf("pause: %+v %v", r, err)
	}
}

// TestAddSeeds sends three requests; the report has the line numbers of the input file.
func TestAddSeeds(t *testing.T) {
	t.Parallel()
	seeds := make([]crawl.Seed, 2500)
	for i := range seeds {
		seeds[i] = crawl.Seed{URL: "http://a/", Line: 10 + i}
	}
	seeds[2100].URL, seeds[5].URL, seeds[6].URL, seeds[6].Line = "bad", "bad", "bad", 0
	node := &fakeNode{}
	c := open(t, Options{Addr: serve(t, node)})
	report, err := c.AddSeeds(t.Context(), seeds)
	if err != nil || report.Accepted != 2497 || node.calls != 3 {
		t.Fatalf("%+v %v after %d calls", report, err, node.calls)
	}
	if got := []int{report.Invalid[0].Line, report.Invalid[1].Line,
		report.Invalid[2].Line}; got[0] != 15 || got[1] != 7 || got[2] != 2110 {
		t.Errorf("lines %v", got)
	}

	node.fail = node.calls + 2
	report, err = c.AddSeeds(t.Context(), seeds)
	var failed *Error
	if !errors.As(err, &failed) || failed.Code != 503 || !strings.Contains(err.Error(), "disk full") ||
		report.Accepted != 998 {
		t.Errorf("%+v %v", report, err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	free := closedport.Reserve(t).Addr
	ctx := t.Context()

	_, err := open(t, Options{Addr: free}).Status(ctx, false)
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "nobody answers at "+free) {
		t.Errorf("nobody there: %v", err)
	}
	_, err = open(t, Options{Addr: "not an\x00address"}).Status(ctx, false)
	if err == nil || !strings.Contains(err.Error(), "is not an address") {
		t.Errorf("bad address: %v", err)
	}
	other := serve(t, http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }))
	_, err = open(t, Options{Addr: other}).Status(ctx, false)
	if err == nil || !strings.Contains(err.Error(), "is --addr right?") {
		t.Errorf("another server: %v", err)
	}
	keyed := serve(t, &fakeNode{token: "secret"})
	_, err = open(t, Options{Addr: keyed}).Status(ctx, false)
	if err == nil || !strings.Contains(err.Error(), "cluster with a key") {
		t.Errorf("no token: %v", err)
	}
	if _, err = open(t, Options{Addr: keyed, Token: "secret"}).Status(ctx, false); err != nil {
		t.Errorf("token: %v", err)
	}
	moved := serve(t, http.RedirectHandler("http://192.0.2.1/", http.StatusFound))
	var failed *Error
	if _, err = open(t, Options{Addr: moved}).Status(ctx, false); !errors.As(err, &failed) ||
		failed.Code != 302 {
		t.Errorf("redirect: %v", err)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err = open(t, Options{Addr: keyed}).Status(gone, false); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
