package dashboard

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"crawlnode/api/codes"
)

// TestWordsAreExplained: each word that a page prints as a code has the title that crawlnode
// explain would print, wherever it stands.
func TestWordsAreExplained(t *testing.T) {
	t.Parallel()
	h := serve(&fakeNode{text: "plain"}, nil)
	chip := regexp.MustCompile(`<span class="chip s-[a-z_]+"([^>]*)>([a-z_ ]+)</span>`)
	for target, words := range map[string][]codes.Entry{
		"/": {{Kind: codes.Crawl, Code: "running"}, {Kind: codes.Cluster, Code: "running"},
			{Kind: codes.Level, Code: "warn"},
			{Kind: codes.Health, Code: "node_failed"}, {Kind: codes.Fetch, Code: "blocked_address"},
			{Kind: codes.Fetch, Code: "dns"}, {Kind: codes.Skip, Code: "out_of_scope"}, {Kind: codes.Host, Code: "waiting"},
			{Kind: codes.Host, Code: "over_share"}},
		"/nodes": {{Kind: codes.Member, Code: "alive"},
			{Kind: codes.Member, Code: "failed"}},
		"/events":              nil,
		"/hosts":               nil,
		"/hosts/a.example":     nil,
		"/urls?url=http://a/b": nil,
		"/ring":                nil,
	} {
		body := html.UnescapeString(get(h, target).Body.String())
		for _, w := range words {
			if title := codes.Meaning(w.Kind, w.Code); title == "" ||
				!strings.Contains(body, `title="`+title) {
				t.Errorf("%s: %s %s is not explained by %q", target, w.Kind, w.Code, title)
			}
		}
		for _, m := range chip.FindAllStringSubmatch(body, -1) {
			if len(codes.Find(m[2])) > 0 && m[2] != "refused" && !strings.Contains(m[1], `title="`) {
				t.Errorf("%s: a chip %q without a title", target, m[2]) // the scope says refused, and why
			}
		}
	}
}

// TestTitlesOfAnEnd: why a crawl has ended is explained where it stands.
func TestTitlesOfAnEnd(t *testing.T) {
	t.Parallel()
	for _, e := range codes.Entries {
		if e.Kind != codes.Finish {
			continue
		}
		h := serve(&fakeNode{text: "plain", state: "finished", finish: e.Code}, nil)
		body := html.UnescapeString(get(h, "/").Body.String())
		if !strings.Contains(body, `title="`+codes.Plain(e.Meaning)+`"`) {
			t.Errorf("%s is not explained", e.Code)
		}
	}
}
