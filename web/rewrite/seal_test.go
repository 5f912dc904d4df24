package rewrite

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"

	"crawlnode/web/urlnorm"
)

// hostilePages are ways of a page to have a browser connect, a Go string a line. EVIL is the place
// that must hear nothing. The integration tests show them to Chromium.
func hostilePages(t testing.TB) (pages []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "hostile.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		page, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page)
	}
	return pages
}

// local is the target of a server.
func local(u urlnorm.URL) (string, bool) {
	return "/web/20260101000000/" +
		strings.NewReplacer(":", "%3A", "/", "%2F", "?", "%3F").Replace(u.String()), true
}

var (
	// sealedTag are all forms of "<" in a sealed page.
	sealedTag = regexp.MustCompile(
		`^<(?:!(?i:doctype)[^<>]*>|/[a-z][a-z0-9:_.-]*>|[a-z][a-z0-9:_.-]*(?: [a-z][a-z0-9:_.-]*="[^"<>` +
			"`" + `]*")*/?>)`)
	asks = map[string]bool{
		"preconnect":    true,
		"dns-prefetch":  true,
		"preload":       true,
		"modulepreload": true,
		"prefetch":      true,
		"prerender":     true,
		"manifest":      true,
		"search":        true,
		"pingback":      true,
	}
)

// checkSealed holds that a page cannot have a browser connect elsewhere, by its bytes and as a
// parser that is not ours sees it.
func checkSealed(t *testing.T, page string) {
	t.Helper()
	rest := page
	for at := strings.IndexByte(rest, '<'); at >= 0; at = strings.IndexByte(rest, '<') {
		tag := sealedTag.FindString(rest[at:])
		if tag == "" {
			t.Fatalf("%.100q is no tag in its proper form in %q", rest[at:], page)
		}
		rest = rest[at+len(tag):]
	}
	for _, scripts := range []bool{false, true} {
		root, err := html.ParseWithOptions(strings.NewReader(page),
			html.ParseOptionEnableScripting(scripts))
		if err != nil {
			t.Fatal(err)
		}
		for n := range root.Descendants() {
			if n.Type == html.ElementNode {
				checkElement(t, n, page)
			}
		}
	}
}

func checkElement(t *testing.T, n *html.Node, page string) {
	t.Helper()
	if strings.EqualFold(n.Data, "script") || n.Data == "base" || n.Data == "embed" ||
		n.Data == "applet" || n.Data == "portal" {
		t.Errorf("%s is in %q", n.Data, page)
	}
	for _, a := range n.Attr {
		key, value := strings.ToLower(a.Key), strings.ToLower(a.Val)
		switch {
		case strings.HasPrefix(key, "on"), key == "ping", key == "attributionsrc",
			key == "http-equiv" && value != "refresh":
			t.Errorf("%s=%q is in %q", a.Key, a.Val, page)
		case n.Data == "link" && key == "rel":
			for _, r := range strings.Fields(value) {
				if asks[r] {
					t.Errorf("a link %q is in %q", a.Val, page)
				}
			}
		case key == "srcdoc":
			checkSealed(t, a.Val)
		case key == "href", key == "src", key == "action", key == "formaction", key == "poster",
			key == "background", key == "data":
			if value != "" && !strings.HasPrefix(value, "/web/") && !strings.HasPrefix(value, "#") &&
				value != invalid && !strings.HasPrefix(value, "data:") &&
				!strings.HasPrefix(value, "mailto:") && !strings.HasPrefix(value, "tel:") {
				t.Errorf("%s=%q is in %q", a.Key, a.Val, page)
			}
		}
	}
}

func TestSeal(t *testing.T) {
	t.Parallel()
	at, err := urlnorm.Parse("http://a.test/dir/page")
	if err != nil {
		t.Fatal(err)
	}
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(
		`<link rel=preconnect href="//EVIL">seen`)
	if err != nil {
		t.Fatal(err)
	}
	jis, err := japanese.ISO2022JP.NewEncoder().String("日本<link rel=preconnect href=\"//EVIL\">seen")
	if err != nil {
		t.Fatal(err)
	}
	pages := hostilePages(t)
	kinds := []string{"text/html", "text/html; charset=utf-8", "text/html; charset=windows-1252",
		"text/html; charset=utf-7", "application/xhtml+xml", "application/xhtml+xml; charset=iso-8859-5",
		"image/svg+xml", "text/html; charset=shift_jis"}
	for _, kind := range kinds {
		for _, p := range pages {
			p = strings.ReplaceAll(p, "EVIL", "evil.test")
			out := string(Seal([]byte(p), kind, at, local))
			if checkSealed(t, out); !strings.Contains(out, "seen") {
				t.Errorf("%s: %.300q became %.300q", kind, p, out)
			}
		}
	}
	for kind, page := range map[string]string{
		"text/html; charset=utf-16le": utf16, "text/html": utf16,
		"application/xhtml+xml; charset=utf-16": utf16, "text/html; charset=iso-2022-jp": jis,
		"text/html; charset=iso-2022-kr":    jis,
		"text/html; charset=x-user-defined": "<link rel=preconnect href=//evil.test>seen",
	} {
		checkSealed(t, string(Seal([]byte(page), kind, at, local)))
	}
	// What is good stays.
	for _, c := range [][3]string{
		{
			"text/html",
			`<!DOCTYPE html><html lang=de><title>A &amp; B</title><link rel=stylesheet href=/a.css><p class="x">a < b &lt; c<br/><a href="../q?a=1#f">l</a><a href="#x">m</a>`,
			`<!DOCTYPE html><html lang="de"><title>A &amp; B</title><link rel="stylesheet" href="/web/20260101000000/http%3A%2F%2Fa.test%2Fa.css"><p class="x">a &lt; b &lt; c<br><a href="/web/20260101000000/http%3A%2F%2Fa.test%2Fq%3Fa=1#f">l</a><a href="#x">m</a>`,
		},
		{"text/html", `<style><!-- p>a{color:red} q:before{content:"<"} --></style>`, `<style> p>a{color:red} q:before{content:"\3C "} </style>`},
		{"application/xhtml+xml",
			`<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><title/><p>a<![CDATA[<b>&]]></p><div/></html>`,
			`<html xmlns="http://www.w3.org/1999/xhtml"><title></title><p>a&lt;b&gt;&amp;</p><div></div></html>`},
		{"text/html", `<svg viewBox="0 0 1 1"><path d="M0"/><title>t</title></svg>`,
			`<svg viewbox="0 0 1 1"><path d="M0"/><title>t</title></svg>`},
		{"text/html; charset=windows-1252", "<a href='?q=\xe9'>\xe9</a>",
			`<a href="/web/20260101000000/http%3A%2F%2Fa.test%2Fdir%2Fpage%3Fq=%E9">é</a>`},
		{"text/html", `<img src="data:image/png;base64,AA=="><a href="mailto:a@b.test">`,
			`<img src="data:image/png;base64,AA=="><a href="mailto:a@b.test">`},
	} {
		if got := string(Seal([]byte(c[1]), c[0], at, local)); got != c[2] {
			t.Errorf("%s of %s\nbecame %s\nwant   %s", c[1], c[0], got, c[2])
		}
	}
}

func FuzzSeal(f *testing.F) {
	for _, p := range hostilePages(f) {
		f.Add([]byte(p), "text/html")
		f.Add([]byte(p), "application/xhtml+xml")
	}
	f.Add([]byte("\xff\xfe<\x00a\x00"), "text/html; charset=utf-16")
	at, err := urlnorm.Parse("http://a.test/dir/page")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, page []byte, kind string) {
		checkSealed(t, string(Seal(page, kind, at, local)))
	})
}
