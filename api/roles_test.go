package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// allowed is the access table, written a second time by hand: a path that
// is in no row, or in another one than the server's, fails. Each column is a role.
//
//   - nobody   r read   o operate   a admin
var allowed = map[string]string{
	"GET /livez":  "-roa",
	"GET /readyz": "-roa",
	"GET /.well-known/http-message-signatures-directory": "-roa",

	"GET /":                                "roa",
	"GET /nodes":                           "roa",
	"GET /ring":                            "roa",
	"GET /hosts":                           "roa",
	"GET /hosts/{host}":                    "roa",
	"GET /urls":                            "roa",
	"GET /events":                          "roa",
	"GET /pages":                           "roa",
	"GET /start":                           "roa",
	"GET /search":                          "roa",
	"GET /opensearch.xml":                  "roa",
	"GET /api/v1/search":                   "roa",
	"GET /freshness":                       "roa",
	"GET /settings":                        "roa",
	"GET /archive":                         "roa",
	"GET /static/{file}":                   "roa",
	"GET /healthz":                         "roa",
	"GET /metrics":                         "roa",
	"GET /openapi.json":                    "roa",
	"GET /status":                          "roa",
	"GET /api/v1/stats":                    "roa",
	"GET /api/v1/history":                  "roa",
	"GET /api/v1/nodes":                    "roa",
	"GET /api/v1/ring":                     "roa",
	"GET /api/v1/events":                   "roa",
	"GET /api/v1/urls":                     "roa",
	"GET /api/v1/hosts":                    "roa",
	"GET /api/v1/hosts/{host}":             "roa",
	"GET /api/v1/analysis/url":             "roa",
	"GET /api/v1/analysis/host":            "roa",
	"GET /api/v1/cdxj":                     "roa",
	"GET /api/v1/captures":                 "roa",
	"GET /cdx":                             "roa",
	"GET /api/v1/captures/{file}/{offset}": "roa",
	"GET /api/v1/crawl":                    "roa",
	"GET /api/v1/audit":                    "roa",
	"GET /api/v1/sites":                    "roa",
	"GET /api/v1/sites/test":               "roa",
	"GET /sites":                           "roa",
	"POST /control/theme":                  "roa",

	"POST /api/v1/seeds":            "oa",
	"POST /api/v1/seeds/remove":     "oa",
	"POST /api/v1/crawl/pause":      "oa",
	"POST /api/v1/crawl/resume":     "oa",
	"POST /api/v1/sites/test":       "oa",
	"POST /control/sites/test":      "oa",
	"POST /control/crawl":           "oa",
	"POST /api/v1/frontier/urls":    "oa",
	"GET /api/v1/frontier/next":     "oa",
	"POST /api/v1/frontier/results": "oa",
	"POST /control/seeds":           "oa",
	"POST /control/start":           "oa",

	"POST /api/v1/crawl/stop":         "a",
	"PUT /api/v1/crawl":               "a",
	"PUT /api/v1/sites":               "a",
	"POST /control/sites":             "a",
	"POST /api/v1/nodes/{id}/drain":   "a",
	"POST /api/v1/nodes/{id}/weight":  "a",
	"POST /api/v1/nodes/{id}/zone":    "a",
	"POST /api/v1/nodes/{id}/forget":  "a",
	"POST /api/v1/nodes/{id}/stop":    "a",
	"POST /api/v1/nodes/stop":         "a",
	"POST /api/v1/tokens/{id}/revoke": "a",
	"POST /api/v1/keys/rotate":        "a",
	"POST /control/nodes":             "a",
	"POST /control/settings":          "a",
}

// everyPath lists all methods with their paths: of the document, and of the dashboard.
func everyPath(t *testing.T) []string {
	t.Helper()
	var document struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(OpenAPI(), &document); err != nil {
		t.Fatal(err)
	}
	var all []string
	for path, methods := range document.Paths {
		for method := range methods {
			all = append(all, strings.ToUpper(method)+" "+path)
		}
	}
	New(&fakeNode{}, Options{}) // panics if a path of the dashboard has no row
	for pattern := range roles {
		all = append(all, strings.Replace(pattern, "{$}", "", 1))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// TestWhoMayAskForWhat calls every path with every role: allowed calls are answered, others are
// refused before they reach the node.
func TestWhoMayAskForWhat(t *testing.T) {
	t.Parallel()
	fill := strings.NewReplacer("{id}", "id-dead", "{host}", "a.example", "{file}", "f.warc.gz",
		"{offset}", "0")
	asked := map[string]bool{}
	for _, pattern := range everyPath(t) {
		who, ok := allowed[pattern]
		if !ok {
			t.Errorf("%s stands in no row of the table of who may ask for what", pattern)
			continue
		}
		asked[pattern] = true
		method, path, _ := strings.Cut(pattern, " ")
		for column, token := range map[string]string{"-": "", "r": "read", "o": "operate", "a": "admin"} {
			node := &fakeNode{ready: true}
			var headers []string
			if token != "" {
				headers = []string{"Authorization: Bearer " + token}
			}
			w := ask(New(node, Options{Access: secretOnly}), method, fill.Replace(path)+"?format=json", "",
				headers...)
			switch may := strings.Contains(who, column); {
			case may && (w.Code == http.StatusUnauthorized || w.Code == http.StatusForbidden ||
				w.Code == http.StatusMethodNotAllowed):
				t.Errorf("%s is refused to role %q: %d %s", pattern, token, w.Code, w.Body)
			case !may && token == "" && w.Code != http.StatusUnauthorized,
				!may && token != "" && w.Code != http.StatusForbidden:
				t.Errorf("%s is not refused to role %q: %d %s", pattern, token, w.Code, w.Body)
			case !may && len(node.orders)+len(node.got) > 0:
				t.Errorf("%s by role %q was refused and done: %q", pattern, token, node.orders)
			}
		}
	}
	for pattern := range maps.Keys(allowed) {
		if !asked[pattern] {
			t.Errorf("%s has a row, and there is no such path", pattern)
		}
	}
}

// TestAPathWithoutARole keeps the program from starting.
func TestAPathWithoutARole(t *testing.T) {
	t.Parallel()
	defer func() {
		if recover() == nil {
			t.Error("a path without a row was served")
		}
	}()
	roleOf("GET /api/v1/new")
}

// The form that pauses the crawl can stop it only for an admin.
func TestStopByForm(t *testing.T) {
	t.Parallel()
	for role, want := range map[string]string{"operate": "pause", "admin": "pause,stop"} {
		node := &fakeNode{}
		h := New(node, Options{Access: secretOnly})
		for _, action := range []string{"pause", "stop"} {
			ask(h, "POST", "/control/crawl", "action="+action, "Authorization: Bearer "+role,
				"Content-Type: application/x-www-form-urlencoded")
		}
		if got := strings.Join(node.orders, ","); got != want {
			t.Errorf("%s: told %q, want %q", role, got, want)
		}
	}
}

// TestFailedLogins makes an address with too many failures wait. Other addresses do not wait, and
// neither does a valid token from that address.
func TestFailedLogins(t *testing.T) {
	t.Parallel()
	h := New(&fakeNode{}, Options{Access: secretOnly})
	codes := map[int]int{}
	for range 1000 {
		w := ask(h, "GET", "/status", "", "Authorization: Bearer guess")
		codes[w.Code]++
		if w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
			t.Error("429 without Retry-After")
		}
	}
	if codes[401] < 100 || codes[401] > 130 || codes[429] != 1000-codes[401] {
		t.Errorf("answers: %v", codes)
	}
	if w := ask(h, "GET", "/status", "", "Authorization: Bearer read"); w.Code != 200 {
		t.Errorf("a valid token of the same address: %d", w.Code)
	}
	if w := ask(h, "GET", "/status", "", "Authorization: Bearer old"); w.Code != 429 {
		t.Errorf("an expired token of that address: %d", w.Code)
	}
	if w := ask(New(&fakeNode{}, Options{Access: secretOnly}), "GET", "/status", "",
		"Authorization: Bearer old"); w.Code != 401 || !strings.Contains(w.Body.String(), "has expired") {
		t.Errorf("an expired token: %d %s", w.Code, w.Body)
	}
}

// On loopback a name that anybody could own is refused also with a key.
func TestReboundNameWithAKey(t *testing.T) {
	t.Parallel()
	h := New(&fakeNode{}, Options{Access: secretOnly, Hosts: []string{"own.example"}})
	for _, c := range []struct {
		local, host string
		code        int
	}{
		{"127.0.0.1", "evil.example", 403}, {"::1", "evil.example", 403}, {"127.0.0.1", "own.example", 200},
		{"127.0.0.1", "localhost", 200}, {"192.0.2.7", "proxy.example", 200},
	} {
		through := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			local := net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(c.local), 27295))
			h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local)))
		})
		if w := ask(through, "GET", "/status", "", "Authorization: Bearer read", "Host: "+
			c.host); w.Code != c.code {
			t.Errorf("%s at %s: %d, want %d", c.host, c.local, w.Code, c.code)
		}
	}
}

// TestAskerIsTold checks that the node learns the caller.
func TestAskerIsTold(t *testing.T) {
	t.Parallel()
	var got crawl.Caller
	seen := http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) { got = crawl.CallerOf(r.Context()) })
	for _, c := range []struct {
		name, from string
		access     func(string) (crawl.Caller, error)
		want       crawl.Caller
	}{
		{"no key, this machine", "127.0.0.1:5", nil, crawl.Caller{Role: crawl.RoleAdmin, From: "127.0.0.1"}},
		{"no key, IPv6", "[::1]:5", nil, crawl.Caller{Role: crawl.RoleAdmin, From: "::1"}},
		{"no key, elsewhere", "192.0.2.1:5", nil, crawl.Caller{Role: crawl.RoleAdmin, From: "192.0.2.1", Remote: true}},
		{"no key, no address", "@", nil, crawl.Caller{Role: crawl.RoleAdmin, From: "invalid IP", Remote: true}},
		{"a key, this machine", "127.0.0.1:5", secretOnly, crawl.Caller{ID: "operate", Role: crawl.RoleOperate, From: "127.0.0.1", Remote: true}},
	} {
		o := Options{Access: c.access}
		o.begin()
		h := guard(seen, crawl.RoleRead, linked, o)
		from := http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) { r.RemoteAddr = c.from; h.ServeHTTP(w, r) })
		ask(from, "GET", "/status", "", "Authorization: Bearer operate")
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		got = crawl.Caller{}
	}
	if fmt.Sprint(crawl.RoleNobody, crawl.RoleRead, crawl.RoleOperate,
		crawl.RoleAdmin) != "nobody read operate admin" {
		t.Error("the roles have other names")
	}
}

// TestRevoke passes the id on.
func TestRevoke(t *testing.T) {
	t.Parallel()
	node := &fakeNode{}
	w := ask(New(node, Options{}), "POST", "/api/v1/tokens/0123456789abcdef/revoke", "")
	if w.Code != 200 || strings.Join(node.orders, "") != "revoke 0123456789abcdef" ||
		!bytes.Contains(w.Body.Bytes(), []byte(`"untold":[]`)) {
		t.Errorf("%d %s, told %q", w.Code, w.Body, node.orders)
	}
}
