package lists

import (
	"bytes"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"iter"
	"strconv"
	"time"
	"unicode/utf8"

	"crawlnode/crawl"
	"crawlnode/web/htmlparse"
	"crawlnode/web/metadata"
	"crawlnode/web/preferences"
	"crawlnode/web/urlnorm"
)

// Lines are encoded by hand: a page has a hundred links, and the standard encoder would take longer
// for their lines than the parser for the page.

// object is a line being written.
type object struct {
	b     []byte
	empty bool // no field yet
}

func begin(b []byte) object { return object{append(b, '{'), true} }

// end completes the line and returns it with what stood before.
func (o *object) end() []byte { return append(o.b, '}', '\n') }

// name begins a field; names need no escapes.
func (o *object) name(name string) {
	if !o.empty {
		o.b = append(o.b, ',')
	}
	o.empty = false
	o.b = append(append(append(o.b, '"'), name...), '"', ':')
}

// text adds a field unless it is empty.
func (o *object) text(name, value string) {
	if value != "" {
		o.name(name)
		o.b = appendString(o.b, value)
	}
}

// number adds a field, zero or not.
func (o *object) number(name string, value int64) {
	o.name(name)
	o.b = strconv.AppendInt(o.b, value, 10)
}

// yes adds a field unless it is false.
func (o *object) yes(name string, value bool) {
	if value {
		o.name(name)
		o.b = append(o.b, "true"...)
	}
}

func (o *object) time(name string, at time.Time) {
	if !at.IsZero() {
		o.text(name, at.UTC().Format("2006-01-02T15:04:05.000Z"))
	}
}

// appendString appends s as a JSON string (RFC 8259). Invalid UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	const digits = "0123456789abcdef"
	b = append(b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ' || c == 0x7f:
			b = append(b, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
		case c < utf8.RuneSelf:
			b = append(b, c)
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			b = utf8.AppendRune(b, r) // RuneError for invalid bytes
			i += n
			continue
		}
		i++
	}
	return append(b, '"')
}

// appendPage appends the line of an answer.
func appendPage(
	b []byte,
	c *crawl.Capture,
	o *crawl.Outcome,
	depth int,
	doc *htmlparse.Document,
	said *metadata.Record,
) []byte {
	l := begin(b)
	l.text("url", c.URL.String())
	l.time("fetched_at", o.FetchedAt)
	l.number("status", int64(o.Status))
	l.text("mime", o.ContentType)
	if doc != nil {
		l.text("title", doc.Title)
		l.text("description", doc.Description)
		l.text("language", doc.Lang)
		l.text("charset", doc.Charset)
		l.text("canonical", doc.Canonical)
	}
	l.yes("noindex", o.NoIndex)
	l.name("preferences")
	l.b = appendPreferences(l.b, o)
	if o.Digest != (crawl.Digest{}) { // a worker need not tell one
		l.text("digest", digest(o.Digest))
	}
	if o.Simhash != 0 {
		l.text("simhash", hex.EncodeToString([]byte{
			byte(o.Simhash >> 56), byte(o.Simhash >> 48), byte(o.Simhash >> 40), byte(o.Simhash >> 32),
			byte(o.Simhash >> 24), byte(o.Simhash >> 16), byte(o.Simhash >> 8), byte(o.Simhash),
		}))
	}
	if said != nil {
		l.name("metadata")
		l.b = append(l.b, said.JSON()...)
	}
	l.yes("unchanged", o.Unchanged)
	l.text("near_duplicate_of", o.NearOf)
	if c.Original != nil {
		l.text("duplicate_of", c.Original.URL)
	}
	l.number("depth", int64(depth))
	l.number("bytes", o.Bytes)
	l.yes("truncated", o.Truncated != "")
	if o.Archive.File != "" {
		l.name("warc")
		place := begin(l.b)
		place.text("file", o.Archive.File)
		place.number("offset", o.Archive.Offset)
		place.number("length", o.Archive.Length)
		l.b = append(place.b, '}')
	}
	return l.end()
}

// appendPreferences appends what the owner says of the use of a page, as
// preferences.PagePreferences has it.
func appendPreferences(b []byte, o *crawl.Outcome) []byte {
	if len(o.Preferences) <= 1 { // most pages: their owners say nothing
		return append(b, `{"search":null,"archive":null,"ai-input":null,"ai-train":null,"from":[]}`...)
	}
	r, err := preferences.Decode(o.Preferences)
	if err != nil {
		panic("BUG: preferences of a page: " + err.Error())
	}
	text, err := json.Marshal(r.Report(o.FetchedAt))
	if err != nil {
		panic("BUG: preferences cannot be written as JSON: " + err.Error())
	}
	return append(b, text...)
}

// digest formats a SHA-1 as in WARC files.
func digest(sum [20]byte) string {
	return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}

// appendLink appends the line of a page's link with that index.
func appendLink(b []byte, source urlnorm.URL, doc *htmlparse.Document, i int) []byte {
	link := &doc.Links[i]
	l := begin(b)
	l.text("source", source.String())
	l.text("target", link.URL.String())
	l.text("text", doc.Anchor(i))
	l.text("rel", link.Rel)
	l.yes("nofollow", link.NoFollow)
	l.text("tag", link.Tag)
	return l.end()
}

// hostsOf yields each host that a page's hyperlinks lead to, except its own, with the number of
// links, in the order of appearance. Images, scripts and the like do not count.
func hostsOf(source urlnorm.URL, doc *htmlparse.Document) iter.Seq2[string, int64] {
	own := source.Host()
	counts := map[string]int64{}
	var order []string
	for i := range doc.Links {
		link := &doc.Links[i]
		host := link.URL.Host()
		if host == own || link.Asset() {
			continue
		}
		if counts[host]++; counts[host] == 1 {
			order = append(order, host)
		}
	}
	return func(yield func(string, int64) bool) {
		for _, host := range order {
			if !yield(host, counts[host]) {
				return
			}
		}
	}
}

func appendPair(b []byte, source, target string, links int64) []byte {
	l := begin(b)
	l.text("source", source)
	l.text("target", target)
	l.number("links", links)
	return l.end()
}

// addUp sums the counts of lines that appendPair made: lines that differ only in their count become
// one, at the place of the first. Others are unchanged.
func addUp(lines []byte) []byte {
	counts := map[string]int64{}
	var order []string
	sum := make([]byte, 0, len(lines))
	for line := range bytes.Lines(lines) {
		at := bytes.LastIndex(line, []byte(`"links":`)) + len(`"links":`)
		n, err := strconv.ParseInt(string(bytes.TrimSuffix(line[min(at, len(line)):], []byte("}\n"))), 10,
			32)
		if err != nil {
			sum = append(sum, line...)
			continue
		}
		pair := string(line[:at])
		if _, known := counts[pair]; !known {
			order = append(order, pair)
		}
		counts[pair] += n
	}
	for _, pair := range order {
		sum = append(strconv.AppendInt(append(sum, pair...), counts[pair], 10), '}', '\n')
	}
	return sum
}

// appendSkip appends the line of a skipped URL.
func appendSkip(b []byte, s *crawl.Skip) []byte {
	l := begin(b)
	l.text("url", s.URL.String())
	l.text("source", s.Source.String())
	l.text("reason", s.Reason.String())
	l.text("via", s.Via.String())
	l.time("at", s.At)
	return l.end()
}
