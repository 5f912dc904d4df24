package css

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/css"
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
	if bytes.IndexByte(sheet, '(') < 0 && bytes.IndexByte(sheet, '@') < 0 {
		return nil // as most style attributes: no function, no rule
	}
	var f finder
	lexer := css.NewLexer(parse.NewInputBytes(lexable(sheet)))
	for at := 0; len(f.refs) < MaxRefs; {
		kind, lexed := lexer.Next()
		if kind == css.ErrorToken { // the end of the sheet
			break
		}
		start := at
		at += len(lexed)
		if value, ok := f.token(kind, sheet[start:at]); ok {
			f.refs = append(f.refs, Ref{start, at, value, f.rule == importRule})
			if f.rule == importRule {
				f.rule = noRule // what follows are conditions
			}
		}
	}
	return f.refs
}

// lexable returns a copy of sheet in which each byte that the lexer takes for more than itself is
// another one of a name. It takes a NUL for the end, which the standard replaces by U+FFFD. Behind
// a backslash, it trusts the first byte of a character to tell how many follow, and would pass over
// the quote that ends a string in another encoding. There is room for the NUL that it appends.
func lexable(sheet []byte) []byte {
	text := append(make([]byte, 0, len(sheet)+1), sheet...)
	for i, c := range text {
		if c == 0 || c > utf8.RuneSelf {
			text[i] = utf8.RuneSelf
		}
	}
	return text
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

var quoter = strings.NewReplacer(
	`\`, `\\`, `"`, `\"`, "'", `\27 `, "\n", `\a `, "\r", `\d `, "\f", `\c `)

// rule is the at-rule in whose prelude the finder is.
type rule uint8

const (
	noRule rule = iota
	importRule
	namespaceRule
)

// finder is what the tokens so far say about the next one, and the references among them.
type finder struct {
	rule rule
	refs []Ref
	// open counts the parentheses that are open. imageSet is their number within an image-set(),
	// whose strings are references (CSS Images 4, section 2.4); 0: in none.
	open, imageSet int
}

// token takes the next token, and returns the reference that it is.
func (f *finder) token(kind css.TokenType, text []byte) (value string, ok bool) {
	switch kind {
	case css.AtKeywordToken:
		switch name := text[1:]; {
		case bytes.EqualFold(name, []byte("import")):
			f.rule = importRule
		case bytes.EqualFold(name, []byte("namespace")):
			f.rule = namespaceRule
		default:
			f.rule = noRule
		}
	case css.SemicolonToken, css.LeftBraceToken, css.RightBraceToken:
		f.rule = noRule
		f.open, f.imageSet = 0, 0 // what is open was never closed
	case css.LeftParenthesisToken:
		f.open++
	case css.FunctionToken:
		f.open++
		if f.imageSet == 0 && isImageSet(text[:len(text)-1]) {
			f.imageSet = f.open
		}
	case css.RightParenthesisToken:
		if f.open == f.imageSet {
			f.imageSet = 0
		}
		f.open = max(f.open-1, 0)
	case css.StringToken:
		if f.rule == importRule || f.imageSet > 0 && f.open == f.imageSet {
			return quoted(text)
		}
	case css.URLToken:
		if f.rule != namespaceRule {
			return address(text)
		}
	}
	return "", false
}

func isImageSet(name []byte) bool {
	return bytes.EqualFold(name, []byte("image-set")) ||
		bytes.EqualFold(name, []byte("-webkit-image-set"))
}

// quoted returns the value of a string. It is not ok when the sheet was cut within the string.
func quoted(token []byte) (value string, ok bool) {
	last := len(token) - 1
	if last < 1 || token[last] != token[0] || escaped(token, last) {
		return "", false
	}
	return unescape(token[1:last]), true
}

const space = " \t\n\r\f"

// address returns the value of url(...). It is not ok when the sheet was cut within.
func address(token []byte) (value string, ok bool) {
	last := len(token) - 1
	if token[last] != ')' || escaped(token, last) {
		return "", false
	}
	inner := bytes.TrimLeft(token[bytes.IndexByte(token, '(')+1:last], space)
	if len(inner) > 0 && (inner[0] == '"' || inner[0] == '\'') {
		return quoted(bytes.TrimRight(inner, space))
	}
	return strings.TrimRight(unescape(inner), space), true
}

// escaped reports whether there is a backslash before text[at] that is not escaped itself.
func escaped(text []byte, at int) bool {
	before := bytes.TrimRight(text[:at], `\`)
	return (at-len(before))%2 == 1
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
			if i+1 < len(b) && strings.IndexByte(space, b[i+1]) >= 0 {
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
