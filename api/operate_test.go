package api

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestNodeOrders gives orders by id and by name; several nodes may have had the same name, one
// after the other.
func TestNodeOrders(t *testing.T) {
	t.Parallel()
	nodes := []crawl.NodeStatus{
		{ID: "id-n1", Name: "n1", State: crawl.NodeAlive},
		{ID: "id-dead", Name: "n2", State: crawl.NodeFailed},
		{ID: "id-old", Name: "n3", State: crawl.NodeFailed},
		{ID: "id-new", Name: "n3", State: crawl.NodeAlive},
		{ID: "id-x1", Name: "n4", State: crawl.NodeFailed},
		{ID: "id-x2", Name: "n4", State: crawl.NodeFailed},
		{ID: "id-self", Name: "self", State: crawl.NodeAlive},
		{ID: "id-busy", Name: "busy", State: crawl.NodeFailed},
	}
	for _, tc := range []struct {
		path  string
		code  int
		order string // the order that the node got
		want  string
	}{
		{"id-n1/drain", 200, "drain id-n1", `{"id":"id-n1","name":"n1","order":"drain"}`},
		{"n1/drain", 200, "drain id-n1", `"order":"drain"`},
		{"n1/stop", 200, "stop id-n1", `"order":"stop"`},
		{"stop", 200, "stop all", `{"stopping":[{"id":"id-self","name":"self"}],"unanswered":[]}`},
		{"n2/forget", 200, "forget id-dead", `"id":"id-dead"`},
		{"n3/forget", 200, "forget id-old", `"id":"id-old"`},
		{"n3/drain", 200, "drain id-new", `"id":"id-new"`},
		{"n4/forget", 409, "", "several nodes had this name: use the id of one: id-x1 (failed), id-x2 (failed)"},
		{"self/forget", 409, "", "forget self: refused: it is this node"},
		{"nobody/forget", 404, "", "forget nobody: unknown node"},
		{"%1b%5B2J/drain", 404, "", `drain \\x1b[2J: unknown node`},
		{"busy/forget", 503, "", "no majority answers"},
		{"n1/weight", 400, "", `the body is not {\"weight\":2}`},
		{"n1/bury", 404, "", "there is nothing at this path"},
	} {
		node := &fakeNode{nodes: nodes}
		w := ask(New(node, Options{}), "POST", "/api/v1/nodes/"+tc.path, "")
		if got := strings.Join(node.orders, ","); w.Code != tc.code || got != tc.order ||
			!strings.Contains(w.Body.String(), tc.want) {
			t.Errorf("%s: %d %s, told %q; want %d %s, %q", tc.path, w.Code, w.Body, got, tc.code, tc.want,
				tc.order)
		}
		if retry := w.Header().Get("Retry-After") != ""; retry != (tc.code == 503) {
			t.Errorf("%s: Retry-After %v with %d", tc.path, retry, w.Code)
		}
	}
	if w := ask(New(&fakeNode{}, Options{}), "GET", "/api/v1/nodes/n1/forget", ""); w.Code != 405 {
		t.Errorf("a GET forgets: %d", w.Code)
	}
}

func TestCrawlActions(t *testing.T) {
	t.Parallel()
	for _, action := range []string{"pause", "resume", "stop"} {
		node := &fakeNode{}
		w := ask(New(node, Options{}), "POST", "/api/v1/crawl/"+action, "")
		if w.Code != 200 || strings.Join(node.orders, ",") != action ||
			!strings.Contains(w.Body.String(), `{"state":"paused","untold":[]}`) {
			t.Errorf("%s: %d %s, told %q", action, w.Code, w.Body, node.orders)
		}
		node = &fakeNode{err: fmt.Errorf("%w: nothing runs", crawl.ErrRefused)}
		if w = ask(New(node, Options{}), "POST", "/api/v1/crawl/"+action, ""); w.Code != 409 ||
			!strings.Contains(w.Body.String(), action+": refused: nothing runs") {
			t.Errorf("%s: %d %s", action, w.Code, w.Body)
		}
		if w = ask(New(node, Options{}), "GET", "/api/v1/crawl/"+action, ""); w.Code != 405 {
			t.Errorf("a GET does %s: %d", action, w.Code)
		}
	}
}

// Clients that try one path after the other get one line in the log, not one each.
func TestRefusalsShareALog(t *testing.T) {
	t.Parallel()
	var lines strings.Builder
	h := New(&fakeNode{},
		Options{Access: secretOnly, Logger: slog.New(slog.NewTextHandler(&lines, nil))})
	for _, path := range []string{"/", "/status", "/metrics", "/api/v1/nodes", "/no/such/path"} {
		if w := ask(h, "GET", path, ""); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	if n := strings.Count(lines.String(), "\n"); n != 1 {
		t.Errorf("%d lines:\n%s", n, lines.String())
	}
}
