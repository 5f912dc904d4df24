package api

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"crawlnode/config"
	"crawlnode/crawl"
)

func (f *fakeNode) Sites(context.Context) (text, version string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rules, "3-a", f.err
}

func (f *fakeNode) TestSites(
	ctx context.Context,
	url string,
	text *string,
) (crawl.SiteReport, error) {
	c := config.Default()
	s := c.Settings("1")
	if text != nil {
		return config.SiteByText(&s, *text, url)
	}
	rules, _, err := f.Sites(ctx)
	if err != nil {
		return crawl.SiteReport{}, err
	}
	return config.SiteByText(&s, rules, url)
}

// changeSites is the part of ChangeCrawl that is about the rules for sites.
func (f *fakeNode) changeSites(
	report crawl.CrawlReport,
	raw json.RawMessage,
) (crawl.CrawlReport, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return report, err
	}
	if _, problems := config.ParseSites(text, nil); len(problems) > 0 {
		return report, config.SitesErrors(problems)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules, report.Version = text, "4-a"
	return report, nil
}

const someRules = `# the documentation is slow
- match: domain:example.org
  delay: 5s
  auth: {basic: secret:example}
- match: host:docs.example.org
  headers: {Accept-Language: de}
`

func TestSites(t *testing.T) {
	t.Parallel()
	node := &fakeNode{}
	h := New(node, Options{})
	tag := `"` + crawl.SitesTag(someRules) + `"`
	none := `"` + crawl.SitesTag("") + `"`
	for _, step := range []struct {
		name, method, header, body string
		code                       int
		etag, want                 string // the whole body of a GET, a part of any other
	}{
		{"there are none", "GET", "", "", 200, none, ""},
		{"others are meant", "PUT", "If-Match: " + tag, someRules, 412, "", "others now"},
		{"set", "PUT", "If-Match: " + none, someRules, 200, tag, `"version":"4-a","untold":[]`},
		{"read", "GET", "", "", 200, tag, someRules},
		{"a part is the whole", "GET", "Range: bytes=0-3", "", 200, tag, someRules},
		{"known", "GET", "If-None-Match: " + tag, "", 304, tag, ""},
		{"known among others", "GET", `If-None-Match: "x", W/` + tag, "", 304, tag, ""},
		{"not known", "GET", "If-None-Match: " + none, "", 200, tag, someRules},
		{"old", "PUT", "If-Match: " + none, "- match: host:a.test\n", 412, "", "others now"},
		{"a weak tag is none", "PUT", "If-Match: W/" + tag, "- match: host:a.test\n", 412, "", "others now"},
		{"mistakes", "PUT", "", "- match: host:a.test\n  delai: 1s\n  retries: x\n", 400, "",
			`"errors":[` +
				`{"field":"sites","detail":"line 2: unknown field \"delai\"; did you mean \"delay\"?"},` +
				`{"field":"sites","detail":"line 3: retries: `},
		{"one line", "PUT", "", "/etc/passwd", 400, "", "line 1: the file must be a list of rules"},
		{"not UTF-8", "PUT", "", "- match: host:a.test\n# \xff\n", 400, "", "line 2: is not UTF-8"},
		{"long", "PUT", "", strings.Repeat("#", crawl.MaxSitesBytes+1), 413, "", "larger than"},
		{"as long as may be", "PUT", "", strings.Repeat("#", crawl.MaxSitesBytes-1), 200, "", "4-a"},
		{"any", "PUT", "If-Match: *", someRules, 200, tag, "4-a"},
		{"one of several", "PUT", `If-Match: "x", ` + tag, someRules, 200, tag, "4-a"},
		{"still there", "GET", "", "", 200, tag, someRules},
		{"taken away", "PUT", "If-Match: " + tag, "", 200, none, "4-a"},
		{"gone", "GET", "", "", 200, none, ""},
	} {
		var headers []string
		if step.header != "" {
			headers = append(headers, step.header)
		}
		w := ask(h, step.method, "/api/v1/sites", step.body, headers...)
		body := w.Body.String()
		if w.Code != step.code || step.etag != "" && w.Header().Get("ETag") != step.etag ||
			!strings.Contains(body, step.want) {
			t.Errorf("%s: %d %v %.300s", step.name, w.Code, w.Header(), body)
		}
		if step.method == "GET" &&
			(body != step.want || w.Code == 200 && w.Header().Get("Content-Type") != sitesType) {
			t.Errorf("%s: %v %q", step.name, w.Header(), body)
		}
		if kind := w.Header().Get("Content-Type"); w.Code >= 400 && kind != problemType {
			t.Errorf("%s: %s", step.name, kind)
		}
	}
	for _, line := range []string{"Origin: https://evil.example", "Sec-Fetch-Site: cross-site"} {
		if w := ask(h, "PUT", "/api/v1/sites", someRules, line); w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", line, w.Code)
		}
	}
}

// TestSitesInTheAuditLog: a change is recorded with the names of both texts, not with the texts; a
// trial is no change.
func TestSitesInTheAuditLog(t *testing.T) {
	t.Parallel()
	node := &fakeNode{}
	h := New(node, Options{})
	ask(h, "PUT", "/api/v1/sites", someRules)
	ask(h, "PUT", "/api/v1/sites", "- no\n")
	ask(h, "POST", "/api/v1/sites/test?url=http://a.test/", someRules)
	body, err := json.Marshal(map[string]any{"settings": map[string]string{"sites": someRules}})
	if err != nil {
		t.Fatal(err)
	}
	ask(h, "PUT", "/api/v1/crawl", string(body))
	name := config.SitesName(someRules)
	if len(node.changes) != 3 {
		t.Fatalf("%+v", node.changes)
	}
	for i, want := range []crawl.AuditEntry{
		{What: "PUT /api/v1/sites", Old: `{"sites":""}`, New: `{"sites":"` + name + `"}`, Status: 200},
		{What: "PUT /api/v1/sites", Old: `{"sites":"` + name + `"}`, Status: 400},
		{What: "PUT /api/v1/crawl", New: `{"sites":"` + name + `"}`, Status: 200},
	} {
		got := node.changes[i]
		if got.What != want.What || got.Status != want.Status || want.Old != "" && got.Old != want.Old ||
			want.New != "" && got.New != want.New || strings.Contains(got.New+got.Old, "match") {
			t.Errorf("%d: %+v", i, got)
		}
	}
}

func TestSitesOfAURL(t *testing.T) {
	t.Parallel()
	h := New(&fakeNode{rules: someRules}, Options{})
	const docs = "/api/v1/sites/test?url=https%3A%2F%2FDOCS.example.org%2Fa"
	for _, c := range []struct {
		method, target, body string
		code                 int
		want                 []string
	}{
		{"GET", docs, "", 200, []string{`"url":"https://docs.example.org/a"`,
			`"rules":[{"line":2,"match":["domain:example.org"]},{"line":5,"match":["host:docs.example.org"]}]`,
			`{"field":"delay","value":"5s","line":3}`, `{"field":"retries","value":"3","line":null}`,
			`{"field":"headers.Accept-Language","value":"de","line":6}`, `"value":"basic: secret:example"`}},
		{"GET", "/api/v1/sites/test?url=http://other.test/", "", 200, []string{`"rules":[]`, `"value":"1s","line":null`}},
		{"POST", docs, "- match: regex:/a$\n  delay: 9s\n", 200, []string{`"value":"9s","line":2`}},
		{"POST", docs, "", 200, []string{`"rules":[]`}},
		{"POST", docs, "- match: [\n", 400, []string{"line ", "is not YAML"}},
		{"POST", docs, strings.Repeat("#", crawl.MaxSitesBytes+1), 413, nil},
		{"GET", "/api/v1/sites/test", "", 400, []string{"?url=URL"}},
		{"GET", "/api/v1/sites/test?url=mailto:x", "", 400, []string{"not a URL to crawl"}},
		{"POST", "/api/v1/sites/test?url=%00", "", 400, []string{"not a URL to crawl"}},
	} {
		w := ask(h, c.method, c.target, c.body)
		for _, want := range c.want {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s %s %.40q: without %s: %s", c.method, c.target, c.body, want, w.Body)
			}
		}
		if w.Code != c.code {
			t.Errorf("%s %s %.40q: %d", c.method, c.target, c.body, w.Code)
		}
	}
}
