package htmlparse

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// attributes are the attributes of one tag that anything is done with. A nil
// value is an attribute that is not there; they point into the tokenizer's
// buffer and are good until its next step.
type attributes struct {
	href, src, srcset, dataSrc, dataSrcset, data, poster []byte
	rel, lang, typ                                       []byte
	name, content, httpEquiv                             []byte
}

// read fills a from the current tag. Of a repeated attribute the first counts
// (HTML Standard, section 13.2.5.33).
func (a *attributes) read(z *html.Tokenizer) {
	*a = attributes{}
	for {
		key, val, more := z.TagAttr() // nil without attributes
		if slot := a.slot(key); slot != nil && *slot == nil {
			if val == nil {
				val = []byte{}
			}
			*slot = val
		}
		if !more {
			return
		}
	}
}

func (a *attributes) slot(key []byte) *[]byte {
	switch string(key) {
	case "href":
		return &a.href
	case "src":
		return &a.src
	case "srcset":
		return &a.srcset
	case "data-src":
		return &a.dataSrc
	case "data-srcset":
		return &a.dataSrcset
	case "data":
		return &a.data
	case "poster":
		return &a.poster
	case "rel":
		return &a.rel
	case "lang", "xml:lang":
		return &a.lang
	case "type":
		return &a.typ
	case "name":
		return &a.name
	case "content":
		return &a.content
	case "http-equiv":
		return &a.httpEquiv
	}
	return nil
}

// tagName returns the lower-case name that tag, a tag without its "<" or "</",
// begins with, or one that no element has. It does not allocate, which the
// tokenizer's own TagName does for each tag.
func (p *parser) tagName(tag []byte) []byte {
	for i, c := range tag {
		switch {
		case c == '>' || c == '/' || c == ' ' || '\t' <= c && c <= '\r':
			return p.name[:i]
		case i == len(p.name):
			return nil
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		p.name[i] = c
	}
	return nil
}

// startTag takes a start tag. It is one switch over the elements that matter.
func (p *parser) startTag(z *html.Tokenizer) {
	p.raw = ""
	name := p.tagName(z.Raw()[len("<"):])
	switch string(name) {
	case "a":
		p.hyperlink(z, "a")
		return // inline: no word ends here
	case "b", "i", "em", "strong", "span", "code", "small", "sub", "sup", "u", "s", "font", "mark", "abbr", "wbr":
		return
	case "area":
		p.hyperlink(z, "area")
	case "frame":
		p.frame(z, "frame")
	case "iframe":
		p.frame(z, "iframe")
		p.raw = "iframe"
	case "base":
		p.base(z)
	case "meta":
		p.meta(z)
	case "link":
		p.link(z)
	case "img":
		p.media(z, "img")
	case "source":
		p.media(z, "source")
	case "video":
		p.media(z, "video")
	case "audio":
		p.media(z, "audio")
	case "track":
		p.media(z, "track")
	case "embed":
		p.media(z, "embed")
	case "object":
		p.media(z, "object")
	case "input":
		p.input(z)
	case "html":
		p.html(z)
	case "script":
		p.media(z, "script")
		p.raw = "script"
	case "style", "textarea", "title", "noembed", "xmp", "plaintext":
		p.raw = string(name)
	case "noscript", "noframes":
		p.noscript = true
		z.NextIsNotRawText()
	}
	p.space = true
}

func (p *parser) endTag(z *html.Tokenizer) {
	p.raw = ""
	switch string(p.tagName(z.Raw()[len("</"):])) {
	case "a", "b", "i", "em", "strong", "span", "code", "small", "sub", "sup", "u", "s", "font", "mark", "abbr":
		return
	case "noscript", "noframes":
		p.noscript = false
	}
	p.space = true
}

func (p *parser) hyperlink(z *html.Tokenizer, tag string) {
	p.attrs.read(z)
	if p.attrs.href != nil {
		p.ref(tag, relString(p.attrs.rel), p.attrs.href)
	}
}

func (p *parser) frame(z *html.Tokenizer, tag string) {
	p.attrs.read(z)
	p.embedded(tag, p.attrs.src)
}

// media takes the elements that embed something.
func (p *parser) media(z *html.Tokenizer, tag string) {
	a := &p.attrs
	a.read(z)
	if tag == "object" {
		p.embedded(tag, a.data)
		return
	}
	p.embedded(tag, a.src)
	switch tag {
	case "img", "source":
		p.srcset(tag, a.srcset)
		// Where scripts that load images late keep them.
		p.embedded(tag, a.dataSrc)
		p.srcset(tag, a.dataSrcset)
	case "video":
		p.embedded(tag, a.poster)
	}
}

// embedded records a reference that, left empty, stands for nothing.
func (p *parser) embedded(tag string, ref []byte) {
	if len(ref) > 0 {
		p.ref(tag, "", ref)
	}
}

func (p *parser) input(z *html.Tokenizer) {
	p.attrs.read(z)
	if strings.EqualFold(string(p.attrs.typ), "image") {
		p.embedded("input", p.attrs.src)
	}
}

// link takes a link element. Without a relation it links nothing (HTML
// Standard, section 4.2.4); some relations name no resource to fetch.
func (p *parser) link(z *html.Tokenizer) {
	p.attrs.read(z)
	rel := relString(p.attrs.rel)
	if len(p.attrs.href) == 0 || strings.TrimSpace(rel) == "" {
		return
	}
	for _, none := range [...]string{"pingback", "dns-prefetch", "preconnect"} {
		if hasToken(rel, none) {
			return
		}
	}
	before := len(p.doc.Links)
	p.ref("link", rel, p.attrs.href)
	if p.doc.Canonical == "" && hasToken(rel, "canonical") && len(p.doc.Links) > before {
		p.doc.Canonical = p.doc.Links[before].URL.String()
	}
}

// base takes the first base element that has an address. An address that is
// not valid, or of another scheme, leaves the page's own as the base.
func (p *parser) base(z *html.Tokenizer) {
	if p.baseSeen || p.noscript {
		return
	}
	p.attrs.read(z)
	if p.attrs.href == nil {
		return
	}
	p.baseSeen = true
	if u, err := p.doc.Base.Resolve(string(p.attrs.href)); err == nil {
		p.lateBase = p.doc.LinksFound > 0 && u != p.doc.Base
		p.doc.Base = u
	}
}

func (p *parser) html(z *html.Tokenizer) {
	p.attrs.read(z)
	if p.doc.Lang == "" {
		p.doc.Lang = clean(p.attrs.lang, maxLang)
	}
}

func (p *parser) meta(z *html.Tokenizer) {
	a := &p.attrs
	a.read(z)
	if a.content == nil {
		return
	}
	switch {
	case equalFold(a.httpEquiv, "refresh"):
		if ref := refreshURL(a.content); len(ref) > 0 && !p.noscript {
			p.ref("meta", "refresh", ref)
		}
	case equalFold(a.httpEquiv, "content-language"):
		if p.doc.Lang == "" {
			p.doc.Lang = clean(a.content, maxLang)
		}
	case equalFold(a.name, "robots"):
		noIndex, noFollow := directives(string(a.content))
		p.doc.NoIndex = p.doc.NoIndex || noIndex
		p.doc.NoFollow = p.doc.NoFollow || noFollow
	case equalFold(a.name, "description"):
		if p.doc.Description == "" {
			p.doc.Description = clean(a.content, maxDescription)
		}
	}
}

func equalFold(b []byte, lower string) bool {
	return len(b) >= len(lower) && strings.EqualFold(string(bytes.TrimSpace(b)), lower)
}

// relString returns the rel attribute, without an allocation for the most
// usual ones.
func relString(rel []byte) string {
	switch string(rel) {
	case "":
		return ""
	case "nofollow":
		return "nofollow"
	case "noopener":
		return "noopener"
	case "noopener noreferrer":
		return "noopener noreferrer"
	case "stylesheet":
		return "stylesheet"
	case "next":
		return "next"
	case "prev":
		return "prev"
	}
	return strings.ToValidUTF8(string(rel[:min(len(rel), maxRel)]), "")
}
