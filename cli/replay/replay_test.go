package replay

import (
	"crypto/sha1" //nolint:gosec // WARC digests are SHA-1
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/output/readback"
	"crawlnode/web/preferences"
	"crawlnode/web/urlnorm"
)

// back reads the URL out of an address, as the server does.
func back(t *testing.T, path string) (urlnorm.URL, error) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
	_, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/web/"), "/")
	return asked(rest, r)
}

// FuzzAddress: the address of every URL leads back to it, and needs no escape in HTML, CSS and
// headers.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"http://a.test/", "http://a.test/a?b=1&c='x'(y)",
		"https://a.test:8/%2F//..;a,b", "http://[::1]/%E3%83%84?%26#f", "http://a.test/a+b?c+d=$e",
		"http://a.test/http://b.test/"} {
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
		"/web/2026/http://a.test/b?c=d":              "http://a.test/b?c=d",
		"/web/2026/http:/a.test/b":                   "http://a.test/b",
		"/web/2026/https:/a.test/":                   "https://a.test/",
		"/web/2026/a.test":                           "http://a.test/",
		"/web/2026/http%3A%2F%2Fa.test%2F%3Fx%253Dy": "http://a.test/?x%3Dy",
	} {
		if got, err := back(t, path); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	if _, err := back(t, "/web/2026/"+url.PathEscape("http://")); err == nil {
		t.Error("no URL was taken")
	}
	for s, want := range map[string]string{
		"2026":            "20260101000000",
		"202603":          "20260301000000",
		"20260304050607":  "20260304050607",
		"202":             "",
		"20261301":        "",
		"2026x":           "",
		"202603040506071": "",
	} {
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
	list := []archive.Entry{{At: at("2020"), Status: 200}, {At: at("2022"), Status: 503},
		{At: at("2024"), Status: 404}, {At: at("2025"), Status: 304}}
	for when, want := range map[string]int{
		"2001":   0,
		"2020":   0,
		"20211":  0,
		"202202": 2,
		"2023":   2,
		"202412": 3,
		"2040":   3,
	} {
		if got := closest(list, at(when)); got != &list[want] {
			t.Errorf("%s: %v", when, got.At)
		}
	}
	if got := closest(list[1:2], at("2020")); got != &list[1] {
		t.Error("a capture that says nothing is better than none")
	}
}

// crawled are folders with a page of each URL, whose text is its URL, in turns.
func crawled(t *testing.T, urls []string) folders {
	t.Helper()
	dirs := []string{t.TempDir(), t.TempDir()}
	for n, dir := range dirs {
		a, err := archive.Open(dir,
			archive.Options{Node: "0123456789abcdef", Name: "n" + strconv.Itoa(n)})
		if err != nil {
			t.Fatal(err)
		}
		for i := n; i < len(urls); i += len(dirs) {
			c := crawl.Capture{
				FetchedAt: time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC), Status: 200, ContentType: "text/plain",
				ResponseHead: []byte("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"),
				Body:         []byte(urls[i]), Digest: sha1.Sum([]byte(urls[i])), //nolint:gosec // as WARC has it
			}
			if err := c.URL.UnmarshalText([]byte(urls[i])); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Put(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return folders{&readback.Archives{Folders: dirs}}
}

// TestExactURLWins: URLs that share a key are pages of their own; only what was not archived is
// shown as another URL with its key.
func TestExactURLWins(t *testing.T) {
	t.Parallel()
	urls := []string{
		"http://a.test/CASE", "http://a.test/case", "http://a.test/?a=1&b=2", "http://a.test/?b=2&a=1",
		"http://a.test/x/", "http://a.test/x", "http://a.test//x", "http://a.test/%7Ey",
		"http://a.test/~y",
		"http://www.a.test/x", "https://a.test/case", "http://127.0.0.1:8500/CASE",
		"http://127.0.0.1:8500/case",
		"http://a.test/?u=https%3A%2F%2Fb.test%2F", "http://a.test/?u=https://b.test/",
		"https://s.test/Only",
		"http://[::1]/A", "http://[::1]/a", "http://a.test/p?", "http://a.test/p",
	}
	s := newServer(crawled(t, urls), readback.MaxContent)
	get := func(url string) (code int, body string) {
		path := "/web/2026/" + escaped(url)
		for range 3 {
			w := httptest.NewRecorder()
			r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1"+path, nil)
			s.ServeHTTP(w, r)
			if path = w.Header().Get("Location"); path == "" {
				return w.Code, w.Body.String()
			}
		}
		return http.StatusLoopDetected, path
	}
	for _, url := range urls {
		if code, body := get(url); code != http.StatusOK || body != url {
			t.Errorf("%s shows %d %.100s", url, code, body)
		}
	}
	for url, want := range map[string]string{
		"http://s.test/Only": "https://s.test/Only", "http://a.test/?B=2&a=1": "http://a.test/?b=2&a=1",
		"http://s.test/only/": "https://s.test/Only", "https://www.a.test/x#f": "http://www.a.test/x",
		"http://a.test/P/": "http://a.test/p", "http://127.0.0.1:8500/cAsE": "http://127.0.0.1:8500/case",
	} {
		code, body := get(url)
		if code != http.StatusOK || archive.Key(body) != archive.Key(want) ||
			url == "http://s.test/Only" && body != want {
			t.Errorf("%s shows %d %.100s, not %s", url, code, body, want)
		}
	}
	if code, _ := get("http://a.test/none"); code != http.StatusNotFound {
		t.Errorf("a URL without captures: %d", code)
	}
}

// TestReplayLeavesOut: captures whose owner said no to a purpose are not shown, and the others of
// the URL are.
func TestReplayLeavesOut(t *testing.T) {
	t.Parallel()
	at := func(year int) time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }
	all := listed{entries: []archive.Entry{
		{URL: "http://a.test/", At: at(2025), Status: 200}, {URL: "http://a.test/", At: at(2026), Status: 200, Preferences: "ai-train=n"},
		{URL: "http://a.test/", At: at(2027), Status: 200, Preferences: "search=y, search-until=1"}}}
	u, err := urlnorm.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	for purposes, want := range map[preferences.Purposes]int{
		0: 3, preferences.PurposesOf(preferences.AITrain): 2,
		preferences.PurposesOf(preferences.Search): 2,
		preferences.PurposesOf(preferences.AITrain,
			preferences.Search): 1, preferences.PurposesOf(preferences.Archive): 3,
	} {
		list, err := without{all, &readback.Omit{Purposes: purposes, Now: time.Now()}}.captures(
			t.Context(), u)
		if err != nil || len(list) != want {
			t.Errorf("%s: %d captures, %v; want %d", purposes, len(list), err, want)
		}
	}
}
