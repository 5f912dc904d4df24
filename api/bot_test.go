package api

import (
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/web/botauth"
)

// TestDirectory: the directory of keys needs no token, is there only with a key, and is signed for
// the node's own names. "evil.example" is a name that anybody could point at the node.
func TestDirectory(t *testing.T) {
	t.Parallel()
	const path = "/.well-known/http-message-signatures-directory"
	o := Options{
		Access: func(string) (crawl.Caller, error) { return crawl.Caller{}, crawl.ErrForbidden },
		Hosts:  []string{"n1.example.org"},
		BotKeys: func(authority string, own bool) botauth.Published {
			p := botauth.Published{Body: []byte("{}\n"), Digest: "d"}
			if own {
				p.Input, p.Signature = "of "+authority, "s"
			}
			return p
		},
	}
	h := New(&fakeNode{}, o)
	for _, tc := range []struct{ host, input string }{
		{"127.0.0.1:27295", "of 127.0.0.1:27295"}, {"N1.example.org", "of n1.example.org"},
		{"n1.example.org:443", "of n1.example.org"}, {"n1.example.org:80", "of n1.example.org"},
		{"n1.example.org:8080", "of n1.example.org:8080"}, {"evil.example", ""},
	} {
		w := ask(h, "GET", path, "", "Host: "+tc.host)
		if w.Code != 200 || w.Body.String() != "{}\n" ||
			w.Header().Get("Content-Type") != botauth.MediaType ||
			w.Header().Get("Content-Digest") != "d" || w.Header().Get("Cache-Control") == "" ||
			w.Header().Get("Signature-Input") != tc.input ||
			(w.Header().Get("Signature") != "") != (tc.input != "") {
			t.Errorf("%s: %d %s %v", tc.host, w.Code, w.Body, w.Header())
		}
	}
	w := ask(h, "HEAD", path, "", "Host: n1.example.org")
	if w.Code != 200 || w.Header().Get("Signature") != "s" {
		t.Errorf("HEAD: %d %v", w.Code, w.Header())
	}
	if w := ask(New(&fakeNode{}, Options{}), "GET", path, ""); w.Code != 404 ||
		!strings.Contains(w.Body.String(), "--bot-key") {
		t.Errorf("without a key: %d %s", w.Code, w.Body)
	}
}
