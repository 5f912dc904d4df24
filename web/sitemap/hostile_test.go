package sitemap

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

var full = flag.Bool("full", false,
	"hostile files of 60 MiB, more than is read of one, instead of 256 KiB")

// TestEntities has files that make an XML parser fetch something or grow.
func TestEntities(t *testing.T) {
	t.Parallel()
	const entry = `<url><loc>http://example.org/%s</loc></url>`
	laughs := `<!ENTITY l0 "lol">`
	for i := range 20 {
		laughs += fmt.Sprintf(`<!ENTITY l%d "%s">`, i+1, strings.Repeat(fmt.Sprintf("&l%d;", i), 10))
	}
	for _, tt := range []struct{ name, declaration, use, want string }{
		{"file", `<!DOCTYPE u [<!ENTITY x SYSTEM "file:///etc/passwd">]>`, "&x;", "&x;"},
		{"address", `<!DOCTYPE u [<!ENTITY x SYSTEM "http://127.0.0.1:1/x">]>`, "&x;", "&x;"},
		{"parameter", `<!DOCTYPE u [<!ENTITY % x SYSTEM "http://127.0.0.1:1/x.dtd"> %x; <!ENTITY y "z">]>`, "&y;", "&y;"},
		{"laughs", `<!DOCTYPE u [` + laughs + `]>`, "&l20;", "&l20;"},
		{"blow-up", `<!DOCTYPE u [<!ENTITY x "` + strings.Repeat("x", 100_000) + `">]>`, strings.Repeat("&x;", 100), strings.Repeat("&x;", 100)},
		{"redefinition", `<!DOCTYPE u [<!ENTITY amp "file">]>`, "&amp;", "&"},
		{"comment in the way", `<!DOCTYPE u [<!-- it's > --><!ENTITY x "y">]>`, "&x;", "&x;"},
	} {
		body := tt.declaration + "<urlset>" + fmt.Sprintf(entry, tt.use) + fmt.Sprintf(entry, "b") +
			"</urlset>"
		got, err := Parse([]byte(body), "", mustURL(t, home))
		if !errors.Is(err, ErrBroken) {
			t.Errorf("%s: error %v", tt.name, err)
		}
		want := mustURL(t, "http://example.org/"+tt.want).String()
		if l := locs(got); len(l) != 2 || l[0] != want {
			t.Errorf("%s: %.200q, want %.200q", tt.name, l, want)
		}
	}
	for _, external := range []string{`<!DOCTYPE urlset SYSTEM "http://127.0.0.1:1/x.dtd">`,
		`<?xml-stylesheet href="http://127.0.0.1:1/x.xsl"?>`,
		`<!DOCTYPE urlset PUBLIC "a>b" 'c>d'>`, `<?xml version="1.1" encoding="ebcdic-us"?>`} {
		got, err := Parse([]byte(external+"<urlset>"+fmt.Sprintf(entry, "a")+"</urlset>"), "",
			mustURL(t, home))
		if err != nil || len(got.Entries) != 1 {
			t.Errorf("%s: %v, %v", external, locs(got), err)
		}
	}
}

// TestSwallowed has markup that is skipped, and text that resembles it.
func TestSwallowed(t *testing.T) {
	t.Parallel()
	for _, between := range []string{
		"<!-- <url> -- -->", "<!---->", "<!-- --->", "<?php echo '>'; ?>", "<??>", "<!x>",
		"<!x <y> 'a>' >", "<![CDATA[ <url> ]] > ]>]]>", "<![CDATA[]]>", "<x y='-->'/>",
		"<![CDATA[" + strings.Repeat("x]", 64<<10) + "]]>", "<!--" + strings.Repeat("x", 768<<10) + "-->",
		"<x>" + strings.Repeat("&", 192<<10) + "</x>",
	} {
		body := "<urlset><url><loc>/a</loc></url>" + between + "<url>" + between + "<loc>" +
			"<![CDATA[/b]]>" + "</loc></url></urlset>"
		got, err := Parse([]byte(body), "", mustURL(t, home))
		if l := strings.Join(locs(got), " "); l != "http://example.org/a http://example.org/b" ||
			err != nil {
			t.Errorf("%.100s: %s, %v", between, l, err)
		}
	}
	for _, open := range []string{"<!--", "<?x", "<!x", "<!x [ <y>", "<![CDATA[", "<x", "<x y='"} {
		got, err := Parse([]byte("<urlset><url><loc>/a</loc></url>"+open+" and so on"), "",
			mustURL(t, home))
		if len(got.Entries) != 1 || !errors.Is(err, ErrBroken) {
			t.Errorf("%s: %q, %v", open, locs(got), err)
		}
	}
}

// TestHostile bounds the cost of files made to be expensive: compressed, and whatever their size.
// It is not parallel, because it counts the allocations of the process.
func TestHostile(t *testing.T) {
	const (
		most       = 16 << 20 // bytes, freed ones included
		mostAtOnce = 32 << 20
		perUseless = 4 << 10 // bytes for each address that could not be read: nearly all garbage at once
	)
	size := 256 << 10
	if *full {
		size = 60 << 20
	}
	const good = "<urlset><url><loc>/a</loc></url>"
	for name, unit := range map[string]string{
		"white space": good + "\x00 \n", "comment": good + "<!--\x00<x> -",
		"CDATA": good + "<url><loc><![CDATA[\x00x> <", "declaration": "<!DOCTYPE x [\x00<!ENTITY a 'b'>",
		"instruction": good + "<?\x00<x>", "one tag": good + "<x y='\x00zzz ",
		"attributes": good + "<x \x00a='b' ", "nesting": good + "\x00<a>",
		"tags": good + "\x00<x/>", "text": good + "<x>\x00> x", "references": good + "<x>\x00&amp;&nbsp;",
		"one address": good + "<url><loc>\x00x", "one line": "http://example.org/a\n\x00x",
		"entries":       "<urlset>\x00<url><loc>/</loc><lastmod>2020-01-01</lastmod></url>",
		"empty entries": good + "\x00<url/>", "addresses": good + "<url>\x00<loc>http://[</loc>",
		"times": good + "<url>\x00<lastmod>Mon, 2 Jan 06 15:04:0x</lastmod>",
		"lines": "http://example.org/a\n\x00http://[\n",
		"index": "<sitemapindex>\x00<sitemap><loc>/sitemap.xml</loc></sitemap>",
		"links": "<feed><entry>\x00<link href='http://['/>", "crossed": good + "\x00</x>",
		"long addresses": good + "\x00<url><loc>http://[" + strings.Repeat("x", 3000) + "</loc></url>",
		"long times":     good + "<url>\x00<lastmod>" + strings.Repeat("2020", 1000) + "</lastmod>",
	} {
		head, repeated, _ := strings.Cut(unit, "\x00")
		packed := pack(t, head+strings.Repeat(repeated, size/len(repeated)))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		peak := peakOf(t)
		got, err := Parse(packed, "", mustURL(t, home))
		atOnce := peak()
		took := time.Since(start)
		runtime.ReadMemStats(&after)
		allocated := int(after.TotalAlloc - before.TotalAlloc)
		// Parsed tags, references and time stamps leave garbage.
		bound := most + 10*min(size, MaxBytes) + min(size/len(repeated), maxUseless)*perUseless
		switch name {
		case "white space", "comment", "CDATA", "declaration", "instruction", "text", "references",
			"one address", "one line", "nesting":
			bound = 5 * maxToken // the buffer, as it grew
		}
		if took > time.Minute || allocated > bound ||
			len(got.Entries) == 0 && name != "declaration" && name != "links" {
			t.Errorf("%s: %v, %d MiB, %d entries", name, took, allocated>>20, len(got.Entries))
		}
		if atOnce > mostAtOnce {
			t.Errorf("%s: %d MiB at once", name, atOnce>>20)
		}
		if err == nil && name != "one line" && name != "lines" {
			t.Errorf("%s: no error", name)
		}
		t.Logf("%-14s %6d bytes packed: %8v, %4d MiB allocated, %3d at once, %5d entries, %.110v", name,
			len(packed), took.Round(time.Millisecond), allocated>>20, atOnce>>20, len(got.Entries), err)
	}
}

// peakOf watches the heap until the returned function is called, which returns the largest growth.
func peakOf(t *testing.T) func() int {
	t.Helper()
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() int {
		metrics.Read(heap)
		return int(heap[0].Value.Uint64())
	}
	runtime.GC()
	before, most := read(), 0
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, read()-before)
			select {
			case <-stop:
				return
			case <-tick.C:
			}
		}
	}()
	return func() int {
		close(stop)
		<-stopped
		return max(most, read()-before)
	}
}
