package sitemap

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"crawlnode/web/urlnorm"
)

// The limits of one file. The first two are the protocol's.
const (
	MaxBytes      = 50 << 20 // after decompression
	MaxEntries    = 50_000
	MaxEntryBytes = MaxBytes // of all entries' URLs together: references to a long host could be more

	maxDepth = 64 // of XML elements
	// addresses that could not be read, a long one counting for several; each can cost as much as ten
	// good ones
	maxUseless = 20_000
	// unreadable times, which are as expensive; beyond that no time is parsed
	maxBadTime = 1_000
	// bytes of an address as it is written; what urlnorm takes is half as long
	maxLoc     = 4 << 10
	maxTime    = 40              // bytes of a time
	maxTags    = 80 * MaxEntries // start and end tags: an entry has ten, and may have some pictures
	maxText    = 8 << 10         // bytes of one element's text
	maxRawText = 4 * maxText     // bytes of such a text as it is written, with references
	// bytes of one tag, of the text between two, or of a comment; a larger one ends the reading
	maxToken = 1 << 20
)

// The error classes. What was read before the error is returned with it.
var (
	// ErrFormat: the file is none of the known kinds.
	ErrFormat = errors.New("not a sitemap, an index, a feed or a list of URLs")
	// ErrTooLarge: the file has more than the limits allow.
	ErrTooLarge = errors.New("more than a sitemap may hold")
	// ErrBroken: the file is malformed or cut off.
	ErrBroken = errors.New("malformed sitemap")
	// ErrCut: the answer ended before the file did (ParsePart).
	ErrCut = errors.New("the answer was cut off")
)

// Sitemap is the content of a file.
type Sitemap struct {
	// Index: the entries are other sitemaps, not pages.
	Index bool
	// Feed: the file is an RSS or Atom feed. Its entries are news of the site, not a list of its
	// pages.
	Feed    bool
	Entries []Entry
	// Invalid counts entries without a usable http or https URL.
	Invalid int
}

// Entry is one page, or one sitemap of an index.
type Entry struct {
	Loc        urlnorm.URL
	LastMod    time.Time // zero when absent or not readable
	Priority   float64   // 0 to 1; 0.5, the protocol's default, when absent or not readable
	ChangeFreq string    // always, hourly, daily, weekly, monthly, yearly, never; else ""
}

// Parse parses a file that was served from at with the given Content-Type ("" is allowed; only its
// charset is used). Errors match one of the classes above.
func Parse(body []byte, contentType string, at urlnorm.URL) (Sitemap, error) {
	return parse(&parser{at: at}, body, contentType)
}

// ParsePart is Parse for the beginning of a file: the connection broke, or a limit of the fetch cut
// the answer. What cannot be known to be whole, such as the last line of a list, is left out. The
// error is ErrCut where it would be ErrBroken.
func ParsePart(body []byte, contentType string, at urlnorm.URL) (Sitemap, error) {
	return parse(&parser{at: at, part: true}, body, contentType)
}

func parse(p *parser, body []byte, contentType string) (Sitemap, error) {
	r, err := decompress(body)
	if err == nil {
		err = p.read(decodeText(r, contentType))
	}
	if p.part && (err == nil || errors.Is(err, ErrBroken)) {
		err = fmt.Errorf("%w: %d entries are read, the rest is missing", ErrCut, len(p.out.Entries))
	}
	if err != nil {
		err = fmt.Errorf("sitemap %s: %w", p.at, err)
	}
	return p.out, err
}

// parser collects the entries of one file.
type parser struct {
	at       urlnorm.URL
	part     bool // the file was cut off where the body ends
	out      Sitemap
	urlBytes int
	unread   int // counts calls of useless
	badTimes int // that could not be read
}

// read tells XML from text by the first byte that is not white space.
func (p *parser) read(r *bufio.Reader) error {
	for {
		c, _, err := r.ReadRune()
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: the file is empty", ErrFormat)
		case err != nil:
			return classify(err)
		case c == '\uFEFF' || strings.ContainsRune(" \t\r\n", c):
			continue
		}
		// A rune that was just read can be put back.
		if err := r.UnreadRune(); err != nil {
			return fmt.Errorf("%w: %v", ErrBroken, err)
		}
		if c == '<' {
			return p.readXML(r)
		}
		return p.readText(r)
	}
}

// readText reads one URL per line. Other lines are only counted; a file without any URL is not a
// list.
func (p *parser) readText(r *bufio.Reader) error {
	for {
		line, err := r.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) { // far beyond any URL
			line, err = nil, skipLine(r)
		}
		whole := err == nil || errors.Is(err, io.EOF) && !p.part
		if text := trim(string(line)); text != "" && whole {
			if err := p.textLine(text); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) && len(p.out.Entries) == 0 && !p.part:
			return ErrFormat
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return classify(err)
		}
	}
}

func (p *parser) textLine(text string) error {
	u, ok, err := p.absolute(text)
	if !ok {
		p.out.Invalid++
		return err
	}
	return p.add(Entry{Loc: u, Priority: defaultPriority})
}

// skipLine reads to the end of the line.
func skipLine(r *bufio.Reader) error {
	for {
		if _, err := r.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// add appends e, unless the file has reached its limits.
func (p *parser) add(e Entry) error {
	p.urlBytes += len(e.Loc.String())
	if len(p.out.Entries) >= MaxEntries || p.urlBytes > MaxEntryBytes {
		return fmt.Errorf("%w: %d entries are read, the rest is left", ErrTooLarge, len(p.out.Entries))
	}
	p.out.Entries = append(p.out.Entries, e)
	return nil
}

// useless counts an address of the given length that was parsed and could not be used.
func (p *parser) useless(bytes int) error {
	if p.unread += 1 + bytes/64; p.unread > maxUseless {
		return fmt.Errorf("%w: too many unreadable addresses (%d)", ErrTooLarge, maxUseless)
	}
	return nil
}

// absolute parses an entry's address. The protocol requires absolute URLs; a path of the site, and
// a host name without scheme, are accepted too. Anything else is more likely a mistake than a
// reference. The error is that of useless.
func (p *parser) absolute(text string) (u urlnorm.URL, ok bool, err error) {
	if len(text) > maxLoc {
		return u, false, nil
	}
	if strings.HasPrefix(text, "/") {
		u, err := p.at.Resolve(text)
		return p.usable(u, len(text), err)
	}
	host := text
	if end := strings.IndexAny(text, ":/?#"); end >= 0 {
		host = text[:end]
	}
	if host != "" &&
		(strings.EqualFold(host, p.at.Host()) || len(host) > 4 && strings.EqualFold(host[:4], "www.")) {
		text = p.at.Scheme() + "://" + text
	}
	if len(text) < len("http:") || !strings.EqualFold(text[:len("http")], "http") {
		return u, false, nil // it would fail, and failing is expensive
	}
	u, err = urlnorm.Parse(text)
	return p.usable(u, len(text), err)
}

// usable counts an address of so many bytes that could not be read.
func (p *parser) usable(u urlnorm.URL, bytes int, failed error) (urlnorm.URL, bool, error) {
	if failed != nil {
		return u, false, p.useless(bytes)
	}
	return u, true, nil
}

// time parses a time. The times of a file mostly have the same form: when many could not be read,
// the rest are not tried.
func (p *parser) time(text string) (at time.Time, ok bool) {
	if len(text) > maxTime || p.badTimes > maxBadTime {
		return at, false
	}
	if at, ok = parseTime(text); !ok {
		p.badTimes++
	}
	return at, ok
}

// classify puts an error of a reader into one of this package's classes.
func classify(err error) error {
	if errors.Is(err, ErrTooLarge) || errors.Is(err, ErrFormat) {
		return err
	}
	return fmt.Errorf("%w: %v", ErrBroken, err)
}
