package readback

import (
	"bytes"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"crawlnode/web/htmlparse"
	"crawlnode/web/mime"
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

// typeOf is the media type of content, as the crawl finds it.
func typeOf(header textproto.MIMEHeader, content []byte) mime.Type {
	return mime.Of(http.Header(header), content)
}

// kindOf decides what content is, by its media type and, of XML, by its elements.
func kindOf(t mime.Type, content []byte) Kind {
	switch media := t.Essence; {
	case htmlparse.IsPage(t.String(), content):
		return HTML
	case media == "text/css":
		return Sheet
	case media == "" && len(content) == 0: // nothing to read, such as that of a redirect
		return Text
	case strings.HasPrefix(media, "text/"), media == "application/json", media == "application/xml",
		strings.HasSuffix(media, "+json"), strings.HasSuffix(media, "+xml"):
		return Text
	}
	return Other
}

// directives are the preferences in the X-Robots-Tag lines of a head, for all robots and for agent,
// at the time of the capture.
func directives(header textproto.MIMEHeader, agent string, at time.Time) (noIndex, noFollow bool) {
	return htmlparse.RobotsHeader(header["X-Robots-Tag"], agent, at)
}
