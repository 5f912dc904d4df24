package api

import (
	"strings"
	"testing"
)

func TestDebug(t *testing.T) {
	t.Parallel()
	open, keyed := NewDebug(Options{}), NewDebug(Options{Access: secretOnly})
	for _, c := range []struct {
		name, method, path string
		headers            []string
		code               int
	}{
		{"the list", "GET", "/debug/pprof/", nil, 200},
		{"a profile", "GET", "/debug/pprof/goroutine?debug=1", nil, 200},
		{"the status", "GET", "/status", nil, 404},
		{"a change", "POST", "/debug/pprof/", nil, 405},
		{"a rebound name", "GET", "/debug/pprof/", []string{"Host: evil.example"}, 403},
		{"another site", "GET", "/debug/pprof/", []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"a sibling site", "GET", "/debug/pprof/", []string{"Sec-Fetch-Site: same-site"}, 403},
		{"typed in", "GET", "/debug/pprof/", []string{"Sec-Fetch-Site: none"}, 200},
	} {
		if w := ask(open, c.method, c.path, "", c.headers...); w.Code != c.code {
			t.Errorf("%s: %d, want %d: %s", c.name, w.Code, c.code, w.Body)
		}
	}
	if w := ask(keyed, "GET", "/debug/pprof/", ""); w.Code != 401 {
		t.Errorf("without the token: %d", w.Code)
	}
	if w := ask(keyed, "GET", "/debug/pprof/", "", "Authorization: Bearer secret"); w.Code != 200 ||
		!strings.Contains(w.Body.String(), "goroutine") {
		t.Errorf("with the token: %d %s", w.Code, w.Body)
	}
}
