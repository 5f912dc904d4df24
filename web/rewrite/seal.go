package rewrite

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"

	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// Bounds of Seal. What is beyond them is left out.
const (
	maxSealedAttributes = 1024
	maxSealedName       = 64
	maxSrcdocs          = 3 // documents in attributes, one inside the other
)

// Seal is a page, of HTML or XML, for a browser that must connect to nobody but the server that the
// targets are on. The result is HTML in UTF-8, whatever the page was.
//
// Nothing of the page is passed on as it stands. Each tag is written anew, with attributes that
// were read; every "<" between tags is written as text. So the elements that a browser can find are
// some of those written here, in whatever state its parser is and wherever it disagrees with this
// one, and each of them is harmless by itself: no scripts, no link but to style sheets, icons and
// the like, no reference that is not to's, no attribute that acts.
func Seal(page []byte, contentType string, at urlnorm.URL, to Target) []byte {
	return seal(page, contentType, at, to, maxSrcdocs)
}

func seal(page []byte, contentType string, at urlnorm.URL, to Target, depth int) []byte {
	doc := htmlparse.Parse(page, contentType, at)
	text := htmlparse.UTF8(page, contentType)
	s := &sealer{xml: isXML(contentType), depth: depth, at: at, contentType: contentType}
	s.rewriter = rewriter{to: to, resolve: resolverOf(&doc), own: doc.Base == at, strict: true}
	s.z = html.NewTokenizer(bytes.NewReader(text))
	s.z.AllowCDATA(s.xml)
	s.run()
	return s.out.Bytes()
}

// resolverOf resolves references in UTF-8 of a page in whatever encoding: queries are in the page's
// own, except for those encodings that the Encoding Standard leaves out.
func resolverOf(doc *htmlparse.Document) func([]byte) (urlnorm.URL, error) {
	enc, _ := charset.Lookup(doc.Charset)
	if enc == nil || doc.Charset == "utf-8" || doc.Charset == "replacement" ||
		strings.HasPrefix(doc.Charset, "utf-16") {
		utf8 := *doc
		utf8.Charset = "utf-8"
		return utf8.Resolve
	}
	return func(ref []byte) (urlnorm.URL, error) {
		if own, err := encoding.HTMLEscapeUnsupported(enc.NewEncoder()).Bytes(ref); err == nil {
			return doc.Resolve(own)
		}
		return doc.Resolve(ref)
	}
}

// sealer writes one page.
type sealer struct {
	rewriter

	z           *html.Tokenizer
	out         bytes.Buffer
	xml         bool
	depth       int // documents in attributes that may still be
	at          urlnorm.URL
	contentType string
	foreign     int // svg and math elements that are open
	begun       bool
}

// run writes the tokens.
func (s *sealer) run() {
	raw := "" // the element of which the next text is the content, if it has no markup
	for {
		kind := s.z.Next()
		within := raw
		raw = ""
		switch kind {
		case html.ErrorToken:
			return
		case html.TextToken:
			s.text(within, s.z.Raw())
		case html.DoctypeToken:
			s.doctype(s.z.Raw())
		case html.StartTagToken, html.SelfClosingTagToken:
			raw = s.start(kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := s.z.TagName()
			s.end(string(name))
		case html.CommentToken:
		}
	}
}

// doctype keeps what tells a browser in which mode to show the page, if it stands at the beginning.
func (s *sealer) doctype(raw []byte) {
	if !s.begun && !s.xml && bytes.IndexByte(raw[1:], '<') < 0 && bytes.HasSuffix(raw, []byte(">")) &&
		len(raw) < 512 {
		s.out.Write(raw)
	} else if !s.begun {
		s.out.WriteString("<!doctype html>")
	}
	s.begun = true
}

// text writes text as such: the content of an element without markup, or what is between tags.
func (s *sealer) text(within string, raw []byte) {
	raw = bytes.ReplaceAll(raw, []byte{0}, nil)
	if data, ok := bytes.CutPrefix(raw, []byte("<![CDATA[")); ok && within == "" &&
		(s.xml || s.foreign > 0) {
		raw = []byte(html.EscapeString(string(bytes.TrimSuffix(data, []byte("]]>")))))
	}
	if len(bytes.TrimSpace(raw)) > 0 {
		s.begun = true
	}
	switch within {
	case "script", "iframe", "noembed", "noframes":
	case "style":
		s.sheet(raw)
	case "xmp", "plaintext": // written as pre, in which there are character references
		s.out.WriteString(html.EscapeString(string(raw)))
	default:
		for _, c := range raw {
			switch c {
			case '<':
				s.out.WriteString("&lt;")
			case '>':
				s.out.WriteString("&gt;")
			default:
				s.out.WriteByte(c)
			}
		}
	}
}

// sheet writes the content of a style element. In CSS a "<" has another spelling, but for the marks
// that hid sheets from browsers of the last century.
func (s *sealer) sheet(raw []byte) {
	if s.xml || s.foreign > 0 {
		raw = bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte("<![CDATA["), nil), []byte("]]>"), nil)
		raw = []byte(html.UnescapeString(string(raw)))
	}
	raw = bytes.ReplaceAll(bytes.ReplaceAll(raw, []byte("<!--"), nil), []byte("-->"), nil)
	s.out.Write(bytes.ReplaceAll(s.css(raw), []byte("<"), []byte(`\3C `)))
}

// withoutTags are elements whose tags are left out; the content of script goes too (see text).
var withoutTags = map[string]bool{
	"script": true, "base": true, "applet": true, "embed": true, "portal": true, "fencedframe": true,
	"noembed": true, "noframes": true,
	"param": true, "controlledframe": true, "webview": true, "isindex": true, "handler": true,
	"listener": true,
}

// void are the elements without content and end tag.
var void = map[string]bool{
	"area": true, "br": true, "col": true, "frame": true, "hr": true, "img": true, "input": true,
	"keygen": true, "link": true, "meta": true,
	"source": true, "track": true, "wbr": true, "bgsound": true, "basefont": true,
}

// written is the name that an element gets; "" when its tags are left out.
func written(name string) string {
	switch {
	case withoutTags[name] || !isName(name):
		return ""
	case name == "xmp" || name == "plaintext":
		return "pre"
	}
	return name
}

// isName reports whether a name, of an element or an attribute, cannot be taken for anything else.
func isName(name string) bool {
	if name == "" || len(name) > maxSealedName || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_:.") == ""
}

// start writes a start tag. raw is the element's name when its content has no markup.
func (s *sealer) start(closed bool) (raw string) {
	s.begun = true
	tag, more := s.z.TagName()
	name := string(tag)
	attrs := s.attributes(more)
	isForeign := name == "svg" || name == "math"
	alone := closed && (s.xml || s.foreign > 0 || isForeign) // it has no content
	switch name {
	case "script", "style", "title", "textarea", "iframe", "noembed", "noframes", "xmp", "plaintext":
		if raw = name; alone {
			raw = ""
			s.z.NextIsNotRawText()
		}
	case "noscript": // nothing that is shown runs scripts
		s.z.NextIsNotRawText()
	}
	as := written(name)
	if as == "" || !s.allowed(name, attrs) {
		return raw
	}
	s.out.WriteString("<" + as)
	for _, a := range attrs {
		if value, ok := s.attribute(name, a, attrs); ok {
			s.out.WriteString(" " + a.name + "=\"")
			s.out.Write(quotedText(value))
			s.out.WriteByte('"')
		}
	}
	switch {
	case alone && s.xml && !void[as]:
		s.out.WriteString("></" + as + ">")
	case alone && !void[as]:
		s.out.WriteString("/>")
	default:
		s.out.WriteByte('>')
		if isForeign {
			s.foreign++
			s.z.AllowCDATA(true)
		}
	}
	return raw
}

// end writes an end tag.
func (s *sealer) end(name string) {
	if (name == "svg" || name == "math") && s.foreign > 0 {
		s.foreign--
		s.z.AllowCDATA(s.xml || s.foreign > 0)
	}
	switch as := written(name); {
	case as == "br": // to parsers of HTML it is a line break (HTML Standard, section 13.2.6.4.7)
		s.out.WriteString("<br>")
	case as != "" && !void[as]:
		s.out.WriteString("</" + as + ">")
	}
}

// sealed is an attribute that was read.
type sealed struct {
	name  string
	value []byte
}

// attributes reads those of a tag; the first one of a name counts.
func (s *sealer) attributes(more bool) (found []sealed) {
	seen := map[string]bool{}
	for more {
		var key, value []byte
		key, value, more = s.z.TagAttr()
		name := string(key)
		if len(seen) >= maxSealedAttributes || seen[name] {
			continue
		}
		seen[name] = true
		if isName(name) {
			found = append(found, sealed{name, bytes.ReplaceAll(value, []byte{0}, nil)})
		}
	}
	return found
}

func valueOf(attrs []sealed, name string) string {
	for _, a := range attrs {
		if a.name == name {
			return strings.ToLower(strings.TrimSpace(string(a.value)))
		}
	}
	return ""
}

// links are the relations of link elements that load nothing but from the server, or nothing at
// all. Those that ask for a connection (preconnect, dns-prefetch, preload ...) are not among them.
var links = map[string]bool{
	"stylesheet": true, "alternate": true, "icon": true, "shortcut": true, "apple-touch-icon": true,
	"canonical": true,
	"author":    true, "license": true, "help": true, "index": true, "start": true, "contents": true,
	"up": true,
}

// metas are the names of meta elements that do nothing but describe, or fit the page to its window.
var metas = map[string]bool{
	"viewport": true, "description": true, "author": true, "keywords": true, "generator": true,
	"color-scheme": true, "application-name": true,
}

// allowed reports whether an element may be there, with its attributes.
func (s *sealer) allowed(name string, attrs []sealed) bool {
	switch name {
	case "link":
		relations := strings.Fields(valueOf(attrs, "rel"))
		for _, r := range relations {
			if !links[r] {
				return false
			}
		}
		return len(relations) > 0
	case "meta":
		if kind := valueOf(attrs, "http-equiv"); kind != "" {
			return kind == "refresh"
		}
		return metas[valueOf(attrs, "name")]
	case "animate", "set", "animatetransform", "animatemotion", "animatecolor", "discard":
		// it would change where a link leads
		return !strings.Contains(valueOf(attrs, "attributename"), "href")
	}
	return true
}

// acting are attributes that load, connect, name another document's policy, or change what others
// mean.
var acting = map[string]bool{
	"ping": true, "attributionsrc": true, "integrity": true, "crossorigin": true, "nonce": true,
	"csp": true, "allow": true, "referrerpolicy": true,
	"manifest": true, "codebase": true, "classid": true, "archive": true, "profile": true,
	"dynsrc": true, "lowsrc": true, "xml:base": true, "charset": true,
	"data": true, "imagesrcset": true, "is": true, "sharedstoragewritable": true,
	"browsingtopics": true, "autofocus": true, "code": true, "object": true,
	"sandbox": true, "fetchpriority": true, "blocking": true, "as": true, "autoplay": true,
}

// attribute is the value that an attribute gets; ok is false when it is left out.
func (s *sealer) attribute(element string, a sealed, all []sealed) (value []byte, ok bool) {
	switch {
	case acting[a.name] || strings.HasPrefix(a.name, "on"):
		return nil, false
	case a.name == "srcdoc":
		if element != "iframe" || s.depth == 0 {
			return nil, false
		}
		return seal(a.value, "text/html; charset=utf-8", s.at, s.to, s.depth-1), true
	case element == "meta" && a.name == "content" && valueOf(all, "http-equiv") == "refresh":
		return s.refresh(a.value), true
	}
	switch kindOf(element, a.name) {
	case address:
		if element == "img" && a.name == "longdesc" {
			return nil, false
		}
		if ref, changed := s.ref(a.value); changed {
			return []byte(ref), true
		}
		return a.value, true
	case addresses:
		return s.srcset(a.value), true
	case style:
		return s.css(a.value), true
	case base, forbidden:
		return nil, false
	case nothing, refresh:
	}
	if lowered := bytes.ToLower(a.value); bytes.Contains(lowered, []byte("url")) ||
		bytes.Contains(lowered, []byte("image")) {
		return s.css(a.value), true // a drawing's properties are attributes
	}
	return a.value, true
}

// quotedText escapes a value for double quotes, so that it is none of markup wherever it stands.
func quotedText(value []byte) []byte {
	var out []byte
	for _, c := range value {
		switch c {
		case '&':
			out = append(out, "&amp;"...)
		case '"':
			out = append(out, "&quot;"...)
		case '\'':
			out = append(out, "&#39;"...)
		case '<':
			out = append(out, "&lt;"...)
		case '>':
			out = append(out, "&gt;"...)
		case '`':
			out = append(out, "&#96;"...)
		default:
			out = append(out, c)
		}
	}
	return out
}
