package pipeline

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/scope"
)

const then = "Sat, 01 Jan 2000 00:00:00 GMT"

// revisits turns revisits on.
func (b *bench) revisits() *bench {
	b.rules.Settings.Archive, b.rules.Settings.Recrawl = true, crawl.RecrawlAdaptive
	return b
}

func revisit(v *crawl.Visit) {
	v.Item.Revisit, v.Item.ETag, v.Item.LastModified = true, `"v1"`, then
}

// A 304 is an answered visit: it is released and completed as any other, archived with a reference
// to what it stands for, and not parsed. What is known of the page stays, but for the validators
// that it brings.
func TestNotModified(t *testing.T) {
	t.Parallel()
	original := &crawl.Original{
		Record:    [16]byte{7},
		URL:       "http://a.test/",
		FetchedAt: time.Unix(1e9, 0),
	}
	for _, c := range []struct {
		name, header, tag, date string
	}{
		{"nothing new", "", `"v1"`, then},
		{"a new tag", `ETag: W/"v2"`, `W/"v2"`, then},
		{"a new date", "Last-Modified: Sun, 02 Jan 2000 00:00:00 GMT", `"v1"`, "Sun, 02 Jan 2000 00:00:00 GMT"},
		{"a tag that cannot be sent", "ETag: *", `"v1"`, then},
	} {
		b := newBench(t, scope.Options{}).revisits()
		b.serveConditional("http://a.test/",
			c.header+"\nX-Robots-Tag: noindex\nCache-Control: max-age=60")
		b.stored = map[string]Stored{"http://a.test/": {Digest: crawl.Digest{9}, Original: original}}
		b.visit("http://a.test/", revisit)
		r, o := b.one()
		if r.Kind != crawl.Fetched || !r.Requested || o.Kind != crawl.Fetched || o.Status != 304 ||
			!o.Conditional || !o.NoIndex || o.MaxAge != time.Minute ||
			o.ETag != c.tag || o.LastMod != c.date || o.Digest != [20]byte{9} || o.First || !o.Refers ||
			o.Text != 0 || o.LinksFound != 0 || o.Archive.File == "" {
			t.Errorf("%s: released %+v, completed %+v", c.name, r, o)
		}
		if got := b.captures[0]; got.Status != 304 || got.Original != original ||
			got.Digest != [20]byte{9} || len(got.Body) > 0 || !got.NoIndex {
			t.Errorf("%s: archived %+v", c.name, got)
		}
		if len(b.questions) > 0 || len(b.looked) != 1 || b.asked[0].ETag != `"v1"` ||
			b.asked[0].LastModified != then {
			t.Errorf("%s: %d questions about payloads, %d about the URL, asked with %+v", c.name,
				len(b.questions), len(b.looked), b.asked[0])
		}
	}
}

// Without an archive nothing is looked up, and nothing fails.
func TestNotModifiedWithoutArchive(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{}).revisits()
	b.rules.Settings.Archive = false
	b.serveConditional("http://a.test/", "")
	b.visit("http://a.test/", revisit)
	if _, o := b.one(); o.Status != 304 || o.Digest != [20]byte{} ||
		len(b.captures)+len(b.looked) > 0 {
		t.Errorf("completed %+v, %d captures, looked up %q", o, len(b.captures), b.looked)
	}
}

// A 304 that answers no condition is a failed visit of the URL, and leaves nothing.
func TestUnaskedNotModified(t *testing.T) {
	t.Parallel()
	b := newBench(t, scope.Options{}).revisits()
	b.fail("http://a.test/", &fetcher.Error{
		Category:  fetcher.Protocol,
		Contacted: true,
		Err:       errors.New("the server answered 304"),
	})
	b.visit("http://a.test/")
	if r, o := b.one(); r.Kind != crawl.URLFailed || !r.Requested || o.Kind != crawl.URLFailed ||
		o.Category != crawl.ErrProtocol || o.Status != 0 || len(b.captures) > 0 {
		t.Errorf("released %+v, completed %+v", r, o)
	}
}

// Only a whole answer has validators: not an error, a part, or an answer to a failed precondition.
func TestOtherAnswersToConditions(t *testing.T) {
	t.Parallel()
	for _, status := range []int{206, 301, 404, 410, 412, 500} {
		b := newBench(t, scope.Options{}).revisits()
		b.web["http://a.test/"] = func(fetcher.Request) (*fetcher.Response, error) {
			resp := answer(status, "ETag: \"e\"\nLast-Modified: "+then+"\nLocation: /x", "text")
			resp.Conditional = true
			return resp, nil
		}
		b.visit("http://a.test/", revisit)
		if _, o := b.one(); o.Kind != crawl.Fetched || o.Status != status || o.ETag != "" ||
			o.LastMod != "" || !o.Conditional {
			t.Errorf("%d: completed %+v", status, o)
		}
	}
}

// The fingerprint of a text without its numbers is made only where it decides whether a page has
// changed.
func TestTextPrint(t *testing.T) {
	t.Parallel()
	page := func(n int, words string) string {
		return fmt.Sprintf("<p>It is 2026-11-%02d 12:%02d:00, visitor %d. %s", n, n, n*n*n,
			strings.Repeat(words, 12))
	}
	print := func(body string, change func(*crawl.Settings)) uint64 {
		b := newBench(t, scope.Options{}).revisits()
		change(&b.rules.Settings)
		b.serve("http://a.test/", 200, "", body)
		b.visit("http://a.test/")
		_, o := b.one()
		return o.Text
	}
	on := func(*crawl.Settings) {}
	first := print(page(1, "some words of a page "), on)
	if again := print(page(22, "some words of a page "), on); first == 0 || again != first {
		t.Errorf("%x with other numbers is %x", first, again)
	}
	if other := print(page(1, "quite another text has come "), on); other == first {
		t.Error("another text has the same fingerprint")
	}
	// A short page has too few words for a fingerprint; its numbers are no change all the same.
	short := print("<p>Visitors:  1,234</p>", on)
	if again := print("<p>Visitors: 77\n</p>", on); short == 0 || again != short {
		t.Errorf("a short page: %x with another number is %x", short, again)
	}
	if other := print("<p>Closed since 1,234</p>", on); other == short || print("<p></p>", on) != 0 {
		t.Errorf("another short page: %x, as %x", other, short)
	}
	for name, change := range map[string]func(*crawl.Settings){
		"off":     func(s *crawl.Settings) { s.Recrawl = crawl.RecrawlOff },
		"unset":   func(s *crawl.Settings) { s.Recrawl = "" },
		"payload": func(s *crawl.Settings) { s.RecrawlChanged = crawl.RecrawlPayload },
	} {
		if got := print(page(1, "some words of a page "), change); got != 0 {
			t.Errorf("%s: fingerprint %x", name, got)
		}
	}
}

func TestMaxAge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const year = 365 * 24 * time.Hour
	for header, want := range map[string]time.Duration{
		"":                          0,
		"Cache-Control: max-age=60": time.Minute,
		"Cache-Control: public, MAX-AGE = \"60\"":                                     time.Minute,
		"Cache-Control: max-age=60, s-maxage=120":                                     2 * time.Minute,
		"Cache-Control: max-age=60, max-age=9":                                        time.Minute,
		"Cache-Control: max-age=60\nCache-Control: x":                                 time.Minute,
		"Cache-Control: x\nCache-Control: max-age=60":                                 time.Minute,
		"Cache-Control: max-age=60\nAge: 20":                                          40 * time.Second,
		"Cache-Control: max-age=60\nAge: 90":                                          0,
		"Cache-Control: max-age=60\nAge: x":                                           time.Minute,
		"Cache-Control: max-age=60, no-store":                                         0,
		"Cache-Control: max-age=60, no-cache":                                         0,
		"Cache-Control: no-cache=\"a, b\", max-age=60":                                time.Minute,
		"Cache-Control: x=\"max-age=9, no-store\",,max-age=60":                        time.Minute,
		"Cache-Control: max-age=-1":                                                   0,
		"Cache-Control: max-age=1.5":                                                  0,
		"Cache-Control: max-age":                                                      0,
		"Cache-Control: max-age=99999999999999999999999":                              year,
		"Cache-Control: max-age=9223372036854775807":                                  year,
		"Cache-Control: \"":                                                           0,
		"Expires: Sun, 01 Mar 2026 13:00:00 GMT":                                      time.Hour,
		"Expires: Sun, 01 Mar 2026 13:00:00 GMT\nDate: Sun, 01 Mar 2026 12:59:00 GMT": time.Minute,
		"Expires: Sun, 01 Mar 2026 13:00:00 GMT\nDate: Sun, 01 Mar 2026 14:00:00 GMT": 0,
		"Expires: Fri, 31 Dec 9999 23:59:59 GMT":                                      year,
		"Expires: Fri, 31 Dec 9999 23:59:59 GMT\nDate: Mon, 01 Jan 0001 00:00:00 GMT": year,
		"Expires: 0":  0,
		"Expires: -1": 0,
		"Expires: Sun, 01 Mar 2026 13:00:00 GMT\nCache-Control: max-age=60": time.Minute,
		"Expires: Sun, 01 Mar 2026 13:00:00 GMT\nCache-Control: max-age=x":  0,
		"Expires: Sun, 01 Mar 2026 13:00:00 GMT\nCache-Control: private":    time.Hour,
	} {
		h := http.Header{}
		for _, line := range splitLines(header) {
			h.Add(line[0], line[1])
		}
		if got := maxAge(h, now); got != want {
			t.Errorf("%q: %v, want %v", header, got, want)
		}
	}
}

func FuzzMaxAge(f *testing.F) {
	f.Add("max-age=60, s-maxage=9", "Fri, 31 Dec 9999 23:59:59 GMT", "Sun, 01 Mar 2026 12:59:00 GMT",
		"5")
	f.Add("no-cache=\"a,b\"", "0", "x", "-1")
	f.Add("max-age=\"1\\\",2\"", "", "", "99999999999999999999")
	f.Fuzz(func(t *testing.T, control, expires, date, age string) {
		h := http.Header{
			"Cache-Control": {control, control},
			"Expires":       {expires},
			"Date":          {date},
			"Age":           {age},
		}
		got := maxAge(h, time.Unix(1e9, 0))
		if got < 0 || got > maxMaxAge {
			t.Fatalf("%v", got)
		}
		h.Set("Cache-Control", "no-store,"+control)
		if maxAge(h, time.Unix(1e9, 0)) != 0 {
			t.Fatal("what must not be kept has an age")
		}
	})
}

// Off, the header costs nothing and says nothing.
func TestMaxAgeOnlyWithRevisits(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]time.Duration{
		"":                    0,
		crawl.RecrawlOff:      0,
		crawl.RecrawlFixed:    time.Hour,
		crawl.RecrawlAdaptive: time.Hour,
	} {
		b := newBench(t, scope.Options{})
		b.rules.Settings.Recrawl = mode
		b.serve("http://a.test/", 200, "Cache-Control: max-age=3600", "text")
		b.visit("http://a.test/")
		if _, o := b.one(); o.MaxAge != want {
			t.Errorf("%q: %v, want %v", mode, o.MaxAge, want)
		}
	}
}

const datedSitemap = `<urlset>
<url><loc>http://a.test/1</loc><lastmod>2026-02-01</lastmod></url>
<url><loc>http://a.test/2</loc><lastmod>0000-01-01</lastmod></url>
<url><loc>http://a.test/3</loc><lastmod>9999-12-31</lastmod></url>
<url><loc>http://a.test/4</loc><lastmod>1969-07-20</lastmod></url>
<url><loc>http://a.test/5</loc></url>
<url><loc>http://a.test/6</loc><lastmod>TOMORROW</lastmod></url>
<url><loc>http://b.test/7</loc><lastmod>2026-02-01</lastmod></url>
</urlset>`

// What a sitemap or feed says of the changes of its own host's pages goes with their links. Dates
// that cannot be are dropped, the nearest future is now, and other hosts are spoken for by
// themselves.
func TestClaims(t *testing.T) {
	t.Parallel()
	soon := time.Now().Add(6 * time.Hour).UTC().Format(time.RFC3339)
	claims := func(mode, body, media string, via crawl.Via) map[string]time.Time {
		b := newBench(t, scope.Options{}).revisits()
		b.rules.Settings.Recrawl = mode
		b.rules.Seeds = scope.NewSeeds([]string{b.rules.Scope.EntryOf(url(t, "http://a.test/")),
			b.rules.Scope.EntryOf(url(t, "http://b.test/"))})
		b.serve("http://a.test/x", 200, "Content-Type: "+media,
			strings.ReplaceAll(body, "TOMORROW", soon))
		b.visit("http://a.test/x", func(v *crawl.Visit) { v.Item.Via = via })
		_, o := b.one()
		found := map[string]time.Time{}
		for _, target := range o.Targets {
			found[target.URL.String()] = target.Claimed
		}
		return found
	}
	at := time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	for _, via := range []crawl.Via{crawl.ViaSitemapFile, crawl.ViaLink} {
		got := claims(crawl.RecrawlAdaptive, datedSitemap, "application/xml", via)
		if len(got) != 7 || !got["http://a.test/1"].Equal(at) {
			t.Errorf("%v: %v", via, got)
		}
		if now := got["http://a.test/6"]; time.Since(now) > time.Hour || time.Since(now) < 0 {
			t.Errorf("%v: the near future is %v", via, now)
		}
		for _, u := range []string{"http://a.test/2", "http://a.test/3", "http://a.test/4",
			"http://a.test/5", "http://b.test/7"} {
			if !got[u].IsZero() {
				t.Errorf("%v: %s is claimed to have changed at %v", via, u, got[u])
			}
		}
		for u, claimed := range claims(crawl.RecrawlOff, datedSitemap, "application/xml", via) {
			if !claimed.IsZero() {
				t.Errorf("%v: without revisits %s has a claim", via, u)
			}
		}
	}
	index := claims(crawl.RecrawlFixed,
		`<sitemapindex><sitemap><loc>http://a.test/s.xml</loc><lastmod>2026-02-01</lastmod></sitemap></sitemapindex>`,
		"application/xml", crawl.ViaSitemapFile)
	if !index["http://a.test/s.xml"].Equal(at) {
		t.Errorf("an index: %v", index)
	}
	const rss = `<rss><channel><item><link>http://a.test/n</link><pubDate>Sun, 01 Feb 2026 00:00:00 GMT</pubDate></item></channel></rss>`
	const atom = `<feed><entry><link href="/n"/><updated>2026-02-01T00:00:00Z</updated></entry></feed>`
	for media, body := range map[string]string{
		"application/rss+xml":                 rss,
		"application/atom+xml; charset=utf-8": atom,
		"text/xml":                            rss,
	} {
		media, _, _ = strings.Cut(media, ";")
		if got := claims(crawl.RecrawlAdaptive, body, media, crawl.ViaLink); len(got) != 1 ||
			!got["http://a.test/n"].Equal(at) {
			t.Errorf("%s: %v", media, got)
		}
		if got := claims("", body, media, crawl.ViaLink); len(got) != 0 {
			t.Errorf("%s is read without revisits: %v", media, got)
		}
	}
}

// The feeds that a site's first page names are fetched where pages are visited again.
func TestFeedsOfAPage(t *testing.T) {
	t.Parallel()
	const page = `<link rel="alternate" type="application/rss+xml" href="/feed"><link rel="alternate" hreflang="de" href="/de"><link rel=canonical href="/c">`
	for _, c := range []struct {
		mode  string
		depth int
		want  int
	}{{crawl.RecrawlAdaptive, 0, 1}, {crawl.RecrawlAdaptive, 1, 0}, {crawl.RecrawlOff, 0, 0}} {
		b := newBench(t, scope.Options{}).revisits()
		b.rules.Settings.Recrawl = c.mode
		b.serve("http://a.test/", 200, "", page)
		b.visit("http://a.test/", func(v *crawl.Visit) { v.Item.Depth = c.depth })
		if _, o := b.one(); len(o.Targets) != c.want ||
			c.want == 1 && o.Targets[0].URL.String() != "http://a.test/feed" {
			t.Errorf("%+v: %q", c, targets(o.Targets))
		}
	}
}
