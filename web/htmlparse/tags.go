package htmlparse

import (
	"bytes"
	"strings"
)

// startTag takes a start tag. It is one switch over the elements that matter.
func (p *parser) startTag() {
	s := &p.scan
	raw := false
	switch string(s.name()) {
	case "a":
		p.anchorLink()
		return // inline: no word ends here
	case "b", "i", "em", "strong", "span", "code", "small", "sub", "sup", "u", "s", "font", "mark",
		"abbr", "wbr":
		s.skipTag()
		return
	case "area":
		p.hyperlink("area")
	case "frame":
		p.frame("frame")
	case "iframe":
		raw = p.frame("iframe")
	case "base":
		p.base()
	case "meta":
		p.meta()
	case "link":
		p.link()
	case "img":
		p.media("img")
	case "source":
		p.media("source")
	case "video":
		p.media("video")
	case "audio":
		p.media("audio")
	case "track":
		p.media("track")
	case "embed":
		p.media("embed")
	case "object":
		p.media("object")
	case "input":
		p.input()
	case "html":
		p.html()
	case "script":
		raw = p.media("script")
	case "title":
		if s.skipTag() {
			p.title()
		}
	case "style", "textarea", "noembed", "xmp", "plaintext":
		raw = s.skipTag()
	case "noscript", "noframes":
		p.noscript = s.skipTag() && !(s.selfClosing && s.xml)
	case "template":
		p.template()
	case "svg", "math":
		if s.skipTag() && !s.selfClosing {
			p.foreign++
		}
	default:
		s.skipTag()
	}
	if raw {
		p.rawContent()
	}
	p.space = true
}

// rawContent reads the content of a raw element. A self-closing one has no content in XML, nor in
// svg and math, which follow its rules.
func (p *parser) rawContent() []byte {
	if s := &p.scan; s.selfClosing && (s.xml || p.foreign > 0) {
		return nil
	}
	return p.scan.content(string(p.scan.name()))
}

// template takes a template element. Its content is not part of the page before a script inserts it
// (HTML Standard, section 4.12.3), unless it is a declarative shadow root, which is shown as the
// page is read.
func (p *parser) template() {
	s := &p.scan
	if !p.attrs.read(s) || p.foreign > 0 || s.xml && s.selfClosing {
		return
	}
	if mode := p.attrs.get(attrShadow); equalFold(mode, "open") || equalFold(mode, "closed") {
		return
	}
	p.inert = 1
}

// inertTag skips a start tag within a template.
func (p *parser) inertTag() {
	s := &p.scan
	switch whole, name := s.skipTag(), s.name(); {
	case !whole || s.selfClosing && s.xml:
	case string(name) == "template":
		p.inert++
	case isRaw(name):
		p.rawContent()
	}
}

// title takes the page's title. A drawing may have its own, which is ignored.
func (p *parser) title() {
	content := p.rawContent()
	if p.doc.Title == "" && p.foreign == 0 && p.srcdocs == 0 {
		const widest = 8 // bytes of the page for one of the title, as far as we care
		p.doc.Title = clean(unescape(content[:min(len(content), widest*maxTitle)], false), maxTitle)
	}
}

func (p *parser) endTag() {
	if p.inert > 0 {
		if string(p.scan.name()) == "template" {
			p.inert--
		}
		p.scan.skipTag()
		return
	}
	switch string(p.scan.name()) {
	case "a":
		p.endAnchor()
		p.scan.skipTag()
		return
	case "b", "i", "em", "strong", "span", "code", "small", "sub", "sup", "u", "s", "font", "mark",
		"abbr":
		p.scan.skipTag()
		return
	case "noscript", "noframes":
		p.noscript = false
	case "svg", "math":
		p.foreign = max(p.foreign-1, 0)
	}
	p.scan.skipTag()
	p.space = true
}

func (p *parser) hyperlink(tag string) {
	a := &p.attrs
	switch whole := a.read(&p.scan); {
	case !whole:
	case a.get(attrHref) != nil:
		p.ref(tag, relString(a.get(attrRel)), a.get(attrHref))
	case a.get(attrXlink) != nil && p.foreign > 0: // as drawings were linked before SVG 2
		p.ref(tag, relString(a.get(attrRel)), a.get(attrXlink))
	}
}

// frame takes a frame and reports whether its tag is whole.
func (p *parser) frame(tag string) bool {
	if !p.attrs.read(&p.scan) {
		return false
	}
	if doc := p.attrs.get(attrSrcdoc); doc != nil && tag == "iframe" {
		p.srcdoc(doc)
		return true
	}
	p.embedded(tag, p.attrs.get(attrSrc))
	return true
}

// maxSrcdocs is how deep documents may be nested in attributes. Each level is unescaped anew.
const maxSrcdocs = 4

// srcdoc takes the document that a frame shows in place of an address (HTML Standard, section
// 4.8.5). Its links and parts are those of the page, with the page's base unless it has its own. It
// has no part in the text, the title and the directives of the page.
func (p *parser) srcdoc(page []byte) {
	if p.srcdocs == maxSrcdocs {
		return
	}
	p.endAnchor()
	outer := *p
	p.srcdocs++
	p.scan = scanner{page: page}
	p.baseSeen, p.noscript, p.foreign, p.inert = false, false, 0, 0
	p.run()
	p.srcdocs--
	p.scan, p.space = outer.scan, outer.space
	p.baseSeen, p.noscript, p.foreign, p.inert = outer.baseSeen, outer.noscript, outer.foreign,
		outer.inert
	p.lateBase, p.doc.Base = outer.lateBase, outer.doc.Base
}

// media takes the elements that embed something, and reports whether the tag is
// whole.
func (p *parser) media(tag string) bool {
	a := &p.attrs
	if !a.read(&p.scan) {
		return false
	}
	if tag == "object" {
		p.embedded(tag, a.get(attrData))
		return true
	}
	p.embedded(tag, a.get(attrSrc))
	switch tag {
	case "script":
		if p.foreign > 0 && a.get(attrSrc) == nil { // SVG 2, section 16.1
			ref := a.get(attrHref)
			if ref == nil {
				ref = a.get(attrXlink)
			}
			p.embedded(tag, ref)
		}
	case "img", "source":
		p.srcset(tag, "", a.get(attrSrcset))
		// Scripts that load images lazily keep their addresses here.
		p.embedded(tag, a.get(attrDataSrc))
		p.srcset(tag, "", a.get(attrDataSrcset))
	case "video":
		p.embedded(tag, a.get(attrPoster))
	}
	return true
}

// embedded records a reference, unless it is empty.
func (p *parser) embedded(tag string, ref []byte) {
	if len(ref) > 0 {
		p.ref(tag, "", ref)
	}
}

func (p *parser) input() {
	if p.attrs.read(&p.scan) && strings.EqualFold(string(p.attrs.get(attrType)), "image") {
		p.embedded("input", p.attrs.get(attrSrc))
	}
}

// link takes a link element. Without a relation it links nothing (HTML
// Standard, section 4.2.4); some relations name no resource to fetch.
func (p *parser) link() {
	whole := p.attrs.read(&p.scan)
	rel := relString(p.attrs.get(attrRel))
	if !whole || strings.TrimSpace(rel) == "" {
		return
	}
	if hasToken(rel, "preload") {
		p.srcset("link", rel, p.attrs.get(attrImageSrcset))
	}
	if len(p.attrs.get(attrHref)) == 0 {
		return
	}
	for _, none := range [...]string{"pingback", "dns-prefetch", "preconnect"} {
		if hasToken(rel, none) {
			return
		}
	}
	before := len(p.doc.Links)
	p.ref("link", rel, p.attrs.get(attrHref))
	if len(p.doc.Links) > before {
		p.doc.Links[before].Feed = hasToken(rel, "alternate") && isFeed(p.attrs.get(attrType))
	}
	if p.doc.Canonical == "" && p.srcdocs == 0 && hasToken(rel, "canonical") &&
		len(p.doc.Links) > before {
		p.doc.Canonical = p.doc.Links[before].URL.String()
	}
}

// isFeed reports whether a media type is that of a feed.
func isFeed(mediaType []byte) bool {
	media, _, _ := bytes.Cut(mediaType, []byte(";"))
	media = bytes.TrimSpace(media)
	return bytes.EqualFold(media, []byte("application/rss+xml")) ||
		bytes.EqualFold(media, []byte("application/atom+xml"))
}

// base takes the first base element that has an address. An address that is
// not valid, or of another scheme, leaves the page's own as the base.
func (p *parser) base() {
	if !p.attrs.read(&p.scan) || p.attrs.get(attrHref) == nil || p.baseSeen || p.noscript {
		return
	}
	p.baseSeen = true
	if u, err := p.doc.Base.Resolve(string(p.attrs.get(attrHref))); err == nil {
		p.lateBase = p.doc.LinksFound > 0 && u != p.doc.Base
		p.doc.Base = u
	}
}

func (p *parser) html() {
	if p.attrs.read(&p.scan) && p.doc.Lang == "" && p.srcdocs == 0 {
		p.doc.Lang = clean(p.attrs.get(attrLang), maxLang)
	}
}

func (p *parser) meta() {
	a := &p.attrs
	if !a.read(&p.scan) || a.get(attrContent) == nil {
		return
	}
	switch {
	case equalFold(a.get(attrHTTPEquiv), "refresh"):
		ref := refreshURL(a.get(attrContent))
		switch {
		case len(ref) == 0, p.noscript:
		case p.srcdocs > 0: // it moves the frame
			p.ref("iframe", "refresh", ref)
		default:
			p.ref("meta", "refresh", ref)
		}
	case p.srcdocs > 0: // the rest is said of another document
	case equalFold(a.get(attrHTTPEquiv), "content-language"):
		if p.doc.Lang == "" {
			p.doc.Lang = clean(a.get(attrContent), maxLang)
		}
	case equalFold(a.get(attrName), "robots"), equalFold(a.get(attrName), p.agent):
		// Directives for this crawler by name add to those for all.
		list := string(a.get(attrContent))
		p.robots.read(list)
		p.note(strings.ToLower(string(bytes.TrimSpace(a.get(attrName)))), list)
		p.doc.NoIndex, p.doc.NoFollow = p.robots.noIndex, p.robots.noFollow
		p.doc.NoIndexLater = p.robots.later
	case equalFold(a.get(attrName), MetaReservation):
		p.note(MetaReservation, string(a.get(attrContent)))
	case equalFold(a.get(attrName), MetaPolicy):
		p.note(MetaPolicy, string(a.get(attrContent)))
	case equalFold(a.get(attrName), "description"):
		if p.doc.Description == "" {
			p.doc.Description = clean(a.get(attrContent), maxDescription)
		}
	}
}

// note keeps a meta element about the use of the page.
func (p *parser) note(name, content string) {
	if len(p.doc.Metas) < MaxMetas && len(content) <= maxMeta {
		p.doc.Metas = append(p.doc.Metas, Meta{Name: name, Content: content})
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
