package maintext

import (
	"bytes"
	"encoding/binary"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/atom"

	"crawlnode/web/htmlparse"
)

// block is the text between two tags that begin a line.
type block struct {
	from, to uint32 // in the text of all blocks
	links    uint32 // bytes of text in links
	heading  bool
	place    place
}

func (b *block) len() int { return int(b.to - b.from) }

// place says what kind of elements something stands in.
type place struct {
	main   bool // an element that says it is the main part
	aside  bool // an element that says it is not
	named  bool // the name of a class or an id says that it is not
	link   bool
	hidden bool
}

// element is an open element, with the place of what is in it.
type element struct {
	tag   atom.Atom
	inner place
	unit  uint32 // the list or table around what is in it (see walk), counted from 1; 0: none
}

// maxDepth bounds the open elements that are followed; maxClose how far up an end tag is looked
// for.
const (
	maxDepth = 512
	maxClose = 64
)

// reader makes blocks of tokens.
type reader struct {
	tokens    *htmlparse.Tokens
	open      []element
	blocks    []block
	text      []byte // of all blocks; the current one begins at from
	from      int
	space     bool // a space is due before the next word
	links     int  // bytes of the current block in links
	heading   bool
	truncated bool
	unescaped []byte // the last text with character references
	names     names

	title, shareTitle             string
	description, shareDescription string
	language                      string
	skip                          atom.Atom // the element whose end is waited for

	walk *walk // nil: nobody asks for the markup

	maxRead, maxBlocks int
}

// readers keeps readers for their memory.
var readers = sync.Pool{New: func() any { return &reader{} }}

func newReader(page []byte, contentType string, c choice) *reader {
	r := readers.Get().(*reader)
	*r = reader{
		tokens:    htmlparse.NewTokens(page, contentType),
		open:      r.open[:0],
		blocks:    r.blocks[:0],
		text:      r.text[:0],
		unescaped: r.unescaped[:0],
		names:     r.names,
		maxRead:   c.read,
		maxBlocks: c.blocks,
	}
	return r
}

// release gives the memory back. One that an unusual page made large is left to the collector.
func (r *reader) release() {
	const usual = 256 << 10
	if cap(r.text) <= usual && cap(r.unescaped) <= usual && cap(r.blocks) <= usual/32 {
		r.tokens, r.walk = nil, nil
		readers.Put(r)
	}
}

func (r *reader) read() {
	for {
		switch r.tokens.Next() {
		case htmlparse.EndOfPage:
			r.flush()
			return
		case htmlparse.Text:
			if r.skip == 0 {
				r.words(r.tokens.Text())
			}
		case htmlparse.StartTag:
			r.start()
		case htmlparse.EndTag:
			r.end(atom.Lookup(r.tokens.Name()))
		}
		if len(r.text) > r.maxRead || len(r.blocks) >= r.maxBlocks {
			r.truncated = true
			r.flush()
			return
		}
	}
}

// now is the place of what comes next.
func (r *reader) now() place {
	if len(r.open) == 0 {
		return place{}
	}
	return r.open[len(r.open)-1].inner
}

// words adds text of the page to the current block.
func (r *reader) words(text []byte) {
	now := r.now()
	if now.hidden {
		return
	}
	if bytes.IndexByte(text, '&') >= 0 {
		r.unescaped = htmlparse.AppendText(r.unescaped[:0], text, false)
		text = r.unescaped
	}
	if now.link && permalink(text) {
		return
	}
	if r.walk != nil {
		r.walk.text(r, text)
	}
	before := len(r.text)
	r.append(text)
	if now.link {
		r.links += len(bytes.TrimPrefix(r.text[before:], []byte(" ")))
	}
}

// append adds words, each stretch of white space as one space, in valid UTF-8 and without control
// characters.
func (r *reader) append(b []byte) {
	for len(b) > 0 {
		n := wordLen(b)
		if n == 0 {
			c, size := utf8.DecodeRune(b)
			r.space = r.space || unicode.IsSpace(c)
			if c == utf8.RuneError && size == 1 {
				size = brokenLen(b)
				r.word([]byte("\uFFFD"))
			}
			b = b[size:]
			continue
		}
		r.word(b[:n])
		b = b[n:]
	}
}

// word adds a word, or a piece of one.
func (r *reader) word(b []byte) {
	if r.space && len(r.text) > r.from {
		r.text = append(r.text, ' ')
	}
	r.space = false
	r.text = append(r.text, b...)
}

// wordLen is how much of b is text as it stands: words, and single spaces between them.
func wordLen(b []byte) int {
	for i := 0; ; {
		i += asciiLen(b[i:])
		for i < len(b) && b[i] > ' ' && b[i] < 0x7F {
			i++
		}
		switch {
		case i == len(b):
			return i
		case b[i] == ' ':
			if i == 0 || i+1 == len(b) || b[i+1] <= ' ' || b[i+1] >= 0x7F {
				return i
			}
			i++
		case b[i] < utf8.RuneSelf:
			return i // a control character
		default:
			c, size := utf8.DecodeRune(b[i:])
			if c == utf8.RuneError && size == 1 || unicode.IsSpace(c) {
				return i
			}
			i += size
		}
	}
}

// asciiLen is how much of b, in eights of bytes, is printable ASCII that ends in no space and has
// no two in a row. It may be less than there is.
func asciiLen(b []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	i, before := 0, uint64(tops>>56) // the top bit of the lowest byte: the byte before is a space
	for ; i+8 <= len(b); i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		control := (x - ' '*ones) &^ x & tops
		y, z := x^' '*ones, x^0x7F*ones
		space := (y - ones) &^ y & tops
		deleted := (z - ones) &^ z & tops
		if (control|x|deleted)&tops|space&(space<<8|before) != 0 {
			break
		}
		before = space >> 56
	}
	for i > 0 && b[i-1] == ' ' {
		i--
	}
	return i
}

// brokenLen is how many bytes at the start of b are not UTF-8.
func brokenLen(b []byte) int {
	n := 0
	for n < len(b) {
		c, size := utf8.DecodeRune(b[n:])
		if c != utf8.RuneError || size != 1 {
			break
		}
		n++
	}
	return n
}

// permalink reports whether the text is the sign that pages put beside a heading, to link to it.
func permalink(text []byte) bool {
	if len(text) > 64 {
		return false
	}
	switch string(bytes.TrimSpace(text)) {
	case "¶", "#", "§", "🔗", "\uf0c1":
		return true
	}
	return false
}

// flush ends the current block.
func (r *reader) flush() {
	if r.walk != nil {
		r.walk.line(r)
	}
	if len(r.text) > r.from {
		r.blocks = append(r.blocks, block{
			from:    uint32(r.from),
			to:      uint32(len(r.text)),
			links:   uint32(r.links),
			heading: r.heading,
			place:   r.now(),
		})
	}
	r.from, r.links, r.space = len(r.text), 0, false
}

func (r *reader) start() {
	tag := atom.Lookup(r.tokens.Name())
	if r.skip != 0 || tag == 0 { // an element of the page's own: nothing is known of it
		return
	}
	kind := kindOf(tag)
	switch kind {
	case skipped:
		if !r.tokens.SelfClosing() {
			r.skip = tag
		}
		return
	case raw:
		r.raw(tag)
		return
	}
	if tag == atom.Br {
		r.space = true
		if r.walk != nil {
			r.walk.element = Element{}
			r.walk.start(r, tag, nil)
		}
		return
	}
	a := r.attributes()
	switch tag {
	case atom.Html:
		if r.language == "" {
			r.language = cut(string(a.lang), 32)
		}
	case atom.Meta:
		r.meta(&a)
	}
	if kind != inline && kind != inlineVoid {
		r.flush()
		r.heading = isHeading(tag)
		if r.walk != nil {
			r.walk.inUnit(r, tag)
		}
	}
	if r.walk != nil {
		r.walk.start(r, tag, a.class)
	}
	if (kind == inline || kind == inlineVoid) && tag != atom.A && !a.placed() {
		return
	}
	if kind == void || kind == inlineVoid || r.tokens.SelfClosing() {
		return
	}
	r.push(tag, kind, &a)
}

// raw takes an element in which there is no markup.
func (r *reader) raw(tag atom.Atom) {
	switch tag {
	case atom.Title:
		if r.title == "" {
			content := r.tokens.Content()
			r.title = clean(htmlparse.AppendText(nil, content[:min(len(content), 8*maxTitle)], false),
				4*maxTitle)
		}
	case atom.Plaintext, atom.Xmp:
		r.flush()
		if content := r.tokens.Content(); !r.now().hidden {
			content = content[:min(len(content), r.maxRead)]
			if r.walk != nil {
				r.walk.listing(r, content)
			}
			r.append(content)
		}
		r.flush()
	}
}

// push opens an element. A paragraph or an item that was not closed ends here.
func (r *reader) push(tag atom.Atom, kind kind, a *attributes) {
	if n := len(r.open); n > 0 && r.open[n-1].tag == tag && kind == selfEnding {
		r.open = r.open[:n-1]
	}
	if len(r.open) >= maxDepth {
		return
	}
	in := element{tag: tag, inner: r.inside(a, tag, r.now())}
	if r.walk != nil {
		in.unit = r.walk.push(r, tag)
	}
	r.open = append(r.open, in)
}

func (r *reader) end(tag atom.Atom) {
	if r.skip != 0 {
		if tag == r.skip {
			r.skip = 0
		}
		return
	}
	if tag == 0 {
		return
	}
	if kind := kindOf(tag); kind == raw {
		return
	} else if kind != inline && kind != inlineVoid {
		r.flush()
		r.heading = false
	}
	if r.walk != nil {
		r.walk.end(tag)
	}
	for i := len(r.open) - 1; i >= max(0, len(r.open)-maxClose); i-- {
		if r.open[i].tag == tag {
			r.open = r.open[:i]
			return
		}
	}
}

func isHeading(tag atom.Atom) bool {
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// meta reads what a page says of itself.
func (r *reader) meta(a *attributes) {
	into := (*string)(nil)
	switch {
	case equalFold(a.name, "description"):
		into = &r.description
	case equalFold(a.name, "og:description"), equalFold(a.name, "twitter:description"),
		equalFold(a.name, "dc.description"):
		into = &r.shareDescription
	case equalFold(a.name, "og:title"):
		into = &r.shareTitle
	case equalFold(a.httpEquiv, "content-language"):
		into = &r.language
	}
	if into != nil && *into == "" {
		*into = clean(htmlparse.AppendText(nil, a.content[:min(len(a.content), 8*maxTitle)], true),
			4*maxTitle)
	}
}
