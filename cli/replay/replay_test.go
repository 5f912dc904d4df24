package replay

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"crawlnode/store/archive"
	"crawlnode/web/urlnorm"
)

// back reads the URL out of an address, as the server does.
func back(t *testing.T, path string) (urlnorm.URL, error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
	_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/web/"), "/")
	return asked(rest, r)
}

// FuzzAddress: the address of every URL leads back to it, and needs no escape in HTML, CSS and headers.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"http://a.test/", "http://a.test/a?b=1&c='x'(y)", "https://a.test:8/%2F//..;a,b", "http://[::1]/%E3%83%84?%26#f", "http://a.test/a+b?c+d=$e", "http://a.test/http://b.test/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := urlnorm.Parse(raw)
		if err != nil {
			return
		}
		path := address(time.Unix(0, 0), u.String())
		if strings.ContainsAny(path, "\"'<>&() \\\r\n;,#?") {
			t.Fatalf("%s needs an escape", path)
		}
		if got, err := back(t, path); err != nil || got != u {
			t.Fatalf("%s leads to %s, %v", path, got, err)
		}
	})
}

// TestAsked: what a person types.
func TestAsked(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/web/2026/http://a.test/b?c=d": "http://a.test/b?c=d", "/web/2026/http:/a.test/b": "http://a.test/b", "/web/2026/https:/a.test/": "https://a.test/", "/web/2026/a.test": "http://a.test/",
		"/web/2026/http%3A%2F%2Fa.test%2F%3Fx%253Dy": "http://a.test/?x%3Dy",
	} {
		if got, err := back(t, path); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	if _, err := back(t, "/web/2026/"+url.PathEscape("http://")); err == nil {
		t.Error("no URL was taken")
	}
	for s, want := range map[string]string{"2026": "20260101000000", "202603": "20260301000000", "20260304050607": "20260304050607", "202": "", "20261301": "", "2026x": "", "202603040506071": ""} {
		at, ok := parseStamp(s)
		if ok != (want != "") || ok && at.Format(stamp) != want {
			t.Errorf("%s: %v, %v", s, at, ok)
		}
	}
}

// TestClosest: the nearest capture that says something of the page.
func TestClosest(t *testing.T) {
	t.Parallel()
	at := func(s string) time.Time {
		v, _ := parseStamp(s)
		return v
	}
	list := []archive.Entry{{At: at("2020"), Status: 200}, {At: at("2022"), Status: 503}, {At: at("2024"), Status: 404}, {At: at("2025"), Status: 304}}
	for when, want := range map[string]int{"2001": 0, "2020": 0, "20211": 0, "202202": 2, "2023": 2, "202412": 3, "2040": 3} {
		if got := closest(list, at(when)); got != &list[want] {
			t.Errorf("%s: %v", when, got.At)
		}
	}
	if got := closest(list[1:2], at("2020")); got != &list[1] {
		t.Error("a capture that says nothing is better than none")
	}
}
