package css

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxRefs is the largest number of references found in one style sheet.
const MaxRefs = 50_000

// Ref is a reference in a style sheet.
type Ref struct {
	// Start and End enclose its token: url(...) whole, or the string of an @import or image-set().
	Start, End int
	// Value is the reference, with its escapes replaced.
	Value string
	// Import: it names a style sheet.
	Import bool
}

// Refs finds the references of a sheet, in their order, at most MaxRefs.
func Refs(sheet []byte) []Ref {
	s := scanner{text: sheet}
	for s.at < len(s.text) && len(s.refs) < MaxRefs {
		s.token()
	}
	return s.refs
}

// Token is how a reference to url is written in place of a Ref's token. It has neither apostrophes
// nor line ends.
func Token(url string, isImport bool) string {
	quoted := `"` + quoter.Replace(url) + `"`
	if isImport {
		return quoted
	}
	return "url(" + quoted + ")"
}

var quoter = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "'", `\27 `, "\n", `\a `, "\r", `\d `, "\f", `\c `)

// rule is the at-rule in whose prelude the scanner is.
type rule uint8

const (
	noRule rule = iota
	importRule
	namespaceRule
)

// scanner is a position in a sheet, and what was found before it.
type scanner struct {
	text []byte
	at   int
	rule rule
	refs []Ref
	// open counts the parentheses that are open. imageSet is their number within an image-set(),
	// whose strings are references (CSS Images 4, section 2.4); 0: in none.
	open, imageSet int
}

// token passes one token, or as much as has no meaning here.
func (s *scanner) token() {
	switch c := s.text[s.at]; {
	case c == '/' && bytes.HasPrefix(s.text[s.at:], []byte("/*")):
		end := bytes.Index(s.text[s.at+2:], []byte("*/"))
		if end < 0 {
			s.at = len(s.text)
			return
		}
		s.at += 2 + end + 2
	case c == '"' || c == '\'':
		start := s.at
		value, whole := s.quoted()
		if whole && (s.rule == importRule || s.imageSet > 0 && s.open == s.imageSet) {
			s.found(start, value)
		}
	case c == '@':
		s.at++
		switch name := s.ident(); {
		case bytes.EqualFold(name, []byte("import")):
			s.rule = importRule
		case bytes.EqualFold(name, []byte("namespace")):
			s.rule = namespaceRule
		default:
			s.rule = noRule
		}
	case c == ';' || c == '{' || c == '}':
		s.rule = noRule
		s.open, s.imageSet = 0, 0 // what is open was never closed
		s.at++
	case c == '(':
		s.open++
		s.at++
	case c == ')':
		if s.open == s.imageSet {
			s.imageSet = 0
		}
		s.open = max(s.open-1, 0)
		s.at++
	case isIdent(c) || c == '\\':
		start := s.at
		name := s.ident()
		switch {
		case s.at >= len(s.text) || s.text[s.at] != '(':
		case bytes.EqualFold(name, []byte("url")):
			s.at++
			s.url(start)
		case bytes.EqualFold(name, []byte("image-set")), bytes.EqualFold(name, []byte("-webkit-image-set")):
			s.at++
			s.open++
			if s.imageSet == 0 {
				s.imageSet = s.open
			}
		}
	default:
		s.at++
	}
}

// found takes a reference whose token ends here.
func (s *scanner) found(start int, value string) {
	if s.rule == namespaceRule {
		return
	}
	s.refs = append(s.refs, Ref{Start: start, End: s.at, Value: value, Import: s.rule == importRule})
	if s.rule == importRule {
		s.rule = noRule // what follows are conditions
	}
}

// ident passes a name and returns it.
func (s *scanner) ident() []byte {
	start := s.at
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case isIdent(c):
			s.at++
		case c == '\\' && s.at+1 < len(s.text) && s.text[s.at+1] != '\n':
			s.escape()
		case c == '\\' && s.at == start: // it is no name
			s.at++
			return nil
		default:
			return s.text[start:s.at]
		}
	}
	return s.text[start:]
}

func isIdent(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c >= utf8.RuneSelf
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }

func (s *scanner) spaces() {
	for s.at < len(s.text) && isSpace(s.text[s.at]) {
		s.at++
	}
}

// quoted passes a string. A line end without an escape makes it a bad one, which is not whole.
func (s *scanner) quoted() (value string, whole bool) {
	quote := s.text[s.at]
	s.at++
	start := s.at
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case quote:
			s.at++
			return unescape(s.text[start : s.at-1]), true
		case '\n', '\r', '\f':
			return "", false
		case '\\':
			s.at++
		}
		s.at++
	}
	s.at = len(s.text)
	return "", false // the sheet was cut
}

// url passes the rest of url(, whose name began at start.
func (s *scanner) url(start int) {
	s.spaces()
	if s.at < len(s.text) && (s.text[s.at] == '"' || s.text[s.at] == '\'') {
		value, whole := s.quoted()
		s.spaces()
		if whole && s.at < len(s.text) && s.text[s.at] == ')' {
			s.at++
			s.found(start, value)
		}
		return // else it has modifiers, or is not whole; both are passed over as tokens
	}
	from := s.at
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == ')':
			s.at++
			s.found(start, unescape(s.text[from:s.at-1]))
			return
		case isSpace(c):
			end := s.at
			if s.spaces(); s.at < len(s.text) && s.text[s.at] == ')' {
				s.at++
				s.found(start, unescape(s.text[from:end]))
				return
			}
			s.badURL()
			return
		case c == '"' || c == '\'' || c == '(' || c < ' ' || c == 0x7f:
			s.badURL()
			return
		case c == '\\':
			s.escape()
		default:
			s.at++
		}
	}
}

// escape passes a backslash and what it escapes: one byte, or up to six digits and a space.
func (s *scanner) escape() {
	s.at++
	digits := 0
	for digits < 6 && s.at < len(s.text) && isHex(s.text[s.at]) {
		s.at++
		digits++
	}
	if s.at < len(s.text) && (digits == 0 || isSpace(s.text[s.at])) {
		s.at++
	}
}

// badURL passes what remains of a url( that is not valid.
func (s *scanner) badURL() {
	for s.at < len(s.text) && s.text[s.at] != ')' {
		if s.text[s.at] == '\\' {
			s.at++
		}
		s.at++
	}
	s.at = min(s.at+1, len(s.text))
}

// unescape replaces the escapes of a string or an unquoted url.
func unescape(b []byte) string {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b)
	}
	var out strings.Builder
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' || i+1 == len(b) {
			out.WriteByte(b[i])
			continue
		}
		i++
		n := 0
		for n < 6 && i+n < len(b) && isHex(b[i+n]) {
			n++
		}
		switch {
		case n > 0:
			out.WriteRune(codePoint(string(b[i : i+n])))
			i += n - 1
			if i+1 < len(b) && isSpace(b[i+1]) {
				i++
				if b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n' {
					i++
				}
			}
		case b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n':
			i++
		case b[i] == '\n' || b[i] == '\r' || b[i] == '\f': // the string goes on in the next line
		default:
			out.WriteByte(b[i])
		}
	}
	return out.String()
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// codePoint is the character of an escape; U+FFFD where there is none.
func codePoint(hex string) rune {
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || n == 0 || n > utf8.MaxRune || n >= 0xD800 && n < 0xE000 {
		return utf8.RuneError
	}
	return rune(n)
}
