package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/scope"
)

// BenchmarkPage takes the links of a page with 40 of them, each listed twice.
func BenchmarkPage(b *testing.B) {
	rules := newBench(b, scope.Options{}).rules
	var page strings.Builder
	for i := range 80 {
		fmt.Fprintf(&page, "<li><a href=\"/section-%d/page.html\">one</a></li>\n", i%40)
	}
	resp := &fetcher.Response{
		Status:      200,
		MediaType:   "text/html",
		ContentType: "text/html; charset=utf-8",
		Body:        []byte(page.String()),
	}
	v := crawl.Visit{Lease: crawl.Lease{Item: crawl.Item{URL: url(b, "http://a.test/")}}}
	seen, memory, targets := map[string]struct{}{}, &htmlparse.Memory{}, []crawl.Target(nil)
	b.ReportAllocs()
	for b.Loop() {
		clear(seen)
		var o crawl.Outcome
		f := &linkCollector{
			v:        v,
			rules:    &rules,
			seen:     seen,
			o:        &o,
			complete: true,
			memory:   memory,
			targets:  targets,
		}
		doc := f.page(resp)
		if len(o.Targets) != 40 {
			b.Fatalf("%d targets", len(o.Targets))
		}
		memory, targets = doc.Release(), o.Targets[:0]
	}
}

// BenchmarkRenderOff is what a page costs more, in a node that could show pages to a browser, while
// --render is off.
func BenchmarkRenderOff(b *testing.B) {
	bench := newBench(b, scope.Options{})
	w := &worker{p: &Pipeline{o: Options{Renderer: &browser{}}}}
	resp := &fetcher.Response{Status: 200, MediaType: "text/html"}
	v := crawl.Visit{Lease: crawl.Lease{Item: crawl.Item{URL: url(b, "http://a.test/")}}}
	for b.Loop() {
		if place, _ := w.reserve(&v, &bench.rules); place != nil || w.mayShow(&v, resp, &bench.rules) {
			b.Fatal("the page would be shown")
		}
	}
}
