//race:none

package rewrite

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"crawlnode/web/htmlparse"
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

// saved knows two pages, a sheet and two pictures.
func saved(u urlnorm.URL) (string, bool) {
	to, ok := map[string]string{
		"http://example.org/a/page": "page.html", "http://example.org/a/other": "other.html",
		"http://example.org/s.css":   "../s.css",
		"http://example.org/a/1.png": "1.png", "http://example.org/2.png": "../2.png",
		"http://example.org/q?x=1&y=2": "../q@x=1.html",
		"http://example.org/%C3%A9":    "../%C3%A9.html", "http://example.org/q?x=%E9": "../qe.html",
	}[u.String()]
	return to, ok
}

func TestHTML(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		// Links of a page: to a file, to the web, and those that stay.
		`<a href="/a/other">x</a>`:          `<a href="other.html">x</a>`,
		`<A HREF=other#top>x</A>`:           `<A HREF="other.html#top">x</A>`,
		`<a href='other' class=c>`:          `<a href='other.html' class=c>`,
		`<a href= " /a/other#a b " >`:       `<a href= "other.html#a b" >`,
		`<a href="gone?x=1&amp;y=2#f">`:     `<a href="http://example.org/a/gone?x=1&amp;y=2#f">`,
		`<a href="/q?x=1&y=2">`:             `<a href="../q@x=1.html">`,
		`<a href="//example.org/2.png">`:    `<a href="../2.png">`,
		`<a href="//cdn.example/x.js">`:     `<a href="http://cdn.example/x.js">`,
		`<a href="HTTP://EXAMPLE.com/x#y">`: `<a href="HTTP://EXAMPLE.com/x#y">`,
		`<a href="http:other">`:             `<a href="other.html">`,
		`<a href="http:gone">`:              `<a href="http://example.org/a/gone">`,
		`<a href="page#x">`:                 `<a href="page.html#x">`,
		`<a href="#x">`:                     `<a href="#x">`,
		`<a href="">`:                       `<a href="">`,
		`<a href>`:                          `<a href>`,
		`<a href="mailto:a@example.org">`:   `<a href="mailto:a@example.org">`,
		`<a href="javascript:go('/x')">`:    `<a href="javascript:go('/x')">`,
		`<a href="data:,x">`:                `<a href="data:,x">`,
		`<a href="http://[bad/">`:           `<a href="http://[bad/">`,
		`<a href="other" href="gone">`:      `<a href="other.html" href="gone">`,
		`<a href="/&#x65;&#769;x">`:         `<a href="http://example.org/e%CC%81x">`,
		`<a href="/é">`:                     `<a href="../%C3%A9.html">`,
		`<a href=/a/other/>`:                `<a href="http://example.org/a/other/">`,
		// Parts of a page.
		`<img src=1.png alt="<b>">`:                          `<img src=1.png alt="<b>">`,
		`<img srcset="1.png 1x, /2.png 2x,gone.png 3x">`:     `<img srcset="1.png 1x, ../2.png 2x,http://example.org/a/gone.png 3x">`,
		`<img srcset="/2.png, 1.png 100w">`:                  `<img srcset="../2.png, 1.png 100w">`,
		`<source srcset='/2.png'>`:                           `<source srcset='../2.png'>`,
		`<img data-src="/2.png" src="data:,">`:               `<img data-src="../2.png" src="data:,">`,
		`<video poster="/2.png" src=gone.mp4>`:               `<video poster="../2.png" src="http://example.org/a/gone.mp4">`,
		`<input type=image src=/2.png formaction=send>`:      `<input type=image src="../2.png" formaction="http://example.org/a/send">`,
		`<svg><use xlink:href="/2.png#i"/></svg>`:            `<svg><use xlink:href="../2.png#i"/></svg>`,
		`<object data="1.png">`:                              `<object data="1.png">`,
		`<body background="/2.png">`:                         `<body background="../2.png">`,
		`<form action="/send"><button formaction="other">`:   `<form action="http://example.org/send"><button formaction="other.html">`,
		`<iframe src="other"></iframe>`:                      `<iframe src="other.html"></iframe>`,
		`<blockquote cite="other">`:                          `<blockquote cite="other.html">`,
		`<p style="background: url('/2.png')">`:              `<p style="background: url(&quot;../2.png&quot;)">`,
		`<p style='background: url(/2.png)'>`:                `<p style='background: url(&quot;../2.png&quot;)'>`,
		`<style>@import "/s.css"; a{b:url(/2.png)}</style>`:  `<style>@import "../s.css"; a{b:url("../2.png")}</style>`,
		`<style></style><p>url(/2.png)</p>`:                  `<style></style><p>url(/2.png)</p>`,
		`<noscript><img src="/2.png"></noscript>`:            `<noscript><img src="../2.png"></noscript>`,
		`<template><img src="/2.png"></template>`:            `<template><img src="../2.png"></template>`,
		`<meta http-equiv=refresh content="5; url=other#x">`: `<meta http-equiv=refresh content="5; url=other.html#x">`,
		`<meta http-equiv="Refresh" content="0;URL='gone'">`: `<meta http-equiv="Refresh" content="0;URL=&#39;http://example.org/a/gone&#39;">`,
		`<meta http-equiv=refresh content=5>`:                `<meta http-equiv=refresh content=5>`,
		`<meta name=x content="5; url=other">`:               `<meta name=x content="5; url=other">`,
		// What keeps a browser from using a file.
		`<link rel=stylesheet href="/s.css" integrity="sha256-x" crossorigin>`:       `<link rel=stylesheet href="../s.css"  >`,
		`<script crossorigin="anonymous" src="http://example.org/s.css"></script>`:   `<script  src="../s.css"></script>`,
		`<script integrity=x src="http://cdn.example/x.js" crossorigin></script>`:    `<script integrity=x src="http://cdn.example/x.js" crossorigin></script>`,
		`<img crossorigin src="http://cdn.example/x" style="background:url(1.png)">`: `<img crossorigin src="http://cdn.example/x" style="background:url(1.png)">`,
		// What is no link.
		`<script>var a = '<a href="/a/other">'</script>`: `<script>var a = '<a href="/a/other">'</script>`,
		`<textarea><a href="/a/other"></textarea>`:       `<textarea><a href="/a/other"></textarea>`,
		`<!-- <a href="/a/other"> -->`:                   `<!-- <a href="/a/other"> -->`,
		`<a title="href=/a/other">`:                      `<a title="href=/a/other">`,
		`</a href="/a/other">`:                           `</a href="/a/other">`,
		"\x00<p>\r\n<a\tHREF\n=\n\"/a/other\"\r>&copy": "\x00<p>\r\n<a\tHREF\n=\n" +
			"\"other.html\"\r>&copy",
		`<a href="/a/other`:  `<a href="/a/other`,
		`<a href="/a/other"`: `<a href="/a/other"`,
		`text < 3 <3 <`:      `text < 3 <3 <`,
	} {
		want = strings.ReplaceAll(want, `style="background:url(1.png)"`,
			`style="background:url(&quot;1.png&quot;)"`)
		at := mustURL(t, "http://example.org/a/page")
		if got := string(HTML([]byte(page), "text/html", at, saved)); got != want {
			t.Errorf("%s\n got %s\nwant %s", page, got, want)
		}
	}
}

// A base element changes what every reference means, and has no effect on the saved page.
func TestBase(t *testing.T) {
	t.Parallel()
	at := mustURL(t, "http://example.org/elsewhere/x")
	page :=
		`<base target=_top href="/a/page"><a href=other>1</a><a href="#top">2</a><a href=gone>3</a><base href="/later/">`
	want :=
		`<base target=_top href=""><a href="other.html">1</a><a href="page.html#top">2</a><a href="http://example.org/a/gone">3</a><base href="">`
	if got := string(HTML([]byte(page), "text/html", at, saved)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// The encoding stays, and references are read in it.
func TestEncodings(t *testing.T) {
	t.Parallel()
	at := mustURL(t, "http://example.org/a/page")
	const page, want = `<p title="ü">é<a href="/é">1</a><a href="/q?x=é">2</a>`,
		`<p title="ü">é<a href="../%C3%A9.html">1</a><a href="../qe.html">2</a>`
	latin := charmap.Windows1252.NewEncoder()
	in, _ := latin.String(page)
	out, _ := latin.String(want)
	if got := string(HTML([]byte(in), "text/html; charset=iso-8859-1", at, saved)); got != out {
		t.Errorf("windows-1252: %q\nwant %q", got, out)
	}
	for name, enc := range map[string]unicode.Endianness{
		"be": unicode.BigEndian,
		"le": unicode.LittleEndian,
	} {
		e := unicode.UTF16(enc, unicode.UseBOM)
		in, _ := e.NewEncoder().String(`<p title="ℌ">é<a href="/é">1</a>`)
		out, _ := e.NewEncoder().String(`<p title="ℌ">é<a href="../%C3%A9.html">1</a>`)
		if got := string(HTML([]byte(in), "text/html", at, saved)); got != out {
			t.Errorf("utf-16%s: %q\nwant %q", name, got, out)
		}
	}
}

func TestXHTML(t *testing.T) {
	t.Parallel()
	at := mustURL(t, "http://example.org/a/page")
	const page, want = `<script src="/2.png"/><a href="/a/other"/>`,
		`<script src="../2.png"/><a href="other.html"/>`
	if got := string(HTML([]byte(page), "application/xhtml+xml", at, saved)); got != want {
		t.Errorf("got  %s", got)
	}
}

func TestCSS(t *testing.T) {
	t.Parallel()
	at := mustURL(t, "http://example.org/a/x.css")
	const sheet = "@import url('/s.css') screen;\na { b: url(1.png#i); c: url(gone.png); d: " +
		"url(data:,x); e: url(#f) }\xff"
	const want = "@import \"../s.css\" screen;\na { b: url(\"1.png#i\"); c: " +
		"url(\"http://example.org/a/gone.png\"); d: url(data:,x); e: url(#f) }\xff"
	if got := string(CSS([]byte(sheet), at, saved)); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	at := mustURL(t, "http://example.org/a/page")
	page :=
		`<base href=/b/><style>@import "1.css"; a{b:url(2.png)}</style><p style="background:url(3.png)"><a href=no><img src=no>
		<svg><image xlink:href=4.png /><use href="5.svg#x"/><use href="#own"/></svg><noscript><style>a{b:url(6.png)}</style></noscript><table background=7.png><script>url(no)</script>
		<p style="background:url(data:,x)"><!-- <style>a{b:url(no)}</style> -->
		<iframe srcdoc="<p style='b:url(8.png)'><style>a{b:image-set(&quot;9.png&quot; 1x)}</style><iframe srcdoc='&lt;style>a{b:url(10.png)}'>"></iframe><p style>url(no)`
	doc := htmlparse.Parse([]byte(page), "text/html", at)
	var got []string
	for _, u := range Parts([]byte(page), &doc) {
		got = append(got, u.PathQuery())
	}
	if want := "/b/1.css /b/2.png /b/3.png /b/4.png /b/5.svg /b/6.png /b/7.png /b/8.png /b/9.png " +
		"/b/10.png"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// endsInValue reports whether the slash at the end of a tag belongs to a value without quotes, as
// in <a href=x/>: the tokenizer takes it for that of a self-closing tag as well, which the HTML
// standard does not (section 13.2.5.38).
func endsInValue(tag []byte) bool {
	before, found := bytes.CutSuffix(tag, []byte("/>"))
	return found && len(before) > 0 &&
		!strings.ContainsRune(" \t\n\f\r\"'", rune(before[len(before)-1]))
}

// Whatever a page is: what the crawler finds in the rewritten page is what it found before, when
// every reference is made absolute; and a page without references stays as it is.
func FuzzHTML(f *testing.F) {
	f.Add(`<a href=x y='&amp;'>t</a><img srcset="a 1x,b"><style>a{b:url(c)}</style>`)
	f.Add(`<base href=//b/><a href="x#y"><meta http-equiv=refresh content="1;url=z">`)
	f.Add("<a href=\"\x00/ x\n\"<b a==1 / href=2>")
	f.Add("<a href=/x/><p>")
	f.Add("<img srcset=\"x<,\x05\">")
	f.Add("<a\xff\xff y=\" href=z ><b>\">") // no UTF-8 in the name
	at, err := urlnorm.Parse("http://example.org/a/page")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, page string) {
		none := func(urlnorm.URL) (string, bool) { return "", false }
		before := htmlparse.Parse([]byte(page), "text/html; charset=utf-8", at)
		out := HTML([]byte(page), "text/html; charset=utf-8", at, none)
		if !strings.ContainsAny(page, "<") && string(out) != page {
			t.Fatalf("no markup, and changed to %q", out)
		}
		// The tokens are the same but for attributes.
		a, b := html.NewTokenizer(strings.NewReader(page)), html.NewTokenizer(bytes.NewReader(out))
		for range 1000 {
			x, y := a.Next(), b.Next()
			if x != y &&
				(x != html.SelfClosingTagToken || y != html.StartTagToken || !endsInValue(a.Raw())) {
				t.Fatalf("%q became %q", page, out)
			}
			if x == html.ErrorToken {
				break
			}
			if ta, tb := a.Token(), b.Token(); ta.DataAtom != tb.DataAtom ||
				x == html.CommentToken && ta.Data != tb.Data {
				t.Fatalf("%q became %q: %v, %v", page, out, ta, tb)
			}
		}
		again := HTML(out, "text/html; charset=utf-8", at, none)
		after := htmlparse.Parse(out, "text/html; charset=utf-8", at)
		if before.LinksDropped > 0 || before.Base != at ||
			!bytes.Equal(again, out) && len(before.Links) == 0 {
			return
		}
		if len(after.Links) < len(before.Links) {
			t.Fatalf("%q became %q: %d links, then %d", page, out, len(before.Links), len(after.Links))
		}
		for i, l := range before.Links {
			// one at the end of a srcset's URL is written so, as it would end the URL
			comma := strings.NewReplacer("%2C", ",")
			if comma.Replace(after.Links[i].URL.String()) != comma.Replace(l.URL.String()) {
				t.Fatalf("%q became %q: %s, then %s", page, out, l.URL, after.Links[i].URL)
			}
		}
	})
}
