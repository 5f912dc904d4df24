package maintext

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// block is the text between two tags that begin a line.
type block struct {
	text    string
	links   int // bytes of text in links
	heading bool
	place   place
}

// place says what kind of elements something stands in.
type place struct {
	main   bool // an element that says it is the main part
	aside  bool // an element that says it is not
	named  bool // the name of a class or an id says that it is not
	link   bool
	hidden bool
}

// element is an open element, with the place of what is in it.
type element struct {
	tag   atom.Atom
	inner place
}

// maxDepth bounds the open elements that are followed; maxClose how far up an end tag is looked for.
const (
	maxDepth = 512
	maxClose = 64
)

// reader makes blocks of tokens.
type reader struct {
	z         *html.Tokenizer
	open      []element
	blocks    []block
	text      []byte // of the current block
	links     int
	heading   bool
	bytes     int // of all blocks
	truncated bool

	title, shareTitle             string
	description, shareDescription string
	language                      string
	inTitle, skip                 atom.Atom // the element whose end is waited for
	titleText                     []byte
}

func newReader(body []byte) *reader {
	return &reader{z: html.NewTokenizer(bytes.NewReader(body))}
}

// maxRead bounds the bytes of blocks: several times what is kept, as much of a page may be boilerplate.
const maxRead = 4 * MaxText

func (r *reader) read() {
	for {
		switch r.z.Next() {
		case html.ErrorToken:
			r.finish()
			return
		case html.TextToken:
			r.words(r.z.Text())
		case html.StartTagToken:
			r.start(false)
		case html.SelfClosingTagToken:
			r.start(true)
		case html.EndTagToken:
			name, _ := r.z.TagName()
			r.end(atom.Lookup(name))
		}
		if r.bytes > maxRead || len(r.blocks) >= MaxBlocks {
			r.truncated = true
			r.finish()
			return
		}
	}
}

func (r *reader) finish() {
	r.flush()
	if r.title == "" {
		r.title = clean(cut(string(r.titleText), 4*maxTitle))
	}
}

// now is the place of what comes next.
func (r *reader) now() place {
	if len(r.open) == 0 {
		return place{}
	}
	return r.open[len(r.open)-1].inner
}

func (r *reader) words(text []byte) {
	switch {
	case r.skip != 0:
	case r.inTitle != 0:
		if len(r.titleText) < 4*maxTitle {
			r.titleText = append(r.titleText, text...)
		}
	case r.now().link && permalink(text):
	case !r.now().hidden:
		before := len(r.text)
		for _, field := range bytes.Fields(text) {
			if len(r.text) > 0 && r.text[len(r.text)-1] != ' ' && (len(r.text) > before || space(text[0])) {
				r.text = append(r.text, ' ')
			}
			r.text = append(r.text, field...)
		}
		if len(text) > 0 && space(text[len(text)-1]) && len(r.text) > 0 && r.text[len(r.text)-1] != ' ' {
			r.text = append(r.text, ' ')
		}
		if r.now().link {
			r.links += len(r.text) - before
		}
	}
}

// permalink reports whether the text is the sign that pages put beside a heading, to link to it.
func permalink(text []byte) bool {
	switch string(bytes.TrimSpace(text)) {
	case "¶", "#", "§", "🔗", "\uf0c1":
		return true
	}
	return false
}

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '\f' }

// flush ends the current block.
func (r *reader) flush() {
	text := clean(string(r.text))
	if text != "" {
		r.blocks = append(r.blocks, block{text: text, links: r.links, heading: r.heading, place: r.now()})
		r.bytes += len(text)
	}
	r.text, r.links = r.text[:0], 0
}

func (r *reader) start(closed bool) {
	name, more := r.z.TagName()
	tag := atom.Lookup(name)
	a := r.attributes(more)
	if r.skip != 0 {
		return
	}
	switch tag {
	case atom.Html:
		if r.language == "" {
			r.language = a.lang
		}
	case atom.Meta:
		r.meta(a)
	case atom.Title:
		if len(r.titleText) == 0 && !closed {
			r.inTitle = tag
		}
		return
	case atom.Script, atom.Style, atom.Template, atom.Svg, atom.Math, atom.Textarea, atom.Select, atom.Iframe, atom.Object, atom.Noframes:
		if !closed {
			r.skip = tag
		}
		return
	case atom.Br:
		r.text = append(r.text, ' ')
		return
	}
	switch {
	case tag == 0:
		return // an element of the page's own: nothing is known of it
	case !inline[tag]:
		r.flush()
		r.heading = isHeading(tag)
	case tag != atom.A && !a.placed():
		return
	}
	if closed || void[tag] {
		return
	}
	r.push(tag, a)
}

// push opens an element. A paragraph or an item that was not closed ends here.
func (r *reader) push(tag atom.Atom, a attributes) {
	if n := len(r.open); n > 0 && r.open[n-1].tag == tag && selfEnding[tag] {
		r.open = r.open[:n-1]
	}
	if len(r.open) >= maxDepth {
		return
	}
	r.open = append(r.open, element{tag, a.inside(tag, r.now())})
}

func (r *reader) end(tag atom.Atom) {
	switch {
	case r.skip != 0:
		if tag == r.skip {
			r.skip = 0
		}
		return
	case r.inTitle != 0:
		if tag == r.inTitle {
			r.inTitle = 0
		}
		return
	}
	if tag == 0 {
		return
	}
	if !inline[tag] {
		r.flush()
		r.heading = false
	}
	for i := len(r.open) - 1; i >= max(0, len(r.open)-maxClose); i-- {
		if r.open[i].tag == tag {
			r.open = r.open[:i]
			return
		}
	}
}

func isHeading(tag atom.Atom) bool {
	switch tag {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return true
	}
	return false
}

// meta reads what a page says of itself.
func (r *reader) meta(a attributes) {
	content := clean(cut(a.content, 4*maxTitle))
	switch strings.ToLower(a.name) {
	case "description":
		if r.description == "" {
			r.description = content
		}
	case "og:description", "twitter:description", "dc.description":
		if r.shareDescription == "" {
			r.shareDescription = content
		}
	case "og:title":
		if r.shareTitle == "" {
			r.shareTitle = content
		}
	}
	if strings.EqualFold(a.httpEquiv, "content-language") && r.language == "" {
		r.language = content
	}
}
