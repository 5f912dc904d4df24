package mirror

import (
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"crawlnode/web/urlnorm"
)

func mustURL(t testing.TB, raw string) urlnorm.URL {
	t.Helper()
	u, err := urlnorm.Parse(raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return u
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 300)
	for _, c := range []struct{ url, media, want string }{
		{"http://example.org/", "text/html", "example.org/index.html"},
		{"http://example.org/", "", "example.org/index.html"},
		{"http://example.org/", "application/json", "example.org/index.json"},
		{"https://example.org:8443/a/", "text/html", "example.org+8443/a/index.html"},
		{"http://127.0.0.1:8080/x", "text/html", "127.0.0.1+8080/x.html"},
		{"http://[2001:db8::1]:81/x", "text/html", "2001_db8__1+81/x.html"},
		{"http://example.org/a", "text/html", "example.org/a.html"},
		{"http://example.org/a", "", "example.org/a"},
		{"http://example.org/a.htm", "text/html", "example.org/a.htm"},
		{"http://example.org/A.HTML", "text/html", "example.org/A.HTML"},
		{"http://example.org/a.php", "text/html", "example.org/a.php.html"},
		{"http://example.org/a.php?id=1&b=2", "text/html", "example.org/a.php@id=1&b=2.html"},
		{"http://example.org/a.html?x", "text/html", "example.org/a.html@x.html"},
		{"http://example.org/a?", "text/html", "example.org/a@.html"},
		{"http://example.org/?q=1", "text/html", "example.org/index@q=1.html"},
		{"http://example.org/s.css?v=3", "text/css", "example.org/s.css@v=3.css"},
		{"http://example.org/logo", "image/png", "example.org/logo.png"},
		{"http://example.org/logo.jpeg", "image/jpeg", "example.org/logo.jpeg"},
		{"http://example.org/v1.2", "text/html", "example.org/v1.2.html"},
		{"http://example.org/README", "text/plain", "example.org/README"},
		{"http://example.org/%C3%A9t%C3%A9/%E4%BD%A0", "text/html", "example.org/été/你.html"},
		{"http://example.org/e%CC%81", "text/html", "example.org/é.html"}, // NFC
		{"http://example.org/%FF", "text/html", "example.org/%FF.html"},
		// Hostile names.
		{"http://example.org/..%2F..%2Fetc/passwd", "", "example.org/_._.._etc/passwd"},
		{"http://example.org/%2e%2e%5c%2e%2e%5cx", "", "example.org/_._.._x"},
		{"http://example.org/.git/config", "", "example.org/_git/config"},
		{"http://example.org/.htaccess", "text/html", "example.org/_htaccess.html"},
		{"http://example.org/a//b", "text/html", "example.org/a/_/b.html"},
		{"http://example.org/-rf", "", "example.org/_rf"},
		{"http://example.org/~user/", "text/html", "example.org/_user/index.html"},
		{"http://example.org/a%00b%0Ac", "", "example.org/a%00b%0Ac"},
		{"http://example.org/a%7Fb%E2%80%AEc%E2%80%8Bd", "", "example.org/a%7Fb%E2%80%AEc%E2%80%8Bd"},
		{"http://example.org/a%3Ab%3Fc%2A%22%3C%3E%7C", "", "example.org/a_b%3Fc%2A%22%3C%3E%7C"},
		{"http://example.org/nul", "text/html", "example.org/_nul.html"},
		{"http://example.org/COM1.txt", "text/plain", "example.org/_COM1.txt"},
		{"http://example.org/con.d/aux", "", "example.org/_con.d/_aux"},
		{"http://example.org/end./x.", "", "example.org/end_/x_"},
		{"http://example.org/end%20/x%20", "", "example.org/end_/x_"},
		{"http://example.org/..x", "", "example.org/_.x"},
		{"http://example.org/" + long + ".png", "image/png", "example.org/" + long[:80] + "~" + hashOf("http://example.org/"+long+".png") + ".png"},
		{"http://example.org/" + long + "/y", "", "example.org/" + long[:80] + "~" + hashOf(long) + "/y"},
	} {
		p := placeOf(mustURL(t, c.url), c.media)
		if got := p.file(""); got != c.want {
			t.Errorf("%s (%s): %s, want %s", c.url, c.media, got, c.want)
		}
	}
}

// Whatever a URL is, its path stays in the folder and is a name on every file system, and the link
// to it is read back as the path.
func FuzzPlace(f *testing.F) {
	for _, s := range []string{"http://h/", "http://h/a/b?c", "http://h/%2e%2e/..%2F.",
		"http://[::1]:8/~/-/.x/CON./", "http://h/%F0%9F%98%80%E2%80%AE"} {
		f.Add(s, "text/html", uint8(0))
		f.Add(s, "", uint8(3))
	}
	f.Fuzz(func(t *testing.T, raw, media string, try uint8) {
		u, err := urlnorm.Parse(raw)
		if err != nil {
			return
		}
		file := placeOf(u, media).file(suffix(int(try), u.String()))
		if !fs.ValidPath(file) || !filepath.IsLocal(file) || !isSafe(file) || len(file) > 500 {
			t.Fatalf("%s: %q", u, file)
		}
		for name := range strings.SplitSeq(file, "/") {
			base, _, _ := strings.Cut(name, ".")
			switch {
			case len(name) > 143, strings.HasSuffix(name, "."), strings.HasSuffix(name, " "), name[0] == '.',
				name[0] == '-',
				strings.ContainsAny(name, "<>:\"\\|?*"), slices.Contains(reserved, strings.ToLower(base)),
				strings.ContainsFunc(name,
					func(r rune) bool { return unicode.IsControl(r) || r == unicode.ReplacementChar }):
				t.Fatalf("%s: the name %q", u, name)
			}
		}
		to, err := url.Parse(link("a/b/c.html", file))
		if err != nil || path.Join("a/b", to.Path) != file || to.RawQuery != "" || to.Fragment != "" ||
			strings.ContainsAny(to.String(), "&'\"()<> ,\\") {
			t.Fatalf("%s: the link %q leads to %q: %v", file, link("a/b/c.html", file), to.Path, err)
		}
	})
}

func TestLink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, want string }{
		{"h/a.html", "h/a.html", "a.html"},
		{"h/a/b.html", "h/c.css", "../c.css"},
		{"h/a.html", "i/b/c&d.html", "../i/b/c%26d.html"},
		{"h/a/b/c", "h/a/x/y", "../x/y"},
		{"h/a", "h/a:b, (é).html", "a%3Ab%2C%20%28%C3%A9%29.html"},
	} {
		if got := link(c.from, c.to); got != c.want {
			t.Errorf("from %s to %s: %s, want %s", c.from, c.to, got, c.want)
		}
	}
}
