//race:none

package robots

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jimsmart/grobotstxt"
)

func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

// googleDifferences are the cases that Google's parser decides differently, since it keeps the
// escapes of a file and of a URL as they are written, against section 2.2.2 of RFC 9309. The key is
// the URL and the rule that would have to match, the value what is allowed here.
var googleDifferences = map[string]bool{
	// the path is escaped before it is compared
	"http://foo.bar/foo/bar/ツ Allow: /foo/bar/ツ":           true,
	"http://foo.bar/foo/bar/ツ Allow: /foo/bar/%E3%83%84":   true,
	"http://foo.bar/foo/bar/baz Allow: /foo/bar/%62%61%7A": true, // a row of the section's own table
}

// TestGoogle runs all cases of Google's own suite.
func TestGoogle(t *testing.T) {
	t.Parallel()
	var suite struct {
		Cases []struct {
			Test, URL, Cls string
			Agent          string `json:"user_agent"`
			Body           []byte `json:"robots_b64"`
			Expected       bool
		}
	}
	readJSON(t, "robots_google.json", &suite)
	if len(suite.Cases) != 145 {
		t.Errorf("%d cases, want 145", len(suite.Cases))
	}
	differences := 0
	for _, c := range suite.Cases {
		want := c.Expected
		lines := strings.Split(strings.TrimSpace(string(c.Body)), "\n")
		if ours, differs := googleDifferences[c.URL+" "+lines[len(lines)-1]]; differs &&
			c.Agent == "FooBot" {
			if ours == want {
				t.Errorf("%s: %q does not differ", c.Test, c.Body)
			}
			want = ours
			differences++
		}
		if got := Parse(c.Body, c.Agent).Allowed(c.URL); got != want {
			t.Errorf("%s (%s): agent %q, %.80q: %.80q allowed: %v", c.Test, c.Cls, c.Agent, c.Body, c.URL,
				got)
		}
	}
	if differences != len(googleDifferences) {
		t.Errorf("%d cases differ, want %d", differences, len(googleDifferences))
	}
}

// TestEscapes has the rows of the table in section 2.2.2 of RFC 9309 and those of RFC 3986
// (sections 2.2, 2.3 and 6.2.2.2): paths that are equal and paths that differ, in rules of both
// kinds, with either form on either side.
func TestEscapes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"/foo/bar?baz=quz", "/foo/bar?baz=quz", true},
		{"/foo/bar/ツ", "/foo/bar/%E3%83%84", true},
		{"/foo/bar/%e3%83%84", "/foo/bar/%E3%83%84", true},
		{"/foo/bar/%62%61%7A", "/foo/bar/baz", true},
		{"/~user/", "/%7Euser/", true},
		{"/~user/", "/%7euser/", true},
		{"/%2D%2E%5F%30%41%5a", "/-._0AZ", true},
		{"/a%2Fb", "/a%2fb", true},
		{"/a%2Fb", "/a/b", false},
		{"/a%3Fb", "/a?b", false},
		{"/a%26b%3D", "/a&b=", false},
		{"/a%25%37%45", "/a~", false},
		{"/a%257E", "/a~", false},
		// as the URL Standard writes what RFC 3986 has no place for
		{"/a^b|{c}", "/a%5Eb%7C%7Bc%7D", true},
	} {
		for rule, path := range map[string]string{tt.a: tt.b, tt.b: tt.a} {
			forbids := !Parse([]byte("User-agent: *\nDisallow: "+rule+"$"), "crawlnode").Allowed(
				"http://example.org" + path)
			allows := Parse([]byte("User-agent: *\nDisallow: /\nAllow: "+rule+"$"), "crawlnode").Allowed(
				"http://example.org" + path)
			if forbids != tt.same || allows != tt.same {
				t.Errorf("a rule for %q on %q: Disallow matches: %v, Allow: %v; want %v", rule, path, forbids,
					allows, tt.same)
			}
		}
	}
	// A wildcard character and its escape differ.
	for _, rule := range []string{"/a%2Ac", "/a%24"} {
		if r := Parse([]byte("User-agent: *\nDisallow: "+rule), "crawlnode"); !r.Allowed("/abc") ||
			!r.Allowed("/a") {
			t.Errorf("%q is read as a wildcard", rule)
		}
	}
}

func TestGoogleExtra(t *testing.T) {
	t.Parallel()
	var suite struct {
		PathExtract [][2]string `json:"path_extract"`
		Escape      [][2]string `json:"escape"`
		LineCounts  []struct {
			Body    string `json:"robots_latin1"`
			Asserts [][3]string
		} `json:"line_counts"`
	}
	readJSON(t, "robots_google_extra.json", &suite)
	for _, c := range suite.PathExtract {
		if got := pathQuery(c[0]); got != c[1] {
			t.Errorf("path of %q: %q, want %q", c[0], got, c[1])
		}
	}
	for _, c := range suite.Escape {
		if got := escapeValues(latin1(c[0])); got != c[1] {
			t.Errorf("escaped %q: %q, want %q", c[0], got, c[1])
		}
	}
	for _, c := range suite.LineCounts {
		var h lineCounter
		parse(latin1(c.Body), &h.handler)
		grobotstxt.Parse(escapeValues(latin1(c.Body)), &h)
		for _, a := range c.Asserts {
			got := map[string]string{
				"report.valid_directives()":   fmt.Sprint(h.valid),
				"report.unknown_directives()": fmt.Sprint(h.unknown),
				"report.sitemap()":            strings.Join(h.handler.sitemaps, " "),
			}
			if strings.HasSuffix(a[1], "last_line_seen()") {
				continue
			}
			if got[a[1]] != a[2] {
				t.Errorf("%q: %s is %s, want %s", c.Body, a[1], got[a[1]], a[2])
			}
		}
	}
}

// latin1 turns text in which each rune stands for one byte into these bytes.
func latin1(s string) []byte {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r))
	}
	return b
}

// lineCounter counts the lines that the parser understood.
type lineCounter struct {
	handler
	valid, unknown int
}

func (c *lineCounter) HandleUserAgent(int, string)             { c.valid++ }
func (c *lineCounter) HandleAllow(int, string)                 { c.valid++ }
func (c *lineCounter) HandleDisallow(int, string)              { c.valid++ }
func (c *lineCounter) HandleSitemap(int, string)               { c.valid++ }
func (c *lineCounter) HandleUnknownAction(int, string, string) { c.unknown++ }

func TestAllowed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body, url string
		want            bool
	}{
		{"empty", "", "/x", true},
		{"all", "User-agent: *\nDisallow: /", "/x", false},
		{"own group", "User-agent: *\nDisallow: /\n\nUser-agent: CrawlNode\nDisallow:", "/x", true},
		{"version", "User-agent: crawlnode/1.0\nDisallow: /", "/x", false},
		{"another token", "User-agent: crawlnodes\nDisallow: /", "/x", true},
		{"prefix of a token", "User-agent: crawl\nDisallow: /", "/x", true},
		{"merged groups", "User-agent: crawlnode\nDisallow: /a\n\nUser-agent: x\nDisallow: /b\n\n" +
			"User-agent: crawlnode\nDisallow: /c", "/c/d", false},
		{"merged, other's", "User-agent: crawlnode\nDisallow: /a\n\nUser-agent: x\nDisallow: /b\n\n" +
			"User-agent: crawlnode\nDisallow: /c", "/b", true},
		{"file itself", "User-agent: *\nDisallow: /", "http://example.org/robots.txt", true},
		{"file in a folder", "User-agent: *\nDisallow: /", "/x/robots.txt", false},
		{"longer wins", "User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", true},
		{"tie", "User-agent: *\nDisallow: /a\nAllow: /a", "/a", true},
		{"query", "User-agent: *\nDisallow: /*?", "http://example.org/x?y", false},
		{"query of the URL only", "User-agent: *\nDisallow: /*?", "http://example.org/x", true},
		{"path in a query", "User-agent: *\nDisallow: /y", "http://example.org/?x=/y", true},
		{"BOM", "\uFEFFUser-agent: *\nDisallow: /", "/x", false},
		{"CR", "User-agent: *\rDisallow: /", "/x", false},
		{"comment", "User-agent: * # all\nDisallow: /x # this", "/x", false},
		{"lower-case escapes", "User-agent: *\nDisallow: /%e3%83%84", "/%E3%83%84", false},
		{"lower-case escapes in the URL", "User-agent: *\nDisallow: /%E3%83%84", "/%e3%83%84", false},
		{"not escaped", "User-agent: *\nDisallow: /ツ%2fx", "/%E3%83%84%2Fx", false},
		{"unreserved escape in the rule", "User-agent: *\nDisallow: /%7euser/%62%61%7A", "/~user/baz", false},
		{"unreserved escape in the URL", "User-agent: *\nDisallow: /private", "/%70rivate", false},
		{"unreserved escape in an Allow", "User-agent: *\nDisallow: /\nAllow: /%62", "/b", true},
		{"reserved escape", "User-agent: *\nDisallow: /a%2Fb", "/a/b", true},
		{"reserved escape of a star", "User-agent: *\nDisallow: /a%2Ab", "/axb", true},
		{"broken escape", "User-agent: *\nDisallow: /%7", "/%7x", false},
		{"not escaped in the URL", "User-agent: *\nDisallow: /%E3%83%84", "/ツ", false},
		{"Latin-1", "User-agent: *\nDisallow: /\xe9", "/%E9", false},
		{"HTML", "<!DOCTYPE html>\n<html><body>Disallow: /</body></html>", "/x", true},
		{"rule before any group", "Disallow: /\nUser-agent: *\nAllow: /", "/x", true},
		{"typing error", "Useragent: *\nDissalow: /", "/x", false},
		{"NUL bytes", "User-agent: *\nDisallow: /\x00", "/x", true},
	} {
		if got := Parse([]byte(tt.body), "crawlnode").Allowed(tt.url); got != tt.want {
			t.Errorf("%s: %q: %q allowed: %v", tt.name, tt.body, tt.url, got)
		}
	}
	var none *Rules
	if _, delay := none.CrawlDelay(); !none.Allowed("/x") || none.Sitemaps() != nil || delay {
		t.Error("nil rules must allow everything and ask for nothing")
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	r := Parse([]byte("User-agent: *\nDisallow: /a\nAllow: /a/b$\n"), "crawlnode")
	for url, want := range map[string]string{"/a": "Disallow: /a", "/a/b": "Allow: /a/b$", "/c": ""} {
		if _, got := r.Explain(url); got != want {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
	}
}

func TestCrawlDelay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		body string
		want time.Duration
		ok   bool
	}{
		{"User-agent: *\nDisallow:", 0, false},
		{"User-agent: *\nCrawl-delay: 2.5", 2500 * time.Millisecond, true},
		{"User-agent: *\nCRAWL-DELAY:0", 0, true},
		{"User-agent: x\nCrawl-delay: 5\nDisallow: /", 0, false},
		{"User-agent: *\nCrawl-delay: 5\nDisallow: /y\nUser-agent: crawlnode\nCrawl-delay: 1\nDisallow: /x", time.Second, true},
		{"User-agent: *\nCrawl-delay: 5\nDisallow: /y\nUser-agent: crawlnode\nDisallow: /x", 0, false},
		{"User-agent: *\nCrawl-delay: 1\nCrawl-delay: 3", 3 * time.Second, true},
		{"User-agent: *\nCrawl-delay: -1", 0, false},
		{"User-agent: *\nCrawl-delay: NaN", 0, false},
		{"User-agent: *\nCrawl-delay: soon", 0, false},
		{"User-agent: *\nCrawl-delay: 1e300", maxDelay, true},
		{"User-agent: *\nCrawl-delay: inf", maxDelay, true},
		{"Crawl-delay: 5", 0, false},
	} {
		if got, ok := Parse([]byte(tt.body), "crawlnode").CrawlDelay(); got != tt.want || ok != tt.ok {
			t.Errorf("%q: %v, %v, want %v, %v", tt.body, got, ok, tt.want, tt.ok)
		}
	}
}

func TestSitemaps(t *testing.T) {
	t.Parallel()
	body := "Sitemap: http://example.org/a%2fé.xml\nUser-agent: x\nSITE-MAP:b.xml\nDisallow: /\n" +
		"Sitemap:\n"
	if got, want := Parse([]byte(body), "crawlnode").Sitemaps(),
		[]string{"http://example.org/a%2fé.xml", "b.xml"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	many := Parse([]byte(strings.Repeat("Sitemap: x\n", 2*maxSitemaps)), "crawlnode")
	if got := len(many.Sitemaps()); got != maxSitemaps {
		t.Errorf("%d of many sitemaps kept", got)
	}
}

// TestMaxBody cuts a file within a line, which must not be read as a shorter rule.
func TestMaxBody(t *testing.T) {
	t.Parallel()
	const head, cut = "User-agent: *\nDisallow: /first\n", "Disallow: /"
	filler := "#" + strings.Repeat(" ", MaxBody-len(head)-len(cut)-len("#\n")) + "\n"
	body := head + filler + cut + "x\nDisallow: /last\n"
	if body[:MaxBody] != head+filler+cut {
		t.Fatal("the limit does not fall where the test wants it")
	}
	r := Parse([]byte(body), "crawlnode")
	for url, want := range map[string]bool{"/first": false, "/": true, "/x": true, "/last": true} {
		if got := r.Allowed(url); got != want {
			t.Errorf("%q allowed: %v", url, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, body := range []string{
		"", "User-agent: *\nDisallow: /a*b$\nAllow: /\xff%e3%zz",
		"\xef\xbb\xbfUser-agent:crawlnode\rDisallow:/x\r\nCrawl-delay: 1e9",
		"\xef\xbbx", "user agent *\ndisallow /\n", "Allow: /index.htm", ":", " : ", "a b c",
		"user-agent: *\nallow: */index.html\ndisallow: $*$*", "Sitemap: \x00",
	} {
		f.Add([]byte(body), "http://example.org/a/b?c")
		f.Add([]byte(body), "/%e3")
	}
	f.Fuzz(func(t *testing.T, body []byte, url string) {
		r := Parse(body, "crawlnode")
		allowed, line := r.Explain(url)
		if allowed != r.Allowed(url) || !allowed && line == "" {
			t.Fatalf("allowed %v by %q", allowed, line)
		}
		if d, ok := r.CrawlDelay(); d < 0 || d > maxDelay || d != 0 && !ok {
			t.Fatalf("delay %v, %v", d, ok)
		}
		if !r.Allowed("/robots.txt") {
			t.Fatal("/robots.txt is refused")
		}
	})
}

// FuzzMatches compares with the port of Google's matcher, which keeps all
// positions that a prefix of the pattern can reach.
func FuzzMatches(f *testing.F) {
	for _, p := range []string{"", "/", "/a", "*", "*$", "$", "/a*b", "/*a*a*a$", "/a$b", "**a",
		"/a*$"} {
		for _, path := range []string{"/", "/a", "/aab", "/a$b", "/b/a"} {
			f.Add(path, p)
		}
	}
	f.Fuzz(func(t *testing.T, path, pattern string) {
		if len(path)*len(pattern) > 1<<20 {
			return
		}
		if got, want := matches(path, pattern, strings.Index),
			grobotstxt.Matches(path, pattern); got != want {
			t.Fatalf("matches(%q, %q) is %v, want %v", path, pattern, got, want)
		}
	})
}

func BenchmarkAllowed(b *testing.B) {
	var body strings.Builder
	body.WriteString("User-agent: *\n")
	for i := range 50 {
		fmt.Fprintf(&body, "Disallow: /private/%d/\nDisallow: /*?sort=%d\n", i, i)
	}
	r := Parse([]byte(body.String()), "crawlnode")
	b.ReportAllocs()
	for b.Loop() {
		if !r.Allowed("http://example.org/guide/install/linux.html?lang=en") {
			b.Fatal("refused")
		}
	}
}

// BenchmarkParseLarge parses a file of the largest size, made to be slow.
func BenchmarkParseLarge(b *testing.B) {
	body := []byte("User-agent: *\n" +
		strings.Repeat("Disallow: /"+strings.Repeat("*a", 500)+"\n", MaxBody/1012))
	b.ReportAllocs()
	for b.Loop() {
		Parse(body, "crawlnode").Allowed("/" + strings.Repeat("a", 400))
	}
}

// TestUsage: the lines about the use of a page are those of its group with the longest path that
// matches, and they change nothing of what may be fetched.
func TestUsage(t *testing.T) {
	t.Parallel()
	const file = `User-agent: a
Content-Usage: train-ai=y
User-agent: *
Content-Usage: train-ai=n
Content-Usage: /a train-ai=y
Content-Usage: /a search=n
Content-Signal: ai-train=no
Disallow: /x
`
	for _, c := range []struct{ agent, path, want string }{
		{"crawlnode", "/", "Content-Usage:train-ai=n Content-Signal:ai-train=no"},
		{"crawlnode", "/a/b", "Content-Usage/a:train-ai=y Content-Usage/a:search=n Content-Signal:ai-train=no"},
		{"a", "/a/b", "Content-Usage:train-ai=y"},
	} {
		r := Parse([]byte(file), c.agent)
		var got []string
		for _, u := range r.Usage("http://h.test" + c.path) {
			got = append(got, u.Name+u.Path+":"+u.Value)
		}
		if line := strings.Join(got, " "); line != c.want {
			t.Errorf("%s, %s: %q, want %q", c.agent, c.path, line, c.want)
		}
		// A parser that does not know these lines takes the groups for one.
		if r.Allowed("/x") {
			t.Errorf("%s may fetch /x", c.agent)
		}
	}
}
