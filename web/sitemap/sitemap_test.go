//race:none

package sitemap

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

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

const home = "http://example.org/sitemap.xml"

func locs(s Sitemap) []string {
	var out []string
	for _, e := range s.Entries {
		out = append(out, e.Loc.String())
	}
	return out
}

// TestCrawlerCommons runs all cases. Some were recorded with options that this package does not
// have: strict drops pages outside the sitemap's folder, which is done here; strict_ns refuses
// other namespaces, which is never done. For files that the original refuses as a whole, the
// readable part is returned, with an error.
func TestCrawlerCommons(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/sitemaps.json")
	if err != nil {
		t.Fatal(err)
	}
	var suite struct {
		Cases []struct {
			Test, URL   string
			ContentType string `json:"content_type"`
			Strict      bool
			StrictNS    bool   `json:"strict_ns"`
			Body        []byte `json:"body_b64"`
			Error       string
			Index       bool `json:"is_index"`
			URLs        []string
		}
	}
	if err := json.Unmarshal(raw, &suite); err != nil {
		t.Fatal(err)
	}
	if len(suite.Cases) != 65 {
		t.Errorf("%d cases, want 65", len(suite.Cases))
	}
	for i, c := range suite.Cases {
		at := mustURL(t, c.URL)
		got, err := Parse(c.Body, c.ContentType, at)
		if c.Error != "" {
			if err == nil && !c.StrictNS {
				t.Errorf("%d %s: no error, want %s", i, c.Test, c.Error)
			}
			continue
		}
		if err != nil && !strings.Contains(c.Test, "Partial") {
			t.Errorf("%d %s: %v", i, c.Test, err)
		}
		folder, err := at.Resolve(".")
		if err != nil {
			t.Fatal(err)
		}
		var urls []string
		for _, u := range locs(got) {
			if !c.Strict || c.Index || strings.HasPrefix(u, folder.String()) {
				urls = append(urls, u)
			}
		}
		if got.Index != c.Index || !slices.Equal(urls, c.URLs) {
			t.Errorf("%d %s: index %v\ngot  %q\nwant %q", i, c.Test, got.Index, urls, c.URLs)
		}
	}
}

func TestEntry(t *testing.T) {
	t.Parallel()
	body :=
		`<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="i">
	<url><loc>http://example.org/a</loc><lastmod>2024-05-06T07:08:09+02:00</lastmod><changefreq> Daily </changefreq><priority>0.8</priority>
	  <image:image><image:loc>http://example.org/i.png</image:loc></image:image></url>
	<url><priority>1</priority><lastmod>2024-05</lastmod><loc>http://example.org/b</loc></url>
	<url><loc>http://example.org/c</loc><priority>high</priority><changefreq>sometimes</changefreq><lastmod>today</lastmod></url>
	<url><loc>http://example.org/d</loc><priority>7</priority></url>
	<url><loc>http://example.org/e</loc><priority>-1</priority></url>
	<url><loc>http://example.org/f?x=1&y=2&nbsp;&amp;z</loc></url>
	</urlset>`
	got, err := Parse([]byte(body), "", mustURL(t, home))
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{mustURL(t, "http://example.org/a"), time.Date(2024, 5, 6, 5, 8, 9, 0, time.UTC), 0.8, "daily"},
		{mustURL(t, "http://example.org/b"), time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC), 1, ""},
		{mustURL(t, "http://example.org/c"), time.Time{}, 0.5, ""},
		{mustURL(t, "http://example.org/d"), time.Time{}, 1, ""},
		{mustURL(t, "http://example.org/e"), time.Time{}, 0.5, ""},
		{mustURL(t, "http://example.org/f?x=1&y=2%C2%A0&z"), time.Time{}, 0.5, ""},
	}
	if !slices.Equal(got.Entries, want) {
		t.Errorf("got  %v\nwant %v", got.Entries, want)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		index      bool
		want       []string
	}{
		{"index", `<sitemapindex><sitemap><loc>/a.xml</loc></sitemap></sitemapindex>`, true, []string{"http://example.org/a.xml"}},
		{"upper case", `<URLSET><URL><LOC>http://example.org/a</LOC></URL></URLSET>`, false, []string{"http://example.org/a"}},
		{
			"no scheme",
			`<urlset><url><loc>example.org/a</loc></url><url><loc>www.example.com/b</loc></url><url><loc>c</loc></url></urlset>`,
			false,
			[]string{"http://example.org/a", "http://www.example.com/b"},
		},
		{"other scheme", `<urlset><url><loc>ftp://example.org/a</loc></url></urlset>`, false, nil},
		{
			"Latin-1",
			"<?xml version='1.0' " +
				"encoding='ISO-8859-1'?><urlset><url><loc>http://example.org/\xe9</loc></url></urlset>",
			false,
			[]string{"http://example.org/%C3%A9"},
		},
		{"not UTF-8", "<urlset><url><loc>http://example.org/a</loc><x>\xe9\x00\x01</x></url></urlset>", false, []string{"http://example.org/a"}},
		{
			"UTF-16",
			"\xff\xfe<\x00u\x00r\x00l\x00s\x00e\x00t\x00>\x00<\x00u\x00r\x00l\x00>\x00h\x00t\x00t\x00p\x00:\x00/\x00/\x00h\x00<\x00/\x00u\x00r\x00l\x00>\x00<\x00/\x00u\x00r\x00l\x00s\x00e\x00t\x00>\x00",
			false,
			[]string{"http://h/"},
		},
		{"BOM and space", "\uFEFF \n<urlset><url><loc>http://example.org/a</loc></url></urlset>", false, []string{"http://example.org/a"}},
		{"text", "\uFEFFhttp://example.org/a\r\n\r\n# comment\r\nhttps://example.org/b#c", false,
			[]string{"http://example.org/a", "https://example.org/b"}},
		{"long line", strings.Repeat("x", 1<<16) + "\nhttp://example.org/a\n", false, []string{"http://example.org/a"}},
		{
			"Atom",
			`<feed><link href="/self"/><entry><link rel="edit" href="/e"/><link href="/a"/><link rel="alternate" href="/b"/></entry></feed>`,
			false,
			[]string{"http://example.org/a"},
		},
		{
			"RSS",
			`<rss><channel><link>/c</link><item><atom:link href="/no"/><link>/a</link><guid>http://example.org/g</guid></item></channel></rss>`,
			false,
			[]string{"http://example.org/a"},
		},
		{"stray markup", `<urlset>< <url y=z & ><loc>/a</loc></url> <3 & <x y=">"/><url z='<'>` +
			`<loc>/c?x=1&copy=2&copyx;&#x64;</loc></url></urlset>`, false,
			[]string{"http://example.org/a", "http://example.org/c?x=1&copy=2&copyx;d"}},
		{"raw text in HTML", `<rss><item><title/><link>/a</link></item>` +
			`<item><script> <x/> </script><textarea/><plaintext/><link>/b</link></item></rss>`, false,
			[]string{"http://example.org/a", "http://example.org/b"}},
		{"control characters", "<urlset><url><loc>\x01http://example.org/a\x00</loc></url></urlset>",
			false,
			[]string{"http://example.org/a"}},
		{"empty set", `<urlset/>`, false, nil},
	} {
		got, err := Parse([]byte(tt.body), "", mustURL(t, home))
		if err != nil || got.Index != tt.index || !slices.Equal(locs(got), tt.want) {
			t.Errorf("%s: %v, index %v, %q, want %q", tt.name, err, got.Index, locs(got), tt.want)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	day := time.Date(2017, 1, 5, 0, 0, 0, 0, time.UTC)
	second := time.Date(2017, 1, 5, 12, 34, 50, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"2017-01-05":                      day,
		"2017":                            time.Date(2017, 1, 1, 0, 0, 0, 0, time.UTC),
		"2017-01-05T12:34:50Z":            second,
		"2017-01-05T13:34:50.25+01:00":    second.Add(250 * time.Millisecond),
		"2017-01-05T12:34":                second.Add(-50 * time.Second),
		"Thu, 05 Jan 2017 13:34:50 +0100": second,
		"Thu, 5 Jan 17 12:34:50 GMT":      second,
		"05 Jan 17 12:34:50":              second,
		"yesterday":                       {},
		"":                                {},
	} {
		if got, _ := parseTime(text); !got.Equal(want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	feed :=
		`<feed><entry><published>2001-01-01</published><link href="/a"/><updated>2017-01-05</updated></entry>` +
			`<entry><link href="/b"/><updated>2017-01-05</updated><published>2001-01-01</published></entry></feed>`
	got, err := Parse([]byte(feed), "", mustURL(t, home))
	if err != nil || len(got.Entries) != 2 || got.Entries[1].LastMod != day {
		t.Errorf("Atom times: %v, %v", got, err)
	}
}

func TestBroken(t *testing.T) {
	t.Parallel()
	const good = `<urlset><url><loc>http://example.org/a</loc></url>`
	for _, tt := range []struct {
		name, body string
		class      error
		want       int
	}{
		{"empty", "", ErrFormat, 0},
		{"white space", " \n\t", ErrFormat, 0},
		{"HTML", "<!DOCTYPE html><html><body>not found</body></html>", ErrFormat, 0},
		{"prose", "Not a sitemap\nat all", ErrFormat, 0},
		{"unclosed", good, ErrBroken, 1},
		{"cut in a tag", good + `<url><loc>http://example.org/b</lo`, ErrBroken, 2},
		{"cut in an address", good + `<url><loc>http://example.org/b`, ErrBroken, 1},
		{"crossed", `<urlset><url><loc>http://example.org/a</url></loc></urlset>`, ErrBroken, 1},
		{"broken markup", good + `< <url>`, ErrBroken, 1},
		{"entities", `<!DOCTYPE x [<!ENTITY a SYSTEM "file:///x">]>` + good + `<url><loc>&a;</loc></url></urlset>`, ErrBroken, 1},
		{"deep", `<urlset>` + strings.Repeat("<a>", 1000), ErrBroken, 0},
		{"broken gzip", "\x1f\x8b\x08nonsense", ErrBroken, 0},
		{"cut gzip", string(pack(t, good+strings.Repeat("<url><loc>http://example.org/a</loc></url>", 5000))[:200]), ErrBroken, -1},
	} {
		got, err := Parse([]byte(tt.body), "", mustURL(t, home))
		if !errors.Is(err, tt.class) || tt.want >= 0 && len(got.Entries) != tt.want {
			t.Errorf("%s: %d entries, %v; want %d, %v", tt.name, len(got.Entries), err, tt.want, tt.class)
		}
	}
}

// TestOtherFeed has a compressed list of goods as some shops publish it: not one of the known
// kinds, which only decompression shows.
func TestOtherFeed(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("testdata/feed-sample1.xml.gz")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(body, "application/gzip", mustURL(t, home))
	if !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "<products>") ||
		len(got.Entries) != 0 {
		t.Errorf("%d entries, %v", len(got.Entries), err)
	}
}

func pack(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestLimits(t *testing.T) {
	t.Parallel()
	at := mustURL(t, home)

	var many strings.Builder
	many.WriteString("<urlset>")
	for i := range MaxEntries + 1 {
		fmt.Fprintf(&many, "<url><loc>http://example.org/%d</loc></url>", i)
	}
	many.WriteString("</urlset>")
	got, err := Parse([]byte(many.String()), "", at)
	if !errors.Is(err, ErrTooLarge) || len(got.Entries) != MaxEntries {
		t.Errorf("many entries: %d, %v", len(got.Entries), err)
	}

	bomb := pack(t, "<urlset><url><loc>http://example.org/a</loc></url>"+strings.Repeat(" ", MaxBytes))
	got, err = Parse(bomb, "application/gzip", at)
	if !errors.Is(err, ErrTooLarge) || len(got.Entries) != 1 {
		t.Errorf("bomb: %d entries, %v", len(got.Entries), err)
	}

	text := "<urlset>" + strings.Repeat("x", 192<<10) + "<url><loc>http://example.org/a</loc>" +
		strings.Repeat(">", 192<<10) + "</url></urlset>"
	if got, err = Parse([]byte(text), "", at); err != nil || len(got.Entries) != 1 {
		t.Errorf("long text: %d entries, %v", len(got.Entries), err)
	}
	tag := "<urlset><url><loc>http://example.org/a</loc></url><x y='" + strings.Repeat("z", maxToken) +
		"'></urlset>"
	if got, err = Parse([]byte(tag), "", at); !errors.Is(err, ErrTooLarge) || len(got.Entries) != 1 {
		t.Errorf("long tag: %d entries, %v", len(got.Entries), err)
	}

	twice := pack(t, string(pack(t, "http://example.org/a\n")))
	if got, err = Parse(twice, "", at); err != nil || len(got.Entries) != 1 {
		t.Errorf("packed twice: %d entries, %v", len(got.Entries), err)
	}

	// each is 2 bytes here, 6 in the URL
	long := strings.Repeat("http://example.org/"+strings.Repeat("é", 333)+"\n", 30_000)
	got, err = Parse([]byte(long), "", at)
	if !errors.Is(err, ErrTooLarge) || len(got.Entries)*2017 > MaxEntryBytes {
		t.Errorf("long URLs: %d entries, %v", len(got.Entries), err)
	}
}

func FuzzParse(f *testing.F) {
	for _, body := range []string{
		"", "<", "<urlset><url><loc>http://example.org/a</loc><lastmod>2020</lastmod></url></urlset>",
		"<sitemapindex><sitemap>http://h/</sitemap>",
		"<rss><item><guid>http://h/</guid><link/></item>", "<feed><entry><link href='/x'/></entry>",
		"<rdf:RDF><item><link>http://h/</link><dc:date>2020</dc:date></item></rdf:RDF>",
		"http://example.org/\nwww.example.org", "\x1f\x8b\x08", "\xff\xfe<\x00",
		"<a:urlset><a:url><a:loc>/</a:loc></a:url></a:urlset>",
		"<urlset></url></loc></urlset></urlset>", "<urlset><url><loc><url>http://h/</url></loc>",
		"<?xml encoding='utf-16'?><urlset>", "<!DOCTYPE x [<!ENTITY y 'z'>]><urlset>&y;",
	} {
		f.Add([]byte(body), "text/xml")
	}
	at := mustURL(f, home)
	f.Fuzz(func(t *testing.T, body []byte, contentType string) {
		s, err := Parse(body, contentType, at)
		if err != nil {
			n := 0
			for _, class := range []error{ErrFormat, ErrTooLarge, ErrBroken} {
				if errors.Is(err, class) {
					n++
				}
			}
			if n != 1 {
				t.Fatalf("%v matches %d classes", err, n)
			}
		}
		if len(s.Entries) > MaxEntries {
			t.Fatalf("%d entries", len(s.Entries))
		}
		for _, e := range s.Entries {
			if e.Loc.IsZero() || !(e.Priority >= 0 && e.Priority <= 1) {
				t.Fatalf("entry %+v", e)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	var body strings.Builder
	body.WriteString("<urlset>")
	for i := range 1000 {
		fmt.Fprintf(&body,
			"<url><loc>http://example.org/guide/chapter-%d.html</loc><lastmod>2024-05-06</lastmod><priority>0.5</priority></url>\n",
			i)
	}
	body.WriteString("</urlset>")
	raw, at := []byte(body.String()), mustURL(b, home)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if s, err := Parse(raw, "", at); err != nil || len(s.Entries) != 1000 {
			b.Fatal(len(s.Entries), err)
		}
	}
}
