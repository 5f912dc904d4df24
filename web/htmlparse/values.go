package htmlparse

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

const spaces = " \t\r\n\f"

// srcset records the images of a srcset attribute (HTML Standard, section
// 4.8.4.2.1): addresses with descriptors, separated by commas, where an address
// may have commas in it and a descriptor parentheses.
func (p *parser) srcset(tag, rel string, set []byte) {
	for {
		set = bytes.TrimLeft(set, spaces+",")
		if len(set) == 0 {
			return
		}
		ref := set
		if end := bytes.IndexAny(set, spaces); end >= 0 {
			ref, set = set[:end], set[end:]
		} else {
			set = nil
		}
		if trimmed := bytes.TrimRight(ref, ","); len(trimmed) < len(ref) {
			ref = trimmed // a comma at the end: no descriptors
		} else {
			set = behindDescriptors(set)
		}
		p.ref(tag, rel, ref)
	}
}

// behindDescriptors returns what follows the comma that ends the descriptors.
func behindDescriptors(set []byte) []byte {
	inParens := false
	for i, c := range set {
		switch {
		case c == '(':
			inParens = true
		case c == ')':
			inParens = false
		case c == ',' && !inParens:
			return set[i+1:]
		}
	}
	return nil
}

// RefreshHeader returns the address in the value of a Refresh header, "" when there is none, which
// means the page itself, or the value is malformed. Each byte is a character: the HTML Standard
// decodes the header isomorphically.
func RefreshHeader(value string) string {
	b := make([]byte, 0, len(value))
	for i := range len(value) {
		b = utf8.AppendRune(b, rune(value[i]))
	}
	return string(refreshURL(b))
}

// refreshURL returns the address in the content of a meta refresh or of a Refresh header, empty
// when it has none or the content is malformed (HTML Standard, section 4.2.5.3, the shared
// declarative refresh steps).
func refreshURL(content []byte) []byte {
	s := bytes.TrimLeft(content, spaces)
	rest := bytes.TrimLeft(s, "0123456789.")
	if len(rest) == len(s) || len(rest) == 0 {
		return nil // no time, or nothing behind it
	}
	s = bytes.TrimLeft(rest, spaces)
	if len(s) == len(rest) && s[0] != ';' && s[0] != ',' {
		return nil
	}
	if len(s) > 0 && (s[0] == ';' || s[0] == ',') {
		s = bytes.TrimLeft(s[1:], spaces)
	}
	if len(s) >= len("url") && strings.EqualFold(string(s[:len("url")]), "url") {
		if v := bytes.TrimLeft(s[len("url"):], spaces); len(v) > 0 && v[0] == '=' {
			s = bytes.TrimLeft(v[1:], spaces)
		}
	}
	if len(s) > 0 && (s[0] == '"' || s[0] == '\'') {
		quote := s[0]
		s = s[1:]
		if end := bytes.IndexByte(s, quote); end >= 0 {
			s = s[:end]
		}
	}
	return s
}
