package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"crawlnode/crawl"
)

const twoRules = "# ours\n- match: host:a.test\n  delay: 5s # slow\n\n- match: domain:b.test\n" +
	"  retries: 1\n"

// TestSitesForms: each form changes what it says and nothing else, and its answer leads to a page
// that says so.
func TestSitesForms(t *testing.T) {
	t.Parallel()
	tag := crawl.SitesTag(twoRules)
	for name, c := range map[string]struct {
		form url.Values
		want string
	}{
		"the text": {url.Values{
			"action": {"text"},
			"tag":    {tag},
			"text":   {"# new\r\n- match: host:c.test\r\n  delay: 1s"},
		},
			"# new\n- match: host:c.test\n  delay: 1s\n"},
		"a rule more": {url.Values{
			"action": {"rule"},
			"number": {"-1"},
			"tag":    {"old"},
			"match":  {"host:c.test\r\nhost:d.test"},
			"delay":  {"2s"},
			"auth":   {"basic"},
			"secret": {"c"},
		},
			twoRules +
				"- match:\n    - host:c.test\n    - host:d.test\n  delay: 2s\n  auth:\n    basic: secret:c\n"},
		"another value": {url.Values{
			"action":    {"rule"},
			"number":    {"0"},
			"tag":       {tag},
			"match":     {"host:a.test"},
			"delay":     {"7s"},
			"max-depth": {"3"},
		},
			strings.Replace(twoRules, "5s # slow\n", "7s # slow\n  max-depth: 3\n", 1)},
		"a rule less": {
			url.Values{"action": {"remove"}, "number": {"1"}, "tag": {tag}, "match": {"domain:b.test"}},
			"# ours\n- match: host:a.test\n  delay: 5s # slow\n\n",
		},
	} {
		f := &fakeNode{text: "x", rules: twoRules}
		h := serve(f, nil)
		w := post(h, "/control/sites", c.form)
		says := get(h, w.Header().Get("Location")).Body.String()
		if w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), "/sites?m=") ||
			f.rules != c.want ||
			!strings.Contains(says, "Changed on all nodes") ||
			!strings.Contains(says, "once they can be reached: beta") {
			t.Errorf("%s: %d %v, %q", name, w.Code, w.Header(), f.rules)
		}
	}
}

// TestSitesRefused: a form that was refused is shown again with what was written and the reasons at
// their lines; nothing is changed.
func TestSitesRefused(t *testing.T) {
	t.Parallel()
	tag := crawl.SitesTag(twoRules)
	for name, c := range map[string]struct {
		path   string
		form   url.Values
		refuse error
		code   int
		says   []string
	}{
		"a text with mistakes": {"", url.Values{
			"action": {"text"},
			"tag":    {tag},
			"text":   {"- match: host:a.test\r\n  delai: <b>\r\n"},
		}, nil, 400,
			[]string{`line 2</span> <code>  delai: &lt;b&gt;</code>`, "unknown field &#34;delai&#34;",
				`aria-invalid="true"`, "  delai: &lt;b&gt;\n</textarea>", "the rules have mistakes"}},
		"a text of other rules": {"",
			url.Values{"action": {"text"}, "tag": {"old"}, "text": {"- match: host:z.test\r\n"}}, nil, 412,
			[]string{"have changed since this page was loaded", "host:z.test\n</textarea>",
				`name="tag" value="` + tag + `"`}},
		"a rule with a mistake": {"", url.Values{
			"action": {"rule"},
			"tag":    {tag},
			"number": {"0"},
			"line":   {"2"},
			"match":  {"a.test"},
			"delay":  {"soon"},
		}, nil, 400,
			[]string{"Change the rule of line 2", "put host:, domain:", "<li>delay: ", `value="soon"`,
				"a.test</textarea>", "# ours\n- match: host:a.test"}},
		"a rule of others": {"",
			url.Values{"action": {"rule"}, "tag": {"old"}, "number": {"0"}, "match": {"host:a.test"}}, nil,
			412,
			[]string{"have changed since this page was loaded", `name="number" value="-1"`}},
		"no such rule": {"", url.Values{"action": {"remove"}, "tag": {tag}, "number": {"9"}}, nil, 400,
			[]string{"there is no such rule"}},
		"no number": {"", url.Values{"action": {"rule"}, "tag": {tag}, "match": {"host:a.test"}}, nil,
			400, []string{"no rule is named"}},
		"no action": {"", url.Values{"action": {"x"}}, nil, 400, []string{"unknown action"}},
		"no majority": {"", url.Values{"action": {"text"}, "tag": {tag}, "text": {"# x"}},
			errors.New("no majority"), 503, []string{"no majority", "# x</textarea>"}},
		"a trial fails": {"/test",
			url.Values{"tag": {tag}, "url": {"http://a.test/"}, "text": {"- match: [\r\n"}}, nil, 400,
			[]string{"is not YAML", `value="http://a.test/"`}},
		"no URL": {"/test", url.Values{"tag": {tag}, "url": {"mailto:x"}, "text": {"# x"}}, nil, 400,
			[]string{"not a URL to crawl"}},
		"a trial": {"/test", url.Values{
			"tag":  {"before"},
			"url":  {"http://a.test/"},
			"text": {"- match: host:a.test\r\n  retries: 7\r\n"},
		}, nil, 200,
			[]string{"which is not saved", "line 1: <code>host:a.test</code>", ">7<",
				`name="tag" value="before"`, "  retries: 7\n</textarea>"}},
	} {
		f := &fakeNode{text: "x", rules: twoRules, refuse: c.refuse}
		w := post(serve(f, nil), "/control/sites"+c.path, c.form)
		for _, want := range c.says {
			if w.Code != c.code || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: %d without %q\n%s", name, w.Code, want, mainOf(w.Body.String()))
			}
		}
		if f.rules != twoRules || len(f.changes) > 0 {
			t.Errorf("%s: changed", name)
		}
	}
}

// TestSitesPageIsBounded: a page has a part of many rules, and no text that is too long for it.
func TestSitesPageIsBounded(t *testing.T) {
	t.Parallel()
	many := strings.Repeat("- match: host:a.test\n  retries: 1\n", 40_000)
	w := get(serve(&fakeNode{text: "x", rules: many}, nil), "/sites")
	if body := w.Body.String(); w.Code != 200 || len(body) > 200_000 ||
		!strings.Contains(body, "100 of 40,000 rules") ||
		!strings.Contains(body, "too long for this page") {
		t.Errorf("%d, %d bytes", w.Code, len(body))
	}
	pattern := "    - host:" + strings.Repeat("a.", 60) + "test\n"
	wide := "- match:\n" + strings.Repeat(pattern, 2000) + "  headers: {X-A: " +
		strings.Repeat("b", 1000) + "}\n"
	w = get(serve(&fakeNode{text: "x", rules: wide}, nil), "/sites?rule=0")
	body, _, _ := strings.Cut(w.Body.String(), `id="text"`)
	if w.Code != 200 || len(body) > 20_000 || !strings.Contains(body, "and 1,995 more") ||
		!strings.Contains(body, "too many patterns for the form") {
		t.Errorf("%d, %d bytes: %s", w.Code, len(body), mainOf(body))
	}
	long := &fakeNode{text: "x", rules: twoRules}
	if w := post(serve(long, nil), "/control/sites", url.Values{
		"action": {"text"},
		"text":   {strings.Repeat("x", maxSitesForm)},
	}); w.Code != http.StatusSeeOther || long.rules != twoRules {
		t.Errorf("a form that is too long: %d", w.Code)
	}
	if w := get(serve(long, nil), "/sites?url="+strings.Repeat("x", maxQuestion+1)); w.Code != 400 {
		t.Errorf("a URL that is too long: %d", w.Code)
	}
}
