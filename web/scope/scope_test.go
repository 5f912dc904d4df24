//race:none

package scope

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"crawlnode/web/urlnorm"
)

func mustURL(t testing.TB, raw string) urlnorm.URL {
	t.Helper()
	u, err := urlnorm.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func mustCompile(t testing.TB, o Options) *Rules {
	t.Helper()
	r, err := Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func seedsOf(t testing.TB, r *Rules, raw ...string) *Seeds {
	t.Helper()
	var entries []string
	for _, seed := range raw {
		entries = append(entries, r.EntryOf(mustURL(t, seed)))
	}
	return NewSeeds(entries)
}

func TestModes(t *testing.T) {
	t.Parallel()
	const seed = "http://docs.example.co.uk/guide/index.html?x"
	urls := []string{
		seed,
		"http://docs.example.co.uk/guide/index.html",
		"https://docs.example.co.uk/guide/a/b",
		"http://docs.example.co.uk:8080/guide/",
		"http://docs.example.co.uk/guide",
		"http://docs.example.co.uk/guide2/",
		"http://www.example.co.uk/guide/",
		"http://example.co.uk/",
		"http://docs.example.co.uk.evil.example/guide/",
		"http://other.co.uk/",
	}
	for mode, want := range map[string]int{Page: 1, Prefix: 4, Host: 6, Domain: 8, Any: len(urls)} {
		r := mustCompile(t, Options{Mode: mode})
		seeds := seedsOf(t, r, seed)
		for i, raw := range urls {
			v := r.Decide(mustURL(t, raw), 1, seeds)
			if v.Admit != (i < want) || v.Rule == "" || !v.Admit && v.Reason != OutOfScope ||
				v.Admit && v.Reason != "" {
				t.Errorf("%s: %s: %+v", mode, raw, v)
			}
		}
		if v := r.Decide(mustURL(t, urls[0]), 0, nil); v.Admit != (mode == Any) {
			t.Errorf("%s without seeds: %+v", mode, v)
		}
	}
}

func TestDomainOf(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"www.example.co.uk": "example.co.uk",
		"co.uk":             "co.uk",
		"example.org":       "example.org",
		"localhost":         "localhost",
		"a.b.test":          "b.test",
		"127.0.0.1":         "127.0.0.1",
		"[::1]":             "[::1]",
		"user.github.io":    "user.github.io",
	} {
		if got := domainOf(host); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
}

// TestAlias lets the target of a seed's redirect join the scope.
func TestAlias(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{Page, Prefix, Host, Domain} {
		r := mustCompile(t, Options{Mode: mode})
		seeds := seedsOf(t, r, "http://example.org/")
		target := mustURL(t, "https://www.example.net/start/")
		if r.Decide(target, 0, seeds).Admit {
			t.Errorf("%s: admitted before", mode)
		}
		seeds = seedsOf(t, r, "http://example.org/", target.String())
		if v := r.Decide(target, 0, seeds); !v.Admit {
			t.Errorf("%s: %+v", mode, v)
		}
	}
}

// TestModeChange checks entries made in one mode against rules of another: a wider mode widens
// them, a narrower one leaves them unchanged.
func TestModeChange(t *testing.T) {
	t.Parallel()
	modes := []string{Page, Prefix, Host, Domain}
	urls := []string{"http://a.example.org/x/y.html", "http://a.example.org/x/z",
		"http://a.example.org/", "http://b.example.org/"}
	for made, madeIn := range modes {
		for judged, judgedIn := range modes {
			seeds := seedsOf(t, mustCompile(t, Options{Mode: madeIn}), urls[0])
			r := mustCompile(t, Options{Mode: judgedIn})
			widest := max(min(made, 2), judged)
			for i, raw := range urls {
				if got := r.Decide(mustURL(t, raw), 1, seeds).Admit; got != (i <= widest) {
					t.Errorf("made in %s, judged in %s: %s admitted: %v", madeIn, judgedIn, raw, got)
				}
			}
		}
	}
}

func TestSeeds(t *testing.T) {
	t.Parallel()
	s := NewSeeds([]string{"host:a", "host:b", "host:a", "from the future:x"})
	for entry, want := range map[string]bool{
		"host:a":            true,
		"host:b":            true,
		"from the future:x": true,
		"host:c":            false,
		"page:a":            false,
		"":                  false,
	} {
		if got := s.Has(entry); got != want {
			t.Errorf("has %q: %v", entry, got)
		}
	}
	for _, mode := range []string{Page, Prefix, Host, Domain} {
		broken := NewSeeds([]string{"page:x", "prefix:x", "prefix:/", "host:", "page:", "nonsense"})
		if v := mustCompile(t, Options{Mode: mode}).Decide(mustURL(t, "http://x/"), 0, broken); v.Admit {
			t.Errorf("%s: broken entries admit: %+v", mode, v)
		}
	}
}

// The first key is the entry's own, and names it alone.
func TestKeys(t *testing.T) {
	t.Parallel()
	for entry, want := range map[string][]Key{
		"host:www.a.test": {{HostEntry, "www.a.test"}, {SeedDomain, "a.test"}},
		"prefix:www.a.test/x/": {{PrefixEntry, "www.a.test/x/"}, {NarrowHost, "www.a.test"},
			{SeedDomain, "a.test"}},
		"page:http://www.a.test/x": {{PageEntry, "http://www.a.test/x"}, {PageFolder, "www.a.test/"},
			{NarrowHost, "www.a.test"}, {SeedDomain, "a.test"}},
		"from the future:x": {{OtherEntry, "from the future:x"}},
		"page:x":            {{PageEntry, "x"}},
		"prefix:/":          {{PrefixEntry, "/"}},
		"host:":             {{HostEntry, ""}},
	} {
		if got := AppendKeys(nil, entry); !slices.Equal(got, want) || KeyOf(entry) != got[0] {
			t.Errorf("%s: %v, want %v", entry, got, want)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	const u = "https://docs.example.org:8443/guide/a.html?x=1&y=%C3%A9"
	for pattern, want := range map[string]bool{
		"*":                                     true,
		"**":                                    true,
		u:                                       true,
		"glob:" + u:                             true,
		"docs.example.org:8443/*":               true,
		"docs.example.org/*":                    false,
		"https://docs.example.org:8443/guide/*": true,
		"http://*":                              false,
		"*.html":                                false,
		"*.html?*":                              true,
		"*/guide/*":                             true,
		"/guide/*":                              true,
		"/guide":                                false,
		"guide":                                 false,
		"*guide*a*x*":                           true,
		"*x*guide*":                             true, // the x of example
		"*y*guide*":                             false,
		"regex:^https://docs\\.":                true,
		"regex:[ab]\\.html":                     true,
		"regex:^/guide":                         false,
		"regex:(?i)GUIDE":                       true,
		"host:docs.example.org":                 true,
		"host:DOCS.example.org.":                true,
		"host:example.org":                      false,
		"host:*.example.org":                    true,
		"host:*.docs.example.org":               false,
		"prefix:https://docs.example.org:8443/gui":     true,
		"prefix:https://docs.example.org/":             false,
		"prefix:docs.example.org:8443":                 true,
		"prefix:docs.example.org:8443/guide/a.html?x=": true,
		"prefix:/guide/":                               true,
		"prefix:/x/../guide":                           true,
		"prefix:/uide/":                                false,
		"localhost:8080/*":                             false,
	} {
		r, err := Compile(Options{Mode: Any, Exclude: []string{pattern}})
		if err != nil {
			t.Errorf("%q: %v", pattern, err)
			continue
		}
		v := r.Decide(mustURL(t, u), 1, nil)
		if v.Admit == want {
			t.Errorf("%q matches: %v, want %v", pattern, !v.Admit, want)
		}
		if want && (v.Rule != "exclude "+pattern || v.Reason != OutOfScope) {
			t.Errorf("%q: %+v", pattern, v)
		}
	}
}

func TestIncludeExclude(t *testing.T) {
	t.Parallel()
	r := mustCompile(t,
		Options{Include: []string{"/docs/*", "host:other.example"}, Exclude: []string{"*.zip"}})
	seeds := seedsOf(t, r, "http://example.org/start")
	for _, tt := range []struct {
		url   string
		depth int
		admit bool
		rule  string
	}{
		{"http://example.org/docs/a", 1, true, "include /docs/*"},
		{"http://example.org/blog/a", 1, false, "no include pattern matches"},
		{"http://example.org/start", 0, true, "scope host: on a seed's host"},
		{"http://example.org/docs/a.zip", 1, false, "exclude *.zip"},
		{"http://example.org/start.zip", 0, false, "exclude *.zip"},
		{"http://other.example/docs/a", 1, false, "scope host: not on a seed's host"},
	} {
		v := r.Decide(mustURL(t, tt.url), tt.depth, seeds)
		if v.Admit != tt.admit || v.Rule != tt.rule {
			t.Errorf("%s at depth %d: %+v, want %v by %q", tt.url, tt.depth, v, tt.admit, tt.rule)
		}
	}
}

func TestCompileReportsAll(t *testing.T) {
	t.Parallel()
	_, err := Compile(Options{
		Mode: "site", MaxDepth: -1,
		Include: []string{"regex:(", "*.html", "host:a*b"},
		Exclude: []string{"", "regexp:x", "prefix:http://[", "host:example.org:80", "host:me@example.org",
			"host:http://x", "host:example.org/x", "regex:", "host:", "prefix:", "prefix:ftp://x/"},
	})
	if err == nil {
		t.Fatal("no error")
	}
	for _, part := range []string{
		`scope "site"`, `limit -1`, `include pattern "regex:("`, `include pattern "host:a*b"`,
		`exclude pattern ""`, `exclude pattern "regexp:x"`,
		`exclude pattern "prefix:http://["`, `exclude pattern "host:example.org:80"`,
		`exclude pattern "host:me@example.org"`, `exclude pattern "host:http://x"`,
		`exclude pattern "host:example.org/x"`,
		`exclude pattern "regex:"`, `exclude pattern "host:"`, `exclude pattern "prefix:"`,
		`exclude pattern "prefix:ftp://x/"`,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not name %s:\n%v", part, err)
		}
	}
	if strings.Contains(err.Error(), "*.html") {
		t.Errorf("the error names a good pattern:\n%v", err)
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	u := mustURL(t, "http://example.org/")
	limited, free := mustCompile(t, Options{Mode: Any, MaxDepth: 3}), mustCompile(t,
		Options{Mode: Any})
	for depth := range 10 {
		v := limited.Decide(u, depth, nil)
		if v.Admit != (depth <= 3) ||
			!v.Admit && (v.Reason != TooDeep || !strings.Contains(v.Rule, "3")) {
			t.Errorf("limit 3, depth %d: %+v", depth, v)
		}
		if !free.Decide(u, depth, nil).Admit {
			t.Errorf("no limit, depth %d: refused", depth)
		}
	}
}

func TestTraps(t *testing.T) {
	t.Parallel()
	r := mustCompile(t, Options{Mode: Any})
	for path, trap := range map[string]bool{
		"/":                               false,
		"/a/a/a":                          false,
		"/a/a/a/":                         false,
		"/a/a/a/a":                        true,
		"/a/b/a/b/a/b/c":                  false,
		"/a/b/a/b/a/b/a":                  true,
		"/a/A/a/A/a":                      false,
		"/aa/a/aaa/a/a":                   false,
		"/x////y":                         false,
		"/x/////y":                        true,
		"/b?p=/a/a/a/a/a":                 false,
		"/" + strings.Repeat("a/b/c/", 3): false,
		"/" + strings.Repeat("x/", 200):   true,
		"/" + strings.Repeat("x/", 3) + numbered(1, 9): false,
		"/" + numbered(1, 200):                         false,
		"/" + numbered(1, 200) + "7/7/7/":              true,
	} {
		v := r.Decide(mustURL(t, "http://example.org"+path), 1, nil)
		if v.Admit == trap || trap && v.Reason != Trap {
			t.Errorf("%.60s: %+v", path, v)
		}
	}
}

// numbered returns the segments "from/.../to/".
func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%d/", i)
	}
	return b.String()
}

func TestSuspicious(t *testing.T) {
	t.Parallel()
	r := mustCompile(t, Options{Mode: Any})
	for rest, want := range map[string]bool{
		"/":                              false,
		"/?a=1&b=2&c=3&d=4&e=5":          false,
		"/?a=1&b=2&c=3&d=4&e=5&f=6":      true,
		"/x;jsessionid=1A2B":             true,
		"/x;jsessionid=":                 false,
		"/x;v=1":                         false,
		"/?PHPSESSID=abc":                true,
		"/?a=1&sid=0123456789abcdef":     true,
		"/?sid=12":                       false,
		"/?aspsessionidqqq=x":            true,
		"/?presessionid=x":               false,
		"/calendar/2087/05/":             true,
		"/calendar/2024/05/":             false,
		"/calendar/1523-11":              true,
		"/1893/05/12/news":               false,
		"/calendar/2087/13/":             false,
		"/item/2087":                     false,
		"/item/20870501/":                false,
		"/?date=2087-05-01":              true,
		"/?year=2087&month=5":            true,
		"/?id=2087":                      false,
		"/" + numbered(1, maxSegments-1): false,
		"/" + numbered(1, maxSegments):   true,
	} {
		v := r.Decide(mustURL(t, "http://example.org"+rest), 1, nil)
		if !v.Admit || v.Suspicious != want || v.Suspicious != strings.HasPrefix(v.Rule, "suspicious: ") {
			t.Errorf("%s: %+v, want suspicious %v", rest, v, want)
		}
	}
	if v := r.Decide(mustURL(t, "http://example.org/"), maxLinks+1, nil); !v.Suspicious {
		t.Errorf("far from a seed: %+v", v)
	}
}

func FuzzJudge(f *testing.F) {
	for _, pattern := range []string{"*", "glob:/a*b", "regex:a+", "host:*.example.org", "prefix:/x",
		"prefix:example.org/%c3", "x:y", "a:8/*", ""} {
		f.Add(pattern, "http://www.example.org/a/a/b;jsessionid=1?x=2099-01&y", "host:example.org", 3)
	}
	f.Fuzz(func(t *testing.T, pattern, raw, entry string, depth int) {
		u, err := urlnorm.Parse(raw)
		if err != nil {
			return
		}
		o := Options{Include: []string{pattern}}
		if _, err := Compile(o); err != nil {
			o.Include = nil
		}
		for _, mode := range []string{Page, Prefix, Host, Domain, Any} {
			o.Mode = mode
			r := mustCompile(t, o)
			seeds := NewSeeds([]string{entry, r.EntryOf(u)})
			v := r.Decide(u, depth, seeds)
			if v.Rule == "" || v.Admit != (v.Reason == "") || v.Suspicious && !v.Admit {
				t.Fatalf("%s: %+v", mode, v)
			}
			if o.Include == nil && v.Reason == OutOfScope {
				t.Fatalf("%s: a seed is out of its own scope: %+v", mode, v)
			}
			if e := r.EntryOf(u); strings.ContainsAny(e, " \r\n") || e == "" {
				t.Fatalf("%s: entry %q", mode, e)
			}
		}
	})
}

func BenchmarkJudge(b *testing.B) {
	u := mustURL(b, "http://docs.example.org/guide/install/linux/index.html?lang=en")
	for _, mode := range []string{Prefix, Host, Domain} {
		r := mustCompile(b, Options{Mode: mode, Exclude: []string{"*.zip", "*/private/*"}})
		seeds := seedsOf(b, r, "http://docs.example.org/guide/")
		b.Run(mode, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !r.Decide(u, 3, seeds).Admit {
					b.Fatal("refused")
				}
			}
		})
	}
}

// TestUselessPrefixes has prefixes that match no URL, or not what they say, beside their like that
// do.
func TestUselessPrefixes(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{
		"prefix:http:": false, "prefix:https:": false, "prefix:HTTP:": false, "prefix:http": false,
		"prefix:https":  false,
		"prefix:http:/": false, "prefix:http:/example.org": false, "prefix:http://": false,
		"prefix:https:///x": false,
		"prefix:mailto:":    false, "prefix:example.org:": false, "prefix:example.org:/x": false,
		"prefix:http://example.org:/x": false,
		"prefix:*.example.org":         false, "prefix:http://*.example.org/": false,
		"prefix:.example.org": false, "prefix:https:example.org": false,
		"prefix:?x": false, "prefix:http:?": false, "prefix::80/": false,
		"host:http:": false, "host:http://example.org": false, "host:example.org/": false,
		"host:*": false, "host:a b": false,
		"glob:": false, "regex:(": false,
		"prefix:http.example.org": true, "prefix:https://example.org": true, "prefix:http:8080/x": true,
		"prefix:example.org:8080/": true,
		"prefix:localhost":         true, "prefix:[::1]/": true, "prefix:http://[::1]:80/x": true,
		"prefix:/": true, "prefix:/x*y": true, "prefix:example.org/a*b": true,
		"prefix:example.org/http://x": true, "prefix:example.org/x:": true, "regex:^http:": true,
		"host:http": true,
	} {
		if _, err := ParsePattern(text); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
		for _, o := range []Options{{Include: []string{text}}, {Exclude: []string{text}}} {
			if _, err := Compile(o); (err == nil) != ok {
				t.Errorf("%s as part of %+v: %v", text, o, err)
			}
		}
	}
}

// TestGlobsAsWritten has globs that are written as people and browsers show URLs. They match the
// canonical URL, which has none of these spellings (URL Standard; IDNA for hosts).
func TestGlobsAsWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		glob, url string
		want      bool
	}{
		{"http://b\u00fccher.example/*", "http://b\u00fccher.example/x", true},
		{"*.B\u00dcCHER.example/*", "https://www.b\u00fccher.example/x", true},
		{"b\u00fccher.example*", "http://xn--bcher-kva.example/x", true},
		{"http*://bu\u0308cher.example/*", "https://xn--bcher-kva.example/x", true},
		{"HTTP://A.Test/*", "http://a.test/x", true},
		{"HTTPS://A.Test/*", "http://a.test/x", false},
		{"http://a.test:80/*", "http://a.test/x", true},
		{"a.test:80/*", "http://a.test/x", true},
		{"https://a.test:443/x", "https://a.test/x", true},
		{"http://a.test:443/x", "https://a.test/x", false},
		{"a.test:8080/*", "http://a.test:8080/x", true},
		{"/caf\u00e9*", "http://a.test/caf\u00e9", true},
		{"http://a.test/caf\u00e9*", "http://a.test/caf%C3%A9?x", true},
		{"/caf%c3%a9*", "http://a.test/caf\u00e9", true},
		{"*q=\u00fc*", "http://a.test/?q=\u00fc", true},
		{"/x y*", "http://a.test/x y", true},
		{`*"*`, `http://a.test/a"b`, true},
		{"*<b>*", "http://a.test/?<b>", true},
		{"*b\u00fccher*", "http://a.test/b\u00fccher", true},
		{"/100%*", "http://a.test/100%", true},
		{"*.Old/*", "http://a.test/x.Old/y", true},
		{"*.ZIP", "http://a.test/x.ZIP", true},
		{"*.ZIP", "http://a.test/x.zip", false},
		{"/X*", "http://a.test/x", false},
		{"*://A.test/*", "http://a.test/", true},
		{"http://a.test", "http://a.test/", false},
		{"*.test/x", "http://a.test/x", true},
		{"http://a.test@b.test/*", "http://b.test/x", false},
		{"*", "http://a.test/", true},
		{"http://*", "http://a.test/", true},
	} {
		p, err := ParsePattern(c.glob)
		if err != nil {
			t.Errorf("%s: %v", c.glob, err)
			continue
		}
		u, err := urlnorm.Parse(c.url)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Matches(u); got != c.want {
			t.Errorf("%s matches %s: %v, want %v", c.glob, u, got, c.want)
		}
	}
}

func TestHostOfPattern(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"host:Docs.Example.org", "docs.example.org"},
		{"host:*.example.org", ""},
		{"prefix:https://Bücher.example/a", "xn--bcher-kva.example"},
		{"prefix:example.org:8080/a", "example.org"},
		{"prefix:/a", ""},
		{"glob:https://docs.example.org/*", "docs.example.org"},
		{"glob:docs.example.org:8080/*.pdf", "docs.example.org"},
		{"glob:https://*.example.org/*", ""},
		{"glob:docs.example.org*", ""},
		{"glob:*://docs.example.org/*", ""},
		{"glob:/a/*", ""},
		{"glob:*", ""},
		{"regex:^https://docs\\.example\\.org/", ""},
	} {
		p, err := ParsePattern(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
		} else if p.Host() != c.want {
			t.Errorf("%s: host %q, want %q", c.text, p.Host(), c.want)
		}
	}
}

func TestSiteRules(t *testing.T) {
	site := mustCompile(t,
		Options{Include: []string{"/docs/*"}, Exclude: []string{"*.zip"}, MaxDepth: 2})
	r := mustCompile(t, Options{Mode: Any, Exclude: []string{"*.pdf"}, MaxDepth: 1,
		Site: func(u urlnorm.URL) *Rules {
			if u.Host() == "a.example" {
				return site
			}
			return nil
		}})
	for _, c := range []struct {
		url   string
		depth int
		admit bool
		asset bool
	}{
		{"http://a.example/docs/x", 2, true, true},
		{"http://a.example/docs/x", 3, false, true},
		{"http://a.example/other", 1, false, true},
		{"http://a.example/docs/x.zip", 1, false, false},
		{"http://a.example/docs/x.pdf", 1, true, true},
		{"http://b.example/other", 1, true, true},
		{"http://b.example/other", 2, false, true},
		{"http://b.example/x.pdf", 0, false, false},
	} {
		u := mustURL(t, c.url)
		if v := r.Decide(u, c.depth, nil); v.Admit != c.admit {
			t.Errorf("%s at depth %d: admitted %v (%s)", c.url, c.depth, v.Admit, v.Rule)
		}
		if v := r.DecideAsset(u); v.Admit != c.asset || r.Excludes(u) == c.asset {
			t.Errorf("%s as an asset: admitted %v, excluded %v", c.url, v.Admit, r.Excludes(u))
		}
	}
}
