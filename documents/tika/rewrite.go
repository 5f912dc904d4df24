package tika

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unicode"

	"crawlnode/documents/page"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxDepth is the number of nested elements; deeper ones are left out, and their text is kept. It
// is less than that of package page, which needs some for elements that are implied.
const maxDepth = 48

// properties are the names under which Tika tells properties, and those by which they are written.
// Tika's names are those of its metadata keys: Dublin Core and XMP with a prefix since version 1,
// and older ones.
var properties = map[string]string{
	"dc:creator":                      page.Author,
	"meta:author":                     page.Author,
	"author":                          page.Author,
	"creator":                         page.Author,
	"dc:description":                  page.Description,
	"description":                     page.Description,
	"dc:subject":                      page.Keywords,
	"meta:keyword":                    page.Keywords,
	"keywords":                        page.Keywords,
	"xmp:creatortool":                 page.Generator,
	"generator":                       page.Generator,
	"application-name":                page.Generator,
	"extended-properties:application": page.Generator,
	"pdf:docinfo:producer":            page.Generator,
	"dcterms:created":                 page.Created,
	"meta:creation-date":              page.Created,
	"creation-date":                   page.Created,
	"dcterms:modified":                page.Modified,
	"meta:save-date":                  page.Modified,
	"last-modified":                   page.Modified,
	"dc:publisher":                    page.Publisher,
	"extended-properties:company":     page.Publisher,
	"dc:rights":                       page.Rights,
	"xmprights:usageterms":            page.Rights,
	"dc:type":                         page.Type,
	"dc:identifier":                   page.Identifier,
}

// rewrite writes an answer again. It keeps what is listed in the package comment, and closes what
// is left open.
func rewrite(answer []byte, limit int) (out []byte, truncated, hasText bool) {
	w := &walker{w: page.New(limit), told: map[string]bool{}}
	z := html.NewTokenizer(bytes.NewReader(answer))
	for {
		if w.w.Full() {
			w.w.Truncate()
			break
		}
		kind := z.Next()
		if kind == html.ErrorToken {
			break // the end: reading from memory has no other error
		}
		w.token(kind, z)
	}
	return w.w.HTML(), w.w.Truncated(), w.hasText
}

// walker walks over the tokens of an answer. open has the elements that are open in w; they are the
// same ones in the same order.
type walker struct {
	w       *page.Writer
	open    []string
	told    map[string]bool // properties that have been written, with their values
	skipped atom.Atom       // the element whose content is left out
	skips   int             // how many of it are open; 0 if none is left out
	inHead  bool
	inTitle bool
	begun   bool // the text of the innermost element has begun
	space   bool // a space is due before the next word
	hasText bool
}

func (w *walker) token(kind html.TokenType, z *html.Tokenizer) {
	switch kind {
	case html.TextToken:
		w.text(string(z.Text()))
	case html.StartTagToken, html.SelfClosingTagToken:
		name, more := z.TagName()
		tag := atom.Lookup(name)
		var attributes map[string]string
		if tag == atom.A || tag == atom.Meta || tag == atom.Html {
			attributes = map[string]string{}
			for more {
				var key, value []byte
				key, value, more = z.TagAttr()
				if _, again := attributes[string(key)]; !again && len(attributes) < 16 {
					attributes[string(key)] = string(value)
				}
			}
		}
		w.start(tag, attributes, kind == html.SelfClosingTagToken)
	case html.EndTagToken:
		name, _ := z.TagName()
		w.end(atom.Lookup(name))
	}
}

// start handles a start tag.
func (w *walker) start(tag atom.Atom, attributes map[string]string, closed bool) {
	if w.skips > 0 {
		if tag == w.skipped && !closed {
			w.skips++
		}
		return
	}
	switch tag {
	case atom.Html:
		w.w.Language(firstOf(attributes["lang"], attributes["xml:lang"]))
	case atom.Head:
		w.inHead = !closed
	case atom.Body:
		w.inHead = false
	case atom.Title:
		w.inTitle = !closed
	case atom.Meta:
		w.property(strings.ToLower(attributes["name"]), attributes["content"])
	case atom.Script, atom.Style, atom.Iframe, atom.Noembed, atom.Noframes, atom.Object,
		atom.Template, atom.Svg, atom.Math, atom.Select, atom.Textarea, atom.Noscript,
		atom.Plaintext, atom.Xmp:
		if !closed {
			w.skipped, w.skips = tag, 1
		}
	case atom.Br:
		if w.inParagraph() {
			w.w.Break()
			w.begun, w.space = false, false
		}
	case atom.A:
		w.closeTo("a")
		address := usable(attributes["href"])
		if address != "" && !closed && len(w.open) < maxDepth {
			w.inline()
			w.push("a", func() { w.w.Link(address) })
		}
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.P, atom.Pre,
		atom.Blockquote, atom.Ul, atom.Ol, atom.Table:
		w.block()
		if !closed {
			w.element(tag.String())
		}
	case atom.Li:
		w.item("li", "ul", "ol")
	case atom.Tr:
		w.item("tr", "table")
	case atom.Td, atom.Th:
		if !slices.Contains(w.open, "table") {
			w.block()
			return
		}
		if w.innermost("tr", "table") != "tr" {
			w.item("tr", "table")
		}
		w.item(tag.String(), "tr")
	case atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Nav,
		atom.Aside, atom.Hr, atom.Dl, atom.Dt, atom.Dd, atom.Address, atom.Figure, atom.Form,
		atom.Fieldset, atom.Details, atom.Center:
		w.block()
	}
}

// end handles an end tag. One without a start is ignored.
func (w *walker) end(tag atom.Atom) {
	if w.skips > 0 {
		if tag == w.skipped {
			w.skips--
		}
		return
	}
	switch tag {
	case atom.Head:
		w.inHead = false
	case atom.Title:
		w.inTitle = false
	case atom.A, atom.Li, atom.Tr, atom.Td, atom.Th, atom.Ul, atom.Ol, atom.Table, atom.P, atom.Pre,
		atom.Blockquote, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.closeTo(tag.String())
	case atom.Div, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Main, atom.Nav,
		atom.Aside, atom.Dl, atom.Dt, atom.Dd, atom.Address, atom.Figure, atom.Form,
		atom.Fieldset, atom.Details, atom.Center, atom.Body:
		w.block()
	}
}

// text handles text. White space is one space, but for that of preformatted text.
func (w *walker) text(s string) {
	switch {
	case w.skips > 0:
		return
	case w.inTitle:
		if len(w.open) == 0 {
			w.w.Title(s)
		}
		return
	case w.inHead:
		return
	}
	if w.innermost("pre", "td", "th", "li", "table") == "pre" {
		w.hasText = w.hasText || strings.TrimSpace(s) != ""
		w.w.Text(s)
		return
	}
	for len(s) > 0 {
		i := strings.IndexFunc(s, func(r rune) bool { return !unicode.IsSpace(r) })
		if i != 0 {
			w.space = w.inParagraph() && w.begun
		}
		if i < 0 {
			return
		}
		s = s[i:]
		n := strings.IndexFunc(s, unicode.IsSpace)
		if n < 0 {
			n = len(s)
		}
		w.inline()
		if w.space {
			w.w.Text(" ")
		}
		w.w.Text(s[:n])
		w.hasText, w.begun, w.space = true, true, false
		s = s[n:]
	}
}

// property writes a property, once for each value.
func (w *walker) property(name, value string) {
	value = strings.TrimSpace(value)
	switch name {
	case "dc:title", "title":
		w.w.Title(value)
		return
	case "dc:language", "language", "content-language":
		w.w.Language(value)
		return
	}
	known, ok := properties[name]
	if !ok || value == "" || len(w.told) >= 256 {
		return
	}
	if known == page.Created || known == page.Modified {
		if at := date(value); !at.IsZero() && !w.told[known] {
			w.told[known] = true
			w.w.Time(known, at)
		}
		return
	}
	key := known + "\x00" + value
	if !w.told[key] {
		w.told[key] = true
		w.w.Property(known, value)
	}
}

// date reads a date of Tika: ISO 8601, with a time and a zone or without. The zero time is none.
func date(s string) time.Time {
	for _, layout := range []string{
		time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02", "2006-01", "2006",
	} {
		if at, err := time.Parse(layout, s); err == nil {
			return at
		}
	}
	return time.Time{}
}

// usable is an address that a page may have; "" for one that is a program, is within the file, or
// is a place on the page.
func usable(address string) string {
	address = strings.TrimSpace(address)
	scheme, _, _ := strings.Cut(address, ":")
	scheme = strings.Map(func(r rune) rune { // as URLs are parsed
		if r <= ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, scheme)
	switch scheme {
	case "javascript", "vbscript", "data", "embedded":
		return ""
	}
	if strings.HasPrefix(address, "#") {
		return ""
	}
	return address
}

// push opens an element by a function of the writer.
func (w *walker) push(name string, open func()) {
	if w.space && name == "a" {
		w.w.Text(" ")
		w.space = false
	}
	open()
	w.open = append(w.open, name)
}

// element opens an element, unless too many are open.
func (w *walker) element(name string) {
	if len(w.open) < maxDepth {
		w.push(name, func() { w.w.Open(name) })
		w.begun, w.space = false, false
	}
}

func (w *walker) pop() {
	w.w.Close()
	w.open = w.open[:len(w.open)-1]
}

// innermost is the innermost open element of some.
func (w *walker) innermost(names ...string) string {
	for _, o := range slices.Backward(w.open) {
		if slices.Contains(names, o) {
			return o
		}
	}
	return ""
}

// closeTo closes an element and what is open in it. Within a cell or an item, only elements of it
// are closed, but for tags of tables and lists themselves.
func (w *walker) closeTo(name string) {
	structure := func(n string) bool {
		return slices.Contains([]string{"table", "tr", "td", "th", "ul", "ol", "li"}, n)
	}
	for i, o := range slices.Backward(w.open) {
		if o == name {
			for len(w.open) > i {
				w.pop()
			}
			if name != "a" {
				w.space = false
			}
			return
		}
		if structure(o) && (!structure(name) || o == "table") {
			return
		}
	}
}

// block ends the text that is open: a paragraph, a heading, a link.
func (w *walker) block() {
	for len(w.open) > 0 && inlineOrText(w.open[len(w.open)-1]) {
		w.pop()
	}
	w.space = false
}

func inlineOrText(name string) bool {
	return name == "a" || name == "p" || name == "pre" || len(name) == 2 && name[0] == 'h'
}

// item opens an element of a list or a table. Its brothers are closed; without a parent it is a
// block.
func (w *walker) item(name string, parents ...string) {
	parent := w.innermost(append([]string{"table", "ul", "ol"}, parents...)...)
	if !slices.Contains(parents, parent) {
		w.block()
		return
	}
	for w.open[len(w.open)-1] != parent {
		w.pop()
	}
	w.element(name)
}

// inParagraph reports whether text may stand where the walk is.
func (w *walker) inParagraph() bool {
	if len(w.open) == 0 {
		return false
	}
	switch w.open[len(w.open)-1] {
	case "ul", "ol", "table", "tr", "blockquote":
		return false
	}
	return true
}

// inline opens what text needs around it.
func (w *walker) inline() {
	if w.inParagraph() {
		return
	}
	top := ""
	if len(w.open) > 0 {
		top = w.open[len(w.open)-1]
	}
	switch top {
	case "ul", "ol":
		w.element("li")
	case "table":
		w.element("tr")
		w.element("td")
	case "tr":
		w.element("td")
	default:
		w.element("p")
	}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
