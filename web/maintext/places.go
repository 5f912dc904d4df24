package maintext

import (
	"strings"

	"golang.org/x/net/html/atom"
)

// set is a set of tags.
func set(tags ...atom.Atom) map[atom.Atom]bool {
	out := map[atom.Atom]bool{}
	for _, t := range tags {
		out[t] = true
	}
	return out
}

var (
	// inline elements do not begin a line.
	inline = set(atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Bdi, atom.Bdo, atom.Big, atom.Cite, atom.Code, atom.Data, atom.Del, atom.Dfn,
		atom.Em, atom.Font, atom.I, atom.Img, atom.Input, atom.Ins, atom.Kbd, atom.Label, atom.Mark, atom.Q, atom.Rp, atom.Rt, atom.Ruby, atom.S, atom.Samp,
		atom.Small, atom.Span, atom.Strike, atom.Strong, atom.Sub, atom.Sup, atom.Time, atom.Tt, atom.U, atom.Var, atom.Wbr)
	// void elements have no content.
	void = set(atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input, atom.Link, atom.Meta, atom.Param, atom.Source,
		atom.Track, atom.Wbr)
	// selfEnding elements are often not closed: the next of their kind ends them.
	selfEnding = set(atom.P, atom.Li, atom.Dt, atom.Dd, atom.Tr, atom.Td, atom.Th, atom.Option)
)

// attributes are those of a tag that matter here.
type attributes struct {
	class, id, role, lang    string
	name, content, httpEquiv string
	hidden                   bool
}

// maxAttributes bounds the attributes of a tag that are read.
const maxAttributes = 64

func (r *reader) attributes(more bool) attributes {
	var a attributes
	for n := 0; more && n < maxAttributes; n++ {
		var key, val []byte
		key, val, more = r.z.TagAttr()
		switch string(key) {
		case "class":
			a.class = cut(string(val), 512)
		case "id":
			a.id = cut(string(val), 128)
		case "role":
			a.role = strings.ToLower(cut(string(val), 64))
		case "lang", "xml:lang":
			if a.lang == "" {
				a.lang = cut(string(val), 32)
			}
		case "name", "property":
			a.name = cut(string(val), 64)
		case "content":
			a.content = cut(string(val), 4*maxTitle)
		case "http-equiv":
			a.httpEquiv = cut(string(val), 64)
		case "hidden":
			a.hidden = true
		case "aria-hidden":
			a.hidden = a.hidden || string(val) == "true"
		case "style":
			if style := strings.ReplaceAll(string(cut(string(val), 256)), " ", ""); strings.Contains(style, "display:none") {
				a.hidden = true
			}
		}
	}
	return a
}

// placed reports whether the attributes of an inline element may change the place.
func (a *attributes) placed() bool {
	return a.hidden || a.role != "" || a.class != "" || a.id != ""
}

// inside is the place of what is in an element that stands in outer.
func (a *attributes) inside(tag atom.Atom, outer place) place {
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
	switch a.role {
	case "main":
		in.main, in.named, in.aside = true, false, false
		return in
	case "navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar", "toolbar", "dialog", "alert":
		in.aside = true
	}
	if tag != atom.Main && tag != atom.Article {
		switch {
		case mainName(a.id), mainName(a.class):
			in.main = in.main || !in.aside && !in.named
		case boilerName(a.class), boilerName(a.id):
			in.named = true
		}
	}
	return in
}

// mainName reports whether a class or an id is one of those that pages give their main part.
func mainName(s string) bool {
	switch strings.ToLower(s) {
	case "main", "main-content", "maincontent", "content-main", "article", "article-body", "post-content", "entry-content", "mw-content-text",
		"bodycontent", "page-content", "document", "docs-content", "markdown-body", "doc-content":
		return true
	}
	return false
}

// boilerWords are words of names of what surrounds a text.
var boilerWords = words(`nav navbar navigation navi navheader navfooter navbox menu menus submenu sidebar sidebars sphinxsidebar breadcrumb breadcrumbs crumbs footer foot
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
	from := 0
	for i := 0; i <= len(s); i++ {
		letter := i < len(s) && (s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z')
		if letter && !(i > from && s[i] < 'a' && s[i-1] >= 'a') {
			continue
		}
		if i > from && boilerWords[strings.ToLower(s[from:i])] {
			return true
		}
		from = i
		if !letter {
			from++
		}
	}
	return false
}
