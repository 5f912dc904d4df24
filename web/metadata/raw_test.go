package metadata

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestRaw: what was found stays as it was written, by source.
func TestRaw(t *testing.T) {
	t.Parallel()
	page :=
		`<html lang="EN_us"><head><title>A title</title><meta property="OG:Title" content="Another &amp; one">
		<meta name="DC:Creator" content="Ada"><meta name="dc.creator" content="Bo"><meta name=date content=05/06/2024>
		<meta name=viewport content=x><meta name=author><link rel=canonical href=/c><link rel="license nofollow" href=l><a rel=license href=/m>m</a>
		<link rel="DCTERMS.license" href="n"><script type="application/ld+json">{"@type":"Thing","n":1.50,"b":[true,null,{"u":"a&amp;b"}]}</script>
		<div itemscope itemtype="https://schema.org/Person"><b itemprop=name>Cy</b><b itemprop=name>Di</b><a itemprop="url sameAs" href=cy>x</a></div>`
	r := Read([]byte(page), "text/html", mustURL(t, "https://a.example/d/"), Options{})
	want :=
		`{"title":"Another & one","author":["Ada","Bo"],"licence":"https://a.example/d/l","language":"en-US","raw":{` +
			`"canonical":"/c","date":"05/06/2024","dc.creator":["Ada","Bo"],"dcterms.license":"https://a.example/d/n",` +
			`"json-ld":[{"@type":"Thing","b":[true,null,{"u":"a&amp;b"}],"n":1.50}],"lang":"EN_us","license":["l","/m"],` +
			`"microdata":[{"@type":"Person","name":["Cy","Di"],"sameAs":"https://a.example/d/cy","url":"https://a.example/d/cy"}],` +
			`"og:title":"Another & one","title":"A title"}}`
	if got := string(r.JSON()); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

// TestRawIsBounded: long values, lists and objects are cut, and deep ones left out.
func TestRawIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10*maxText)
	var many strings.Builder
	for i := range 10 * maxOfOne {
		fmt.Fprintf(&many, `"k%d":[1,`, i)
		many.WriteString(strings.Repeat("1,", 10) + "1],")
	}
	page := `<script type="application/ld+json">{"s":"` + long + `","l":[` +
		strings.Repeat("1,", 10*maxOfOne) + `1],"d":` +
		strings.Repeat("[", maxNesting-1) + strings.Repeat("]", maxNesting-1) + `}</script>` +
		`<script type="application/ld+json">{` + many.String() +
		`"z":1}</script><meta name=description content="` + long + `">` +
		strings.Repeat(`<meta name="dc.subject" content=x>`, 2*maxMetas)
	r := Read([]byte(page), "text/html", mustURL(t, "https://a.example/"), Options{})
	found := r.Raw[rawJSONLD].([]any)
	first, second := found[0].(object), found[1].(object)
	depth := 0
	for v, ok := first["d"].([]any); ok && len(v) > 0; v, ok = v[0].([]any) {
		depth++
	}
	for what, n := range map[string]struct{ got, want int }{
		"bytes of a string":       {len(first["s"].(string)), maxText},
		"values of a list":        {len(first["l"].([]any)), maxOfOne},
		"depth":                   {depth, maxDepth - 2},
		"values of an object":     {len(second), maxOfOne},
		"bytes of a meta element": {len(r.Raw["description"].(string)), maxText},
		"meta elements of a name": {len(r.Raw["dc.subject"].([]any)), maxOfOne},
	} {
		if n.got != n.want {
			t.Errorf("%s: %d, want %d", what, n.got, n.want)
		}
	}
	if n := len(r.JSON()); n > MaxBytes {
		t.Errorf("%d bytes", n)
	}
}

// TestHostile: pages that are long in each way have an end, and a record within its bounds. The
// times are the author's to look at (-v).
func TestHostile(t *testing.T) {
	t.Parallel()
	times := func(s string) string { return strings.Repeat(s, 1<<20/len(s)) }
	for name, page := range map[string]string{
		"items": times("<div itemscope itemtype=http://schema.org/Article>"),
		"one item more": "<div itemscope itemtype=https://schema.org/Product>" +
			strings.Repeat("<p itemscope></p>", maxItems-1) +
			"<div itemscope itemprop=a><b itemprop=name>x</b></div>",
		"a thousand reviews": "<div itemscope itemtype=https://schema.org/Product><b " +
			"itemprop=name>x</b>" +
			strings.Repeat("<div itemscope itemprop=review itemtype=https://schema.org/Review><b "+
				"itemprop=name>y</b></div>", maxItems),
		"items of many names": strings.Repeat(
			"<div itemscope itemtype=https://schema.org/Article itemprop='a b c d e f g h'>",
			400) + "<b itemprop=name>x",
		"properties":        "<div itemscope>" + times("<p itemprop=name>x"),
		"nested properties": "<div itemscope>" + times("<b itemprop=name>x"),
		"names":             "<div itemscope><p itemprop='" + times("a ") + "'>x",
		"types":             "<div itemscope itemtype='" + times("a ") + "'>x",
		"open elements":     "<div itemscope>" + times("<i>") + "<p itemprop=name>x",
		"end tags":          "<div itemscope>" + times("<i></b>") + "<p itemprop=name>x",
		"meta elements":     times("<meta name=og:x content=y>"),
		"a long value":      "<meta name=author content='" + times("&amp;") + "'>",
		"authors":           "<meta name=author content='" + times("a;") + "'>",
		"links":             times("<a rel=license href=/x>y</a>"),
		"scripts":           times("<script type=application/ld+json>{}</script>"),
		"brackets":          "<script type=application/ld+json>" + times("["),
		"objects": "<script type=application/ld+json>[" + times(`{"@type":"Article"},`) +
			"{}]",
		"articles": "<script type=application/ld+json>[" +
			strings.Repeat(`{"@type":"Article","name":"x","author":"y"},`, 4000) + "{}]",
		"references": "<script type=application/ld+json>[" +
			strings.Repeat(`{"@id":"a","author":{"@id":"a"},"@type":"Article"},`, 2000) + "{}]",
		"a ring":   `<script type=application/ld+json>{"@graph":[{"@id":"p","@type":"WebPage","mainEntity":{"@id":"q"}},{"@id":"q","@type":"WebPage","mainEntity":{"@id":"p"}}]}`,
		"comments": "<script type=application/ld+json>" + times("/*") + times("//") + "{}",
		"a string": `<script type=application/ld+json>{"name":"` + times(`\u00e4`) + `"}`,
		"lists in lists": `<script type=application/ld+json>{"@type":"Article","author":` +
			strings.Repeat(`{"@list":[`, 30) + `"x"` + strings.Repeat("]}", 30) + "}",
		"white space":        "<title>" + times(" "),
		"words of licences":  "<a href=x rel='" + times("license ") + "'>",
		"an endless address": "<meta property=og:image content='" + times("/x") + "'>",
	} {
		start := time.Now()
		r := Read([]byte(page), "text/html", mustURL(t, "https://a.example/"), Options{})
		if n := len(r.JSON()); n > MaxBytes {
			t.Errorf("%s: %d bytes", name, n)
		}
		if len(r.Author) > maxAuthors || len(r.Raw) > maxEntries+len("json-ld, microdata") {
			t.Errorf("%s: %d authors, %d entries", name, len(r.Author), len(r.Raw))
		}
		t.Logf("%s: %d bytes in %v", name, len(page), time.Since(start).Round(time.Millisecond))
	}
}
