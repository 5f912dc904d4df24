package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/scope"
)

// BenchmarkPage takes the links of a page with 40 of them, each listed twice.
func BenchmarkPage(b *testing.B) {
	rules := newBench(b, scope.Options{}).rules
	var page strings.Builder
	for i := range 80 {
		fmt.Fprintf(&page, "<li><a href=\"/section-%d/page.html\">one</a></li>\n", i%40)
	}
	resp := &fetcher.Response{Status: 200, MediaType: "text/html", ContentType: "text/html; charset=utf-8", Body: []byte(page.String())}
	v := crawl.Visit{Lease: crawl.Lease{Item: crawl.Item{URL: url(b, "http://a.test/")}}}
	seen := map[string]struct{}{}
	b.ReportAllocs()
	for b.Loop() {
		clear(seen)
		var o crawl.Outcome
		f := &finds{v: v, rules: &rules, seen: seen, o: &o, complete: true}
		if f.page(resp); len(o.Targets) != 40 {
			b.Fatalf("%d targets", len(o.Targets))
		}
	}
}
