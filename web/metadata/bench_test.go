package metadata

import (
	"fmt"
	"strings"
	"testing"

	"crawlnode/web/htmlparse"
)

// pageWith is a page of 20 KB with 40 links, and with head in its head.
func pageWith(head string) []byte {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">` +
		`<title>A typical page</title><meta name="viewport" content="width=device-width">` +
		`<link rel="stylesheet" href="/style.css">` + head + `</head><body>`)
	for i := range 40 {
		fmt.Fprintf(&b, `<div class="item"><h2 id="s%d">Section %d</h2><p class="text">`, i, i)
		for range 7 {
			b.WriteString("Some words of <em>ordinary</em> text that say little. ")
		}
		fmt.Fprintf(&b, `<a class="more" href="/guide/chapter-%d.html?lang=en">more</a></p></div>`, i)
	}
	b.WriteString("</body></html>")
	return []byte(b.String())
}

const richHead = `<meta property="og:title" content="A post"><meta property="og:type" content="article">
<meta property="og:image" content="https://example.org/a.jpg"><meta name="author" content="Ada Roe">
<meta property="article:published_time" content="2024-05-06T07:08:09+02:00">
<script type="application/ld+json">{"@context":"https://schema.org","@graph":[
{"@type":"Article","@id":"https://example.org/a/#article","headline":"A post","author":{"@id":"#ada"},
"datePublished":"2024-05-06T07:08:09+02:00","dateModified":"2024-05-07T07:08:09+02:00","inLanguage":"en-US",
"image":{"@id":"#image"},"publisher":{"@id":"#org"}},
{"@type":"WebPage","@id":"https://example.org/a/","name":"A post - Example","isPartOf":{"@id":"#site"}},
{"@type":"ImageObject","@id":"#image","url":"https://example.org/a.jpg","width":1200,"height":630},
{"@type":"BreadcrumbList","itemListElement":[{"@type":"ListItem","position":1,"name":"Home"}]},
{"@type":"WebSite","@id":"#site","name":"Example"},
{"@type":"Organization","@id":"#org","name":"Example"},
{"@type":"Person","@id":"#ada","name":"Ada Roe"}]}</script>`

func BenchmarkRead(b *testing.B) {
	base := mustURL(b, "https://example.org/a/")
	for _, c := range []struct{ name, head string }{{"plain", ""}, {"rich", richHead}} {
		page := pageWith(c.head)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for b.Loop() {
				if r := Read(page, "text/html; charset=utf-8", base, Options{}); r.Title == "" {
					b.Fatal("no title")
				}
			}
		})
		b.Run("parse/"+c.name, func(b *testing.B) { // what every page costs already
			b.SetBytes(int64(len(page)))
			b.ReportAllocs()
			for b.Loop() {
				if d := htmlparse.Parse(page, "text/html; charset=utf-8", base); d.Title == "" {
					b.Fatal("no title")
				}
			}
		})
	}
}
