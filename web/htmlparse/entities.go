package htmlparse

import (
	"bytes"

	"golang.org/x/net/html"
)

// unescape returns text, or the value of an attribute, with its character
// references replaced. b itself is not changed.
func unescape(b []byte, attribute bool) []byte {
	amp := bytes.IndexByte(b, '&')
	if amp < 0 {
		return b
	}
	out := make([]byte, 0, len(b))
	for amp >= 0 {
		n := amp + referenceLen(b[amp:])
		out = append(out, b[:amp]...)
		beforeEquals := n < len(b) && b[n] == '='
		out = appendReference(out, b[amp:n], attribute, beforeEquals)
		b = b[n:]
		amp = bytes.IndexByte(b, '&')
	}
	return append(out, b...)
}

// referenceLen returns the length of everything that may belong to the character reference at the
// start of b, which begins with '&'.
func referenceLen(b []byte) int {
	n := 1
	if n < len(b) && b[n] == '#' {
		n++
	}
	for n < len(b) && isAlphanumeric(b[n]) {
		n++
	}
	if n < len(b) && b[n] == ';' {
		n++
	}
	return n
}

// shortestReference is "&lt" or "&#9".
const shortestReference = 3

// appendReference appends the characters that ref, cut out by referenceLen, stands for, or ref
// itself if it stands for none. In text the longest name at the start of ref counts. In an
// attribute only the whole name counts, and without its ';' not before a '=', so that "?a=1&copy=2"
// stays an address (HTML Standard, section 13.2.5.73).
func appendReference(to, ref []byte, attribute, beforeEquals bool) []byte {
	switch string(ref) {
	case "&amp;":
		return append(to, '&')
	case "&nbsp;":
		return append(to, "\u00a0"...)
	case "&quot;":
		return append(to, '"')
	case "&lt;":
		return append(to, '<')
	case "&gt;":
		return append(to, '>')
	}
	if len(ref) < shortestReference {
		return append(to, ref...)
	}
	out := html.UnescapeString(string(ref))
	if attribute && ref[1] != '#' && !wholeReference(ref, out, beforeEquals) {
		return append(to, ref...)
	}
	return append(to, out...)
}

// wholeReference reports whether out, the meaning of ref in text, is also its meaning in an
// attribute: there, nothing of the name may be left after the character.
func wholeReference(ref []byte, out string, beforeEquals bool) bool {
	last := out[len(out)-1]
	if ref[len(ref)-1] == ';' {
		return last != ';' || len(out) == len(";") // "&semi;" is one
	}
	return !beforeEquals && !isAlphanumeric(last)
}

func isAlphanumeric(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' }
