package metadata

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"crawlnode/web/htmlparse"
)

// text is that of a page in at most n bytes: character references replaced, clean.
func text(b []byte, n int) string {
	// Four bytes of markup give at least one of text, but for white space, which is dropped.
	return clean(string(htmlparse.AppendText(nil, b[:min(len(b), 8*n)], false)), n)
}

// attribute is the value of an attribute in at most n bytes, likewise.
func attribute(b []byte, n int) string {
	b = b[:min(len(b), 8*n)]
	if bytes.IndexByte(b, '&') >= 0 {
		b = htmlparse.AppendText(nil, b, true)
	}
	return clean(string(b), n)
}

// unescaped is a string of JSON-LD, in which character references of HTML stand by mistake.
func unescaped(s string) string {
	s = cut(s, 8*maxText)
	if strings.IndexByte(s, '&') >= 0 {
		s = string(htmlparse.AppendText(nil, []byte(s), true))
	}
	return s
}

// clean makes s valid UTF-8 of at most n bytes, with white space collapsed and without control
// characters.
func clean(s string, n int) string {
	s = cut(s, 4*n) // a megabyte of white space is not copied
	if !isClean(s) {
		s = strings.Map(func(r rune) rune {
			switch {
			case unicode.IsSpace(r):
				return ' '
			case unicode.IsControl(r), r == 0xFFFE, r == 0xFFFF:
				return -1
			}
			return r
		}, strings.ToValidUTF8(s, "\uFFFD"))
		s = strings.Join(strings.Fields(s), " ")
	}
	return strings.TrimSpace(cut(s, n))
}

// isClean reports whether s is printable ASCII whose words have one space between them.
func isClean(s string) bool {
	space := true // before the first word there is none
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c > '~' || c == ' ' && space {
			return false
		}
		space = c == ' '
	}
	return s == "" || !space
}

// cut is at most n bytes of s, at a whole character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
