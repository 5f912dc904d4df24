package metadata

import (
	"bytes"
	"strings"

	"golang.org/x/net/html/atom"

	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// The limits of what is kept of a page, in bytes where nothing else is said.
const (
	maxMetas      = 512 // meta elements
	maxName       = 256
	maxText       = 2 << 10 // a value
	maxRef        = 4 << 10 // an address: more than the longest that counts
	maxLicences   = 16
	maxAttributes = 64 // of a tag
)

// page is what the tokens of a page have, as written.
type page struct {
	tokens *htmlparse.Tokens
	base   urlnorm.URL
	// ownBase: a base element has named the base.
	ownBase bool

	title, lang []byte
	metas       []meta
	canonical   []byte
	image       []byte   // link rel=image_src
	licence     []byte   // link rel=license
	licences    [][]byte // a rel=license
	scripts     [][]byte
	scriptBytes int
	micro       bool // there may be microdata
	xml         bool // any element may close itself
	items       items
	skip        atom.Atom // the element whose end is waited for
}

// meta is a meta element. Its name is in lower case; dc: and dc. are the same.
type meta struct {
	name    string
	content []byte
}

// attributes are those of a tag that matter here, as they stand in the page.
type attributes struct {
	name, property, content, httpEquiv, rel, href, src, kind, lang []byte
	itemtype, itemprop, itemid, datetime, value, data              []byte
	itemscope                                                      bool
}

// read reads the tokens. text is in UTF-8.
func (p *page) read(text []byte, contentType string) {
	p.micro = bytes.Contains(text, []byte("itemscope")) || bytes.Contains(text, []byte("ITEMSCOPE"))
	p.xml = isXML(contentType)
	p.tokens = htmlparse.NewTokens(text, contentType)
	for {
		switch p.tokens.Next() {
		case htmlparse.EndOfPage:
			p.items.close(0)
			return
		case htmlparse.Text:
			if p.skip == 0 && p.items.capturing > 0 {
				p.items.words(p.tokens.Text())
			}
		case htmlparse.StartTag:
			if p.skip == 0 {
				p.start()
			}
		case htmlparse.EndTag:
			if p.skip != 0 || len(p.items.open) > 0 {
				p.end(atom.Lookup(p.tokens.Name()))
			}
		}
	}
}

func (p *page) start() {
	// Most tags are of no interest, and their attributes are not read.
	name := p.tokens.Name()
	if !p.micro && !interesting(name) {
		return
	}
	tag := atom.Lookup(name)
	switch tag {
	case atom.Svg, atom.Math, atom.Template:
		if !p.tokens.SelfClosing() {
			p.skip = tag
		}
		return
	}
	a := p.attributes()
	switch tag {
	case atom.Html:
		if p.lang == nil {
			p.lang = a.lang
		}
	case atom.Base:
		p.setBase(a.href)
	case atom.Meta:
		p.meta(&a)
	case atom.Link, atom.A, atom.Area:
		p.link(tag, &a)
	case atom.Title:
		if content := p.tokens.Content(); p.title == nil {
			p.title = content
		}
		return
	case atom.Script:
		if isJSONLD(a.kind) {
			p.script(p.tokens.Content())
		}
	}
	if p.micro {
		p.items.start(tag, &a, p.tokens.SelfClosing() && p.xml, p.resolve)
		if tag == atom.Br || !isInline(tag) {
			p.items.breaks()
		}
	}
}

func (p *page) end(tag atom.Atom) {
	if p.skip != 0 {
		if tag == p.skip {
			p.skip = 0
		}
		return
	}
	if !isInline(tag) {
		p.items.breaks()
	}
	p.items.end(tag)
}

// isXML reports whether a media type is XHTML or other XML.
func isXML(contentType string) bool {
	essence, _, _ := strings.Cut(contentType, ";")
	return strings.HasSuffix(strings.ToLower(strings.TrimSpace(essence)), "xml")
}

// interesting reports whether an element may say something outside of microdata, or has no part in
// it.
func interesting(name []byte) bool {
	switch string(name) {
	case "html", "base", "meta", "link", "a", "area", "title", "script", "svg", "math", "template":
		return true
	}
	return false
}

// attributes reads those of the current tag. Of an attribute that is there twice, the first counts.
func (p *page) attributes() (a attributes) {
	for range maxAttributes {
		key, val, ok := p.tokens.Attribute()
		if !ok {
			break
		}
		if into := a.of(key); into != nil && *into == nil {
			*into = val
		} else if len(key) == len("itemscope") && strings.EqualFold(string(key), "itemscope") {
			a.itemscope = true
		}
	}
	return a
}

// of is where the value of an attribute goes; nil: it is not kept.
func (a *attributes) of(key []byte) *[]byte {
	var buf [len("http-equiv")]byte // the longest
	if len(key) > len(buf) {
		return nil
	}
	for i, c := range key {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	switch string(buf[:len(key)]) {
	case "name":
		return &a.name
	case "property":
		return &a.property
	case "content":
		return &a.content
	case "http-equiv":
		return &a.httpEquiv
	case "rel":
		return &a.rel
	case "href":
		return &a.href
	case "src":
		return &a.src
	case "type":
		return &a.kind
	case "lang", "xml:lang":
		return &a.lang
	case "itemtype":
		return &a.itemtype
	case "itemprop":
		return &a.itemprop
	case "itemid":
		return &a.itemid
	case "datetime":
		return &a.datetime
	case "value":
		return &a.value
	case "data":
		return &a.data
	}
	return nil
}

// isJSONLD reports whether the type of a script is that of JSON-LD, whatever its parameters.
func isJSONLD(kind []byte) bool {
	essence, _, _ := bytes.Cut(kind[:min(len(kind), maxName)], []byte(";"))
	return strings.EqualFold(string(bytes.TrimSpace(essence)), "application/ld+json")
}

// setBase takes the address of a base element. The first one counts.
func (p *page) setBase(href []byte) {
	if href == nil || p.ownBase {
		return
	}
	p.ownBase = true
	if u, err := p.base.Resolve(reference(href)); err == nil {
		p.base = u
	}
}

// meta takes a meta element.
func (p *page) meta(a *attributes) {
	if len(p.metas) >= maxMetas || len(a.content) == 0 {
		return
	}
	name := a.property
	if name == nil {
		name = a.name
	}
	if name == nil {
		name = a.httpEquiv
		if !equiv(name) {
			return
		}
	}
	if kept := metaName(name); kept != "" {
		p.metas = append(p.metas, meta{kept, a.content})
	}
}

// equiv reports whether an http-equiv says something of the page's content.
func equiv(name []byte) bool {
	s := string(name[:min(len(name), maxName)])
	return strings.EqualFold(s, "content-language") || strings.EqualFold(s, "last-modified")
}

// link takes a link or an anchor.
func (p *page) link(tag atom.Atom, a *attributes) {
	if a.rel == nil || a.href == nil {
		return
	}
	for list := a.rel[:min(len(a.rel), maxName)]; ; {
		var word []byte
		if word, list = nextWord(list); len(word) == 0 {
			return
		}
		switch rel := strings.ToLower(string(word)); {
		case rel == "license" && tag == atom.Link:
			if p.licence == nil {
				p.licence = a.href
			}
		case rel == "license":
			if len(p.licences) < maxLicences {
				p.licences = append(p.licences, a.href)
			}
		case tag != atom.Link:
		case rel == "canonical" && p.canonical == nil:
			p.canonical = a.href
		case rel == "image_src" && p.image == nil:
			p.image = a.href
		case strings.HasPrefix(rel, "dc.") || strings.HasPrefix(rel, "dcterms."):
			// Dublin Core has links beside its meta elements: DCTERMS.license and others.
			if len(p.metas) < maxMetas {
				p.metas = append(p.metas, meta{rel, []byte(p.resolve(a.href))})
			}
		}
	}
}

func (p *page) script(content []byte) {
	if p.scriptBytes += len(content); p.scriptBytes <= maxScripts && len(p.scripts) < maxItems {
		p.scripts = append(p.scripts, content)
	}
}

// reference is an address as it stands in an attribute, without character references.
func reference(raw []byte) string {
	raw = raw[:min(len(raw), maxRef)]
	if bytes.IndexByte(raw, '&') >= 0 {
		raw = htmlparse.AppendText(nil, raw, true)
	}
	return string(raw)
}

// resolve is the absolute form of an address in an attribute. What is no http address stays as it
// is, as a value of Raw.
func (p *page) resolve(raw []byte) string {
	ref := reference(raw)
	if u, err := p.base.Resolve(ref); err == nil {
		return u.String()
	}
	return clean(ref, maxText)
}

// isInline reports whether a tag stands within words.
func isInline(tag atom.Atom) bool {
	switch tag {
	case atom.A, atom.Abbr, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Data,
		atom.Del, atom.Dfn, atom.Em, atom.Font, atom.I, atom.Ins, atom.Kbd, atom.Label, atom.Link,
		atom.Mark, atom.Meta, atom.Q, atom.S, atom.Samp, atom.Small, atom.Span, atom.Strike, atom.Strong,
		atom.Sub,
		atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr, 0:
		return true
	}
	return false
}
