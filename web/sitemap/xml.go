package sitemap

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	stdhtml "html"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html"

	"crawlnode/web/urlnorm"
)

const defaultPriority = 0.5

// kind describes how the entries of an XML file are written: the element of an entry, and the
// elements in it with the address and the time.
type kind struct {
	entry, loc string
	times      []string // the first one that is there counts
	feed       bool     // RSS or Atom: one address per entry
}

// kinds are the known root elements.
func kinds(root string) (kind, bool) {
	switch strings.ToLower(root) {
	case "urlset":
		return kind{entry: "url", loc: "loc", times: []string{"lastmod"}}, true
	case "sitemapindex":
		return kind{entry: "sitemap", loc: "loc", times: []string{"lastmod"}}, true
	case "rss", "rdf":
		return kind{entry: "item", loc: "link", times: []string{"pubdate", "date"}, feed: true}, true
	case "feed":
		return kind{
			entry: "entry",
			loc:   "link",
			times: []string{"updated", "published"},
			feed:  true,
		}, true
	}
	return kind{}, false
}

// xmlState is the state of reading one XML file.
type xmlState struct {
	*parser
	kind
	prefix string   // of the entries' elements
	open   []string // open elements, lower-case local names, "" for those of other prefixes
	err    error    // the first error that did not end the reading

	inEntry  bool
	text     []byte // of the innermost relevant element
	own      []byte // text directly in the entry, where some files have the address
	first    int    // entries of the file before this one's
	pending  Entry  // properties that came before the address
	guid     string // an item's identity, which may be its address
	timeRank int    // how good the time found so far is: index into times, or len(times)
}

// readXML reads tags and text to the end of the file. It continues after crossed, unclosed and
// broken elements.
//
// The tokens are those of HTML: its tokenizer has no fatal errors, which XML demands for one stray
// "<" or "&", and it bounds its buffer. Names lose their case. What HTML does otherwise than XML,
// references and elements such as <title> whose content is only text, is not left to it.
func (p *parser) readXML(r *bufio.Reader) error {
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxToken)
	z.AllowCDATA(true)
	s := &xmlState{parser: p}
	for tags := 0; ; {
		var err error
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			return s.end(z.Err(), z.Raw())
		case html.StartTagToken, html.SelfClosingTagToken:
			z.NextIsNotRawText()
			raw, _ := z.TagName()
			name := newTag(raw)
			tags++
			if err = s.start(name, z); err == nil && kind == html.SelfClosingTagToken {
				tags++
				err = s.close(name)
			}
		case html.EndTagToken:
			raw, _ := z.TagName()
			tags++
			err = s.close(newTag(raw))
		case html.TextToken:
			s.chars(z.Raw())
		case html.DoctypeToken, html.CommentToken:
			if declaresEntity(kind, z.Raw()) {
				s.note("the file declares entities, which are not followed")
			}
		}
		if err == nil && tags > maxTags {
			err = fmt.Errorf("%w: more than %d tags", ErrTooLarge, maxTags)
		}
		if err != nil {
			return err
		}
	}
}

// declaresEntity reports whether a document type, or a part of one, declares an entity. To the
// tokenizer a document type ends at the first ">", and the declarations behind it are comments.
func declaresEntity(kind html.TokenType, raw []byte) bool {
	if kind == html.DoctypeToken {
		return bytes.Contains(raw, []byte("<!ENTITY"))
	}
	return bytes.HasPrefix(raw, []byte("<!ENTITY"))
}

// tag is the name of an element, in lower case.
type tag struct{ prefix, local string }

func newTag(raw []byte) tag {
	if prefix, local, ok := bytes.Cut(raw, []byte(":")); ok {
		return tag{string(prefix), string(local)}
	}
	return tag{local: string(raw)}
}

// note records an error that does not stop the reading.
func (s *xmlState) note(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("%w: "+format, append([]any{ErrBroken}, args...)...)
	}
}

// end takes the error that ended the tokens, io.EOF included, and what is there of the next one.
func (s *xmlState) end(err error, rest []byte) error {
	if s.inEntry && s.current() == s.loc && bytes.HasPrefix(rest, []byte("<")) {
		// The address is complete: a tag follows it. When the file ends within the text instead,
		// the address may be cut.
		if addErr := s.address(); addErr != nil {
			return addErr
		}
	}
	switch {
	case s.kind.entry == "":
		return fmt.Errorf("%w: no element", ErrFormat)
	case errors.Is(err, html.ErrBufferExceeded):
		return fmt.Errorf("%w: a tag or text has more than %d bytes", ErrTooLarge, maxToken)
	case !errors.Is(err, io.EOF):
		return classify(err)
	case len(s.open) > 0:
		s.note("the file ends within <%s>", s.open[len(s.open)-1])
	}
	return s.err
}

func (s *xmlState) current() string {
	if len(s.open) == 0 {
		return ""
	}
	return s.open[len(s.open)-1]
}

// start takes a start tag, whose attributes are those where z stands.
func (s *xmlState) start(t tag, z *html.Tokenizer) error {
	name := t.local
	if s.kind.entry == "" {
		k, ok := kinds(name)
		if !ok {
			return fmt.Errorf("%w: the root element is <%.40s>", ErrFormat, name)
		}
		s.kind = k
		s.out.Index, s.out.Feed = name == "sitemapindex", k.feed
		if name != "rdf" { // whose items have no prefix
			s.prefix = t.prefix
		}
	} else if s.foreign(t) {
		name = "" // of an extension: image:loc, atom:link
	}
	if len(s.open) >= maxDepth {
		return fmt.Errorf("%w: elements nest deeper than %d", ErrBroken, maxDepth)
	}
	inLoc := s.inLoc()
	s.open = append(s.open, name)
	switch {
	case inLoc: // <loc><url>...: the text belongs to the address
	case name == s.kind.entry:
		s.beginEntry()
	case name != "":
		s.text = s.text[:0]
		if s.inEntry && name == "link" {
			return s.atomLink(z)
		}
	}
	return nil
}

// inLoc reports whether an address element is open.
func (s *xmlState) inLoc() bool {
	for _, name := range s.open {
		if name == s.loc && s.inEntry && !s.feed {
			return true
		}
	}
	return false
}

// foreign reports whether an element belongs to an extension.
func (s *xmlState) foreign(t tag) bool {
	return t.prefix != s.prefix && t != tag{"dc", "date"}
}

// chars collects text as it is written, or a CDATA section, for the current element: at most
// maxText bytes.
func (s *xmlState) chars(raw []byte) {
	into := &s.text
	switch {
	case !s.inEntry:
		return
	case s.inLoc():
	case s.current() == s.kind.entry:
		into = &s.own
	case s.current() == "":
		return
	}
	section, isCDATA := bytes.CutPrefix(raw, []byte("<![CDATA["))
	if isCDATA {
		section = bytes.TrimSuffix(section, []byte("]]>"))
	} else {
		section = unescape(raw)
	}
	*into = append(*into, section[:min(len(section), maxText-len(*into))]...)
}

// reference is how XML and HTML write a character by its number or name.
var reference = regexp.MustCompile(`&#?[0-9A-Za-z]{1,31};`)

// unescape replaces references to characters. Others stay, as does a bare "&", which addresses
// often have: what HTML reads into "&copy=1" does not count.
func unescape(raw []byte) []byte {
	if bytes.IndexByte(raw, '&') < 0 {
		return raw
	}
	return reference.ReplaceAllFunc(raw[:min(len(raw), maxRawText)], func(ref []byte) []byte {
		if c := stdhtml.UnescapeString(string(ref)); !strings.HasSuffix(c, ";") {
			return []byte(c)
		}
		return ref // it is not known, or only how it begins
	})
}

// close takes an end tag. One that closes an outer element closes the inner ones too; one that
// closes nothing is ignored.
func (s *xmlState) close(t tag) error {
	name := t.local
	if s.foreign(t) && len(s.open) > 1 {
		name = ""
	}
	at := len(s.open) - 1
	for at >= 0 && s.open[at] != name {
		at--
	}
	if at < 0 {
		s.note("</%.40s> has no start tag", t.local)
		return nil
	}
	if at < len(s.open)-1 {
		s.note("found </%.40s> instead of </%.40s>", t.local, s.current())
	}
	for len(s.open) > at {
		closing := s.current()
		s.open = s.open[:len(s.open)-1]
		if err := s.closed(closing); err != nil {
			return err
		}
	}
	return nil
}

// closed takes an element, already off the stack, with its text.
func (s *xmlState) closed(name string) error {
	switch {
	case !s.inEntry || name == "" || s.inLoc():
		return nil
	case name == s.kind.entry:
		return s.endEntry()
	case name == s.loc:
		return s.address()
	}
	text := trim(string(s.text))
	for rank, t := range s.times {
		if name == t && rank < s.timeRank {
			if at, ok := s.time(text); ok {
				s.property(func(e *Entry) { e.LastMod = at })
				s.timeRank = rank
			}
		}
	}
	switch name {
	case "priority":
		if f, err := strconv.ParseFloat(text, 64); err == nil && f >= 0 && !math.IsNaN(f) {
			s.property(func(e *Entry) { e.Priority = min(f, 1) })
		}
	case "changefreq":
		s.property(func(e *Entry) { e.ChangeFreq = changeFreq(text) })
	case "guid", "id":
		s.guid = text
	}
	return nil
}

func (s *xmlState) beginEntry() {
	s.inEntry = true
	s.text, s.own = s.text[:0], s.own[:0]
	s.first = len(s.out.Entries)
	s.pending = Entry{Priority: defaultPriority}
	s.guid = ""
	s.timeRank = len(s.times)
}

// endEntry closes an entry. Without an address element, its own text or an
// item's identity may be an address.
func (s *xmlState) endEntry() error {
	s.inEntry = false
	if len(s.out.Entries) > s.first {
		return nil
	}
	for _, text := range []string{trim(string(s.own)), s.guid} {
		if len(text) < len("http:") || len(text) > maxLoc ||
			!strings.EqualFold(text[:len("http")], "http") {
			continue
		}
		parsed, failed := urlnorm.Parse(text)
		u, ok, err := s.usable(parsed, len(text), failed)
		switch {
		case err != nil:
			return err
		case ok:
			return s.addLoc(u)
		}
	}
	s.out.Invalid++
	return nil
}

// address takes the text of an address element. An entry with several addresses becomes several
// entries; in a feed the first counts.
func (s *xmlState) address() error {
	text := trim(string(s.text))
	s.text = s.text[:0]
	if text == "" || s.feed && len(s.out.Entries) > s.first {
		return nil
	}
	u, ok, err := s.absolute(text)
	if !ok {
		return err // Invalid is counted when the entry ends without address
	}
	return s.addLoc(u)
}

func (s *xmlState) addLoc(u urlnorm.URL) error {
	e := s.pending
	e.Loc = u
	s.pending = Entry{Priority: defaultPriority}
	s.timeRank = len(s.times)
	if !e.LastMod.IsZero() {
		s.timeRank = 0
	}
	return s.add(e)
}

// property sets a property of the last address of the entry, or of the next one if there is none
// yet.
func (s *xmlState) property(set func(*Entry)) {
	if n := len(s.out.Entries); n > s.first {
		set(&s.out.Entries[n-1])
		return
	}
	set(&s.pending)
}

// atomLink takes a link whose address is an attribute.
func (s *xmlState) atomLink(z *html.Tokenizer) error {
	href, rel := "", "alternate"
	for more := true; more; {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch newTag(key).local {
		case "href":
			href = trim(string(value))
		case "rel":
			rel = strings.ToLower(trim(string(value)))
		}
	}
	if href == "" || len(href) > maxLoc || rel != "alternate" || len(s.out.Entries) > s.first {
		return nil
	}
	resolved, failed := s.at.Resolve(href)
	u, ok, err := s.usable(resolved, len(href), failed)
	if !ok {
		return err
	}
	return s.addLoc(u)
}

func changeFreq(text string) string {
	switch f := strings.ToLower(text); f {
	case "always", "hourly", "daily", "weekly", "monthly", "yearly", "never":
		return f
	}
	return ""
}

// parseTime parses a W3C date and time (https://www.w3.org/TR/NOTE-datetime) or an RFC 822 one as
// feeds have them; without a zone, UTC.
func parseTime(text string) (time.Time, bool) {
	for _, layout := range [...]string{
		time.RFC3339, "2006-01-02", "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z0700",
		"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01", "2006",
		"2006-01-02 15:04:05", "2006-01-02 15:04:05Z07:00",
		"Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 06 15:04:05 -0700",
		"Mon, 2 Jan 06 15:04:05 MST",
		"2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 MST", "2 Jan 06 15:04:05 -0700",
		"2 Jan 06 15:04:05 MST",
		"Mon, 2 Jan 2006 15:04:05", "Mon, 2 Jan 06 15:04:05", "2 Jan 2006 15:04:05", "2 Jan 06 15:04:05",
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}
