package htmlparse

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"crawlnode/web/urlnorm"
)

const home = "http://example.org/dir/page.html"

func mustURL(t testing.TB, raw string) urlnorm.URL {
	t.Helper()
	u, err := urlnorm.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// show writes the links as lines "tag[rel] url", with a '!' for nofollow.
func show(links []Link) string {
	var b strings.Builder
	for _, l := range links {
		mark := ""
		if l.NoFollow {
			mark = "!"
		}
		fmt.Fprintf(&b, "%s[%s]%s %s\n", l.Tag, l.Rel, mark,
			strings.TrimPrefix(l.URL.String(), "http://example.org"))
	}
	return b.String()
}

func TestLinks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, page, want string }{
		{
			"hyperlinks",
			`<a href=x>1</a><AREA HREF='/y'><frame src="z"><iframe src=//other.example/></iframe>`,
			"a[] /dir/x\narea[] /y\nframe[] /dir/z\niframe[] http://other.example/\n",
		},
		{"entities", `<a href="?a=1&amp;b=2&copy=3">`, "a[] /dir/page.html?a=1&b=2&copy=3\n"},
		{"white space", "<a href=' \n/x\t'>", "a[] /x\n"},
		{"repeated attribute", `<a href=/x href=/y>`, "a[] /x\n"},
		{"no href", `<a name=x><area><frame><iframe></iframe><a>`, ""},
		{"empty", `<a href><a href=""><iframe src=""></iframe><img src="">`, "a[] /dir/page.html\na[] /dir/page.html\n"},
		{"fragment", `<a href=#top><a href=x#top>`, "a[] /dir/x\n"},
		{"fragment with base", `<base href=/b><a href=#top>`, "a[] /b\n"},
		{"nofollow", `<a rel="NoFollow ugc" href=x><a rel=nofollowing href=y>`, "a[NoFollow ugc]! /dir/x\na[nofollowing] /dir/y\n"},
		{"comment", `<!-- <a href=x> --><!-- <!-- <a href=y> --> <a href=z>`, "a[] /dir/z\n"},
		{"script", `<script src=s.js>"<a href=x>"</script><a href=y>`, "script[] /dir/s.js\na[] /dir/y\n"},
		{"unclosed script", `<script><a href=x>`, ""},
		{"style, text fields", `<style><a href=x></style><textarea><a href=x></textarea><title><a href=x></title><xmp><a href=x></xmp>`, ""},
		{"iframe content", `<iframe src=f><a href=x></iframe>`, "iframe[] /dir/f\n"},
		{
			"noscript",
			`<noscript><a href=x></a><base href=/b/><meta http-equiv=refresh content="0;url=r"></noscript><a href=y>`,
			"a[] /dir/x\na[] /dir/y\n",
		},
		{"noframes", `<noframes><a href=x></noframes>`, "a[] /dir/x\n"},
		{"template", `<a href=a><template><a href=no><img src=no></template><a href=x>`, "a[] /dir/a\na[] /dir/x\n"},
		{"templates", `<TEMPLATE id=t><template></template><a href=no></template><a href=x>`, "a[] /dir/x\n"},
		{"template, its ends in raw text",
			`<template><script>"</template>"</script><style></template></style><a href=no></template><a href=x>`,
			"a[] /dir/x\n"},
		{"template, base and refresh",
			`<template><base href=/b/><meta http-equiv=refresh content="0;no"><link rel=next href=no></template><a href=x>`,
			"a[] /dir/x\n"},
		{"template that is not closed", `<a href=x><template><a href=no></div><a href=no>`, "a[] /dir/x\n"},
		{"template, end only", `</template><a href=x>`, "a[] /dir/x\n"},
		{"template of a shadow root",
			`<div><template shadowrootmode=Open><a href=x><template><a href=no></template></template><a href=y>`,
			"a[] /dir/x\na[] /dir/y\n"},
		{"shadow root within a template", `<template><template shadowrootmode=open><a href=no></template></template><a href=x>`, "a[] /dir/x\n"},
		{"template, not self-closing", `<template/><a href=no></template><a href=x>`, "a[] /dir/x\n"},
		{"template in a drawing", `<svg><template><a href=x></a></template></svg>`, "a[] /dir/x\n"},
		{"first base", `<base target=_top><base href="/a/"><base href="/b/"><a href=x>`, "a[] /a/x\n"},
		{"late base", `<a href=x><img src=y><base href="/a/"><a href=z>`, "a[] /a/x\nimg[] /a/y\na[] /a/z\n"},
		{"bad base", `<base href="http://["><base href="/b/"><a href=x>`, "a[] /dir/x\n"},
		{"script base", `<base href="javascript:1"><a href=x>`, "a[] /dir/x\n"},
		{"refresh", `<meta http-equiv=" Refresh" content="0; URL='/next'">`, "meta[refresh] /next\n"},
		{
			"link",
			`<link rel=stylesheet href=c.css><link rel=dns-prefetch href=//d><link href=e><link rel=" " href=f><link rel="Canonical" href=/c>`,
			"link[stylesheet] /dir/c.css\nlink[Canonical] /c\n",
		},
		{
			"images",
			`<img src=a.png srcset="b.png 1x, c.png 2x"><picture><source srcset="d,e.png, f.png 100w"></picture>`,
			"img[] /dir/a.png\nimg[] /dir/b.png\nimg[] /dir/c.png\nsource[] /dir/d,e.png\n" +
				"source[] /dir/f.png\n",
		},
		{"late images", `<img data-src=a.png data-srcset="b.png 1x">`, "img[] /dir/a.png\nimg[] /dir/b.png\n"},
		{
			"media",
			`<video src=v poster=p><source src=s><track src=t></video><audio src=a></audio><embed src=e><object data=o></object><input type=IMAGE src=i><input src=j>`,
			"video[] /dir/v\nvideo[] /dir/p\nsource[] /dir/s\ntrack[] /dir/t\naudio[] /dir/a\n" +
				"embed[] /dir/e\nobject[] /dir/o\ninput[] /dir/i\n",
		},
		{"forms", `<form action=x><button formaction=y></form>`, ""},
		{"tag that is not closed", `<a href=x><a href=y`, "a[] /dir/x\n"},
		{"huge white space", "<a href='" + strings.Repeat(" ", 2*maxRef) + "x'><a href=' #top'>", "a[] /dir/x\n"},
		{"drawing", `<svg><a xlink:href=x></a><title/><a href=y xlink:href=no></svg><a xlink:href=no>`, "a[] /dir/x\na[] /dir/y\n"},
		{"not self-closing", `<svg><style a=b/><a href=no></style><style /><a href=x>`, "a[] /dir/x\n"},
		{"self-closing script in HTML", `<script src=s /><a href=x></script><a href=y>`, "script[] /dir/s\na[] /dir/y\n"},
		{"quotes", `<div title="<a href=no>" data-x='">'><a href=x title="a>b" class='"'><p ">" <a href=y>`, "a[] /dir/x\na[] /dir/y\n"},
		{"self-closing", `<a href=x /><a href=y/>`, "a[] /dir/x\na[] /dir/y/\n"},
	} {
		doc := Parse([]byte(tt.page), "text/html", mustURL(t, home))
		if got := show(doc.Links); got != tt.want {
			t.Errorf("%s: %s\ngot:\n%swant:\n%s", tt.name, tt.page, got, tt.want)
		}
	}
}

// TestXHTML has content that is parsed differently when a page was served as XML.
func TestXHTML(t *testing.T) {
	t.Parallel()
	const page = `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="s.js"/></head>
		<body><iframe src="f"/><textarea/><noscript/>text<![CDATA[ > <a href="no"> ]]><a href="x"/></body></html>`
	d := Parse([]byte(page), "Application/XHTML+XML; charset=utf-8", mustURL(t, home))
	if got, want := show(d.Links), "script[] /dir/s.js\niframe[] /dir/f\na[] /dir/x\n"; got != want ||
		string(d.Text) != "text" {
		t.Errorf("text %q, links\n%swant\n%s", d.Text, got, want)
	}
	// all of it is the title
	if d := Parse([]byte(page), "text/html", mustURL(t, home)); len(d.Links) != 0 {
		t.Errorf("as HTML: links %s", show(d.Links))
	}
}

func TestAsset(t *testing.T) {
	t.Parallel()
	page := `<a href=x><area href=x><frame src=x><meta http-equiv=refresh content="1;x">` +
		`<link rel=next href=x><img src=x><script src=x></script>`
	var assets []string
	for _, l := range Parse([]byte(page), "", mustURL(t, home)).Links {
		if l.Asset() {
			assets = append(assets, l.Tag)
		}
	}
	if want := []string{"link", "img", "script"}; !slices.Equal(assets, want) {
		t.Errorf("assets %v, want %v", assets, want)
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	page :=
		"\uFEFF<!DOCTYPE html><html lang=de-CH><head><title>\n  A &amp; B\n</title><title>no</title>" +
			"<meta name=Description content='  what\nit is '><meta name=description content=no>" +
			"<meta name=robots content='NOINDEX'><meta name=ROBOTS content='max-snippet:5, nofollow'>" +
			"<meta http-equiv=content-language content=fr>" +
			"<link rel=canonical href=/c#x><link rel=canonical href=/d>" +
			"<style>p{}</style></head><body><h1>Head</h1><p>one<b>two</b> " +
			"<i>three</i><script>x</script>four<br>five" +
			"<noscript>off</noscript><textarea>field</textarea>\u00a0six &lt;7&gt;"
	d := Parse([]byte(page), "text/html; charset=iso-8859-1", mustURL(t, home))
	for _, f := range []struct{ name, got, want string }{
		{"title", d.Title, "A & B"},
		{"description", d.Description, "what it is"},
		{"lang", d.Lang, "de-CH"},
		{"canonical", d.Canonical, "http://example.org/c"},
		{"charset", d.Charset, "utf-8"},
		{"text", string(d.Text), "Head onetwo three four five \u00a0six <7>"},
	} {
		if f.got != f.want {
			t.Errorf("%s: %q, want %q", f.name, f.got, f.want)
		}
	}
	if !d.NoIndex || !d.NoFollow {
		t.Errorf("robots: %v, %v, want both", d.NoIndex, d.NoFollow)
	}
	for content, want := range map[string][2]bool{
		"none": {true, true}, "index, follow": {}, "noindex": {true, false}, "nofollow;x": {false, true},
		"": {}, "all": {},
	} {
		d := Parse([]byte(`<meta content="`+content+`" name="robots">`), "", mustURL(t, home))
		if got := [2]bool{d.NoIndex, d.NoFollow}; got != want {
			t.Errorf("robots %q: %v, want %v", content, got, want)
		}
	}
	for page, want := range map[string][2]bool{
		// ours adds to everybody's
		"<meta name=robots content=noindex><meta name=Crawlnode content=nofollow>": {true, true},
		"<meta name=crawlnode content='noindex,nofollow'>":                         {true, true},
		"<meta name=crawlnode content=all><meta name=robots content=none>":         {true, true},
		"<meta name=crawlnodes content=none><meta name=otherbot content=none>":     {},
	} {
		d := Parse([]byte(page), "", mustURL(t, home))
		if got := [2]bool{d.NoIndex, d.NoFollow}; got != want {
			t.Errorf("%s: %v, want %v", page, got, want)
		}
	}
	if d := Parse([]byte(`<meta http-equiv=Content-Language content=fr>`), "",
		mustURL(t, home)); d.Lang != "fr" {
		t.Errorf("language %q, want fr", d.Lang)
	}
}

func TestOneRobotsHeader(t *testing.T) {
	t.Parallel()
	for value, want := range map[string][2]bool{
		"":                                       {},
		"noindex":                                {true, false},
		"noindex, nofollow":                      {true, true},
		"none":                                   {true, true},
		"otherbot: noindex, nofollow":            {},
		"CrawlNode: nofollow":                    {false, true},
		"otherbot: noindex, crawlnode: nofollow": {false, true},
		"unavailable_after: 25 Jun 2010 15:00:00 PST, noindex":     {true, false},
		"max-snippet: 5, nofollow, otherbot: noindex, max-snippet": {false, true},
	} {
		index, follow := RobotsHeader([]string{value}, "crawlnode", time.Time{})
		if got := [2]bool{index, follow}; got != want {
			t.Errorf("%q: %v, want %v", value, got, want)
		}
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", urlnorm.MaxLen)
	page := `<a href=ok><a href="http://["><a href="//h:99999"><a href=` + long +
		`><a href=mailto:x><a href=data:,><img src=data:,>`
	d := Parse([]byte(page), "", mustURL(t, home))
	got := [...]int{d.LinksFound, len(d.Links), d.Invalid, d.TooLong, d.OtherScheme, d.LinksDropped}
	if want := [...]int{7, 1, 2, 1, 3, 0}; got != want {
		t.Errorf("found, kept, invalid, too long, scheme, dropped: %v, want %v", got, want)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	base := mustURL(t, home)

	many := Parse(bytes.Repeat([]byte("<a href=x>"), MaxLinks+7), "", base)
	if len(many.Links) != MaxLinks || many.LinksDropped != 7 || many.LinksFound != MaxLinks+7 {
		t.Errorf("many links: kept %d, dropped %d, found %d", len(many.Links), many.LinksDropped,
			many.LinksFound)
	}

	longBase := mustURL(t, "http://example.org/"+strings.Repeat("d", 2000))
	amplified := Parse(bytes.Repeat([]byte("<a href=?x>"), 10_000), "", longBase)
	if total := len(amplified.Links) * 2000; total > MaxLinkBytes || amplified.LinksDropped == 0 {
		t.Errorf("short references against a long base took %d bytes, %d dropped", total,
			amplified.LinksDropped)
	}

	text := Parse(bytes.Repeat([]byte("é "), MaxText), "text/html;charset=utf-8", base)
	if len(text.Text) > MaxText || len(text.Text) < MaxText-4 || !text.TextTruncated {
		t.Errorf("text of %d bytes, truncated %v", len(text.Text), text.TextTruncated)
	}

	d := Parse([]byte("<title>"+strings.Repeat("é ", 5000)+"</title><html lang="+
		strings.Repeat("x", 1000)+">"), "text/html;charset=utf-8", base)
	if len(d.Title) > maxTitle || len(d.Lang) > maxLang {
		t.Errorf("title of %d, language of %d bytes", len(d.Title), len(d.Lang))
	}
}

// TestHuge puts each kind of token, larger than any buffer, between two links.
func TestHuge(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("0123456789abcde ", 2<<20/16)
	for name, between := range map[string]string{
		"script":     "<script>if (a</b) {'<a href=no>'} " + huge + "</SCRIPT>",
		"style":      "<style>" + huge + "<a href=no></style>",
		"comment":    "<!--" + huge + "<a href=no> -->",
		"image":      "<img src='data:image/png;base64," + huge + "'>",
		"attribute":  "<div title='" + huge + "<a href=no>'>",
		"attributes": "<div " + huge + "<a href=no>",
		"text":       huge,
		"title":      "<title>" + huge + "</title>",
	} {
		d := Parse([]byte("<a href=first>"+between+"<a href=last>"), "", mustURL(t, home))
		if got := show(d.Links); got != "a[] /dir/first\na[] /dir/last\n" {
			t.Errorf("%s: links %s", name, got)
		}
	}
}

// TestWords compares the collected text with fields joined by spaces, however the text is divided.
func TestWords(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "word", " ", " ", "  ", "\n", "!", "\x00", "\x1f", "é", "longer words",
		"\u00a0", "~", "\x7f"}
	for range 20_000 {
		var p parser
		var whole strings.Builder
		for range 1 + random.IntN(3) {
			var part strings.Builder
			for range random.IntN(20) {
				part.WriteString(pieces[random.IntN(len(pieces))])
			}
			whole.WriteString(part.String())
			p.words([]byte(part.String()))
		}
		want := strings.Join(strings.FieldsFunc(whole.String(), func(r rune) bool { return r <= ' ' }),
			" ")
		if got := string(p.doc.Text); got != want {
			t.Fatalf("%q: %q, want %q", whole.String(), got, want)
		}
	}
}

// TestNothingShared changes the body after parsing: the Document must not change.
func TestNothingShared(t *testing.T) {
	t.Parallel()
	body := []byte("<title>T</title><a href=/x rel=y>text</a>")
	d := Parse(body, "text/html;charset=utf-8", mustURL(t, home))
	clear(body)
	if show(d.Links) != "a[y] /x\n" || d.Title != "T" || string(d.Text) != "text" {
		t.Errorf("%+v", d)
	}
}
