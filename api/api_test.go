//race:marked

package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/crawl"
)

// fakeNode is a Backend with fixed answers.
type fakeNode struct {
	status  crawl.Status
	ready   bool
	err     error
	breaks  bool // WriteIndex fails when it has begun
	hang    bool // AddSeeds waits for the end of its context
	got     []crawl.Seed
	invalid []crawl.SeedError
	nodes   []crawl.NodeStatus
	orders  []string // "drain ID", "pause"...
	events  fakeEvents
	changes []crawl.AuditEntry
	rules   string     // for sites
	mu      sync.Mutex // guards got, orders, changes and rules while requests run
}

func (f *fakeNode) RecordChange(e crawl.AuditEntry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes = append(f.changes, e)
}

// ordered notes an order.
func (f *fakeNode) ordered(order string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.orders = append(f.orders, order)
}

func (f *fakeNode) Audit(context.Context, int) (crawl.AuditReport, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return crawl.AuditReport{Changes: slices.Clone(f.changes)}, f.err
}

func (f *fakeNode) Status(_ context.Context, nodeOnly bool) (*crawl.Status, error) {
	st := f.status
	if nodeOnly {
		st.ServedBy = "node only"
	}
	return &st, f.err
}

func (f *fakeNode) RemoveSeeds(
	_ context.Context,
	seeds []crawl.Seed,
) (r crawl.RemovalReport, _ error) {
	for _, s := range seeds {
		r.Add(s.URL, crawl.RemovalDone)
	}
	return r, nil
}

func (f *fakeNode) AddSeeds(ctx context.Context, seeds []crawl.Seed) (crawl.SeedReport, error) {
	if f.hang {
		<-ctx.Done()
		return crawl.SeedReport{}, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, seeds...)
	return crawl.SeedReport{Accepted: len(seeds), Invalid: f.invalid}, f.err
}

func (f *fakeNode) Ring(context.Context) (*crawl.RingReport, error) {
	return &crawl.RingReport{
		View:       3,
		Partitions: []crawl.PartitionReport{{Partition: 7, Owner: "a", State: crawl.PartitionHeld}},
	}, f.err
}

func (f *fakeNode) Nodes(context.Context) ([]crawl.NodeStatus, error) { return f.nodes, f.err }

func (f *fakeNode) StopMember(_ context.Context, id crawl.NodeID) error {
	f.ordered("stop " + string(id))
	return nil
}

func (f *fakeNode) StopAll(context.Context) (crawl.StopReport, error) {
	f.ordered("stop all")
	return crawl.StopReport{Stopping: []crawl.NodeRef{{ID: "id-self", Name: "self"}}}, nil
}

func (f *fakeNode) DrainMember(_ context.Context, id crawl.NodeID) error {
	return f.order("drain", id)
}

func (f *fakeNode) ForgetMember(_ context.Context, id crawl.NodeID) error {
	return f.order("forget", id)
}

func (f *fakeNode) PlaceMember(_ context.Context, id crawl.NodeID, c crawl.PlaceChange) error {
	return f.order(c.String()+" for", id)
}

func (f *fakeNode) order(what string, id crawl.NodeID) error {
	switch id {
	case "id-dead", "id-old", "id-new", "id-n1":
		f.ordered(what + " " + string(id))
		return nil
	case "id-self":
		return fmt.Errorf("%w: it is this node", crawl.ErrRefused)
	case "id-busy":
		return errors.New("no majority answers")
	}
	return crawl.ErrUnknownNode
}

func (f *fakeNode) ControlCrawl(_ context.Context, action string) (crawl.ActionReport, error) {
	if f.err != nil {
		return crawl.ActionReport{}, f.err
	}
	f.ordered(action)
	return crawl.ActionReport{State: crawl.CrawlPaused}, nil
}

func (f *fakeNode) RevokeToken(_ context.Context, id string) (crawl.RevokeReport, error) {
	if f.err != nil {
		return crawl.RevokeReport{}, f.err
	}
	f.ordered("revoke " + id)
	return crawl.RevokeReport{ID: id}, nil
}

func (f *fakeNode) RotateKey(_ context.Context, key string) (crawl.RotationReport, error) {
	if f.err != nil {
		return crawl.RotationReport{}, f.err
	}
	f.ordered("rotate " + key)
	return crawl.RotationReport{Fingerprint: "0123456789abcdef", Step: "known"}, nil
}

// secretOnly is the access check of a cluster whose key's token is "secret" and whose other tokens
// are the names of their roles.
func secretOnly(secret string) (crawl.Caller, error) {
	switch role, err := crawl.ParseRole(secret); {
	case secret == "secret":
		return crawl.Caller{ID: crawl.KeyCaller, Role: crawl.RoleAdmin}, nil
	case secret == "old":
		return crawl.Caller{}, fmt.Errorf("%w: the token 77 has expired", crawl.ErrForbidden)
	case err == nil:
		return crawl.Caller{ID: secret, Role: role}, nil
	}
	return crawl.Caller{}, errors.New("no token")
}

func (f *fakeNode) Ready() (bool, string) { return f.ready, "still joining" }
func (f *fakeNode) Metrics() http.Handler {
	return http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "crawlnode_up 1\n") })
}

// ask sends one request; header lines are "Name: value".
func ask(
	h http.Handler,
	method, target, body string,
	headers ...string,
) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Host = "127.0.0.1:27295"
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestPaths(t *testing.T) {
	t.Parallel()
	node := &fakeNode{ready: true}
	node.status.ServedBy = "n1"
	node.status.Cluster.Health.Level = crawl.HealthOK
	h := New(node, Options{})
	for _, tc := range []struct {
		method, target string
		code           int
		want           string
	}{
		{"GET", "/", 200, "asked n1 at"},
		{"GET", "/livez", 200, "ok"},
		{"GET", "/readyz", 200, "ok"},
		{"GET", "/healthz", 200, "ok"},
		{"GET", "/metrics", 200, "crawlnode_up 1"},
		{"GET", "/status", 200, `"served_by":"n1"`},
		{"HEAD", "/status", 200, ""},
		{"GET", "/status", 200, `"nodes":[]`},
		{"GET", "/status", 200, `"allowed_actions":[]`},
		{"GET", "/status?scope=node", 200, `"served_by":"node only"`},
		{"GET", "/status?format=text", 200, "asked n1"},
		{"GET", "/status?format=text", 200, "more: crawlnode status --all;"},
		{"GET", "/status?format=text&all=true", 200, "since the nodes started"},
		{"GET", "/status?format=text&all=false", 200, "more: crawlnode status --all;"},
		{"GET", "/status?all=yes", 400, "all must be true or false, not yes"},
		{"GET", "/status?format=xml", 400, "format must be json or text"},
		{"GET", "/status?scope=all", 400, "scope must be cluster or node"},
		{"GET", "/api/v1/ring", 200, `"replicas":[]`},
		{"GET", "/api/v1/ring", 200, `"holder":null`},
		{"GET", "/api/v1/ring", 200, `"in_sync":null,"reason":null`},
		{"GET", "/api/v1/nodes", 200, "[]"},
		{"GET", "/api/v1/stats", 200, `"pages_total":0`},
		{"GET", "/nothing", 404, "there is nothing at this path"},
		{"GET", "/static/nothing.js", 404, "there is nothing at this path"},
		{"GET", "/api/v1/seeds", 405, "this path accepts POST"},
		{"POST", "/status", 405, "this path accepts GET, HEAD"},
		{"POST", "/api/v1/nodes//drain", 404, "there is nothing at this path"}, // an empty variable
	} {
		w := ask(h, tc.method, tc.target, "")
		if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%s %s: %d %s; want %d %s", tc.method, tc.target, w.Code, w.Body, tc.code, tc.want)
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" ||
			w.Header().Get("Content-Security-Policy") == "" {
			t.Errorf("%s %s lacks security headers: %v", tc.method, tc.target, w.Header())
		}
		if w.Code >= 400 {
			var p Problem
			if w.Header().Get("Content-Type") != "application/problem+json" ||
				json.Unmarshal(w.Body.Bytes(), &p) != nil || p.Status != w.Code {
				t.Errorf("%s %s: no problem document: %s", tc.method, tc.target, w.Body)
			}
		}
	}
}

func TestNotReadyAndCritical(t *testing.T) {
	t.Parallel()
	node := &fakeNode{}
	node.status.Cluster.Health = crawl.Health{
		Level:   crawl.HealthCritical,
		Reasons: []crawl.HealthReason{{Code: "low_disk", Message: "no\x1b[31m space"}},
	}
	h := New(node, Options{})
	if w := ask(h, "GET", "/readyz", ""); w.Code != 503 ||
		!strings.Contains(w.Body.String(), "still joining") {
		t.Errorf("readyz: %d %s", w.Code, w.Body)
	}
	if w := ask(h, "GET", "/healthz", ""); w.Code != 503 ||
		!strings.Contains(w.Body.String(), `low_disk: no\x1b[31m space`) {
		t.Errorf("healthz: %d %s", w.Code, w.Body)
	}
	node.err = errors.New("cannot now")
	for _, path := range []string{"/status", "/api/v1/ring", "/api/v1/nodes", "/api/v1/stats", "/"} {
		if w := ask(h, "GET", path, ""); w.Code != 503 || w.Header().Get("Retry-After") == "" ||
			!strings.Contains(w.Body.String(), "cannot now") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, contentType, body string
		code                    int
		seeds                   string // URL@line, joined by spaces
		answer                  string
	}{
		{"json", "application/json",
			`{"urls":["http://a/",{"url":"http://b/","priority":0.5,"again":true}]}`, 200,
			"http://a/@1 http://b/@2", `"accepted":2`},
		{"lines", "text/plain", "http://a/\r\n\n# no\nhttp://b/", 200, "http://a/@1 http://b/@4",
			`"accepted":2,"duplicates":0,"out_of_scope":0,"invalid":[]`},
		{"lines as curl sends them", "application/x-www-form-urlencoded", "http://a/?x=1&y=2", 200, "http://a/?x=1&y=2@1", `"accepted":1`},
		{"json as curl sends it", "application/x-www-form-urlencoded", ` {"urls":["http://a/"]}`, 200, "http://a/@1", `"accepted":1`},
		{"braces in text", "text/plain", "{x}", 200, "{x}@1", `"accepted":1`},
		{"nothing", "text/plain", "\n", 200, "", `"accepted":0,"duplicates":0,"out_of_scope":0,"invalid":[]`},
		{"no list", "application/json", `{}`, 400, "", `has no \"urls\"`},
		{"unknown field", "application/json", `{"urls":[],"x":1}`, 400, "", "unknown field"},
		{"two values", "application/json", `{"urls":[]} {}`, 400, "", "something follows"},
		{"bad entries", "application/json",
			`{"urls":[7,"http://a/",{"url":"x","priority":2},{"url":""},{"link":"x"}]}`, 200, "http://a/@2",
			`"line":5`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			node := &fakeNode{}
			w := ask(New(node, Options{}), "POST", "/api/v1/seeds", tc.body, "Content-Type: "+tc.contentType)
			if w.Code != tc.code || !strings.Contains(w.Body.String(), tc.answer) {
				t.Errorf("%d %s; want %d %s", w.Code, w.Body, tc.code, tc.answer)
			}
			var got []string
			for _, s := range node.got {
				got = append(got, s.URL+"@"+crawlLine(s))
			}
			if strings.Join(got, " ") != tc.seeds {
				t.Errorf("seeds %v, want %s", got, tc.seeds)
			}
		})
	}
}

func crawlLine(s crawl.Seed) string { return plaintext.Count(int64(s.Line)) }

func TestSeedsBounds(t *testing.T) {
	t.Parallel()
	h := New(&fakeNode{}, Options{})
	if w := ask(h, "POST", "/api/v1/seeds", strings.Repeat("x", MaxBodyBytes+1)); w.Code != 413 {
		t.Errorf("large body: %d", w.Code)
	}
	if w := ask(h, "POST", "/api/v1/seeds", strings.Repeat("x\n", MaxSeeds+1)); w.Code != 413 {
		t.Errorf("many lines: %d", w.Code)
	}
	if w := ask(h, "POST", "/api/v1/seeds", `{"urls":["x"`+strings.Repeat(`,"x"`, MaxSeeds)+
		"]}"); w.Code != 413 {
		t.Errorf("many entries: %d", w.Code)
	}
}

// TestSeedsInvalidAreMerged puts the errors of the node and of the parser in the order of the
// lines.
func TestSeedsInvalidAreMerged(t *testing.T) {
	t.Parallel()
	node := &fakeNode{invalid: []crawl.SeedError{{Line: 3, Input: "x", Error: "no scheme"},
		{Line: 1, Input: "y", Error: "no scheme"}}}
	w := ask(New(node, Options{}), "POST", "/api/v1/seeds", `{"urls":["y",7,"x"]}`)
	var report crawl.SeedReport
	if err := json.Unmarshal(w.Body.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	for i, bad := range report.Invalid {
		if bad.Line != i+1 {
			t.Errorf("invalid = %+v", report.Invalid)
		}
	}
}

func TestSeedsThatCannotBeStored(t *testing.T) {
	t.Parallel()
	node := &fakeNode{hang: true}
	r := httptest.NewRequest("POST", "http://127.0.0.1/api/v1/seeds", strings.NewReader("http://a/"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	w := httptest.NewRecorder()
	New(node, Options{}).ServeHTTP(w, r.WithContext(ctx))
	if w.Code != 503 || w.Header().Get("Retry-After") == "" ||
		!strings.Contains(w.Body.String(), "send them again") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestSeedsThatAreRefused(t *testing.T) {
	t.Parallel()
	node := &fakeNode{err: fmt.Errorf("%w: no contact", crawl.ErrRefused)}
	w := ask(New(node, Options{}), "POST", "/api/v1/seeds", "http://a/")
	if w.Code != 409 || w.Header().Get("Retry-After") != "" ||
		strings.Contains(w.Body.String(), "again") {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestGuard(t *testing.T) {
	t.Parallel()
	plain := New(&fakeNode{}, Options{Hosts: []string{"crawl.example.org"}})
	keyed := New(&fakeNode{}, Options{Access: secretOnly})
	post := "POST /api/v1/seeds"
	for _, tc := range []struct {
		name    string
		handler http.Handler
		request string
		code    int
		headers []string
	}{
		{"localhost", plain, "GET /status", 200, []string{"Host: localhost:27295"}},
		{"IPv6", plain, "GET /status", 200, []string{"Host: [::1]:27295"}},
		{"a container's name", plain, "GET /status", 200, []string{"Host: node-1:27295"}},
		{"a given name", plain, "GET /status", 200, []string{"Host: crawl.example.org"}},
		{"a rebound name", plain, "GET /status", 403, []string{"Host: evil.example:27295"}},
		{"an empty host", plain, "GET /status", 403, []string{"Host: "}},
		{"livez by any name", plain, "GET /livez", 200, []string{"Host: evil.example"}},
		{"a program", plain, post, 200, nil},
		{"the same site", plain, post, 200, []string{"Sec-Fetch-Site: same-origin"}},
		{"another site", plain, post, 403, []string{"Sec-Fetch-Site: cross-site"}},
		{"another site forgets", plain, "POST /api/v1/nodes/id-dead/forget", 403, []string{"Sec-Fetch-Site: cross-site"}},
		{"another site drains", plain, "POST /api/v1/nodes/id-dead/drain", 403, []string{"Origin: https://evil.example"}},
		{"another site stops", plain, "POST /api/v1/crawl/stop", 403, []string{"Origin: null"}},
		{"a program forgets", plain, "POST /api/v1/nodes/id-dead/forget", 200, nil},
		{"to forget without a token", keyed, "POST /api/v1/nodes/id-dead/forget", 401, nil},
		{"to pause without a token", keyed, "POST /api/v1/crawl/pause", 401, nil},
		{"another origin", plain, post, 403, []string{"Origin: https://evil.example"}},
		{"a sandboxed page", plain, post, 403, []string{"Origin: null"}},
		{"the own origin", plain, post, 200, []string{"Origin: http://127.0.0.1:27295"}},
		{"no token", keyed, "GET /status", 401, nil},
		{"a wrong token", keyed, "GET /status", 401, []string{"Authorization: Bearer secres"}},
		{"a token", keyed, "GET /status", 200, []string{"Authorization: Bearer secret"}},
		{"a token by any name, beyond loopback", keyed, "GET /status", 200, []string{"Authorization: Bearer secret", "Host: n1.example.org"}},
		{"Basic", keyed, "GET /status", 200, []string{"Authorization: Basic dTpzZWNyZXQ="}},
		{"wrong Basic", keyed, "GET /status", 401, []string{"Authorization: Basic dTpzZWNyZXM="}},
		{"another scheme", keyed, "GET /status", 401, []string{"Authorization: Digest secret"}},
		{"metrics without a token", keyed, "GET /metrics", 401, nil},
		{"an unknown path without a token", keyed, "GET /x", 401, nil},
		{"livez without a token", keyed, "GET /livez", 200, nil},
		{"readyz without a token", keyed, "GET /readyz", 503, nil},
		{"a token from another site", keyed, post, 403, []string{"Authorization: Bearer secret", "Origin: https://evil.example"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			method, path, _ := strings.Cut(tc.request, " ")
			w := ask(tc.handler, method, path, "", tc.headers...)
			if w.Code != tc.code {
				t.Errorf("%d %s, want %d", w.Code, w.Body, tc.code)
			}
			if w.Code == 401 && len(w.Header().Values("WWW-Authenticate")) != 2 {
				t.Errorf("challenges: %v", w.Header())
			}
		})
	}
}

//race:meets
func TestServeEnds(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, l, New(&fakeNode{}, Options{})) }()
	resp, err := http.Get("http://" + l.Addr().String() + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("still listening")
	}
}

func FuzzSeedsBody(f *testing.F) {
	f.Add("application/json",
		[]byte(`{"urls":["http://a/",{"url":"http://b/","priority":0.5,"again":true},7]}`))
	f.Add("text/plain", []byte("http://a/\n\n# x\r\nhttp://b/\x00\xff"))
	f.Add("", []byte(" {\"urls\":[null]}"))
	f.Add("application/problem+json; charset=x", []byte(`{"urls":[{"url":"x","priority":-1}]}`))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		seeds, invalid, err := parseSeeds(contentType, body)
		if err != nil && len(seeds)+len(invalid) > MaxSeeds+len(body) {
			t.Fatal("an error and seeds")
		}
		for _, s := range seeds {
			if s.Line < 1 {
				t.Fatalf("seed without a line: %+v", s)
			}
			if p := s.Priority; p != nil && !(*p >= 0 && *p <= 1) {
				t.Fatalf("priority %v accepted", *p)
			}
		}
		for _, bad := range invalid {
			if bad.Line < 1 || len(bad.Input) > plaintext.MaxEcho+3 {
				t.Fatalf("bad complaint: %+v", bad)
			}
		}
	})
}
