package pipeline

import (
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/web/scope"
)

// TestRefreshHeader has Refresh headers as the web platform tests and servers have them. They are
// followed as a meta refresh with the same value is, whatever the answer is.
func TestRefreshHeader(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"0; url=/x":                       "/x",
		"0;url=/x":                        "/x",
		"0,URL = '/x' and more":           "/x",
		`3.5; Url="/x"`:                   "/x",
		"5 /x":                            "/x",
		"1; /x":                           "/x",
		".5;url=x":                        "/x",
		"0; url=http://a.test/x#there":    "/x",
		"0; url=/x?a,b;c=1":               "/x?a,b;c=1",
		"0;./x?\x80\xff":                  "/x?%C2%80%C3%BF",
		"0":                               "",
		"5;":                              "",
		"0; url=":                         "",
		"":                                "",
		"-1; url=/x":                      "",
		"x; url=/x":                       "",
		"0x; url=/x":                      "",
		"url=/x":                          "",
		"10; url=http://a.test/":          "", // the page itself
		"0; url=javascript:alert('/x')":   "",
		"0; url=http://other.example/x":   "",
		"0; url=http://[":                 "",
		strings.Repeat(" ", 99) + "0; /x": "/x",
	} {
		for name, answer := range map[string]string{
			"page": "", "plain text": "Content-Type: text/plain\n", "image": "Content-Type: image/png\n",
			"XML": "Content-Type: text/xml\n",
		} {
			b := newBench(t, scope.Options{})
			b.serve("http://a.test/", 200, answer+"Refresh: "+value, "")
			b.visit("http://a.test/")
			if _, o := b.one(); want == "" && len(o.Targets) > 0 ||
				want != "" && (len(o.Targets) != 1 || o.Targets[0].URL.String() != "http://a.test"+want ||
					o.Targets[0].Via != crawl.ViaRedirect) {
				t.Errorf("%q on %s: %q, want %q", value, name, targets(o.Targets), want)
			}
		}
	}
	for _, c := range []struct {
		name   string
		status int
		header string
		body   string
		want   int
		asked  int64 // not to follow
	}{
		{"with meta", 200, "", `<meta http-equiv=refresh content="0; url=/x">`, 1, 0},
		{"beside another meta", 200, "", `<meta http-equiv=refresh content="0; url=/y">`, 2, 0},
		{"201", 201, "", "", 1, 0},
		{"404", 404, "", "", 0, 0},
		{"redirect", 302, "Location: /y", "", 1, 0},
		{"nofollow", 200, "X-Robots-Tag: nofollow", "", 0, 1},
		{"nofollow of no page", 200, "Content-Type: image/png\nX-Robots-Tag: nofollow", "", 0, 1},
		{"nofollow for another", 200, "X-Robots-Tag: otherbot: nofollow", "", 1, 0},
		{"meta nofollow", 200, "", "<meta name=robots content=nofollow>", 0, 1},
		{"second line", 200, "Refresh: 0; url=/y", "", 1, 0},
	} {
		b := newBench(t, scope.Options{})
		b.serve("http://a.test/", c.status, strings.TrimSuffix("Refresh: 0; url=/x\n"+c.header, "\n"),
			c.body)
		b.visit("http://a.test/")
		if _, o := b.one(); len(o.Targets) != c.want || o.Skipped[crawl.SkipNoFollow] != c.asked {
			t.Errorf("%s: %q, %d not followed", c.name, targets(o.Targets), o.Skipped[crawl.SkipNoFollow])
		}
	}
	last := func(v *crawl.Visit) { v.Item.Hops = maxHops }
	b := newBench(t, scope.Options{})
	b.serve("http://a.test/", 200, "Refresh: 0; url=/x", "")
	b.visit("http://a.test/", last)
	if _, o := b.one(); len(o.Targets) > 0 || o.Skipped[crawl.SkipTrap] != 1 {
		t.Errorf("after %d redirects: %q", maxHops, targets(o.Targets))
	}
}
