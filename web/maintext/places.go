package maintext

import (
	"bytes"
	"strings"

	"golang.org/x/net/html/atom"
)

// kind is what the reader needs to know of an element.
type kind uint8

const (
	ordinary   kind = iota // begins a line, as elements do that are not known here
	inline                 // does not begin a line
	void                   // has no content
	inlineVoid             // both
	selfEnding             // is often not closed: the next of its kind ends it
	raw                    // has no markup in it
	skipped                // has nothing for a reader without scripts
)

func kindOf(tag atom.Atom) kind {
	switch tag {
	case atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code,
		atom.Data, atom.Del, atom.Dfn,
		atom.Em, atom.Font, atom.I, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Q, atom.Rp, atom.Rt,
		atom.Ruby, atom.S, atom.Samp,
		atom.Small, atom.Span, atom.Strike, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.Tt, atom.U,
		atom.Var:
		return inline
	case atom.Img, atom.Input, atom.Wbr:
		return inlineVoid
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Link, atom.Meta,
		atom.Param, atom.Source, atom.Track:
		return void
	case atom.P, atom.Li, atom.Dt, atom.Dd, atom.Tr, atom.Td, atom.Th, atom.Option:
		return selfEnding
	case atom.Script, atom.Style, atom.Iframe, atom.Textarea, atom.Title, atom.Noembed, atom.Xmp,
		atom.Plaintext:
		return raw
	case atom.Template, atom.Svg, atom.Math, atom.Select, atom.Object, atom.Noframes, atom.Noscript:
		return skipped
	}
	return ordinary
}

// attributes are those of a tag that matter here, as they stand in the page.
type attributes struct {
	class, id, role, lang    []byte
	name, content, httpEquiv []byte
	hidden                   bool
}

// maxAttributes bounds the attributes of a tag that are read.
const maxAttributes = 64

// attributes reads those of the current tag. Of an attribute that is there twice, the first counts.
func (r *reader) attributes() attributes {
	var a attributes
	if r.walk != nil {
		r.walk.element = Element{}
	}
	for range maxAttributes {
		key, val, ok := r.tokens.Attribute()
		if !ok {
			break
		}
		if into := a.value(key); into != nil && *into == nil {
			*into = val
			continue
		}
		if r.walk != nil {
			r.walk.attribute(key, val)
		}
		switch {
		case len(key) == 6 && equalFold(key, "hidden"):
			a.hidden = true
		case len(key) == 11 && equalFold(key, "aria-hidden"):
			a.hidden = a.hidden || equalFold(val, "true")
		case len(key) == 5 && equalFold(key, "style"):
			a.hidden = a.hidden || bytes.Contains(
				bytes.ReplaceAll(val[:min(len(val), 256)], []byte(" "), nil), []byte("display:none"))
		}
	}
	return a
}

// value is where the value of an attribute goes; nil: it is not kept.
func (a *attributes) value(key []byte) *[]byte {
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
	case "class":
		return &a.class
	case "id":
		return &a.id
	case "role":
		return &a.role
	case "lang", "xml:lang":
		return &a.lang
	case "name", "property":
		return &a.name
	case "content":
		return &a.content
	case "http-equiv":
		return &a.httpEquiv
	}
	return nil
}

// equalFold reports whether b is s, which is in lower case, in any case.
func equalFold(
	b []byte,
	s string,
) bool {
	return len(b) == len(s) && strings.EqualFold(string(b), s)
}

// placed reports whether the attributes of an inline element may change the place.
func (a *attributes) placed() bool {
	return a.hidden || len(a.role) > 0 || len(a.class) > 0 || len(a.id) > 0
}

// inside is the place of what is in an element that stands in outer.
func (r *reader) inside(a *attributes, tag atom.Atom, outer place) place {
	in := outer
	in.hidden = in.hidden || a.hidden
	switch tag {
	case atom.A:
		in.link = true
	case atom.Main, atom.Article:
		in.main, in.named, in.aside = true, false, false
	case atom.Nav, atom.Footer, atom.Aside, atom.Menu, atom.Dialog, atom.Button:
		in.aside = true
	case atom.Header:
		in.aside = in.aside || !in.main
	case atom.Body, atom.Html:
		return in
	}
	if len(a.role) > 0 {
		switch strings.ToLower(cut(string(a.role), 64)) {
		case "main":
			in.main, in.named, in.aside = true, false, false
			return in
		case "navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar",
			"toolbar", "dialog", "alert":
			in.aside = true
		}
	}
	if tag != atom.Main && tag != atom.Article {
		said := r.names.of(a.class)
		if id := r.names.of(a.id); partOf(tag) && !in.main {
			said |= id
		} else {
			said |= id &^ saysBoiler
		}
		switch {
		case said&saysMain != 0:
			in.main = in.main || !in.aside && !in.named
		case said&saysBoiler != 0:
			in.named = true
		}
	}
	return in
}

// partOf reports whether the id of an element may say what part of the page it is. That of a
// heading or a paragraph names its subject, as ids of sections of the main part do: "sharing-files"
// is not for social networks.
func partOf(tag atom.Atom) bool {
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.P, atom.Li, atom.Dt, atom.Dd,
		atom.Pre, atom.Blockquote, atom.Figure, atom.A, atom.Code, atom.Tr, atom.Th:
		return false
	}
	return true
}

// What the name of a class or an id says.
const (
	saysMain = 1 << iota
	saysBoiler
)

// names remembers what names say, as pages repeat them.
type names map[string]uint8

// maxNames bounds the names that are remembered, maxName the bytes of one that are looked at.
const (
	maxNames = 256
	maxName  = 512
)

func (n *names) of(name []byte) (says uint8) {
	if len(name) == 0 {
		return 0
	}
	name = name[:min(len(name), maxName)]
	says, known := (*n)[string(name)]
	if known {
		return says
	}
	s := string(name)
	if mainName(s) {
		says |= saysMain
	}
	if boilerName(s) {
		says |= saysBoiler
	}
	if *n == nil || len(*n) >= maxNames {
		*n = names{}
	}
	(*n)[s] = says
	return says
}

// mainName reports whether a class or an id is one of those that pages give their main part.
func mainName(s string) bool {
	switch strings.ToLower(s) {
	case "main", "main-content", "maincontent", "content-main", "article", "article-body",
		"post-content", "entry-content", "mw-content-text",
		"bodycontent", "page-content", "document", "docs-content", "markdown-body", "doc-content":
		return true
	}
	return false
}

// boilerWords are words of names of what surrounds a text.
var boilerWords = words(
	`nav navbar navigation navi navheader navfooter navbox menu menus submenu sidebar sidebars sphinxsidebar breadcrumb breadcrumbs crumbs footer foot
	footnav pagination pager cookie cookies consent gdpr banner social share sharing related newsletter subscribe login signin search searchbox
	toolbar topbar masthead headerlink skip skiplink toc contents advert advertisement ads promo sponsor popup modal copyright legal disclaimer
	tooltip editlink editsection printfooter catlinks siteinfo metadata`)

func words(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}

// boilerName reports whether a word of a class or an id is one of boilerWords.
func boilerName(s string) bool {
	from, last := 0, ""
	for i := 0; i <= len(s); i++ {
		letter := i < len(s) && (s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z')
		if letter && !(i > from && s[i] < 'a' && s[i-1] >= 'a') {
			continue
		}
		if i > from {
			w := strings.ToLower(s[from:i])
			// "table-contents" is what is in a table, "table-of-contents" and "contents" are menus.
			if boilerWords[w] && (w != "contents" || last == "" || last == "of") {
				return true
			}
			last = w
		}
		from = i
		if !letter {
			from++
		}
	}
	return false
}
