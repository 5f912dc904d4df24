package api

import (
	"strings"
	"testing"
)

// A form works from the node's own pages, also where browsers send no Sec-Fetch-Site (plain HTTP
// beyond loopback), and from no other page.
func TestFormsComeFromOwnPages(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		headers []string
		code    int
	}{
		{"own page", []string{"Sec-Fetch-Site: same-origin", "Origin: http://127.0.0.1:27295"}, 303},
		{"own page, old way", []string{"Origin: http://127.0.0.1:27295"}, 303},
		{"another site", []string{"Sec-Fetch-Site: cross-site", "Origin: http://evil.test"}, 403},
		{"another site, old way", []string{"Origin: http://evil.test"}, 403},
		{"another port", []string{"Sec-Fetch-Site: same-site", "Origin: http://127.0.0.1:80"}, 403},
		{"a page without a referrer", []string{"Origin: null"}, 403},
		{"a name that points here", []string{"Host: evil.test", "Origin: http://evil.test"}, 403},
	} {
		for path, form := range map[string]string{
			"crawl": "action=pause",
			"seeds": "urls=http%3A%2F%2Fa.test%2F",
			"nodes": "order=drain&node=id-n1",
			"start": "urls=http%3A%2F%2Fa.test%2F",
			"theme": "theme=dark",
		} {
			node := &fakeNode{}
			w := ask(New(node, Options{}), "POST", "/control/"+path, form,
				append(tc.headers, "Content-Type: application/x-www-form-urlencoded")...)
			if told := len(node.orders)+len(node.got) > 0; w.Code != tc.code ||
				told != (tc.code == 303 && path != "theme") {
				t.Errorf("%s, %s: %d %s, told %v", tc.name, path, w.Code, w.Body, told)
			}
		}
	}
	if w := ask(New(&fakeNode{}, Options{}), "GET", "/control/crawl?action=stop", ""); w.Code != 405 {
		t.Errorf("a link stops the crawl: %d", w.Code)
	}
}

// With a token every page requires it, files and forms too.
func TestPagesWantTheToken(t *testing.T) {
	t.Parallel()
	h := New(&fakeNode{}, Options{Access: secretOnly})
	for _, path := range []string{"/", "/nodes", "/ring", "/hosts", "/urls", "/events", "/pages",
		"/start", "/settings", "/sites", "/static/dashboard.js", "/api/v1/history"} {
		if w := ask(h, "GET", path, ""); w.Code != 401 || strings.Contains(w.Body.String(), "<html") {
			t.Errorf("%s: %d without the token", path, w.Code)
		}
		if w := ask(h, "GET", path, "", "Authorization: Bearer secret"); w.Code != 200 {
			t.Errorf("%s: %d %s with the token", path, w.Code, w.Body)
		}
	}
	if w := ask(h, "GET", "/archive?url=http://a.test/", ""); w.Code != 401 {
		t.Errorf("an archived page without the token: %d", w.Code)
	}
}
