package htmlparse

import "bytes"

// kind is the kind of a token.
type kind uint8

const (
	endOfPage kind = iota
	textToken
	startTag // its attributes are to be read next
	endTag   // likewise
)

// scanner splits a page into tokens (HTML Standard, section 13.2.5). It reads each byte a bounded
// number of times and holds only slices of the page, so its time is linear and it allocates
// nothing, whatever the page is. Comments, declarations and processing instructions are skipped.
//
// After startTag and endTag the attributes must be read, by attribute until it
// reports false or by skipTag. After the start tag of an element without
// inner markup (see isRaw) its content must be read, by content. The
// caller does this, because it depends on where the element is.
type scanner struct {
	page []byte
	at   int  // offset of the first byte that was not read
	xml  bool // CDATA sections are what they are in XML
	// names resolves the names of an XML document; nil for HTML.
	names *namespaces

	// The last text and name are kept as offsets: slices would cost a write barrier for each token
	// while the garbage collector marks.
	from, to int // of a textToken
	nameAt   int // where the name of a tag begins, as it is written
	nameLen  int // of a tag, and longer than nameBuf when the name is
	// cut and selfClosing are known once attribute has reported false.
	cut         bool // the page ended within the tag, which is then ignored
	selfClosing bool // the tag ended in "/>"

	nameBuf [16]byte // in lower case; longer names than any that matters
}

// text is the text of a textToken, with its character references.
func (s *scanner) text() []byte { return s.page[s.from:s.to] }

// name is the name of a tag in lower case; nil when it is longer than any that matters.
func (s *scanner) name() []byte {
	if s.nameLen > len(s.nameBuf) {
		return nil
	}
	return s.nameBuf[:s.nameLen]
}

// next reads the next token.
func (s *scanner) next() kind {
	for s.at < len(s.page) {
		rest := s.page[s.at:]
		if n := textLen(rest); n > 0 {
			s.from, s.to = s.at, s.at+n
			s.at += n
			return textToken
		}
		switch c := rest[1]; {
		case isLetter(c):
			if s.tagName(s.at + len("<")); s.names != nil {
				s.resolveStart(s.nameAt)
			}
			return startTag
		case c == '/' && isLetter(rest[2]):
			if s.tagName(s.at + len("</")); s.names != nil {
				s.resolveEnd(s.nameAt)
			}
			return endTag
		default:
			s.at += markupLen(rest, s.xml)
		}
	}
	return endOfPage
}

// textLen returns how much of b stands before the next markup: a '<' with a
// letter, '!', '?' or "/x" behind it.
func textLen(b []byte) int {
	for at := 0; ; at++ {
		lt := bytes.IndexByte(b[at:], '<')
		if lt < 0 {
			return len(b)
		}
		at += lt
		if at+1 == len(b) {
			return len(b)
		}
		switch c := b[at+1]; {
		case isLetter(c), c == '!', c == '?', c == '/' && at+2 < len(b):
			return at
		}
	}
}

// markupLen returns the length of the markup at the start of b that is no tag.
func markupLen(b []byte, xml bool) int {
	switch {
	case bytes.HasPrefix(b, []byte("<!--")):
		return len("<!--") + commentLen(b[len("<!--"):])
	case xml && bytes.HasPrefix(b, []byte("<![CDATA[")):
		if end := bytes.Index(b, []byte("]]>")); end >= 0 {
			return end + len("]]>")
		}
		return len(b)
	}
	if end := bytes.IndexByte(b, '>'); end >= 0 {
		return end + 1
	}
	return len(b)
}

// commentLen returns the length of what follows "<!--", the comment's end
// included: "-->", "--!>", or at once ">" or "->".
func commentLen(b []byte) int {
	for _, abrupt := range [...]string{">", "->"} {
		if bytes.HasPrefix(b, []byte(abrupt)) {
			return len(abrupt)
		}
	}
	for at := 0; ; {
		dashes := bytes.Index(b[at:], []byte("--"))
		if dashes < 0 {
			return len(b)
		}
		at += dashes + len("--")
		for at < len(b) && b[at] == '-' {
			at++
		}
		if tail := b[at:]; bytes.HasPrefix(tail, []byte(">")) {
			return at + len(">")
		} else if bytes.HasPrefix(tail, []byte("!>")) {
			return at + len("!>")
		}
	}
}

// tagName reads the tag name that begins at start.
func (s *scanner) tagName(start int) {
	i := start
	for i < len(s.page) && !isSpace(s.page[i]) && s.page[i] != '/' && s.page[i] != '>' {
		if n := i - start; n < len(s.nameBuf) {
			s.nameBuf[n] = lower(s.page[i])
		}
		i++
	}
	s.at, s.nameAt, s.nameLen = i, start, i-start
}

// attribute reads the next attribute of the current tag: its name as written,
// and its value with its character references, not nil. It reports false at the
// end of the tag.
func (s *scanner) attribute() (key, val []byte, ok bool) {
	b, i := s.page, s.at
	for i < len(b) && (isSpace(b[i]) || b[i] == '/') {
		i++
	}
	if i < len(b) && b[i] == '>' {
		s.cut, s.selfClosing = false, i > s.at && b[i-1] == '/'
		s.at = i + 1
		return nil, nil, false
	}
	start := i
	if i < len(b) {
		i++ // even a '='
	}
	for i < len(b) && !isSpace(b[i]) && b[i] != '=' && b[i] != '>' && b[i] != '/' {
		i++
	}
	key = b[start:i]
	i = skipSpace(b, i)
	if i < len(b) && b[i] != '=' {
		s.at = i
		return key, b[i:i], true
	}
	if i = skipSpace(b, i+1); i >= len(b) {
		return s.cutOff()
	}
	start = i
	switch quote := b[i]; quote {
	case '"', '\'':
		n := bytes.IndexByte(b[i+1:], quote)
		if n < 0 {
			return s.cutOff()
		}
		s.at = i + n + 2
		return key, b[i+1 : i+1+n], true
	}
	for i < len(b) && !isSpace(b[i]) && b[i] != '>' {
		i++
	}
	s.at = i
	return key, b[start:i], true
}

// cutOff ends a tag that the end of the page cuts off.
func (s *scanner) cutOff() (key, val []byte, ok bool) {
	s.at, s.cut, s.selfClosing = len(s.page), true, false
	return nil, nil, false
}

// skipTag skips the rest of the current tag and reports whether it is complete.
func (s *scanner) skipTag() bool {
	for {
		if _, _, ok := s.attribute(); !ok {
			return !s.cut
		}
	}
}

// isRaw reports whether an element's content is text up to its end tag, with
// no markup in it (HTML Standard, section 13.2.6.4.7; noscript and noframes are
// read as a browser without scripts would).
func isRaw(name []byte) bool {
	switch string(name) {
	case "script", "style", "iframe", "textarea", "title", "noembed", "xmp", "plaintext":
		return true
	}
	return false
}

// content reads up to the end tag of the raw element name, or to the end of the page.
func (s *scanner) content(name string) []byte {
	b := s.page[s.at:]
	n := len(b)
	if s.names != nil && bytes.IndexByte(s.names.written, ':') >= 0 {
		name = string(s.names.written) // the end tag has the prefix of the start tag
	}
	switch name {
	case "script":
		n = scriptLen(b)
	case "plaintext": // which nothing ends
	default:
		for at := 0; at < len(b); at += len("</") {
			next := bytes.Index(b[at:], []byte("</"))
			if next < 0 {
				break
			}
			at += next
			if tagNamed(b[at+len("</"):], name) {
				n = at
				break
			}
		}
	}
	s.at += n
	return b[:n]
}

// scriptLen returns the length of a script's content. Within "<!--" and "-->" a
// script may have scripts in it, whose end tags do not end it (HTML Standard,
// sections 13.2.5.18 to 31).
func scriptLen(b []byte) int {
	escaped, nested := false, false
	for i := 0; ; i++ {
		if !escaped {
			lt := bytes.IndexByte(b[i:], '<')
			if lt < 0 {
				return len(b)
			}
			i += lt
		}
		if i >= len(b) {
			return len(b)
		}
		switch tail := b[i:]; {
		case tail[0] == '-' && escaped && bytes.HasPrefix(tail, []byte("-->")):
			escaped, nested = false, false
		case tail[0] != '<':
		case !escaped && bytes.HasPrefix(tail, []byte("<!--")):
			escaped = true
			i++ // its dashes may be those of "-->"
		case bytes.HasPrefix(tail, []byte("</")) && tagNamed(tail[len("</"):], "script"):
			if !nested {
				return i
			}
			nested = false
		case escaped && !nested && tagNamed(tail[len("<"):], "script"):
			nested = true
		}
	}
}

// tagNamed reports whether b begins with name, in any case, and the end of a
// tag name.
func tagNamed(b []byte, name string) bool {
	if len(b) <= len(name) {
		return false
	}
	for i := range len(name) {
		if lower(b[i]) != name[i] {
			return false
		}
	}
	c := b[len(name)]
	return isSpace(c) || c == '/' || c == '>'
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && isSpace(b[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool {
	return c <= ' ' && (c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f')
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
