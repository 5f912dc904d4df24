package htmlparse

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
)

const (
	// prescanBytes is the part of the page in which a meta element may name the encoding (HTML
	// Standard, section 4.2.5.4).
	prescanBytes = 1024
	// latePrescanBytes is the part that is searched when nothing else names the encoding.
	latePrescanBytes = 64 << 10
)

// decode returns the page in UTF-8 and the WHATWG name of its encoding. The name comes from the
// byte order mark, else from the Content-Type header, else from a meta element, else it is UTF-8 if
// the page is valid UTF-8, else windows-1252. A page in UTF-8 is returned as it is, valid or not.
// enc is the encoding for the page's queries, nil for UTF-8.
func decode(body []byte, contentType string) (enc encoding.Encoding, name string, text []byte) {
	bom, name := byteOrderMark(body)
	body = body[bom:]
	if name == "" {
		enc, name = charset.Lookup(headerCharset(contentType))
	}
	if name == "" {
		enc, name = metaCharset(body[:min(len(body), prescanBytes)])
	}
	if name == "" {
		enc, name = xmlEncoding(body)
	}
	if name == "" {
		enc, name = guess(body)
	}
	if name == "utf-8" {
		return nil, name, body
	}
	if enc == nil {
		enc, _ = charset.Lookup(name)
	}
	text, err := convert(enc, body)
	if err != nil {
		// Decoders replace bytes that they cannot read. If one fails instead, the page's ASCII is
		// still right.
		return nil, name, body
	}
	if name == "replacement" || strings.HasPrefix(name, "utf-16") {
		enc = nil // queries of such pages are in UTF-8 (Encoding Standard, section 4.3)
	}
	return enc, name, text
}

// UTF8 is the page in UTF-8, as decode finds its encoding; broken characters may remain.
func UTF8(body []byte, contentType string) []byte {
	_, _, text := decode(body, contentType)
	return text
}

func byteOrderMark(body []byte) (length int, name string) {
	switch {
	case bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")):
		return 3, "utf-8"
	case bytes.HasPrefix(body, []byte("\xFE\xFF")):
		return 2, "utf-16be"
	case bytes.HasPrefix(body, []byte("\xFF\xFE")):
		return 2, "utf-16le"
	}
	return 0, ""
}

func guess(body []byte) (encoding.Encoding, string) {
	// A page that was cut may end within a rune.
	whole := body
	for i := 0; i < utf8.UTFMax-1 && len(whole) > 0 && whole[len(whole)-1] >= utf8.RuneSelf; i++ {
		whole = whole[:len(whole)-1]
	}
	if utf8.Valid(body) || utf8.Valid(whole) {
		return nil, "utf-8"
	}
	if enc, name := metaCharset(body[:min(len(body), latePrescanBytes)]); name != "" {
		return enc, name
	}
	return charset.Lookup("windows-1252")
}

// headerCharset returns the first non-empty charset parameter of a Content-Type header, or "". It
// also reads headers that two servers in a row have written to ("text/html; charset=utf-8,
// text/html").
func headerCharset(header string) string {
	for header != "" {
		var param string
		param, header = cutParameter(header)
		key, value, ok := strings.Cut(param, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(key), "charset") {
			continue
		}
		if value = strings.TrimSpace(value); strings.HasPrefix(value, `"`) {
			value = strings.Trim(value, `"`)
		}
		if value != "" {
			return value
		}
	}
	return ""
}

// cutParameter cuts s at its first ';' or ',' outside of quotes.
func cutParameter(s string) (param, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			i++
		case (c == ';' || c == ',') && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

// metaCharset returns the encoding that a meta element in head names, or "".
func metaCharset(head []byte) (encoding.Encoding, string) {
	if !mentionsCharset(head) {
		return nil, ""
	}
	s := scanner{page: head}
	for {
		switch s.next() {
		case endOfPage:
			return nil, ""
		case endTag:
			s.skipTag()
		case startTag:
			if string(s.name()) != "meta" {
				if s.skipTag() && isRaw(s.name()) {
					s.content(string(s.name()))
				}
				continue
			}
			enc, label := charset.Lookup(metaLabel(&s))
			switch {
			case label == "x-user-defined":
				return charset.Lookup("windows-1252")
			case strings.HasPrefix(label, "utf-16"):
				return nil, "utf-8" // the element was read as ASCII, so it cannot be true
			case label != "":
				return enc, label
			}
		}
	}
}

// xmlEncoding returns the encoding of the XML declaration at the start of body, or "". A
// declaration in two-byte units shows its encoding by its bytes; one that was read as ASCII and
// names UTF-16 cannot be right (HTML Standard, section 13.2.3.2).
func xmlEncoding(body []byte) (encoding.Encoding, string) {
	switch {
	case bytes.HasPrefix(body, []byte("<\x00?\x00x\x00")):
		return charset.Lookup("utf-16le")
	case bytes.HasPrefix(body, []byte("\x00<\x00?\x00x")):
		return charset.Lookup("utf-16be")
	}
	enc, name := charset.Lookup(xmlCharset(body))
	if strings.HasPrefix(name, "utf-16") {
		return nil, "utf-8"
	}
	return enc, name
}

// xmlCharset returns the label in the XML declaration that body begins with,
// or "" (HTML Standard, section 13.2.3.2, getting an XML encoding).
func xmlCharset(body []byte) string {
	if !bytes.HasPrefix(body, []byte("<?xml")) {
		return ""
	}
	declaration, _, ok := bytes.Cut(body[:min(len(body), prescanBytes)], []byte("?>"))
	_, value, found := strings.Cut(string(declaration), "encoding")
	value = strings.TrimLeft(value, spaces+"=")
	if !ok || !found || value == "" || value[0] != '"' && value[0] != '\'' {
		return ""
	}
	label, _, _ := strings.Cut(value[1:], value[:1])
	return label
}

// mentionsCharset avoids a tokenizer for most pages without a declaration.
func mentionsCharset(head []byte) bool {
	const word = "charset"
	for i := 0; i+len(word) <= len(head); i++ {
		if head[i]|0x20 == 'c' && strings.EqualFold(string(head[i:i+len(word)]), word) {
			return true
		}
	}
	return false
}

// metaLabel returns the label of a meta element's charset attribute, or of its
// content when it stands for a Content-Type header.
func metaLabel(s *scanner) string {
	var a attributes
	switch {
	case !a.read(s):
		return ""
	case len(a.get(attrCharset)) > 0:
		return string(a.get(attrCharset))
	case equalFold(a.get(attrHTTPEquiv), "content-type"):
		return contentCharset(string(a.get(attrContent)))
	}
	return ""
}

// contentCharset finds "charset=label" in the content of a meta element (HTML
// Standard, section 2.4.4, extracting an encoding from a meta element).
func contentCharset(s string) string {
	for {
		at := strings.Index(strings.ToLower(s), "charset")
		if at < 0 {
			return ""
		}
		s = strings.TrimLeft(s[at+len("charset"):], spaces)
		if !strings.HasPrefix(s, "=") {
			continue
		}
		s = strings.TrimLeft(s[1:], spaces)
		if s != "" && (s[0] == '"' || s[0] == '\'') {
			label, _, closed := strings.Cut(s[1:], s[:1])
			if !closed {
				return ""
			}
			return label
		}
		if end := strings.IndexAny(s, ";"+spaces); end >= 0 {
			s = s[:end]
		}
		return s
	}
}

// encodeQuery writes the query of ref, a reference on a page in enc, as browsers do: in the page's
// encoding, percent-encoded, with a numeric character reference for characters that enc lacks (URL
// Standard, section 1.3).
func encodeQuery(ref string, enc encoding.Encoding) string {
	start := strings.IndexByte(ref, '?')
	if start < 0 {
		return ref
	}
	end := len(ref)
	if hash := strings.IndexByte(ref, '#'); hash >= 0 {
		end = hash
	}
	if start > end || isASCII(ref[start:end]) {
		return ref
	}
	encoder := enc.NewEncoder()
	var b strings.Builder
	b.WriteString(ref[:start])
	for _, r := range ref[start:end] {
		if r < utf8.RuneSelf {
			b.WriteByte(byte(r))
			continue
		}
		encoded, err := encoder.Bytes([]byte(string(r)))
		// the encoder's own reference, not escaped
		if err != nil || len(encoded) == 0 || encoded[0] == '&' {
			encoder.Reset()
			b.WriteString("%26%23" + strconv.Itoa(int(r)) + "%3B")
			continue
		}
		for _, c := range encoded {
			if c < utf8.RuneSelf {
				b.WriteByte(c)
			} else {
				b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c), 16)))
			}
		}
	}
	b.WriteString(ref[end:])
	return b.String()
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
