package htmlparse

import "bytes"

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	EndOfPage Kind = iota
	Text           // Text
	StartTag       // Name, Attribute
	EndTag         // Name
)

// Tokens splits a page in UTF-8 (see [UTF8]) into tokens, for those who look for something else in
// it than Parse. It reads the page in linear time and allocates nothing. The slices that it returns
// are parts of the page, which must not be changed; a name is good until the next token.
type Tokens struct {
	scan    scanner
	open    bool // attributes of the last tag may be left
	raw     bool // the last tag was a start tag whose content has no markup
	drawing bool // the last tag was a start tag of svg or math
	foreign int  // svg and math elements that are open
}

// NewTokens begins a page, which was served with the given Content-Type header.
func NewTokens(page []byte, contentType string) *Tokens {
	return &Tokens{scan: newScanner(page, contentType)}
}

// Next goes to the next token. What was not read of the last one is skipped, also a tag that the
// end of the page cuts off. The content of an element in which there is no markup, such as script
// or title, is skipped unless Content has read it.
func (t *Tokens) Next() Kind {
	t.finish()
	if t.raw {
		t.Content()
	}
	switch t.scan.next() {
	case textToken:
		return Text
	case startTag:
		name := t.scan.name()
		t.open, t.raw, t.drawing = true, isRaw(name), isDrawing(name)
		return StartTag
	case endTag:
		if t.foreign > 0 && isDrawing(t.scan.name()) {
			t.foreign--
		}
		t.open = true
		return EndTag
	}
	return EndOfPage
}

// finish skips what is left of a tag.
func (t *Tokens) finish() {
	if t.open {
		t.scan.skipTag()
		t.ended()
	}
}

// ended is called when the attributes of a tag have ended.
func (t *Tokens) ended() {
	t.open = false
	if t.drawing && !t.scan.selfClosing {
		t.foreign++
	}
	t.drawing = false
}

// isDrawing reports whether an element's content follows the rules of XML.
func isDrawing(name []byte) bool { return string(name) == "svg" || string(name) == "math" }

// Text is that of a Text token, with its character references: AppendText replaces them.
func (t *Tokens) Text() []byte { return t.scan.text() }

// Name is the name of a tag in lower case; nil when it is longer than any of HTML.
func (t *Tokens) Name() []byte { return t.scan.name() }

// Attribute reads the next attribute of a StartTag: its name as written, and its value. It reports
// false at the end of the tag.
func (t *Tokens) Attribute() (name, val []byte, ok bool) {
	if !t.open {
		return nil, nil, false
	}
	if name, val, ok = t.scan.attribute(); !ok {
		t.ended()
	}
	return name, val, ok
}

// SelfClosing reports whether the tag ended in "/>". It skips the attributes that were not read.
func (t *Tokens) SelfClosing() bool {
	t.finish()
	return t.scan.selfClosing
}

// Content is the content of the element whose start tag was the last token, if there can be no
// markup in it, with its character references; else nil. It skips the attributes that were not
// read. The element's end tag is the next token.
func (t *Tokens) Content() []byte {
	t.finish()
	if !t.raw {
		return nil
	}
	t.raw = false
	if t.scan.selfClosing && (t.scan.xml || t.foreign > 0) {
		return nil
	}
	return t.scan.content(string(t.scan.name()))
}

// AppendText appends text, or with attribute the value of one, with its character references
// replaced.
func AppendText(to, text []byte, attribute bool) []byte {
	for {
		amp := bytes.IndexByte(text, '&')
		if amp < 0 {
			return append(to, text...)
		}
		to = append(to, text[:amp]...)
		n := amp + referenceLen(text[amp:])
		beforeEquals := n < len(text) && text[n] == '='
		to = appendReference(to, text[amp:n], attribute, beforeEquals)
		text = text[n:]
	}
}
