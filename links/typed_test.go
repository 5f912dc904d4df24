package links

import (
	"strings"
	"testing"

	"crawlnode/web/urlnorm"
)

// TestMistypedSeeds: each says what is wrong and the URL that was meant.
func TestMistypedSeeds(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"http://http://example.org/":            "stands twice: write http://example.org/",
		"http://https://example.org/a?b=c":      "stands twice: write https://example.org/a?b=c",
		"https://http://example.org":            "stands twice: write http://example.org",
		"http://http//example.org/":             "stands twice: write http://example.org/",
		"https:https://example.org/":            "stands twice: write https://example.org/",
		"http://http://https://example.org/":    "stands twice: write https://example.org/",
		"http:/example.org/x":                   "mistyped: write http://example.org/x",
		"https:example.org":                     "mistyped: write https://example.org",
		"https//example.org/":                   "mistyped: write https://example.org/",
		"http//:example.org/":                   "mistyped: write http://example.org/",
		"http;//example.org/":                   "mistyped: write http://example.org/",
		"http:///example.org/":                  "mistyped: write http://example.org/",
		"HTTPS//Example.org/":                   "mistyped: write https://Example.org/",
		`http:\\example.org\a`:                  "mistyped: write http://example.org",
		"htp://example.org/":                    "scheme is mistyped: write http://example.org/",
		"htttps:/example.org/":                  "scheme is mistyped: write https://example.org/",
		"ttps://example.org/":                   "scheme is mistyped: write https://example.org/",
		"httsp://example.org/":                  "scheme is mistyped: write https://example.org/",
		"//example.org/a":                       "no scheme: write https://example.org/a",
		`"http://example.org/"`:                 "in quotes or brackets: give http://example.org/",
		"“https://example.org/”":                "in quotes or brackets: give https://example.org/",
		" <http://example.org/> ":               "in quotes or brackets: give http://example.org/",
		"url=http://example.org/":               "before the URL: give http://example.org/",
		"view-source:https://example.org/a":     "before the URL: give https://example.org/a",
		"see http://example.org/":               "several URLs",
		"http://exa mple.org/":                  "its host name has a space",
		"http://example.org:99999/":             "its port is above 65535",
		"http;//http://example.org/":            "stands twice: write http://example.org/",
		"www.example.org":                       "not a URL: write one such as https://example.org/",
		"http://example.org/ http://b.example/": "several URLs",
	} {
		u, err := ParseSeed(raw)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", raw, u, err, want)
			continue
		}
		if _, fixed, ok := strings.Cut(want, "write "); ok && !strings.HasPrefix(fixed, "one such") {
			if _, err := ParseSeed(fixed); err != nil {
				t.Errorf("%q: what it says to write is refused too: %v", raw, err)
			}
		}
	}
}

// TestRightSeeds: what is unusual and no mistake.
func TestRightSeeds(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"http://http.example.org/", "http://httpbin.org/get", "https://https.org/", "http://http/",
		"http://example.org/http://other.example/", "http://example.org/?u=http://other.example/",
		"https://web.archive.org/web/2024/http://example.org/", "HTTP://EXAMPLE.ORG/",
		"http://127.0.0.1:8500/",
		"http://[::1]:80/", "http://example.org/a b", "  http://example.org/\n",
		"http://user@example.org/",
		"http://xn--bcher-kva.example/", "http://bücher.example/", "http://example.org/'quoted'",
		"http://https-only.example/", "http://http:8080/x", "http://example.org//double//slash",
	} {
		u, err := ParseSeed(raw)
		if err != nil {
			t.Errorf("%q: %v", raw, err)
			continue
		}
		if same, err := urlnorm.Parse(raw); err != nil || same != u {
			t.Errorf("%q is read as %v, and by the standard as %v", raw, u, same)
		}
	}
}

// FuzzParseSeed: a seed is either refused or read as the URL standard reads it, and what an error
// says to write is not refused for the same reason again.
func FuzzParseSeed(f *testing.F) {
	f.Add("http://http://x.org/")
	f.Add("https//x.org")
	f.Add("“http:/x”")
	f.Fuzz(func(t *testing.T, raw string) {
		u, err := ParseSeed(raw)
		if err == nil {
			if same, err := urlnorm.Parse(raw); err != nil || same != u {
				t.Fatalf("%q is read as %v, and by the standard as %v (%v)", raw, u, same, err)
			}
			return
		}
		_, right, ok := strings.Cut(mistake(raw), ": write ")
		if ok && strings.Contains(mistake(right), "stands twice") {
			t.Fatalf("%q: %v, and then %q", raw, err, mistake(right))
		}
	})
}
