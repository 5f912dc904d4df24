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
		"plain":                    {"http://a.test/", []string{"k=1"}, "http://a.test/x", "k=1"},
		"two, in order":            {"http://a.test/", []string{"k=1", "l=2; Path=/"}, "http://a.test/", "k=1; l=2"},
		"replaced":                 {"http://a.test/", []string{"k=1", "k=2"}, "http://a.test/", "k=2"},
		"default path":             {"http://a.test/d/e", []string{"k=1"}, "http://a.test/d/f", "k=1"},
		"default path, outside":    {"http://a.test/d/e", []string{"k=1"}, "http://a.test/x", ""},
		"no folder of that name":   {"http://a.test/", []string{"k=1; Path=/d"}, "http://a.test/de", ""},
		"longer path first":        {"http://a.test/", []string{"k=1; Path=/", "l=2; Path=/d"}, "http://a.test/d/e", "l=2; k=1"},
		"query is no path":         {"http://a.test/d?q=/x/", []string{"k=1"}, "http://a.test/", "k=1"},
		"expired":                  {"http://a.test/", []string{"k=1; Max-Age=0"}, "http://a.test/", ""},
		"expired by date":          {"http://a.test/", []string{"k=1; Expires=Fri, 27 Nov 2026 12:00:00 GMT"}, "http://a.test/", ""},
		"max-age before the date":  {"http://a.test/", []string{"k=1; Max-Age=60; Expires=Fri, 27 Nov 2026 12:00:00 GMT"}, "http://a.test/", "k=1"},
		"deleted":                  {"http://a.test/", []string{"k=1; Path=/", "k=x; Path=/; Max-Age=-1"}, "http://a.test/", ""},
		"secure over http":         {"http://a.test/", []string{"k=1; Secure"}, "https://a.test/", ""},
		"secure not sent to http":  {"https://a.test/", []string{"k=1; Secure"}, "http://a.test/", ""},
		"secure":                   {"https://a.test/", []string{"k=1; Secure; HttpOnly; SameSite=Strict"}, "https://a.test/", "k=1"},
		"own domain":               {"http://www.a.test/", []string{"k=1; Domain=.a.test"}, "http://www.a.test/", "k=1"},
		"another domain":           {"http://www.a.test/", []string{"k=1; Domain=b.test"}, "http://www.a.test/", ""},
		"public suffix":            {"http://www.a.co.uk/", []string{"k=1; Domain=co.uk"}, "http://www.a.co.uk/", ""},
		"__Host- with a path":      {"https://a.test/", []string{"__Host-k=1; Secure; Path=/d"}, "https://a.test/d", ""},
		"__Host-":                  {"https://a.test/", []string{"__Host-k=1; Secure; Path=/"}, "https://a.test/d", "__Host-k=1"},
		"__Secure- without Secure": {"https://a.test/", []string{"__Secure-k=1"}, "https://a.test/", ""},
		"no name":                  {"http://a.test/", []string{"", "k", "=", "; Path=/"}, "http://a.test/", "k"},
		"empty name":               {"http://a.test/", []string{"k", "=1"}, "http://a.test/", "1"},
		"a prefix without a name":  {"https://a.test/", []string{"=__Host-k=1; Secure; Path=/d"}, "https://a.test/d", ""},
		"JSON":                     {"http://a.test/", []string{`k={"a":"b","c":[1]}`}, "http://a.test/", `k={"a":"b","c":[1]}`},
		"name with brackets":       {"http://a.test/", []string{"user[id]=1", "a:b=2", "x y=3"}, "http://a.test/", "user[id]=1; a:b=2; x y=3"},
		"UTF-8":                    {"http://a.test/", []string{"k=caf\u00e9"}, "http://a.test/", "k=caf\u00e9"},
		"Latin-1":                  {"http://a.test/", []string{"k=caf\xe9"}, "http://a.test/", "k=caf\xe9"},
		"backslash, one quote":     {"http://a.test/", []string{`k=a\b"c`}, "http://a.test/", `k=a\b"c`},
		"equals in the value":      {"http://a.test/", []string{"k = a=b= "}, "http://a.test/", "k=a=b="},
		"empty value":              {"http://a.test/", []string{"k="}, "http://a.test/", "k="},
		"control byte":             {"http://a.test/", []string{"k=a\x01b", "l=a\x7f"}, "http://a.test/", ""},
		"tab":                      {"http://a.test/", []string{"k=a\tb"}, "http://a.test/", "k=a\tb"},
		"odd attributes":           {"http://a.test/", []string{"k=1;;path = / ;SECUREX; max-age=+5;=;Expires=never"}, "http://a.test/d", "k=1"},
		"max-age beyond all":       {"http://a.test/", []string{"k=1; Max-Age=99999999999999999999"}, "http://a.test/", "k=1"},
		"negative beyond all":      {"http://a.test/", []string{"k=1; Max-Age=-99999999999999999999"}, "http://a.test/", ""},
		"path without a slash":     {"http://a.test/d/e", []string{"k=1; Path=x"}, "http://a.test/d/f", "k=1"},
		"last path counts":         {"http://a.test/", []string{"k=1; Path=/d; Path=/"}, "http://a.test/", "k=1"},
		"no domain":                {"http://a.test/", []string{"k=1; Domain="}, "http://a.test/", "k=1"},
		"quoted":                   {"http://a.test/", []string{`k="a b"`}, "http://a.test/", `k="a b"`},
		"address":                  {"http://127.0.0.1:8080/", []string{"k=1"}, "http://127.0.0.1:8080/x", "k=1"},
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
	if len(jar) > VisitLimits.All || !strings.Contains(string(jar), "k199=") || strings.Contains(string(jar), "k0=") {
		t.Errorf("%d bytes: %.80q", len(jar), jar)
	}
	for i := range 60 {
		jar = jar.Set(u, []string{fmt.Sprintf("h%d=v", i)}, noon, HostLimits)
	}
	if n := strings.Count(string(jar), "\n") + 1; n > HostLimits.Cookies {
		t.Errorf("%d cookies", n)
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
