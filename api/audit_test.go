package api

import (
	"strconv"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestChangesAreAudited checks that each change is recorded with its caller, and that refused
// requests and reads are not.
func TestChangesAreAudited(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		request, body, token string
		want                 string // "role what old new status"; "" nothing
	}{
		{"PUT /api/v1/crawl", `{"settings":{"delay":"2s"}}`, "admin", `admin|PUT /api/v1/crawl|{"delay":"0s"}|{"delay":"2s"}|200`},
		{"PUT /api/v1/crawl", `{"settings":{"delay":"2s"}}`, "operate", ""},
		{"PUT /api/v1/crawl", `{"settings":{}}`, "admin", `admin|PUT /api/v1/crawl|||400`},
		{"POST /api/v1/crawl/pause", "", "operate", "operate|POST /api/v1/crawl/pause|idle|pause|200"},
		{"POST /api/v1/seeds", "http://a/\nhttp://b/", "operate", "operate|POST /api/v1/seeds|idle|2 seeds: http://a/|200"},
		{"POST /api/v1/seeds", `{"urls":["http://a/"]}`, "admin", "admin|POST /api/v1/seeds|idle|1 seed: http://a/|200"},
		{"POST /api/v1/frontier/urls",
			`{"urls":[{"url":"http://a/"},{"url":"http://b/"},{"url":"http://c/","source_url":"http://a/"}]}`,
			"operate", "operate|POST /api/v1/frontier/urls|idle|2 seeds: http://a/|202"},
		{"POST /api/v1/frontier/urls",
			`{"urls":[{"url":"http://c/","source_url":"http://a/"},{"url":"http://a/"}]}`, "admin",
			"admin|POST /api/v1/frontier/urls|idle|1 seed: http://a/|202"},
		{"POST /api/v1/frontier/urls", `{"urls":[{"url":"http://a/` + strings.Repeat("x", 300) + `"}]}`,
			"operate",
			"operate|POST /api/v1/frontier/urls|idle|1 seed: http://a/" + strings.Repeat("x", 191) +
				"...|202"},
		{"POST /api/v1/frontier/urls", `{"urls":[{"url":"http://c/","source_url":"http://a/"},{"url":"http://d/","depth":2}]}`, "operate", ""},
		{"POST /api/v1/frontier/urls", `{"urls":[{"url":"http://a/"}]}`, "read", ""},
		{"POST /control/seeds", "urls=http%3A%2F%2Fa%2F", "operate", "operate|POST /control/seeds||urls=http%3A%2F%2Fa%2F|303"},
		{"POST /api/v1/nodes/id-dead/forget", "", "admin", "admin|POST /api/v1/nodes/id-dead/forget|failed|forget n2 id-dead|200"},
		{"POST /api/v1/keys/rotate", `{"key":"the secret"}`, "admin", "admin|POST /api/v1/keys/rotate||the key 0123456789abcdef: known|200"},
		{"POST /api/v1/tokens/0123456789abcdef/revoke", "", "admin",
			"admin|POST /api/v1/tokens/0123456789abcdef/revoke||revoke 0123456789abcdef|200"},
		{"POST /control/crawl", "action=pause&back=/x", "operate", "operate|POST /control/crawl||action=pause|303"},
		{"POST /control/theme", "theme=dark", "read", ""},
		{"POST /api/v1/crawl/pause", "", "read", ""},
		{"POST /api/v1/crawl/pause", "", "", ""},
		{"GET /status", "", "admin", ""},
	} {
		node := &fakeNode{nodes: []crawl.NodeStatus{{ID: "id-dead", Name: "n2", State: crawl.NodeFailed}}}
		method, path, _ := strings.Cut(c.request, " ")
		headers := []string{"Authorization: Bearer " + c.token}
		if strings.HasPrefix(path, "/control/") {
			headers = append(headers, "Content-Type: application/x-www-form-urlencoded")
		}
		ask(New(node, Options{Access: secretOnly}), method, path, c.body, headers...)
		got := ""
		for _, e := range node.changes {
			got += strings.Join([]string{e.Role, e.What, e.Old, e.New, strconv.Itoa(e.Status)}, "|")
			if e.From != "192.0.2.1" || e.Token != c.token || e.At.IsZero() {
				t.Errorf("%s: %+v", c.request, e)
			}
		}
		if got != c.want {
			t.Errorf("%s by %q: %q, want %q", c.request, c.token, got, c.want)
		}
	}
}

// TestCapturesDoNotRun checks that page contents are served as a sandboxed attachment, never as a
// page of this server.
func TestCapturesDoNotRun(t *testing.T) {
	t.Parallel()
	w := ask(New(&fakeNode{}, Options{}), "GET", "/api/v1/captures/x.warc.gz/0", "")
	h := w.Header()
	if w.Code != 200 || h.Get("Content-Type") != "application/warc+gzip" ||
		h.Get("Content-Disposition") != "attachment" ||
		!strings.HasPrefix(h.Get("Content-Security-Policy"), "sandbox;") ||
		h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%d %v", w.Code, h)
	}
}
