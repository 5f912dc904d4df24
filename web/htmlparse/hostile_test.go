package htmlparse

import (
	"bytes"
	"flag"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// hostilePages are pages of about size bytes that are expensive to parse. Each has one good link at
// its end or, where a browser would not see it there, none.
func hostilePages(size int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, size/len(s)+1) }
	numbered := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const end = "<a href=/end>"
	return map[string]string{
		"deep nesting":            repeat("<div>") + end,
		"deep and closed":         repeat("<i>") + repeat("</i>") + end,
		"attributes of one tag":   "<a " + numbered("a%d=b ") + ">" + end,
		"attributes, then links":  "<a " + numbered("%x ") + ">" + repeat("<br x>") + end,
		"one attribute, repeated": "<a " + repeat("b=c ") + ">" + end,
		"one tag":                 "<div class='" + repeat("x") + "'>" + end,
		"one reference":           "<a href='" + repeat("x") + "'>" + end,
		"inline images":           "<img src='data:image/png;base64," + repeat("x") + "'>" + end,
		"srcset of inline images": "<img srcset='" + repeat("data:,x 1x, ") + "'>" + end,
		"fragments":               repeat("<a href=#>") + end,
		"tag without end":         end + "<a " + repeat("b='c' "),
		"quote without end":       end + "<a b='" + repeat("<a>"),
		"tags that begin":         end + repeat("<a "),
		"comment without end":     end + "<!--" + repeat("- -"),
		"comments":                repeat("<!-->") + end,
		"script without end":      end + "<script>" + repeat("</scrip <"),
		"script in comment":       end + "<script><!--" + repeat("<script </script "),
		"titles":                  end + repeat("<title><"),
		"NULs":                    repeat("\x00") + end,
		"NULs in a value":         "<a href='" + repeat("\x00") + "'>" + end,
		"less-than signs":         repeat("<") + " " + end,
		"closing tags":            repeat("</") + ">" + end,
		"references":              repeat("&amp;") + end,
		"references, unknown":     repeat("&x") + end,
		"reference without end":   "&" + repeat("x") + end,
		"number without end":      "&#" + repeat("1") + end,
		"references in a value":   "<a href='" + repeat("&copy;") + "'>" + end,
		"white space":             repeat(" \t\n") + end,
		"drawings":                repeat("<svg>") + end,
		"meta":                    repeat("<meta name=description content=x>") + end,
		"refresh":                 "<meta http-equiv=refresh content='0;" + repeat(" ") + "url=x'>" + end,
		"rel":                     "<a rel='" + repeat("x ") + "' href=/end>",
		"bases":                   repeat("<base href=x>") + "<base href=/>" + end,
		"late base":               "<a href=x>" + repeat("text &lt; ") + "<base href=/y/>" + end,
	}
}

// cost parses body in an otherwise idle process and returns the time and the bytes of all
// allocations.
func cost(t *testing.T, body []byte, contentType string) (Document, time.Duration, uint64) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	d := Parse(body, contentType, mustURL(t, home))
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	return d, took, after.TotalAlloc - before.TotalAlloc
}

var full = flag.Bool("full", false,
	"hostile pages of 10 MiB, the most that is read of a page, in 5 s, instead of 256 KiB in 20 s")

// hostileSize returns the size of hostile pages and how long one may take. On a loaded machine
// under the race detector a tenth of a second becomes several.
func hostileSize() (size int, most time.Duration) {
	if *full {
		return 10 << 20, 5 * time.Second
	}
	return 256 << 10, 20 * time.Second
}

// TestHostile bounds the time of each hostile page, and its allocations to ten times its size,
// freed ones included, and finds its link. It is not parallel, because it counts the allocations of
// the process.
func TestHostile(t *testing.T) {
	const small = 2 << 20 // bytes, for what every page takes
	size, most := hostileSize()
	contentTypes := []string{"text/html; charset=utf-8", "text/html; charset=windows-1252"}
	if *full {
		contentTypes = append(contentTypes, "application/xhtml+xml")
	}
	slowest, dearest, which := time.Duration(0), 0.0, ""
	for name, page := range hostilePages(size) {
		for _, contentType := range contentTypes {
			d, took, allocated := cost(t, []byte(page), contentType)
			found := false
			for _, l := range d.Links {
				found = found || l.URL.Path() == "/end"
			}
			if !found {
				t.Errorf("%s as %s: its link is not found: %d links, %d dropped", name, contentType,
					len(d.Links), d.LinksDropped)
			}
			slowest = max(slowest, took)
			if ratio := float64(allocated) / float64(len(page)); ratio > dearest {
				dearest, which = ratio, name+" as "+contentType
			}
			if took > most || allocated > 10*uint64(len(page))+small {
				t.Errorf("%s as %s: %v, %d MiB allocated for %d", name, contentType, took, allocated>>20,
					len(page)>>20)
			}
		}
	}
	t.Logf("%d KiB: at most %v, and %.1f bytes allocated for one (%s)", size>>10, slowest, dearest,
		which)
}

// TestManyLinks applies the same bounds to pages with more links than are kept.
func TestManyLinks(t *testing.T) {
	// Bytes that the full URL parser allocates for one reference that is not plain; nearly all of
	// it is garbage at once.
	const perReference = 3 << 10
	size, most := hostileSize()
	for _, link := range []string{"<a href=x>", "<a href=xy>link</a>", "<a href='?q=\u00e9&amp;r'>",
		"<img srcset='a 1x, b 2x'>", "<a href=mailto:x>", "<a href='http://['>",
		"<a href=//\u00e9.example/\\%zz>"} {
		page := bytes.Repeat([]byte(link), size/len(link))
		d, took, allocated := cost(t, page, "text/html; charset=utf-8")
		if d.LinksFound < size/len(link) ||
			d.LinksFound != len(d.Links)+d.LinksDropped+d.Invalid+d.OtherScheme {
			t.Errorf("%s: found %d, kept %d, dropped %d, invalid %d, other schemes %d", link, d.LinksFound,
				len(d.Links), d.LinksDropped, d.Invalid, d.OtherScheme)
		}
		if took > most || allocated > uint64(10*size+MaxLinks*perReference) {
			t.Errorf("%s: %v, %d MiB allocated for %d", link, took, allocated>>20, size>>20)
		}
		t.Logf("%-30s %v, %d MiB allocated", link, took, allocated>>20)
	}
}

// TestNestedDeeply is a page whose links the library's tree builder loses, as it refuses to nest
// more than 512 elements.
func TestNestedDeeply(t *testing.T) {
	t.Parallel()
	for _, depth := range []int{510, 511, 512, 513, 1_000_000} {
		page := strings.Repeat("<div><a href=x>", depth) + "<a href=/end>"
		d := Parse([]byte(page), "", mustURL(t, home))
		if d.LinksFound != depth+1 || len(d.Links) != min(depth+1, MaxLinks) ||
			d.LinksDropped != d.LinksFound-len(d.Links) {
			t.Errorf("%d deep: found %d, kept %d, dropped %d", depth, d.LinksFound, len(d.Links),
				d.LinksDropped)
		}
	}
}
