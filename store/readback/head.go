package readback

import (
	"bytes"
	"net/http"
	"net/textproto"
	"strings"

	"crawlnode/web/htmlparse"
)

// Kind is what a crawl takes content for.
type Kind uint8

// The kinds.
const (
	Other Kind = iota
	HTML       // HTML and XHTML: it has text, a title and links
	Text       // it is read as it is
	Sheet      // a style sheet
)

// Agent is the name by which preferences address this crawler alone.
const Agent = "crawlnode"

// fieldsOf reads the fields of an HTTP head. A line that is no field is passed over: one such line
// hides nothing of the others.
func fieldsOf(head []byte) textproto.MIMEHeader {
	h := textproto.MIMEHeader{}
	_, rest, _ := bytes.Cut(head, []byte("\n"))
	last := ""
	for len(rest) > 0 {
		var line []byte
		line, rest, _ = bytes.Cut(rest, []byte("\n"))
		line = bytes.TrimSuffix(line, []byte("\r"))
		if len(line) == 0 {
			break
		}
		if values := h[last]; (line[0] == ' ' || line[0] == '\t') && len(values) > 0 { // a folded line
			whole := values[len(values)-1] + " " + string(bytes.TrimSpace(line))
			values[len(values)-1] = strings.TrimSpace(whole)
			continue
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if name = bytes.TrimSpace(name); !ok || len(name) == 0 {
			last = ""
			continue
		}
		last = textproto.CanonicalMIMEHeaderKey(string(name))
		h[last] = append(h[last], string(bytes.TrimSpace(value)))
	}
	return h
}

// kindOf decides what content is: by the media type that the header names, or by the content when it
// names none.
func kindOf(header textproto.MIMEHeader, content func() []byte) (kind Kind, media string) {
	if media = mediaOf(header["Content-Type"]); media == "" {
		media, _, _ = strings.Cut(http.DetectContentType(content()), ";")
	}
	switch {
	case media == "text/html", media == "application/xhtml+xml":
		return HTML, media
	case media == "text/css":
		return Sheet, media
	case strings.HasPrefix(media, "text/"), media == "application/json", media == "application/xml",
		strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "+xml"):
		return Text, media
	}
	return Other, media
}

// mediaOf is the media type that header values name, in lower case and without parameters: the last
// valid one, since a header that was sent twice is one with commas (Fetch Standard, "extract a MIME
// type"). "": there is none, or it says nothing (MIME Sniffing Standard, section 7).
func mediaOf(values []string) (media string) {
	for _, value := range values {
		for _, v := range splitUnquoted(value) {
			v, _, _ = strings.Cut(v, ";")
			switch v = strings.ToLower(strings.Trim(v, " \t")); v {
			case "*/*", "unknown/unknown", "application/unknown":
			default:
				if kind, sub, ok := strings.Cut(v, "/"); ok && isToken(kind) && isToken(sub) {
					media = v
				}
			}
		}
	}
	return media
}

// splitUnquoted splits at commas that are not within quotes.
func splitUnquoted(s string) (parts []string) {
	quoted, begin := false, 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			parts, begin = append(parts, s[begin:i]), i+1
		}
	}
	return append(parts, s[begin:])
}

// isToken reports whether s is a token (RFC 9110, section 5.6.2).
func isToken(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"(),/:;<=>?@[\\]{}", r)
	}) < 0
}

// directives are the preferences in the X-Robots-Tag lines of a head, for all robots and for this
// one.
func directives(header textproto.MIMEHeader) (noIndex, noFollow bool) {
	for _, line := range header["X-Robots-Tag"] {
		index, follow := htmlparse.HeaderDirectives(line, Agent)
		noIndex, noFollow = noIndex || index, noFollow || follow
	}
	return noIndex, noFollow
}
