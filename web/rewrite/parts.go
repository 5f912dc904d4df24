package rewrite

import (
	"bytes"

	"golang.org/x/net/html"

	"crawlnode/web/css"
	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// Parts finds the parts of a page that package htmlparse does not report: what its styles refer to,
// in style elements and attributes, the images of drawings, and backgrounds. doc is the page as
// htmlparse has read it. A page whose encoding is no superset of ASCII has none.
func Parts(page []byte, doc *htmlparse.Document) []urlnorm.URL {
	switch doc.Charset {
	case "utf-16le", "utf-16be", "iso-2022-jp", "replacement":
		return nil
	}
	c := collector{doc: doc}
	c.page(page)
	return c.found
}

// page takes the parts of a document: the page, or one in an attribute of it.
func (c *collector) page(page []byte) {
	inStyle := false
	z := html.NewTokenizer(bytes.NewReader(page))
	for len(c.found) < htmlparse.MaxLinks {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.TextToken:
			if inStyle {
				c.sheet(z.Raw())
			}
			inStyle = false
		case html.StartTagToken, html.SelfClosingTagToken:
			raw := z.Raw()
			name := tagName(raw)
			if inStyle = name == "style"; name == "noscript" {
				z.NextIsNotRawText()
			}
			c.tag(name, raw)
		default:
			inStyle = false
		}
	}
}

// collector collects references.
type collector struct {
	doc     *htmlparse.Document
	found   []urlnorm.URL
	srcdocs int // documents in attributes that are open
}

func (c *collector) tag(name string, raw []byte) {
	for _, a := range attributes(raw, 1+len(name)) {
		if a.value == 0 {
			continue
		}
		switch k := kindOf(name, a.name); {
		case k == style:
			c.sheet(unescape(raw[a.value:a.end]))
		case name == "iframe" && a.name == "srcdoc" && c.srcdocs < maxSrcdocs:
			c.srcdocs++
			c.page(unescape(raw[a.value:a.end]))
			c.srcdocs--
		case a.name == "background" && k == address,
			(name == "use" || name == "image" || name == "feimage") &&
				(a.name == "href" || a.name == "xlink:href"):
			c.ref(unescape(raw[a.value:a.end]))
		}
	}
}

func (c *collector) sheet(text []byte) {
	for _, ref := range css.Refs(text) {
		c.ref([]byte(ref.Value))
	}
}

// ref takes a reference to another resource than the page.
func (c *collector) ref(value []byte) {
	if value = bytes.TrimSpace(value); len(value) == 0 || value[0] == '#' {
		return
	}
	if u, err := c.doc.Resolve(value); err == nil {
		c.found = append(c.found, u)
	}
}
