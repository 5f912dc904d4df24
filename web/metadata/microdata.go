package metadata

import (
	"bytes"
	"strings"

	"golang.org/x/net/html/atom"
)

// The limits of microdata.
const (
	maxItems      = 1_000 // also of JSON-LD's values and objects
	maxProperties = 5_000
	maxItemText   = 512 << 10 // bytes of the text of all items
	maxOpen       = 512       // open elements that are followed
	maxSameValue  = 8         // properties of one value
	maxClose      = 64        // how far up an end tag is looked for
)

// items reads microdata (HTML Standard, section 5), without itemref. Nothing is followed outside of
// items, so a page without them costs nothing.
type items struct {
	top        []any // the items that are no property of another
	open       []element
	text       []byte // of the properties that are open, with character references
	count      int
	properties int
	capturing  int // open elements whose text is a property
}

// element is an open element within an item.
type element struct {
	tag  atom.Atom
	item object // what its properties belong to
	// depth is the number of items around and including item.
	depth int
	// names are the properties that its text is, of owner; nil for none.
	names []byte
	owner object
	from  int // in text
}

// start takes a start tag. Elements that are not known are passed over. empty says that it has no
// content, whatever element it is.
func (m *items) start(tag atom.Atom, a *attributes, empty bool, resolve func([]byte) string) {
	if tag == 0 || len(m.open) == 0 && !a.itemscope {
		return
	}
	m.selfEnding(tag)
	var owner object
	e := element{tag: tag}
	if n := len(m.open); n > 0 {
		owner, e.depth = m.open[n-1].item, m.open[n-1].depth
	}
	e.item = owner
	switch {
	case a.itemscope && m.count >= maxItems:
		e.item = nil // what is in it belongs to nobody, least of all to the item around it
	case a.itemscope:
		m.count++
		e.depth++
		e.item = object{}
		if kind := schemaNames(a.itemtype); kind != nil {
			e.item["@type"] = kind
		}
		if len(a.itemid) > 0 {
			e.item["@id"] = resolve(a.itemid)
		}
	}
	switch {
	case a.itemscope && (a.itemprop == nil || owner == nil):
		if len(e.item) > 0 {
			m.top = append(m.top, e.item)
		}
	case a.itemprop == nil || owner == nil, a.itemscope && e.item == nil:
	case a.itemscope:
		// Under several names a walk meets what is in the item several times, at each level.
		most := 1
		if e.depth <= 2 {
			most = maxSameValue
		}
		m.add(owner, a.itemprop, most, e.item)
	default:
		if v, ok := valueOf(tag, a, resolve); ok {
			m.add(owner, a.itemprop, maxSameValue, v)
		} else {
			e.names, e.owner, e.from = a.itemprop, owner, len(m.text)
		}
	}
	if isVoid(tag) || empty || len(m.open) >= maxOpen {
		return
	}
	if e.names != nil {
		m.capturing++
	}
	m.open = append(m.open, e)
}

// selfEnding ends an element that the next of its kind ends, and a paragraph that a block ends.
func (m *items) selfEnding(tag atom.Atom) {
	switch tag {
	case atom.Address, atom.Article, atom.Aside, atom.Blockquote, atom.Dir, atom.Div, atom.Dl,
		atom.Fieldset, atom.Figure, atom.Footer, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5,
		atom.H6,
		atom.Header, atom.Hr, atom.Main, atom.Nav, atom.Ol, atom.Pre, atom.Section, atom.Table,
		atom.Ul:
		if n := len(m.open); n > 0 && m.open[n-1].tag == atom.P {
			m.close(n - 1)
		}
	case atom.P, atom.Li, atom.Dt, atom.Dd, atom.Tr, atom.Td, atom.Th, atom.Option:
		if n := len(m.open); n > 0 && m.open[n-1].tag == tag {
			m.close(n - 1)
		}
	}
}

// end takes an end tag.
func (m *items) end(tag atom.Atom) {
	for i := len(m.open) - 1; tag != 0 && i >= max(0, len(m.open)-maxClose); i-- {
		if m.open[i].tag == tag {
			m.close(i)
			return
		}
	}
}

// close ends the open elements from the i-th on. The inner ones end first.
func (m *items) close(i int) {
	for n := len(m.open) - 1; n >= i; n-- {
		if e := m.open[n]; e.names != nil {
			m.capturing--
			m.add(e.owner, e.names, maxSameValue, text(m.text[e.from:], maxText))
		}
		m.open[n] = element{}
	}
	m.open = m.open[:i]
	if m.capturing == 0 {
		m.text = m.text[:0]
	}
}

// words takes text of the page.
func (m *items) words(b []byte) {
	if m.capturing > 0 {
		m.text = append(m.text, b[:min(len(b), maxItemText-len(m.text))]...)
	}
}

// breaks takes a tag that divides words.
func (m *items) breaks() { m.words([]byte(" ")) }

// add adds a value to the properties of an item that names has, divided by spaces: to the first
// ones, most in all.
func (m *items) add(to object, names []byte, most int, v any) {
	if s, ok := v.(string); ok && s == "" {
		return
	}
	for range most {
		var name []byte
		name, names = nextWord(names)
		if len(name) == 0 || m.properties >= maxProperties {
			return
		}
		m.properties++
		key := schemaName(string(name[:min(len(name), maxName)]))
		switch had := to[key].(type) {
		case nil:
			to[key] = v
		case []any:
			to[key] = append(had, v)
		default:
			to[key] = []any{had, v}
		}
	}
}

// valueOf is the value of a property that is in an attribute. It reports false when the value is
// the text of the element. A content attribute counts everywhere, as search engines read it, and
// only an address comes before.
func valueOf(tag atom.Atom, a *attributes, resolve func([]byte) string) (string, bool) {
	var address []byte
	switch tag {
	case atom.A, atom.Area, atom.Link:
		address = a.href
	case atom.Img, atom.Audio, atom.Video, atom.Embed, atom.Iframe, atom.Source, atom.Track:
		address = a.src
	case atom.Object:
		address = a.data
	}
	switch {
	case address != nil:
		return resolve(address), true
	case a.content != nil:
		return attribute(a.content, maxText), true
	case a.value != nil && (tag == atom.Data || tag == atom.Meter):
		return attribute(a.value, maxText), true
	case a.datetime != nil && tag == atom.Time:
		return attribute(a.datetime, maxText), true
	}
	return "", tag == atom.Meta || isVoid(tag)
}

// nextWord cuts a word off a list.
func nextWord(list []byte) (word, rest []byte) {
	list = bytes.TrimLeft(list, " \t\r\n\f")
	if end := bytes.IndexAny(list, " \t\r\n\f"); end >= 0 {
		return list[:end], list[end:]
	}
	return list, nil
}

// schemaNames are the types in an itemtype: a string, or a list for several; nil for none.
func schemaNames(list []byte) any {
	var all []any
	for len(all) < 8 {
		var word []byte
		if word, list = nextWord(list); len(word) == 0 {
			break
		}
		all = append(all, schemaName(string(word[:min(len(word), maxName)])))
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return all
}

// schemaName is a name without the prefix of schema.org.
func schemaName(s string) string {
	for _, prefix := range [...]string{
		"https://schema.org/", "http://schema.org/", "https://www.schema.org/",
		"http://www.schema.org/", "schema:", "//schema.org/",
	} {
		if len(s) > len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) {
			return s[len(prefix):]
		}
	}
	return s
}

// isVoid reports whether an element has no content.
func isVoid(tag atom.Atom) bool {
	switch tag {
	case atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Hr, atom.Img, atom.Input,
		atom.Link, atom.Meta, atom.Param, atom.Source, atom.Track, atom.Wbr:
		return true
	}
	return false
}
