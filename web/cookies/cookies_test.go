package cookies

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"crawlnode/web/urlnorm"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func parsed(t testing.TB, s string) urlnorm.URL {
	t.Helper()
	u, err := urlnorm.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestJar: what is sent back of what was set (RFC 6265bis, sections 4.1.3, 5.1.4, 5.7 and 5.8.3).
func TestJar(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		at   string
		set  []string
		ask  string
		want string
	}{
		"plain": {"http://a.test/", []string{"k=1"}, "http://a.test/x", "k=1"},
		"two, in order": {"http://a.test/", []string{"k=1", "l=2; Path=/"}, "http://a.test/",
			"k=1; l=2"},
		"replaced":               {"http://a.test/", []string{"k=1", "k=2"}, "http://a.test/", "k=2"},
		"default path":           {"http://a.test/d/e", []string{"k=1"}, "http://a.test/d/f", "k=1"},
		"default path, outside":  {"http://a.test/d/e", []string{"k=1"}, "http://a.test/x", ""},
		"no folder of that name": {"http://a.test/", []string{"k=1; Path=/d"}, "http://a.test/de", ""},
		"longer path first": {"http://a.test/", []string{"k=1; Path=/", "l=2; Path=/d"},
			"http://a.test/d/e", "l=2; k=1"},
		"query is no path": {"http://a.test/d?q=/x/", []string{"k=1"}, "http://a.test/", "k=1"},
		"expired":          {"http://a.test/", []string{"k=1; Max-Age=0"}, "http://a.test/", ""},
		"expired by date": {"http://a.test/",
			[]string{"k=1; Expires=Fri, 27 Nov 2026 12:00:00 GMT"}, "http://a.test/", ""},
		"max-age before the date": {"http://a.test/",
			[]string{"k=1; Max-Age=60; Expires=Fri, 27 Nov 2026 12:00:00 GMT"}, "http://a.test/", "k=1"},
		"deleted": {"http://a.test/", []string{"k=1; Path=/", "k=x; Path=/; Max-Age=-1"},
			"http://a.test/", ""},
		"secure over http":        {"http://a.test/", []string{"k=1; Secure"}, "https://a.test/", ""},
		"secure not sent to http": {"https://a.test/", []string{"k=1; Secure"}, "http://a.test/", ""},
		"secure": {"https://a.test/",
			[]string{"k=1; Secure; HttpOnly; SameSite=Strict"}, "https://a.test/", "k=1"},
		"own domain": {"http://www.a.test/", []string{"k=1; Domain=.a.test"},
			"http://www.a.test/", "k=1"},
		"another domain": {"http://www.a.test/", []string{"k=1; Domain=b.test"},
			"http://www.a.test/", ""},
		"public suffix": {"http://www.a.co.uk/", []string{"k=1; Domain=co.uk"},
			"http://www.a.co.uk/", ""},
		"__Host- with a path": {"https://a.test/", []string{"__Host-k=1; Secure; Path=/d"},
			"https://a.test/d", ""},
		"__Host-": {"https://a.test/", []string{"__Host-k=1; Secure; Path=/"},
			"https://a.test/d", "__Host-k=1"},
		"__Secure- without Secure": {"https://a.test/", []string{"__Secure-k=1"}, "https://a.test/", ""},
		"no name": {"http://a.test/", []string{"", "k", "=", "; Path=/"},
			"http://a.test/", "k"},
		"empty name": {"http://a.test/", []string{"k", "=1"}, "http://a.test/", "1"},
		"a prefix without a name": {"https://a.test/", []string{"=__Host-k=1; Secure; Path=/d"},
			"https://a.test/d", ""},
		"JSON": {"http://a.test/", []string{`k={"a":"b","c":[1]}`}, "http://a.test/",
			`k={"a":"b","c":[1]}`},
		"name with brackets": {"http://a.test/", []string{"user[id]=1", "a:b=2", "x y=3"},
			"http://a.test/", "user[id]=1; a:b=2; x y=3"},
		"UTF-8": {"http://a.test/", []string{"k=caf\u00e9"}, "http://a.test/",
			"k=caf\u00e9"},
		"Latin-1":              {"http://a.test/", []string{"k=caf\xe9"}, "http://a.test/", "k=caf\xe9"},
		"backslash, one quote": {"http://a.test/", []string{`k=a\b"c`}, "http://a.test/", `k=a\b"c`},
		"equals in the value":  {"http://a.test/", []string{"k = a=b= "}, "http://a.test/", "k=a=b="},
		"empty value":          {"http://a.test/", []string{"k="}, "http://a.test/", "k="},
		"control byte":         {"http://a.test/", []string{"k=a\x01b", "l=a\x7f"}, "http://a.test/", ""},
		"tab":                  {"http://a.test/", []string{"k=a\tb"}, "http://a.test/", "k=a\tb"},
		"odd attributes": {"http://a.test/",
			[]string{"k=1;;path = / ;SECUREX; max-age=+5;=;Expires=never"}, "http://a.test/d", "k=1"},
		"max-age beyond all": {"http://a.test/", []string{"k=1; Max-Age=99999999999999999999"},
			"http://a.test/", "k=1"},
		"negative beyond all": {"http://a.test/", []string{"k=1; Max-Age=-99999999999999999999"},
			"http://a.test/", ""},
		"path without a slash": {"http://a.test/d/e", []string{"k=1; Path=x"}, "http://a.test/d/f",
			"k=1"},
		"last path counts": {"http://a.test/", []string{"k=1; Path=/d; Path=/"}, "http://a.test/", "k=1"},
		"no domain":        {"http://a.test/", []string{"k=1; Domain="}, "http://a.test/", "k=1"},
		"quoted":           {"http://a.test/", []string{`k="a b"`}, "http://a.test/", `k="a b"`},
		"address":          {"http://127.0.0.1:8080/", []string{"k=1"}, "http://127.0.0.1:8080/x", "k=1"},
	} {
		jar := Jar("").Set(parsed(t, tc.at), tc.set, noon, VisitLimits)
		if got := jar.Header(parsed(t, tc.ask), noon.Add(time.Second)); got != tc.want {
			t.Errorf("%s: %q, want %q (jar %q)", name, got, tc.want, jar)
		}
	}
	u := parsed(t, "http://a.test/")
	jar := Jar("").Set(u, []string{"k=1; Max-Age=60"}, noon, VisitLimits)
	if got := jar.Header(u, noon.Add(2*time.Minute)); got != "" {
		t.Errorf("after its time: %q", got)
	}
}

// TestDraft goes through the steps of RFC 6265bis, sections 5.6 to 5.8: answers from several URLs
// of a host come one after the other, and then the host is asked.
func TestDraft(t *testing.T) {
	t.Parallel()
	const site, plain = "https://www.a.test/", "http://www.a.test/"
	long := strings.Repeat("x", 1025)
	type answer struct {
		from string
		set  []string
	}
	https := func(set ...string) answer { return answer{site, set} }
	http := func(set ...string) answer { return answer{plain, set} }
	for name, tc := range map[string]struct {
		answers   []answer
		ask, want string
	}{
		// 5.6: one line.
		"NUL in an attribute": {[]answer{https("k=1; Path=/\x00")}, site, ""},
		"tab in an attribute": {[]answer{https("k=1;\tPath\t=\t/\t")}, site + "d", "k=1"},
		"4096 bytes": {[]answer{https("k=" + strings.Repeat("v", 4095))}, site,
			"k=" + strings.Repeat("v", 4095)},
		"4097 bytes":                  {[]answer{https("k=" + strings.Repeat("v", 4096))}, site, ""},
		"long path is none":           {[]answer{https("k=1; Path=/" + long)}, site, "k=1"},
		"long path after a short one": {[]answer{https("k=1; Path=/d; Path=/" + long)}, site, ""},
		"long domain is none":         {[]answer{https("k=1; Domain=" + long)}, site, "k=1"},
		"empty max-age is none":       {[]answer{https("k=1; Max-Age=")}, site, "k=1"},
		"max-age of a minus is none":  {[]answer{https("k=1; Max-Age=-")}, site, "k=1"},
		"max-age with a fraction":     {[]answer{https("k=1; Max-Age=0.5")}, site, "k=1"},
		"last max-age":                {[]answer{https("k=1; Max-Age=60; Max-Age=0")}, site, ""},
		"last expires that is one": {
			[]answer{https("k=1; Expires=Fri, 27 Nov 2026 12:00:00 GMT; Expires=x")}, site, ""},
		"max-age 0 after a date": {
			[]answer{https("k=1; Expires=Sun, 27 Nov 2050 12:00:00 GMT; Max-Age=0")}, site, ""},
		"names of attributes in caps": {[]answer{https("k=1; PATH=/d; SECURE")}, site + "d", "k=1"},
		"Secure with a value":         {[]answer{https("k=1; Secure=false")}, plain, ""},
		"extensions":                  {[]answer{https("k=1; Partitioned; Priority=High")}, site, "k=1"},

		// 5.7: which are kept.
		"names differ by case": {[]answer{https("k=1", "K=2")}, site, "k=1; K=2"},
		"it keeps its age": {[]answer{https("k=1", "l=2"), https("k=3")}, site,
			"k=3; l=2"},
		"a later one after its end": {[]answer{https("k=1", "l=2", "k=; Max-Age=0", "k=3")}, site,
			"l=2; k=3"},
		"paths make two": {[]answer{https("k=1; Path=/", "k=2; Path=/d")}, site + "d",
			"k=2; k=1"},
		"domains make two": {[]answer{https("k=1", "k=2; Domain=www.a.test", "k=3; Domain=a.test")},
			site, "k=1; k=2; k=3"},
		"one domain is one": {[]answer{https("k=1; Domain=a.test", "k=2; Domain=.A.Test")},
			site, "k=2"},
		"ended with another domain": {[]answer{https("k=1", "k=; Domain=a.test; Max-Age=0")},
			site, "k=1"},
		"last domain": {[]answer{https("k=1; Domain=b.test; Domain=a.test")}, site,
			"k=1"},
		"last domain is another": {[]answer{https("k=1; Domain=a.test; Domain=b.test")}, site,
			""},
		"last domain is empty": {[]answer{https("k=1; Domain=b.test; Domain=")}, site,
			"k=1"},
		"below the host":             {[]answer{https("k=1; Domain=x.www.a.test")}, site, ""},
		"half a label":               {[]answer{https("k=1; Domain=w.a.test")}, site, ""},
		"a domain that is not ASCII": {[]answer{https("k=1; Domain=\u00e4.test")}, site, ""},
		"a domain with a dot behind": {[]answer{https("k=1; Domain=a.test.")}, site, ""},
		"suffix":                     {[]answer{https("k=1; Domain=test")}, site, ""},
		"a suffix of the private list": {
			[]answer{{"https://me.github.io/", []string{"k=1; Domain=github.io"}}},
			"https://me.github.io/",
			"",
		},
		"a host that is a suffix": {[]answer{{"https://github.io/", []string{"k=1; Domain=github.io"}}},
			"https://github.io/", "k=1"},
		"and it is the host's alone": {
			[]answer{{"https://github.io/", []string{"__Host-k=1; Domain=github.io; Secure; Path=/"}}},
			"https://github.io/",
			"__Host-k=1",
		},
		"address as domain": {[]answer{{"http://127.0.0.1/", []string{"k=1; Domain=127.0.0.1"}}},
			"http://127.0.0.1/", "k=1"},
		"part of an address": {[]answer{{"http://127.0.0.1/", []string{"k=1; Domain=0.0.1"}}},
			"http://127.0.0.1/", ""},
		"IPv6": {[]answer{{"http://[2001:db8::1]/", []string{"k=1", "l=1; Domain=db8::1]"}}},
			"http://[2001:db8::1]:8080/", "k=1"},
		"other port": {[]answer{{"http://a.test:8080/", []string{"k=1"}}},
			"http://a.test:8081/", "k=1"},
		"http hides no secure one": {[]answer{https("k=1; Secure; Path=/"), http("k=2; Path=/d")},
			site + "d", "k=1"},
		"nor ends it": {[]answer{https("k=1; Secure; Path=/"), http("k=; Path=/; Max-Age=0")},
			site, "k=1"},
		"nor under another domain": {
			[]answer{https("k=1; Secure; Path=/"), http("k=2; Path=/; Domain=a.test")}, site, "k=1"},
		"http outside of its path": {[]answer{https("k=1; Secure; Path=/d"), http("k=2; Path=/")},
			site + "d", "k=1; k=2"},
		"https replaces it": {[]answer{https("k=1; Secure; Path=/", "k=2; Path=/")},
			plain, "k=2"},
		"http replaces one that is not": {[]answer{https("k=1; Path=/"), http("k=2; Path=/")}, site,
			"k=2"},
		"SameSite=None wants Secure": {
			[]answer{https("k=1; SameSite=None", "l=1; Secure; SameSite=none")}, site, "l=1"},
		"unknown SameSite is none given": {[]answer{https("k=1; SameSite=None; SameSite=x")}, site,
			"k=1"},
		"Strict and Lax go with a page": {[]answer{https("k=1; SameSite=Strict", "l=1; SameSite=Lax")},
			site, "k=1; l=1"},
		"prefixes in any case": {
			[]answer{https("__SECURE-k=1", "__hOST-k=1; Secure", "__host-l=1; Secure; Path=/")},
			site,
			"__host-l=1",
		},
		"__Host- with a domain": {[]answer{https("__Host-k=1; Secure; Path=/; Domain=www.a.test")},
			site, ""},
		"__Host- with an empty domain": {[]answer{https("__Host-k=1; Secure; Path=/; Domain=")},
			site, "__Host-k=1"},
		"__Host- with the default path": {[]answer{https("__Host-k=1; Secure")}, site, ""},
		"prefix of a value": {
			[]answer{https("__Host-k; Secure; Path=/", "=__Secure-k=1; Secure", "k=__Host-x")},
			site,
			"k=__Host-x",
		},
		"a prefix over http":                {[]answer{http("__Secure-k=1; Secure")}, site, ""},
		"a session cookie after a kept one": {[]answer{https("k=1; Max-Age=60", "k=2")}, site, "k=2"},

		// 5.8: which are sent.
		"path with a slash behind": {[]answer{https("k=1; Path=/d/")}, site + "d", ""},
		"below it":                 {[]answer{https("k=1; Path=/d/")}, site + "d/", "k=1"},
		"the path itself":          {[]answer{https("k=1; Path=/d")}, site + "d?x", "k=1"},
		"case of a path":           {[]answer{https("k=1; Path=/D")}, site + "d", ""},
	} {
		var jar Jar
		for _, a := range tc.answers {
			jar = jar.Set(parsed(t, a.from), a.set, noon, HostLimits)
		}
		if got := jar.Header(parsed(t, tc.ask), noon); got != tc.want {
			t.Errorf("%s: %.100q, want %.100q (jar %.200q)", name, got, tc.want, jar)
		}
	}
}

// TestLongestLife: no cookie lives longer than 400 days (section 5.5).
func TestLongestLife(t *testing.T) {
	t.Parallel()
	u := parsed(t, "https://a.test/")
	for _, line := range []string{"k=1; Max-Age=99999999",
		"k=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT"} {
		jar := Jar("").Set(u, []string{line}, noon, HostLimits)
		if got := jar.Header(u, noon.Add(maxAge-time.Minute)); got != "k=1" {
			t.Errorf("%s: after nearly 400 days: %q", line, got)
		}
		if got := jar.Header(u, noon.Add(maxAge+time.Minute)); got != "" {
			t.Errorf("%s: after 400 days: %q", line, got)
		}
	}
}

// TestWith: the host's own cookies win over those that somebody brought along, and nothing else of
// either is lost.
func TestWith(t *testing.T) {
	t.Parallel()
	u := parsed(t, "https://www.a.test/d/e")
	brought := Of([]Cookie{
		{Name: "session", Value: "old", Path: "/", Domain: "a.test", Secure: true},
		{Name: "lang", Value: "de", Path: "/"},
		{Name: "session", Value: "below", Path: "/d"},
	}, noon, HostLimits)
	own := Jar("").Set(u, []string{"session=new; Path=/", "theme=dark; Path=/"}, noon, HostLimits)
	for _, tc := range []struct {
		own, other Jar
		want       string
	}{
		{own, brought, "session=below; lang=de; session=new; theme=dark"},
		{"", brought, "session=below; session=old; lang=de"},
		{own, "", "session=new; theme=dark"},
		{"", "", ""},
		{Jar("").Set(u, []string{"lang=en; Path=/; Max-Age=1"}, noon.Add(-time.Hour), HostLimits), brought, "session=below; session=old; lang=de"},
	} {
		if got := tc.own.With(tc.other, noon).Header(u, noon); got != tc.want {
			t.Errorf("%q with %q: %q, want %q", tc.own, tc.other, got, tc.want)
		}
	}
}

// TestOf: what a cookie file brings along is judged as what a host sets.
func TestOf(t *testing.T) {
	t.Parallel()
	u := parsed(t, "https://a.test/d/e")
	for name, tc := range map[string]struct {
		given []Cookie
		want  string
	}{
		"plain":        {[]Cookie{{Name: "k", Value: "1", Path: "/"}}, "k=1"},
		"no name":      {[]Cookie{{Value: "k=1", Path: "/"}}, "k=1"},
		"nothing":      {[]Cookie{{Path: "/"}, {Name: " ", Path: "/"}}, ""},
		"another path": {[]Cookie{{Name: "k", Value: "1", Path: "/x"}}, ""},
		"no path":      {[]Cookie{{Name: "k", Value: "1"}}, ""},
		"expired":      {[]Cookie{{Name: "k", Value: "1", Path: "/", Expires: noon}}, ""},
		"lives": {[]Cookie{{Name: "k", Value: "1", Path: "/", Expires: noon.AddDate(9000, 0, 0)}},
			"k=1"},
		"the second counts": {[]Cookie{{Name: "k", Value: "1", Path: "/"},
			{Name: "k", Value: "2", Path: "/"}},
			"k=2"},
		"a prefix": {[]Cookie{{Name: "__Host-k", Value: "1", Path: "/", Secure: true}},
			"__Host-k=1"},
		"a wrong prefix": {[]Cookie{
			{Name: "__Host-k", Value: "1", Path: "/", Secure: true, Domain: "a.test"},
			{Name: "__Secure-k", Value: "1", Path: "/"},
		}, ""},
		"an attribute": {[]Cookie{{Name: "k", Value: "1; Domain=b.test", Path: "/"},
			{Name: "k", Value: "1", Path: "/; Secure"}}, ""},
		"another line": {[]Cookie{{Name: "k", Value: "1\nl=2", Path: "/"}}, ""},
		"= in a name":  {[]Cookie{{Name: "k=l", Value: "1", Path: "/"}}, ""},
		"too long":     {[]Cookie{{Name: "k", Value: strings.Repeat("v", 4096), Path: "/"}}, ""},
	} {
		jar := Of(tc.given, noon, HostLimits)
		if got := jar.Header(u, noon); got != tc.want {
			t.Errorf("%s: %.80q, want %q (jar %.80q)", name, got, tc.want, jar)
		}
	}
}

// TestReaches: to which hosts a cookie of a domain goes.
func TestReaches(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		host, domain string
		want         bool
	}{
		{"a.test", "a.test", true},
		{"www.a.test", "a.test", true},
		{"a.test", "www.a.test", false},
		{"ba.test", "a.test", false},
		{"a.co.uk", "co.uk", false},
		{"co.uk", "co.uk", false},
		{"a.test", "test", false},
		{"a.test", "", false},
		{"", "", false},
		{"127.0.0.1", "127.0.0.1", true},
		{"127.0.0.1", "0.0.1", false},
		{"[::1]", "[::1]", true},
		{"::1", "::1", true},
		{"localhost", "localhost", false},
	} {
		if got := Reaches(tc.host, tc.domain); got != tc.want {
			t.Errorf("%q from %q: %v", tc.host, tc.domain, got)
		}
	}
}

// TestDates: forms of dates that servers send (RFC 6265bis, section 5.1.1). Of the past, so that
// the cookie goes when the date is read, and stays when it is none.
func TestDates(t *testing.T) {
	t.Parallel()
	u := parsed(t, "http://a.test/")
	for date, want := range map[string]bool{
		"Wed, 21 Oct 2015 07:28:00 GMT":     true,
		"Wednesday, 21-Oct-15 07:28:00 GMT": true,
		"Wed Oct 21 07:28:00 2015":          true,
		"Wed, 21-Oct-2015 07:28:00 UTC":     true,
		"Thu, 01-Jan-1970 00:00:00 GMT":     true,
		"Thu, 1 Jan 1970 0:0:0":             true,
		"21 October 2015 07:28:00.123":      true,
		"2015 21 oct 7:28:0 PST":            true,
		"Wed, 21 Oct 15 07:28:00 +0200":     true,
		"Wed,21/Oct/2015 07:28:00GMT":       true,
		"Sat, 01 Jan 2050 00:00:00 GMT":     false,
		"Sat, 01 Jan 50 00:00:00 GMT":       false,
		"Wed, 31 Feb 2015 07:28:00 GMT":     false,
		"Wed, 21 Oct 2015 24:28:00 GMT":     false,
		"Wed, 21 Oct 1600 07:28:00 GMT":     false,
		"Wed, 21 Oct 2015":                  false,
		"2015-10-21T07:28:00Z":              false,
		"0":                                 false,
		"":                                  false,
	} {
		jar := Jar("").Set(u, []string{"k=1; Expires=" + date}, noon, VisitLimits)
		if ended := jar.Header(u, noon) == ""; ended != want {
			t.Errorf("%q: ended %v, want %v", date, ended, want)
		}
	}
}

// TestBounds: a jar keeps the newest cookies, and none that is too large.
func TestBounds(t *testing.T) {
	t.Parallel()
	u := parsed(t, "http://a.test/")
	var jar Jar
	for i := range 200 {
		jar = jar.Set(u, []string{fmt.Sprintf("k%d=%s", i, strings.Repeat("v", 200))}, noon, VisitLimits)
	}
	if len(jar) > VisitLimits.All || !strings.Contains(string(jar), "k199=") ||
		strings.Contains(string(jar), "k0=") {
		t.Errorf("%d bytes: %.80q", len(jar), jar)
	}
	for i := range 60 {
		jar = jar.Set(u, []string{fmt.Sprintf("h%d=v", i)}, noon, HostLimits)
	}
	if n := strings.Count(string(jar), "\n") + 1; n > HostLimits.Cookies {
		t.Errorf("%d cookies", n)
	}
	u = parsed(t, "https://a.test/")
	jar = Jar("").Set(u, []string{"session=1; Secure"}, noon, HostLimits)
	for i := range 60 {
		jar = jar.Set(u, []string{fmt.Sprintf("h%d=v", i)}, noon, HostLimits)
	}
	if n := strings.Count(string(jar), "\n") + 1; n != HostLimits.Cookies ||
		!strings.Contains(string(jar), "session=1") || strings.Contains(string(jar), "h0=") {
		t.Errorf("%d cookies, and the secure one is dropped before others: %.80q", n, jar)
	}
	if big := Jar("").Set(u, []string{"k=" + strings.Repeat("v", 5000)}, noon, HostLimits); big != "" {
		t.Errorf("a cookie of 5,000 bytes is kept")
	}
}

// FuzzJar: whatever a server sets, a header has no line end, a jar stays in its bounds, and what is
// stored is read back alike.
func FuzzJar(f *testing.F) {
	f.Add("k=1; Path=/; Secure", "l=\x00\r\nX: y")
	f.Add("=k=1; Path=/d", "user[id]={\"a\":1}\xe9; Expires=Sat, 01 Jan 2050 00:00:00 GMT")
	f.Add(`k="a,b"; Domain=a.test; Max-Age=99999999999999`, "k=; Expires=x")
	f.Add("k=1; Domain=..a.test; SameSite=None; Secure", "k; Path=/ ;; Domain=A.TEST")
	u, err := urlnorm.Parse("https://a.test/d/e")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		jar := Jar("").Set(u, []string{first, second}, noon, VisitLimits)
		header := jar.Header(u, noon)
		if strings.ContainsAny(header, "\r\n\x00") || len(jar) > VisitLimits.All {
			t.Fatalf("%q of %q", header, jar)
		}
		if again := write(jar.read(noon), VisitLimits); again != jar {
			t.Fatalf("%q is read as %q", jar, again)
		}
	})
}
