package htmlparse

import (
	"cmp"
	"time"

	"crawlnode/web/urlnorm"
)

// The limits for one page.
const (
	// MaxLinks is the largest number of links kept of a page.
	MaxLinks = 50_000
	// MaxUnusable is the largest number of broken or too long references that are parsed: detecting
	// one can take ten times as long as keeping a good one.
	MaxUnusable = 50_000
	// MaxLinkBytes bounds the bytes of canonical URLs kept of a page. Short references against a
	// long base could otherwise grow a page of 10 MiB to a gigabyte.
	MaxLinkBytes = 8 << 20
	// MaxText bounds the bytes of text kept of a page.
	MaxText = 256 << 10
	// MaxAnchor bounds the bytes kept of one link's text, MaxAnchorBytes those of all links of a
	// page.
	MaxAnchor      = 256
	MaxAnchorBytes = 1 << 20

	// maxRef is how many bytes of one reference are read: more than the longest one that can have a
	// short canonical form.
	maxRef = 64 << 10
	// bytesPerLink is the usual minimum of page bytes per link; it sets the initial capacity for
	// links.
	bytesPerLink = 256

	maxTitle       = 1 << 10 // bytes
	maxDescription = 4 << 10 // bytes
	maxRel         = 256     // bytes
	maxLang        = 64      // bytes
)

// Link is a reference to an http or https URL, in the order of the page and
// with repeats.
type Link struct {
	URL urlnorm.URL
	// Tag is the lower-case name of the element: a, area, frame, iframe, meta
	// (a refresh), link, img, source, script, video, audio, track, embed, object
	// or input.
	Tag string
	// Rel is the rel attribute as written; "refresh" for a meta refresh.
	Rel string
	// NoFollow: the rel attribute asks not to follow this link.
	NoFollow bool
	// Feed: it is a link element that names an RSS or Atom feed of the page.
	Feed bool
}

// Asset reports whether the link names a part or a relative of the page (image, script, style
// sheet, canonical address ...) and not a page for a reader.
func (l Link) Asset() bool {
	switch l.Tag {
	case "a", "area", "frame", "iframe", "meta":
		return false
	}
	return true
}

// Part reports whether the link names something that the page is shown with: an image, a script, a
// style sheet. An Asset that is none is a relative of the page, such as its canonical address.
func (l Link) Part() bool {
	if l.Tag != "link" {
		return l.Asset()
	}
	for _, rel := range [...]string{"stylesheet", "icon", "apple-touch-icon",
		"apple-touch-icon-precomposed", "mask-icon", "preload", "modulepreload", "manifest"} {
		if hasToken(l.Rel, rel) {
			return true
		}
	}
	return false
}

// Document is the extracted content of a page. Strings are valid UTF-8 with white space collapsed.
type Document struct {
	// Links are the links that can be fetched.
	Links []Link
	// Anchors are the texts of Links; use Anchor to read them. Empty texts at the end are left out.
	Anchors []string
	// LinksFound counts all references seen, kept or not: len(Links) + LinksDropped + Invalid +
	// TooLong + OtherScheme. References within the page ("#top") do not count.
	LinksFound int
	// LinksDropped counts references beyond MaxLinks, MaxLinkBytes or MaxUnusable, which were not
	// parsed.
	LinksDropped int
	// References that cannot be fetched: no valid URL, a URL longer than
	// urlnorm.MaxLen, a URL of another scheme than http and https.
	Invalid, TooLong, OtherScheme int

	// Base is what references were resolved against: the first base element's
	// address, or the page's own.
	Base urlnorm.URL

	Title       string
	Description string
	Canonical   string // absolute URL; "" when there is none or it is not valid
	Lang        string // as written, e.g. "de-CH"
	Charset     string // WHATWG name of the encoding, e.g. "utf-8", "windows-1252"

	// NoIndex and NoFollow are the page's own meta robots directives.
	NoIndex, NoFollow bool
	// NoIndexLater: they say noindex from some time after Options.Now on.
	NoIndexLater bool
	// Metas are the meta elements about the use of the page, in their order: those named robots or by
	// Options.Agent, and those of TDMRep. At most MaxMetas are kept, of at most 2 KiB each.
	Metas []Meta

	// Text is the visible text with white space collapsed, at most MaxText bytes. It may contain
	// invalid UTF-8 if the page does.
	Text []byte
	// TextTruncated: the page had more text than MaxText.
	TextTruncated bool
	// AnchorsTruncated: the links had more text than MaxAnchorBytes; later ones have
	// none.
	AnchorsTruncated bool
}

// Meta is a meta element. Its name is in lower case, its content as written.
type Meta struct{ Name, Content string }

// The names of the meta elements of the TDM Reservation Protocol.
const (
	MetaReservation = "tdm-reservation"
	MetaPolicy      = "tdm-policy"
)

// MaxMetas bounds Document.Metas.
const MaxMetas = 16

const maxMeta = 2 << 10

// Options request content that not all callers need.
type Options struct {
	// Agent is the product token by which robots meta elements address the caller; "" is crawlnode.
	Agent string
	// Anchors requests the texts of links.
	Anchors bool
	// Now is the time by which a meta element's unavailable_after is judged. Without it, each such
	// time is to come.
	Now time.Time
	// Memory, when not nil, is used up for Links and Text of the document.
	Memory *Memory
}

// Anchor is the text of the a element of Links[i], with Options.Anchors: valid UTF-8 with white
// space collapsed, at most MaxAnchor bytes. It is "" for other elements.
func (d *Document) Anchor(i int) string {
	if i < len(d.Anchors) {
		return d.Anchors[i]
	}
	return ""
}

// Parse parses the page body, which was served from base with the given Content-Type header (""
// when there was none). body is not changed and not kept: the Document shares no memory with it.
func Parse(body []byte, contentType string, base urlnorm.URL) Document {
	return ParseWith(Options{}, body, contentType, base)
}

// ParseWith is Parse with options.
func ParseWith(o Options, body []byte, contentType string, base urlnorm.URL) Document {
	enc, name, body := decode(body, contentType)
	p := parser{
		agent:         cmp.Or(o.Agent, defaultAgent),
		doc:           Document{Base: base, Charset: name},
		queryEncoding: enc,
		anchors:       o.Anchors,
		scan:          newScanner(body, contentType),
		memory:        o.Memory,
	}
	p.robots.now = o.Now
	p.run()
	if p.lateBase {
		// The base element came after the first reference but applies to all of them (HTML
		// Standard, section 2.4.3). This is rare enough to parse twice.
		q := parser{
			agent:         p.agent,
			doc:           Document{Base: p.doc.Base, Charset: name},
			queryEncoding: enc,
			anchors:       o.Anchors,
			baseSeen:      true,
			scan:          newScanner(body, contentType),
		}
		q.robots.now = o.Now
		q.run()
		return q.doc
	}
	return p.doc
}
