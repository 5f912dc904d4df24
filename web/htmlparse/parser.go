package htmlparse

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"

	"crawlnode/web/urlnorm"
)

// defaultAgent is the name by which a page may address this crawler when Options has none.
const defaultAgent = "crawlnode"

// parser is the state of one pass over a page.
type parser struct {
	doc           Document
	agent         string // Options.Agent
	scan          scanner
	queryEncoding encoding.Encoding // of the page, when queries are to be written in it; else nil
	robots        directives        // of the page's meta elements
	baseSeen      bool              // a base element with an address was found, valid or not
	lateBase      bool              // it came after references to which it should have applied
	noscript      bool              // inside noscript or noframes
	foreign       int               // svg and math elements that are open
	inert         int               // template elements that are open and not shown
	space         bool              // a space is due before the next word of doc.Text
	unescaped     []byte            // the last character reference in the text
	linkBytes     int
	full          bool // no more links are kept
	attrs         attributes
	refs          refs
	urls          urlnorm.Packer
	srcdocs       int    // documents of frames, written in an attribute, that the parser is within
	anchors       bool   // texts of links are requested
	inAnchor      bool   // the next text belongs to a link
	anchorAt      int    // its place in doc.Links
	anchor        []byte // its text, as the page has it
	anchorBytes   int    // of all links' texts
	memory        *Memory
}

// run reads the page.
func (p *parser) run() {
	for {
		switch p.scan.next() {
		case endOfPage:
			p.endAnchor()
			return
		case textToken:
			if p.inert > 0 {
				continue
			}
			if p.inAnchor {
				p.anchorText(p.scan.text())
			}
			if !p.noscript && p.srcdocs == 0 {
				p.text(p.scan.text())
			}
		case startTag:
			if p.inert > 0 {
				p.inertTag()
				continue
			}
			p.startTag()
		case endTag:
			p.endTag()
		}
	}
}

// text adds visible text, with its character references replaced.
func (p *parser) text(b []byte) {
	for !p.doc.TextTruncated {
		amp := bytes.IndexByte(b, '&')
		if amp < 0 {
			p.words(b)
			return
		}
		p.words(b[:amp])
		end := amp + referenceLen(b[amp:])
		p.unescaped = appendReference(p.unescaped[:0], b[amp:end], false, false)
		p.words(p.unescaped)
		b = b[end:]
	}
}

// words adds b to the page's text, with each stretch of white space made one space.
func (p *parser) words(b []byte) {
	text := p.doc.Text
	for {
		word := 0
		for word < len(b) && b[word] <= ' ' {
			word++
		}
		p.space = p.space || word > 0
		if b = b[word:]; len(b) == 0 {
			break
		}
		if text == nil {
			// There may be as much text as page; growing step by step would copy it several times.
			text = p.memory.forText(min(len(p.scan.page), MaxText))
		}
		n := collapsed(b)
		if p.space && len(text) > 0 {
			text = append(text, ' ')
		}
		p.space = false
		if room := max(MaxText-len(text), 0); n > room {
			p.doc.TextTruncated = true
			text = append(text, b[:runeBoundary(b, room)]...)
			text = text[:min(len(text), MaxText)]
			break
		}
		text = append(text, b[:n]...)
		b = b[n:]
	}
	if cap(text) == cap(p.doc.Text) {
		// The text is still at the same address. Its pointer is not written again: that would cost
		// a write barrier for each piece of text while the garbage collector marks.
		p.doc.Text = p.doc.Text[:len(text)]
		return
	}
	p.doc.Text = text
}

// collapsed returns how much of b, which begins with a word, consists of words with one space
// between them and so needs no change.
func collapsed(b []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i := 0
	for {
		// Eight bytes at a time, always eight and with no branch for each word: the position of the
		// next eight does not depend on these, so the processor need not wait (which took three
		// times as long). Both tests may err towards the slow path.
		before := uint64(0) // the top bit of the lowest byte: the byte before is a space
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			control := (x - ' '*ones) &^ x & tops
			y := x ^ ' '*ones
			space := (y - ones) &^ y & tops
			if control|space&(space<<8|before) != 0 {
				break
			}
			before = space >> 56
			i += 8
		}
		end := min(i+8, len(b))
		i -= int(before >> 7) // a space at the end is looked at with what follows
		for i < end {
			switch {
			case b[i] > ' ':
				i++
			case b[i] == ' ' && i+1 < len(b) && b[i+1] > ' ':
				i += 2
			default:
				return i
			}
		}
		if i == len(b) {
			return i
		}
	}
}

// ref records the reference raw of an element. Once the page's links are full, references are only
// counted, which is cheap.
func (p *parser) ref(tag, rel string, raw []byte) {
	for len(raw) > 0 && raw[0] <= ' ' {
		raw = raw[1:]
	}
	if !p.baseSeen && len(raw) > 0 && raw[0] == '#' {
		return
	}
	p.doc.LinksFound++
	if p.full {
		p.doc.LinksDropped++
		return
	}
	// Megabytes of an inline image need not be copied to recognise it.
	ref := p.refs.string(raw[:min(len(raw), maxRef)])
	if p.queryEncoding != nil {
		ref = encodeQuery(ref, p.queryEncoding)
	}
	u, err := p.urls.Resolve(p.doc.Base, ref)
	switch {
	case err == nil:
		p.keep(Link{URL: u, Tag: tag, Rel: rel, NoFollow: hasToken(rel, "nofollow")})
	case errors.Is(err, urlnorm.ErrScheme):
		p.doc.OtherScheme++
	case errors.Is(err, urlnorm.ErrTooLong):
		p.doc.TooLong++
	default:
		p.doc.Invalid++
	}
	p.full = p.full || p.doc.Invalid+p.doc.TooLong >= MaxUnusable
}

// refs makes strings of references, valid as long as the parser. They are packed into few pieces of
// memory: one allocation for each reference was every second allocation of a page.
type refs struct{ piece strings.Builder }

// pieceOfRefs is the size of a piece, in bytes.
const pieceOfRefs = 2 << 10

func (r *refs) string(b []byte) string {
	if len(b) > pieceOfRefs/4 {
		return string(b)
	}
	if r.piece.Cap()-r.piece.Len() < len(b) {
		r.piece = strings.Builder{}
		r.piece.Grow(pieceOfRefs)
	}
	start := r.piece.Len()
	r.piece.Write(b)
	return r.piece.String()[start:]
}

func (p *parser) keep(l Link) {
	p.linkBytes += len(l.URL.String())
	if len(p.doc.Links) >= MaxLinks || p.linkBytes > MaxLinkBytes {
		p.doc.LinksDropped++
		p.full = true
		return
	}
	if p.doc.Links == nil {
		p.doc.Links = p.memory.forLinks(min(len(p.scan.page)/bytesPerLink+1, MaxLinks))
	}
	p.doc.Links = append(p.doc.Links, l)
}

// clean makes a string of b: valid UTF-8, white space collapsed, at most limit
// bytes.
func clean(b []byte, limit int) string {
	if len(b) <= limit && isClean(b) {
		return string(b)
	}
	// The first cut avoids copying a megabyte of white space or of title.
	if len(b) > 4*limit {
		b = b[:4*limit]
	}
	s := strings.ToValidUTF8(strings.Join(strings.Fields(string(b)), " "), "\uFFFD")
	if len(s) > limit {
		s = s[:runeBoundary([]byte(s), limit)]
	}
	return s
}

// isClean reports whether b is printable ASCII whose words have one space between them.
func isClean(b []byte) bool {
	space := true // before the first word there is none
	for _, c := range b {
		if c < ' ' || c > '~' || c == ' ' && space {
			return false
		}
		space = c == ' '
	}
	return len(b) == 0 || !space
}

// runeBoundary returns the largest offset up to limit at which a rune begins.
func runeBoundary(b []byte, limit int) int {
	for n := limit; n > max(limit-utf8.UTFMax, -1); n-- {
		if utf8.RuneStart(b[n]) {
			return n
		}
	}
	return limit
}

// hasToken reports whether the space-separated list has the token, in any case.
func hasToken(list, token string) bool {
	for len(list) >= len(token) {
		var word string
		list = strings.TrimLeft(list, " \t\r\n\f")
		if end := strings.IndexAny(list, " \t\r\n\f"); end >= 0 {
			word, list = list[:end], list[end:]
		} else {
			word, list = list, ""
		}
		if strings.EqualFold(word, token) {
			return true
		}
	}
	return false
}
