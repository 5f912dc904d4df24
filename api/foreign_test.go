package api

import (
	"strings"
	"testing"
)

// Whatever a page of another site makes a browser ask for, nothing is done for it: only a link to
// what has a page, or costs nothing, is followed. The headers are those that Chromium 140 sends.
func TestOtherSitesReachNothing(t *testing.T) {
	t.Parallel()
	const link, page = "Sec-Fetch-Mode: navigate", "Accept: text/html,application/xhtml+xml,*/*;q=0.8"
	for _, tc := range []struct {
		name          string
		headers       []string
		linked, costs bool // whether it is let through
	}{
		{"a program", nil, true, true},
		{"typed in", []string{"Sec-Fetch-Site: none", link, "Sec-Fetch-Dest: document"}, true, true},
		{"an own page", []string{"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"}, true, true},
		{"an own frame", []string{"Sec-Fetch-Site: same-origin", link, "Sec-Fetch-Dest: iframe"}, true, true},
		{"a link", []string{"Sec-Fetch-Site: cross-site", link, "Sec-Fetch-Dest: document", "Sec-Fetch-User: ?1"}, true, false},
		{"a link of another port", []string{"Sec-Fetch-Site: same-site", link, "Sec-Fetch-Dest: document"}, true, false},
		{"a picture", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, false, false},
		{"a picture of another port", []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: image"}, false, false},
		{"a script", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"}, false, false},
		{"a frame", []string{"Sec-Fetch-Site: cross-site", link, "Sec-Fetch-Dest: iframe"}, false, false},
		{"an object", []string{"Sec-Fetch-Site: cross-site", link, "Sec-Fetch-Dest: object"}, false, false},
		{"a prefetch", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors",
			"Sec-Fetch-Dest: empty", "Sec-Purpose: prefetch"}, false, false},
		{"fetch", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty",
			"Origin: https://evil.test"}, false, false},
		{"fetch, old way", []string{"Origin: https://evil.test", page}, false, false},
		{"a sandboxed page", []string{"Origin: null"}, false, false},
		{"a picture, old way", []string{"Referer: http://evil.test/", "Accept: image/png,*/*;q=0.8"}, false, false},
		{"a link, old way", []string{"Referer: http://evil.test/", page}, true, false},
		{"an own page, old way", []string{"Referer: http://127.0.0.1:27295/urls", "Accept: image/png"}, true, true},
		{"a referrer that cannot be read", []string{"Referer: http://%zz"}, false, false},
	} {
		for pattern, of := range reaches {
			path := strings.NewReplacer("{$}", "", "{host}", "a.test", "{file}", "dashboard.css", "{offset}",
				"0").Replace(strings.TrimPrefix(pattern, "GET "))
			if path == "/api/v1/events" {
				path += "?format=json"
			}
			want := tc.linked
			if of == costly {
				want = tc.costs
			}
			if w := ask(New(&fakeNode{}, Options{}), "GET", path, "", tc.headers...); (w.Code != 403) !=
				want {
				t.Errorf("%s, GET %s: %d", tc.name, path, w.Code)
			}
		}
	}
}
