package mime

import (
	"net/http"
	"strings"
)

// Type is the media type of an answer.
type Type struct {
	// Essence is type and subtype, lower-case; "" when there is neither a valid header nor a
	// payload.
	Essence string
	// Charset is the header's charset parameter as it was written; "": none.
	Charset string
	// Sniffed says that the essence comes from the payload, because no header was valid.
	Sniffed bool
}

// String is the type as a Content-Type header has it. A charset that is no token, and so names no
// encoding, is left out.
func (t Type) String() string {
	if t.Essence == "" || !isToken(t.Charset) {
		return t.Essence
	}
	return t.Essence + "; charset=" + t.Charset
}

// Of is the media type of an answer with this header and decoded payload.
func Of(h http.Header, body []byte) Type {
	t := Extract(h["Content-Type"])
	if t.Essence != "" && !unknown[t.Essence] {
		return t
	}
	t = Type{Sniffed: true}
	if len(body) == 0 {
		return t
	}
	t.Essence, _, _ = strings.Cut(http.DetectContentType(body), ";")
	if scriptable[t.Essence] && nosniff(h) {
		t.Essence = "text/plain" // what is not sniffed must not become active content
	}
	return t
}

// unknown are valid types that say nothing (MIME Sniffing, section 7, step 1).
var unknown = map[string]bool{"unknown/unknown": true, "application/unknown": true, "*/*": true}

// scriptable are the types that "X-Content-Type-Options: nosniff" keeps from being sniffed.
var scriptable = map[string]bool{"text/html": true, "text/xml": true, "application/pdf": true}

// nosniff is "determine nosniff" of the Fetch standard.
func nosniff(h http.Header) bool {
	values := split(h["X-Content-Type-Options"])
	return len(values) > 0 && strings.EqualFold(values[0], "nosniff")
}

// Extract reads the values of an answer's Content-Type headers. The last valid one counts; it keeps
// the charset of an earlier one of the same essence when it has none. The zero Type: none is valid.
func Extract(headers []string) Type {
	var t Type
	for _, value := range split(headers) {
		next, valid := parse(value)
		if !valid || next.Essence == "*/*" {
			continue
		}
		if next.Charset == "" && next.Essence == t.Essence {
			next.Charset = t.Charset
		}
		t = next
	}
	return t
}

const blanks = " \t\r\n"

// split is "get, decode, and split": the values between commas, in all headers. A comma within
// quotes does not end a value.
func split(headers []string) []string {
	all := strings.Join(headers, ", ")
	var out []string
	from, quoted := 0, false
	for i := 0; i < len(all); i++ {
		switch c := all[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			out = append(out, strings.Trim(all[from:i], blanks))
			from = i + 1
		}
	}
	if len(headers) == 0 {
		return nil
	}
	return append(out, strings.Trim(all[from:], blanks))
}

// parse is "parse a MIME type". Of the parameters only charset is kept.
func parse(s string) (t Type, valid bool) {
	essence, params, _ := strings.Cut(s, ";")
	kind, sub, _ := strings.Cut(strings.TrimRight(essence, blanks), "/")
	if !isToken(kind) || !isToken(sub) {
		return Type{}, false
	}
	t.Essence = strings.ToLower(kind + "/" + sub)
	for params != "" && t.Charset == "" {
		var name, value string
		name, value, params = parameter(params)
		if strings.EqualFold(name, "charset") {
			t.Charset = value
		}
	}
	return t, true
}

// parameter reads the first parameter of a list. A quoted value loses its quotes.
func parameter(s string) (name, value, rest string) {
	s = strings.TrimLeft(s, blanks)
	end := strings.IndexAny(s, ";=")
	if end < 0 {
		return s, "", ""
	}
	if name = s[:end]; s[end] == ';' {
		return name, "", s[end+1:]
	}
	s = s[end+1:]
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, ";")
		return name, strings.TrimRight(value, blanks), rest
	}
	value, rest = unquote(s[1:])
	_, rest, _ = strings.Cut(rest, ";")
	return name, value, rest
}

// unquote reads a quoted string up to its closing quote, or to the end.
func unquote(s string) (value, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}

// isToken reports whether s is an HTTP token (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
		if !letter && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}
