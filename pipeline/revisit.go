package pipeline

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // payload digests of WARC are SHA-1
	"encoding/binary"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/simhash"
	"crawlnode/web/sitemap"
)

// unchanged archives a 304. There is nothing to parse: its payload, and the links in it, are those
// of an earlier capture, to which its record refers.
func (w *worker) unchanged(
	ctx context.Context,
	v crawl.Visit,
	resp *fetcher.Response,
	rules *Rules,
	o *crawl.Outcome,
) error {
	w.skipped = w.skipped[:0]
	o.NoIndex, _ = directives(resp, rules.Settings.Agent())
	last := w.p.o.Contents.Read(v.Item.URL)
	w.carryPreferences(&v, resp, rules, o, last.Preferences)
	o.Reason = joined(o.Reason, whyUnread(last.Reason))
	remark(resp, o)
	var stored Stored
	if rules.Settings.Archive {
		stored = w.p.o.Contents.Stored(ctx, v.Item.URL)
		o.Digest, o.Refers = stored.Digest, true
	}
	return w.store(ctx, &v, capture(v, resp, o, stored.Original, rules.Settings.Agent()), rules, o,
		nil, nil)
}

// sentAgain takes a page that was sent once more as it was read before as a 304 is taken: the visit
// is archived, listed and completed, and nothing else is made of it.
func (w *worker) sentAgain(
	ctx context.Context,
	v crawl.Visit,
	resp *fetcher.Response,
	rules *Rules,
	o *crawl.Outcome,
	last Reading,
) error {
	w.skipped = w.skipped[:0]
	o.Unchanged, o.Basis, o.NoIndex = true, last.Basis, last.Basis.NoIndex()
	o.Reason = joined(o.Reason, whyUnread(last.Reason))
	if w.carryPreferences(&v, resp, rules, o, last.Preferences); o.SearchRefused() {
		o.Basis = 0 // its text is wanted when the owner allows it
	}
	return w.keepParsed(ctx, v, resp, rules, o, nil, nil)
}

// digestOf is the SHA-1 of the payload.
func digestOf(resp *fetcher.Response) crawl.Digest { return sha1.Sum(resp.RawBody) }

// basisFields are the header fields that decide how a page is read. Those about its use are read at
// each answer, and are not among them.
var basisFields = [...]string{"Content-Type", "Content-Encoding", "Content-Language",
	"Content-Location", "Link", "Refresh", "X-Robots-Tag"}

// basis is what the reading of an answer depends on beside its payload; 0: it is read whatever was
// read before. An answer counts when it is a whole page (2xx): not a sitemap file, whose dates are
// compared with the present time, and not a page that a browser is to show, whose scripts may make
// something else of the same payload.
func (p *Pipeline) basis(
	v *crawl.Visit,
	resp *fetcher.Response,
	rules *Rules,
	o *crawl.Outcome,
) crawl.Basis {
	it := &v.Item
	if rules.Basis == 0 || resp.Status < 200 || resp.Status > 299 || resp.Truncated != "" ||
		resp.DecodeErr != nil ||
		o.Rendering != nil || o.IsSitemap || it.Via == crawl.ViaSitemapFile {
		return 0
	}
	var h xxh3.Hasher
	var entries uint64
	if rules.Entries != nil {
		entries = rules.Entries()
	}
	var numbers [48]byte
	for i, n := range [...]uint64{rules.Basis, entries, p.made, uint64(it.Via),
		uint64(it.Depth)<<32 | uint64(it.Hops), uint64(resp.Status)} {
		binary.BigEndian.PutUint64(numbers[8*i:], n)
	}
	_, _ = h.Write(numbers[:])
	for i, name := range basisFields {
		for _, value := range resp.Header[name] {
			_, _ = h.Write([]byte{byte(i)})
			_, _ = h.WriteString(value)
			_, _ = h.Write([]byte{0})
		}
	}
	_, _ = h.WriteString(resp.ContentType)
	return crawl.BasisOf(h.Sum64())
}

// madeBy is a hash of what a Pipeline makes of pages.
func madeBy(o *Options) uint64 {
	return xxh3.HashString(fmt.Sprint(o.Derives, o.Deriver != nil, o.Documents != nil,
		o.NoFingerprints, o.DocumentReader != nil))
}

// keepValidators notes what a later visit can ask with. A 304 keeps those of the request that it
// does not replace.
func keepValidators(v *crawl.Visit, resp *fetcher.Response, o *crawl.Outcome) {
	o.ETag, o.LastMod = fetcher.Validators(resp)
	if resp.Status != http.StatusNotModified {
		return
	}
	if o.ETag == "" {
		o.ETag = v.Item.ETag
	}
	if o.LastMod == "" {
		o.LastMod = v.Item.LastModified
	}
}

// comparesText reports whether it matters how a page's text changes.
func comparesText(s *crawl.Settings) bool {
	return s.Revisits() && s.RecrawlChanged != crawl.RecrawlPayload
}

// maxMasked bounds the memory that a worker keeps for masked texts.
const maxMasked = 1 << 20

// prints makes the fingerprints that somebody needs: of the text, and of the text without its
// numbers. A text that is too short for the latter has the hash of its words in its place: it is
// the same text or another.
func (f *linkCollector) prints(text []byte) {
	whole := f.fingerprints || f.deriver != nil && f.deriver.Simhashes()
	switch {
	case comparesText(&f.rules.Settings):
		f.o.Simhash, f.o.Text, f.masked = simhash.Fingerprints(text, f.masked)
		if !whole {
			f.o.Simhash = 0
		}
		if f.o.Text == 0 {
			f.masked = simhash.MaskNumbers(f.masked[:0], text)
			f.o.Text = hashWords(f.masked)
		}
		if cap(f.masked) > maxMasked {
			f.masked = nil
		}
	case whole:
		f.o.Simhash, _ = simhash.Fingerprint(text)
	}
}

// hashWords is a hash of a text whatever its white space; 0: it is empty.
func hashWords(text []byte) uint64 {
	var h xxh3.Hasher
	empty := true
	for word := range bytes.FieldsSeq(text) {
		empty = false
		_, _ = h.Write(word)
		_, _ = h.Write([]byte{' '})
	}
	if empty {
		return 0
	}
	return max(h.Sum64(), 1)
}

// maxMaxAge is the longest time for which an answer can call itself fresh: a year, as long as the
// longest that HTTP/1.1 recommended to servers.
const maxMaxAge = 365 * 24 * time.Hour

// maxAge is how much longer an answer that came at now may be kept by its own account (RFC 9111,
// sections 4.2.1 and 4.2.3). 0: it does not say, or says that it must not be kept, which tells
// nothing of how often it changes. s-maxage goes before max-age, that before Expires; of two the
// first counts. What cannot be read is 0.
func maxAge(h http.Header, now time.Time) time.Duration {
	c := readCacheControl(h["Cache-Control"])
	life := c.maxAge
	switch {
	case c.forbids:
		return 0
	case c.hasShared:
		life = c.shared
	case !c.hasMaxAge:
		life = expiresIn(h, now)
	}
	return min(max(life-seconds(strings.TrimSpace(h.Get("Age"))), 0), maxMaxAge)
}

// expiresIn compares Expires with the server's own Date if there is one, since the clock of this
// machine may be wrong.
func expiresIn(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Expires"))
	if text == "" {
		return 0 // most servers send none; three errors of parsing would be made for it
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if at, err := http.ParseTime(strings.TrimSpace(h.Get("Date"))); err == nil {
		now = at
	}
	return until.Sub(now)
}

// cacheControl is what Cache-Control says of the time for which an answer is fresh.
type cacheControl struct {
	forbids              bool // no-store or no-cache; no-cache with a list of fields is of these only
	hasShared, hasMaxAge bool
	shared, maxAge       time.Duration
}

// readCacheControl reads directives (RFC 9111, section 5.2). A comma within quotes ends none.
func readCacheControl(lines []string) (c cacheControl) {
	for _, line := range lines {
		for line != "" {
			var directive string
			directive, line = cutDirective(line)
			name, value, _ := strings.Cut(directive, "=")
			value = strings.Trim(strings.TrimSpace(value), `"`)
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "no-store":
				c.forbids = true
			case "no-cache":
				c.forbids = c.forbids || value == ""
			case "s-maxage":
				if !c.hasShared {
					c.hasShared, c.shared = true, seconds(value)
				}
			case "max-age":
				if !c.hasMaxAge {
					c.hasMaxAge, c.maxAge = true, seconds(value)
				}
			}
		}
	}
	return c
}

// cutDirective cuts at the first comma outside of quotes.
func cutDirective(line string) (directive, rest string) {
	quoted := false
	for i := range len(line) {
		switch c := line[i]; {
		case c == '"' && (i == 0 || line[i-1] != '\\'):
			quoted = !quoted
		case c == ',' && !quoted:
			return line[:i], line[i+1:]
		}
	}
	return line, ""
}

// seconds reads a number of seconds (RFC 9111, section 1.2.2), at most maxMaxAge; 0 when it is
// none.
func seconds(value string) time.Duration {
	if !allDigits(value) {
		return 0
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n > int64(maxMaxAge/time.Second) {
		return maxMaxAge
	}
	return time.Duration(n) * time.Second
}

// firstClaim is the earliest time at which a page may claim to have changed: there was no web
// before.
var firstClaim = time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC)

// claimed is when a sitemap or feed says that a page has changed; the zero time when that is not
// wanted or cannot be. A site speaks only for its own host, else it could send the crawler to
// others and spoil what their own word is worth. A time less than a day ahead is now: clocks
// differ, and dates without a time may be of another zone.
func (f *linkCollector) claimed(e *sitemap.Entry) time.Time {
	const day = 24 * time.Hour
	now := f.o.FetchedAt
	switch {
	case !f.rules.Settings.Revisits() || e.Loc.Host() != f.v.Item.URL.Host():
		return time.Time{}
	case e.LastMod.Before(firstClaim) || e.LastMod.After(now.Add(day)):
		return time.Time{}
	case e.LastMod.After(now):
		return now
	}
	return e.LastMod
}

// feed takes the entries of a feed as links of the page that it is, with the dates of their last
// change. It is read only where pages are visited again: a feed says what is new, and all of it
// stands elsewhere too.
func (f *linkCollector) feed(sm *sitemap.Sitemap) {
	f.o.LinksFound += len(sm.Entries) + sm.Invalid
	f.o.Skipped[crawl.SkipInvalid] += int64(sm.Invalid)
	for i := range sm.Entries {
		e := &sm.Entries[i]
		f.add(crawl.Target{
			URL:     e.Loc,
			Depth:   f.v.Item.Depth + 1,
			Via:     crawl.ViaLink,
			Claimed: f.claimed(e),
		}, 0)
	}
}
