package office

import (
	"bufio"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
)

type element = xml.StartElement

// xmlReader walks one XML part, or tokens that were kept. The depth is that of the element whose
// content is read.
type xmlReader struct {
	d     *xml.Decoder
	in    *tokenReader
	kept  []xml.Token // if d is nil
	depth int
}

func newXML(r io.Reader) *xmlReader {
	in := &tokenReader{r: bufio.NewReaderSize(r, 32<<10)}
	wide := false
	if b, _ := in.r.Peek(2); isUTF16(b) {
		wide = true
		decoder := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder()
		in.r = bufio.NewReader(decoder.Reader(in.r))
	} else if b, _ := in.r.Peek(3); string(b) == "\xef\xbb\xbf" {
		_, _ = in.r.Discard(3) // cannot fail: the bytes are buffered
	}
	d := xml.NewDecoder(in)
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(label string, r io.Reader) (io.Reader, error) {
		if wide || strings.HasPrefix(strings.ToLower(label), "utf-16") {
			return r, nil // it is UTF-8 by now
		}
		return charset.NewReaderLabel(label, r)
	}
	return &xmlReader{d: d, in: in}
}

// isUTF16 reports whether a text begins with a byte order mark of UTF-16.
func isUTF16(b []byte) bool {
	return len(b) >= 2 && (b[0] == 0xFE && b[1] == 0xFF || b[0] == 0xFF && b[1] == 0xFE)
}

// tokenReader bounds the bytes of one token: the decoder holds a whole token in memory, and a tag
// of many attributes takes ten times its length.
type tokenReader struct {
	r *bufio.Reader
	n int
}

var errToken = fmt.Errorf("an XML token has more than %d bytes: %w", maxToken, ErrLimit)

func (t *tokenReader) ReadByte() (byte, error) {
	if t.n++; t.n > maxToken {
		return 0, errToken
	}
	return t.r.ReadByte()
}

func (t *tokenReader) Read(p []byte) (int, error) {
	if t.n > maxToken {
		return 0, errToken
	}
	n, err := t.r.Read(p)
	t.n += n
	return n, err
}

// next is the next token. Text is valid until the next call.
func (x *xmlReader) next() (tok xml.Token, err error) {
	if x.d == nil {
		if len(x.kept) == 0 {
			return nil, io.EOF
		}
		tok, x.kept = x.kept[0], x.kept[1:]
	} else {
		x.in.n = 0
		if tok, err = x.d.Token(); err != nil {
			return nil, err
		}
	}
	switch tok.(type) {
	case xml.StartElement:
		if x.depth++; x.depth > maxNesting {
			return nil, fmt.Errorf("XML elements nest deeper than %d: %w", maxNesting, ErrLimit)
		}
	case xml.EndElement:
		x.depth--
	}
	return tok, nil
}

// each calls fn for each child of the current element, and text for its text; it returns behind the
// element's end. The child is the current element meanwhile; what fn leaves of it is skipped.
func (x *xmlReader) each(fn func(child element) error, text func([]byte)) error {
	level := x.depth
	for {
		tok, err := x.next()
		if err != nil {
			if errors.Is(err, io.EOF) && level == 0 {
				return nil
			}
			return err
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if fn != nil {
				if err := fn(t); err != nil {
					return err
				}
			}
			for x.depth > level {
				if _, err := x.next(); err != nil {
					return err
				}
			}
		case xml.EndElement:
			if x.depth < level {
				return nil
			}
		case xml.CharData:
			if text != nil {
				text(t)
			}
		}
	}
}

// text is the text of the current element and of what it contains, in one line and at most
// maxProperty bytes.
func (x *xmlReader) text() (string, error) {
	var b strings.Builder
	add := func(t []byte) { b.Write(t[:min(len(t), max(maxProperty-b.Len(), 0))]) }
	var walk func(element) error
	walk = func(element) error { return x.each(walk, add) }
	err := x.each(walk, add)
	return strings.Join(strings.Fields(strings.ToValidUTF8(b.String(), "")), " "), err
}

// kept is the content of an element that waits for its turn.
type kept struct {
	tokens []xml.Token
	size   int // bytes of memory, roughly
}

func (k kept) replay() *xmlReader { return &xmlReader{kept: k.tokens} }

// hasText reports whether there is text that is not blank.
func (k kept) hasText() bool {
	for _, t := range k.tokens {
		if c, ok := t.(xml.CharData); ok && len(bytes.TrimSpace(c)) > 0 {
			return true
		}
	}
	return false
}

// keep takes the content of the current element for later; release gives its memory back. Content
// beyond maxKept is left out.
func (r *reader) keep(x *xmlReader) (k kept, err error) {
	level := x.depth
	for {
		tok, err := x.next()
		if err != nil {
			if errors.Is(err, io.EOF) && level == 0 {
				err = nil
			}
			return k, err
		}
		if x.depth < level {
			return k, nil
		}
		size := 64
		switch t := tok.(type) {
		case xml.StartElement:
			size += len(t.Name.Space) + len(t.Name.Local)
			for _, a := range t.Attr {
				size += 64 + len(a.Value)
			}
		case xml.EndElement: // kept whatever it costs, so that the elements stay balanced
		case xml.CharData:
			size += len(t)
			tok = t.Copy()
		default:
			continue
		}
		_, end := tok.(xml.EndElement)
		if r.kept+size > maxKept && !end {
			r.cut = true
			if _, start := tok.(xml.StartElement); start {
				for outer := x.depth - 1; x.depth > outer; {
					if _, err := x.next(); err != nil {
						return k, err
					}
				}
			}
			continue
		}
		k.tokens = append(k.tokens, tok)
		k.size += size
		r.kept += size
	}
}

func (r *reader) release(k kept) { r.kept -= k.size }

// attr is the value of the attribute with this local name, "" without one.
func attr(e element, local string) string {
	for _, a := range e.Attr {
		if a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// relation is the identifier of a relationship: the attribute id in the namespace of relationships,
// of which there are two, or with its usual prefix in a part that does not declare it.
func relation(e element) string {
	for _, a := range e.Attr {
		if (a.Name.Local == "id" || a.Name.Local == "dm") &&
			(a.Name.Space == "r" || strings.HasSuffix(a.Name.Space, "/relationships")) {
			return a.Value
		}
	}
	return ""
}

// on is the value of a property of OOXML that may be turned off.
func on(e element) bool {
	switch attr(e, "val") {
	case "0", "false", "off", "none":
		return false
	}
	return true
}
