package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/settings/sites"
	"crawlnode/web/urlnorm"
)

// siteRules is a file in which rules of every form and field meet. The numbers of its lines are
// those of TestSitesTable.
const siteRules = `# line 1
- match: domain:example.org
  delay: 5s
  headers: {Accept-Language: de, X-Team: web}
  auth: {basic: secret:example}
  cookies: host
  max-pages: 10000
- match: host:docs.example.org
  delay: 500ms
  headers:
    accept-language: fr
    X-Key: secret:key
  max-depth: 3
  retries: 1
- match: [prefix:https://docs.example.org/slow/, "prefix:docs.example.org:8080/"]
  delay: 20s
  timeout: 2 min
  header-timeout: 30s
- match: glob:*.pdf
  max-body: 50MiB
  render: off
- match: regex:^https?://[^/]+/blog/
  recrawl-min: 1d
  recrawl-max: 2d
  recrawl-worth: 0.5
  priority: 0.9
- match: host:*.shop.example
  include: ["*/product/*"]
  exclude: "*/cart*"
  index: false
  proxy: [socks5://127.0.0.1:1080, http://127.0.0.1:3128]
  user-agent: ShopBot/1
  robots-agent: ShopBot
- match: host:eu.shop.example
  proxy: none
  source-address: 192.0.2.7
  exclude: []
- match: host:bücher.example
  auth: {bearer: secret:token}
  insecure: true
  cookies-file: secret:jar
- match: host:open.docs.example.org
  auth: none
  headers: {X-Team: null}
- match: host:[::1]
  retrys: 1
`

// siteBase are the crawl's settings of the tables.
func siteBase(t *testing.T) *crawl.Settings {
	t.Helper()
	c := Default()
	c.Contact, c.AllowNet = "me@example.org", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	c.Exclude = []string{"*.zip"}
	s := c.Settings("1")
	return &s
}

func TestSitesTable(t *testing.T) {
	t.Parallel()
	base := siteBase(t)
	if _, problems := ParseSites(siteRules, base); len(problems) != 1 ||
		problems[0].Error() != `line 46: unknown field "retrys"; did you mean "retries"?` {
		t.Fatalf("problems: %v", problems)
	}
	rules, _, _ := strings.Cut(siteRules, "- match: host:[::1]")
	f, problems := ParseSites(rules, base)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	table := sites.NewTable(f, SiteOverlay(base))
	// A value of line 0 is the crawl's.
	for _, c := range []struct {
		url, field, value string
		line              int
	}{
		{"http://other.example/", "delay", "1s", 0},
		{"http://other.example/", "cookies", "visit", 0},
		{"http://other.example/", "user-agent", "crawlnode/1 (+me@example.org)", 0},
		{"http://other.example/", "exclude", "*.zip", 0},
		{"http://example.org/", "delay", "5s", 3},
		{"https://EXAMPLE.org:8443/x", "delay", "5s", 3},
		{"http://www.example.org/", "delay", "5s", 3},
		{"http://a.b.example.org/", "delay", "5s", 3},
		{"http://notexample.org/", "delay", "1s", 0},
		{"http://example.org.evil.example/", "delay", "1s", 0},
		{"http://example.org.evil.example/", "auth", "", 0},
		{"http://example.org/", "auth", "basic: secret:example", 5},
		{"http://www.example.org/", "headers.Accept-Language", "de", 4},
		{"http://www.example.org/", "headers.X-Team", "web", 4},
		{"http://www.example.org/", "headers.X-Key", "", 0},
		{"http://example.org/", "max-pages", "10000", 7},
		{"http://example.org/", "cookies", "host", 6},
		{"http://example.org/", "max-depth", "0", 0},
		{"https://docs.example.org/", "delay", "500ms", 9},
		{"https://docs.example.org/", "headers.accept-language", "fr", 11},
		{"https://docs.example.org/", "headers.Accept-Language", "", 0},
		{"https://docs.example.org/", "headers.X-Team", "web", 4},
		{"https://docs.example.org/", "headers.X-Key", "secret:key", 12},
		{"https://docs.example.org/", "max-depth", "3", 13},
		{"https://docs.example.org/", "retries", "1", 14},
		{"https://docs.example.org/", "cookies", "host", 6},
		{"https://docs.example.org/", "timeout", "1m", 0},
		{"https://docs.example.org/slow/x", "delay", "20s", 16},
		{"https://docs.example.org/slow/x", "timeout", "2m", 17},
		{"https://docs.example.org/slow/x", "header-timeout", "30s", 18},
		{"https://docs.example.org/slow/x", "retries", "1", 14},
		{"http://docs.example.org/slow/x", "delay", "500ms", 9},
		{"https://docs.example.org/slow", "delay", "500ms", 9},
		{"http://docs.example.org:8080/", "delay", "20s", 16},
		{"https://docs.example.org:8080/a", "delay", "20s", 16},
		{"https://docs.example.org/a/../slow/y", "delay", "20s", 16},
		{"http://other.example/a.pdf", "max-body", "50MiB", 20},
		{"http://other.example/a.pdf", "render", "off", 21},
		{"http://other.example/a.pdf?x", "max-body", "10MiB", 0},
		{"http://docs.example.org/a.pdf", "max-body", "50MiB", 20},
		{"http://docs.example.org/a.pdf", "delay", "500ms", 9},
		{"https://other.example/blog/1", "recrawl-min", "1d", 23},
		{"https://other.example/blog/1", "recrawl-max", "2d", 24},
		{"https://other.example/blog/1", "recrawl-worth", "0.5", 25},
		{"https://other.example/blog/1", "priority", "0.9", 26},
		{"https://other.example/x/blog/1", "recrawl-min", "1h", 0},
		{"https://other.example/x/blog/1", "priority", "", 0},
		{"https://www.shop.example/", "include", "*/product/*", 28},
		{"https://www.shop.example/", "exclude", "*.zip, */cart*", 29},
		{"https://www.shop.example/", "index", "off", 30},
		{"https://www.shop.example/", "proxy", "socks5://127.0.0.1:1080, http://127.0.0.1:3128", 31},
		{"https://www.shop.example/", "user-agent", "ShopBot/1", 32},
		{"https://www.shop.example/", "robots-agent", "ShopBot", 33},
		{"https://shop.example/", "user-agent", "crawlnode/1 (+me@example.org)", 0},
		{"https://shop.example/", "proxy", "", 0},
		{"https://eu.shop.example/", "proxy", "", 35},
		{"https://eu.shop.example/", "source-address", "192.0.2.7", 36},
		{"https://eu.shop.example/", "exclude", "*.zip", 37},
		{"https://eu.shop.example/", "user-agent", "ShopBot/1", 32},
		{"https://xn--bcher-kva.example/", "auth", "bearer: secret:token", 39},
		{"https://BÜCHER.example/", "insecure", "true", 40},
		{"https://bücher.example/", "cookies-file", "secret:jar", 41},
		{"https://b\u00fccher.example.org/", "auth", "basic: secret:example", 5},
		{"https://bucher.example/", "auth", "", 0},
		{"https://open.docs.example.org/", "auth", "", 43},
		{"https://open.docs.example.org/", "headers.X-Team", "", 0},
		{"https://open.docs.example.org/", "headers.Accept-Language", "de", 4},
		{"https://open.docs.example.org/", "delay", "5s", 3},
	} {
		u, err := urlnorm.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		r := ExplainSite(base, table, u)
		i := slices.IndexFunc(r.Values, func(v crawl.SiteValue) bool { return v.Field == c.field })
		have, line := "", 0
		if i >= 0 {
			if have = r.Values[i].Value; r.Values[i].Line != nil {
				line = *r.Values[i].Line
			}
		}
		if have != c.value || line != c.line {
			t.Errorf("%s %s: %q of line %d, want %q of line %d", c.url, c.field, have, line, c.value, c.line)
		}
	}
}

func TestSitesProblems(t *testing.T) {
	t.Parallel()
	base := siteBase(t)
	strict := *base
	strict.AllowNet = nil
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"# nothing\n", ""},
		{"[]", ""},
		{"- match: host:a.example\n  delay: 0s", ""},
		{"- match: host:a.example\n  delay: 0s!", `line 2: delay: "0s!" is not a duration`},
		{"- match: host:a.example\n  delay: -1s", "line 2: delay: -1s is below zero"},
		{"- match: host:a.example\n  delay: 2d", "line 2: delay: 48h0m0s is too long"},
		{"delay: 5s", "line 1: the file must be a list of rules"},
		{"- delay: 5s", "line 1: the rule has no match"},
		{"- match: a.example", `line 1: match: "a.example": put host:, domain:`},
		{"- match: host:a.example/x", "not a host name"},
		{"- match: domain:*.example", "write the name alone"},
		{"- match: prefix:/x", "the prefix has no host"},
		{"- match: regex:(", "missing closing )"},
		{"- match: []", "the list is empty"},
		{"- match: {host: a}", "takes a plain value, or a list of them"},
		{"- match: host:a.example\n  dealy: 5s", `line 2: unknown field "dealy"; did you mean "delay"?`},
		{"- match: host:a.example\n  delay: 5s\n  delay: 6s", "line 3: delay: is already on line 2"},
		{"- match: host:a.example\n  delay:", "line 2: delay: has no value"},
		{"- match: host:a.example\n  delay: [1s, 2s]", "takes one value, not 2"},
		{"- match: host:a.example\n  retries: many", `"many" is not a whole number`},
		{"- match: host:a.example\n  retries: 101", "line 2: retries: "},
		{"- match: host:a.example\n  max-body: 2GiB", "line 2: max-body: "},
		{"- match: host:a.example\n  render: maybe", "line 2: render: "},
		{"- match: host:a.example\n  index: perhaps", "line 2: index: "},
		{"- match: host:a.example\n  cookies: all", "line 2: cookies: "},
		{"- match: host:a.example\n  user-agent: \"a\\nb\"", "line 2: \"a\\nb\" has a control character in it"},
		{"- match: host:a.example\n  robots-agent: a/1", "line 2: robots-agent: "},
		{"- match: host:a.example\n  include: 'regex:('", "line 2: include: "},
		{"- match: host:a.example\n  recrawl-min: 0s", "line 2: recrawl-min: 0s is not above zero"},
		{"- match: host:a.example\n  recrawl-min: 1y", "is not a duration"},
		{"- match: host:a.example\n  recrawl-worth: 1", "line 2: recrawl-worth: "},
		{"- match: host:a.example\n  priority: 2", "line 2: priority: "},
		{"- match: host:a.example\n  priority: 0x1p-1", "line 2: priority: "},
		{"- match: domain:.example.org", "write the name alone"},
		{"- match: host:.example.org", "does not begin with a dot"},
		{"- match: domain:co.uk\n  auth: {basic: secret:a}", "the hosts of many owners"},
		{"- match: 'host:*.github.io'\n  cookies-file: secret:a", "the hosts of many owners"},
		{"- match: domain:intranet\n  auth: {basic: secret:a}", ""},
		{"- match: domain:co.uk\n  delay: 5s", ""},
		{"- match: host:a.example\n  include: ['regex:a', 'b)']\n- match: host:b.example\n" +
			"  include: \"regex:a\\0b)\"",
			"line 4: \"regex:a\\x00b)\" has a control character"},
		{"- match: \"host:a.example\\n\"", "has a control character"},
		{"- match: 'regex:[a-z]{1,1000}'\n- match: 'regex:(a|b){900}'", "is too large"},
		{"- match: host:a.example\n  exclude: 'regex:([a-z]{1,100}){1,9}(a|b|c|d){1,999}'", "line 2: exclude: the regular expression is too large"},
		{"- match: 'glob:" + strings.Repeat("a", 3000) + "'", "the pattern has 3005 bytes"},
		{"- match: ['" + strings.Repeat("glob:*.x','", 1001) + "glob:*.x']", "more than 1000 patterns without a host"},
		{strings.Repeat("- match: 'regex:[a-z]{1,900}'\n", 200), "are too large together"},
		{"- match: host:a.example\n  priority: .nan", "line 2: priority: "},
		{"- match: host:a.example\n  source-address: eth0", "line 2: source-address: "},
		{"- match: host:a.example\n  insecure: perhaps", "line 2: insecure: "},
		{"- match: host:a.example\n  auth: {basic: user:password}", "a password must not stand here"},
		{"- match: host:a.example\n  auth: {digest: secret:a}", `"digest" is no scheme`},
		{"- match: host:a.example\n  auth: secret:a", "write {basic: secret:NAME}"},
		{"- match: host:a.example\n  cookies-file: /tmp/c.txt", "must be secret:NAME"},
		{"- match: glob:*\n  auth: {basic: secret:a}", "line 1: match: glob:*: a rule with auth must name hosts"},
		{"- match: prefix:https://a.example/\n  cookies-file: secret:a", "a rule with cookies-file must name hosts"},
		{"- match: [host:a.example, 'regex:.']\n  headers: {X-Key: secret:a}", "a rule with a secret header must name hosts"},
		{"- match: host:a.example\n  headers: {X: [1]}", "X takes one plain value"},
		{"- match: host:a.example\n  headers: {X: 1, x: 2}", "x is given twice"},
		{"- match: host:a.example\n  headers: X", "write {Name: value}"},
		{"- match: &a host:a.example\n- match: *a", "not an alias"},
		{"- match: host:a.example\n delay: 5s", "is not YAML"},
		{"- match: host:a.example\n---\n- match: host:b.example", "more than one YAML document"},
		{"- 1", "a rule is a list of `field: value` lines"},
	} {
		_, problems := ParseSites(c.text, base)
		told := fmt.Sprint(problems)
		if c.want == "" && len(problems) > 0 || !strings.Contains(told, c.want) ||
			c.want != "" && len(problems) == 0 {
			t.Errorf("%q: %s, want %q", c.text, told, c.want)
		}
	}
	if _, problems := ParseSites("- match: host:a.example\n  delay: 0s", &strict); len(problems) != 1 {
		t.Errorf("a delay of 0 without --allow-net: %v", problems)
	}
}

// TestSitesOverride: an empty overlay keeps every setting.
func TestSitesOverride(t *testing.T) {
	t.Parallel()
	base := siteBase(t)
	s, rules, err := SiteOverlay(base)(nil)
	if err != nil || rules != nil {
		t.Fatal(rules, err)
	}
	before, after := ofSettings(base, "1"), ofSettings(s, "1")
	before.Exclude = nil // the crawl's hold beside those of a site
	if names := Differences(&before, &after); len(names) > 0 || s.UserAgent != base.UserAgent {
		t.Errorf("other settings: %q", names)
	}
}

// BenchmarkSites measures the rules of 10,000 sites.
func BenchmarkSites(b *testing.B) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "- match: host:h%d.example\n  delay: %dms\n  headers: {X-N: n%d}\n", i, 1000+i,
			i)
	}
	c := Default()
	base := c.Settings("1")
	f, problems := ParseSites(text.String(), &base)
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	urls := make([]urlnorm.URL, 4096)
	for i := range urls {
		u, err := urlnorm.Parse(fmt.Sprintf("http://h%d.example/page/%d", i*2, i))
		if err != nil {
			b.Fatal(err)
		}
		urls[i] = u
	}
	b.Run("parse", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(text.Len()))
		for b.Loop() {
			ParseSites(text.String(), &base)
		}
	})
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		table, i := sites.NewTable(f, SiteOverlay(&base)), 0
		for b.Loop() {
			if i++; i%len(urls) == 0 {
				table = sites.NewTable(f, SiteOverlay(&base))
			}
			table.Of(urls[i%len(urls)])
		}
	})
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		table, i := sites.NewTable(f, SiteOverlay(&base)), 0
		for _, u := range urls {
			table.Of(u)
		}
		for b.Loop() {
			i++
			table.Of(urls[i%len(urls)])
		}
	})
}
