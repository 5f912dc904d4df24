package htmlparse

import (
	"strings"
	"testing"
)

// TestNamespaces has documents as Chromium reads them when they are served as XML: elements are
// those of HTML by their namespace, whatever their prefix is, and no others are.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	const ns, svg, xlink = `"http://www.w3.org/1999/xhtml"`, `"http://www.w3.org/2000/svg"`,
		`"http://www.w3.org/1999/xlink"`
	head :=
		`<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "x">`
	for name, c := range map[string]struct {
		page string
		want string // paths of the links
	}{
		"default":     {`<html xmlns=` + ns + `><body><a href="/x">t</a></body></html>`, "/x"},
		"declaration": {head + `<html xmlns=` + ns + `><a href="/x">t</a></html>`, "/x"},
		"prefix": {`<h:html xmlns:h=` + ns + `><h:body><h:a href="/x">t</h:a></h:body></h:html>`,
			"/x"},
		"another prefix": {`<xhtml:html xmlns:xhtml=` + ns + `><xhtml:a href='/x'/></xhtml:html>`,
			"/x"},
		"no link elsewhere": {`<h:html xmlns:h=` + ns + `><a href="/no">t</a><h:a href="/x"/></h:html>`,
			"/x"},
		"inner default": {`<doc><html xmlns=` + ns + `><a href="/x"/></html><a href="/no"/></doc>`,
			"/x"},
		"inner prefix": {`<doc xmlns:h=` + ns + `><a href="/no"/><h:a href="/x"/></doc>`, "/x"},
		"prefix is redefined": {`<h:html xmlns:h=` + ns +
			`><q xmlns:h="urn:q"><h:a href="/no"/></q><h:a href="/x"/></h:html>`, "/x"},
		"declared at the link": {`<doc><i:a xmlns:i=` + ns + ` href="/x"/><i:a href="/no"/></doc>`, "/x"},
		"undeclared default": {`<h:html xmlns:h=` + ns + ` xmlns=` + ns +
			`><q xmlns=""><a href="/no"/></q><a href="/x"/></h:html>`,
			"/x"},
		"closed script": {`<h:html xmlns:h=` + ns + `><h:script/><h:a href="/x"/></h:html>`, "/x"},
		"script": {`<h:html xmlns:h=` + ns +
			`><h:script>var a = "&lt;h:a href='/no'/>"; </h:script><h:a href="/x"/></h:html>`, "/x"},
		"style and title": {`<h:html xmlns:h=` + ns +
			`><h:title>T</h:title><h:style>a{}</h:style><h:a href="/x"/></h:html>`, "/x"},
		"CDATA": {`<h:html xmlns:h=` + ns +
			`><h:p><![CDATA[<h:a href="/no"/>]]></h:p><h:a href="/x"/></h:html>`, "/x"},
		"parts": {`<h:html xmlns:h=` + ns +
			`><h:img src="/i"/><h:link rel="stylesheet" href="/c"/><h:area href="/x"/></h:html>`, "/i /c /x"},
		"base": {`<h:html xmlns:h=` + ns + `><h:base href="/d/"/><h:a href="x"/></h:html>`,
			"/d/x"},
		"single quotes": {
			`<h:html xmlns:h='http://www.w3.org/1999/xhtml'><h:a href='/x?a=1&amp;b=2'/></h:html>`,
			"/x?a=1&b=2",
		},
		"drawing within": {`<h:html xmlns:h=` + ns + `><s:svg xmlns:s=` + svg + ` xmlns:xlink=` + xlink +
			`><s:a xlink:href="/x"/></s:svg></h:html>`, "/x"},
		"not closed": {`<h:html xmlns:h=` + ns + `><h:p><h:br><h:a href="/x">`, "/x"},
	} {
		for _, media := range []string{"application/xml", "text/xml; charset=utf-8",
			"application/xhtml+xml", "application/vnd.example+xml"} {
			if strings.Contains(name, "inner") || strings.Contains(name, "at the link") {
				if media == "application/xhtml+xml" {
					continue // whose names without a namespace are those of HTML
				}
			} else if media == "application/xhtml+xml" && strings.Contains(name, "elsewhere") {
				continue
			}
			if !IsPage(media, []byte(c.page)) {
				t.Errorf("%s as %s is no page", name, media)
			}
			d := Parse([]byte(c.page), media, mustURL(t, "http://a.test/"))
			var got []string
			for _, l := range d.Links {
				got = append(got, strings.TrimPrefix(l.URL.String(), "http://a.test"))
			}
			if g := strings.Join(got, " "); g != c.want {
				t.Errorf("%s as %s: %q, want %q", name, media, g, c.want)
			}
		}
	}
	page := `<h:html xmlns:h=` + ns +
		` lang="de"><h:head><h:title>A &amp; B</h:title><h:meta name="robots" content="none"/></h:head><h:body>text<h:p>more</h:p></h:body></h:html>`
	d := Parse([]byte(page), "text/xml", mustURL(t, home))
	if d.Title != "A & B" || !d.NoIndex || !d.NoFollow || string(d.Text) != "text more" ||
		d.Lang != "de" {
		t.Errorf("title %q, noindex %v, nofollow %v, text %q, language %q", d.Title, d.NoIndex,
			d.NoFollow, d.Text, d.Lang)
	}
	utf16 := []byte("\xff\xfe")
	for _, c := range page {
		utf16 = append(utf16, byte(c), 0)
	}
	if !IsPage("text/xml", utf16) || Parse(utf16, "text/xml", mustURL(t, home)).Title != "A & B" {
		t.Error("in UTF-16 it is not read")
	}
}

// TestOtherXML has XML that is no page, with elements of HTML or without.
func TestOtherXML(t *testing.T) {
	t.Parallel()
	const ns = `"http://www.w3.org/1999/xhtml"`
	for media, pages := range map[string][]string{
		"text/xml": {
			`<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:xhtml=` + ns +
				`><url><loc>/</loc><xhtml:link href="/x"/></url></urlset>`,
			`<sitemapindex xmlns:xhtml=` + ns + `/>`, `<s:urlset xmlns:s="s" xmlns:xhtml=` + ns + `/>`,
			`<rss xmlns:h=` + ns + `/>`,
			`<feed xmlns="http://www.w3.org/2005/Atom"><div xmlns=` + ns + `/></feed>`,
			`<rdf:RDF xmlns:rdf="r" xmlns:h=` + ns + `/>`, `<note><a href="/x"/></note>`,
			`<html><a href="/x"/></html>`,
			"", "text", "<", "<!-- " + ns + " -->", `<svg xmlns="http://www.w3.org/2000/svg"/>`,
		},
		"image/svg+xml": {`<svg xmlns="http://www.w3.org/2000/svg"><a href="/x"/></svg>`},
		"text/plain":    {`<html xmlns=` + ns + `/>`},
		"":              {`<html xmlns=` + ns + `/>`},
	} {
		for _, page := range pages {
			if IsPage(media, []byte(page)) {
				t.Errorf("%s as %q is taken for a page", page, media)
			}
		}
	}
	for page, drawing := range map[string]bool{
		`<svg xmlns="http://www.w3.org/2000/svg"/>`:                                               true,
		`<?xml version="1.0"?><!DOCTYPE svg><s:svg xmlns:s="http://www.w3.org/2000/svg"></s:svg>`: true,
		`<svg/>`:                     false,
		`<html xmlns=` + ns + `/>`:   false,
		`<svg xmlns="urn:another"/>`: false,
		``:                           false,
	} {
		if got := IsDrawing("image/svg+xml", []byte(page)); got != drawing {
			t.Errorf("%s: drawing %v, want %v", page, got, drawing)
		}
	}
	drawing :=
		`<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="x"><title>no</title><a href="/a"><text>t</text></a><a xlink:href="/b"/></svg>`
	d := Parse([]byte(drawing), "image/svg+xml", mustURL(t, "http://a.test/"))
	if len(d.Links) != 2 || d.Links[0].URL.String() != "http://a.test/a" ||
		d.Links[1].URL.String() != "http://a.test/b" {
		t.Errorf("links of a drawing: %v", d.Links)
	}
}

// FuzzNamespaces checks that prefixes change nothing: a document in which each element has one says
// the same as the document with a default namespace.
func FuzzNamespaces(f *testing.F) {
	f.Add("/x", "text", "title", uint8(2))
	f.Add("&amp;", "<![CDATA[x]]>", "&lt;", uint8(70))
	f.Fuzz(func(t *testing.T, href, text, title string, nested uint8) {
		if strings.ContainsAny(href+title, `<>"'`) || strings.ContainsAny(text, "<>") {
			return
		}
		page := func(prefix, declare string) Document {
			p := func(s string) string {
				return strings.NewReplacer("</", "</"+prefix, "<", "<"+prefix).Replace(s)
			}
			inner := strings.Repeat(p("<p>"), int(nested)) + p(`<a href="`) + href + `">` + text +
				p("</a>") + strings.Repeat(p("</p>"), int(nested))
			return ParseWith(Options{Anchors: true}, []byte(p("<html ")+declare+">"+p("<title>")+title+
				p("</title>")+inner+p("<img src='/i'/></html>")), "text/xml", mustURL(t, home))
		}
		const ns = `="http://www.w3.org/1999/xhtml"`
		plain, prefixed := page("", "xmlns"+ns), page("x-y:", "xmlns:x-y"+ns)
		if plain.Title != prefixed.Title || string(plain.Text) != string(prefixed.Text) ||
			len(plain.Links) != len(prefixed.Links) {
			t.Errorf("with prefixes %q %q %d, without %q %q %d", prefixed.Title, prefixed.Text,
				len(prefixed.Links), plain.Title, plain.Text, len(plain.Links))
		}
	})
}
