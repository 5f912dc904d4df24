package rewrite

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// kind is what the value of an attribute holds.
type kind uint8

const (
	nothing   kind = iota
	address        // a reference
	addresses      // a srcset
	style          // declarations with references
	refresh        // the content of a meta refresh
	base           // the address of a base element
	forbidden      // an attribute that keeps a browser from using a file
)

// kindOf says what an attribute of an element holds; names are in lower case.
func kindOf(tag, name string) kind {
	switch name {
	case "href":
		if tag == "base" {
			return base
		}
		return address
	case "src", "xlink:href":
		return address
	case "style":
		return style
	case "integrity", "crossorigin":
		return forbidden
	}
	if slices.Contains(byElement[tag], name) {
		if strings.HasSuffix(name, "srcset") {
			return addresses
		}
		return address
	}
	return nothing
}

// byElement are attributes that are references on some elements only.
var byElement = map[string][]string{
	"img":        {"srcset", "data-src", "data-srcset", "longdesc"},
	"source":     {"srcset", "data-src", "data-srcset"},
	"link":       {"imagesrcset"},
	"video":      {"poster"},
	"object":     {"data"},
	"form":       {"action"},
	"button":     {"formaction"},
	"input":      {"formaction"},
	"iframe":     {"longdesc"},
	"frame":      {"longdesc"},
	"html":       {"manifest"},
	"body":       {"background"},
	"table":      {"background"},
	"td":         {"background"},
	"th":         {"background"},
	"tr":         {"background"},
	"blockquote": {"cite"},
	"q":          {"cite"},
	"ins":        {"cite"},
	"del":        {"cite"},
}

// rewriteHTML rewrites a page in an encoding that is a superset of ASCII.
func rewriteHTML(page []byte, xml bool, doc *htmlparse.Document, at urlnorm.URL, to Target) []byte {
	r := rewriter{to: to, resolve: doc.Resolve, own: doc.Base == at}
	out := make([]byte, 0, len(page)+len(page)/16)
	read := 0 // bytes of the page that out covers
	inStyle := false
	z := html.NewTokenizer(bytes.NewReader(page))
	for {
		kind := z.Next()
		raw := z.Raw()
		read += len(raw)
		switch {
		case kind == html.ErrorToken:
			return append(append(out, raw...), page[read:]...) // a tag that the end cuts off
		case kind == html.TextToken && inStyle:
			out = append(out, r.css(raw)...)
		case kind == html.StartTagToken || kind == html.SelfClosingTagToken:
			name := tagName(raw)
			out = r.tag(out, name, raw)
			if name == "noscript" || name == "noframes" || xml && kind == html.SelfClosingTagToken {
				z.NextIsNotRawText() // it has links for browsers without scripts; or it has no content
			}
			inStyle = name == "style" && kind == html.StartTagToken
			continue
		default:
			out = append(out, raw...)
		}
		inStyle = false
	}
}

// tagName is the name in a start tag, in lower case.
func tagName(raw []byte) string {
	end := 1
	for end < len(raw) && strings.IndexByte(" \t\r\n\f/>", raw[end]) < 0 {
		end++
	}
	return lower(raw[1:end])
}

// lower is a name with its ASCII letters in lower case, as the HTML Standard has it. It keeps the
// length, so that the attributes begin behind it: strings.ToLower replaces what is no UTF-8.
func lower(name []byte) string {
	b := bytes.Clone(name)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c - 'A' + 'a'
		}
	}
	return string(b)
}

// attribute is a place in a tag.
type attribute struct {
	name       string // in lower case
	start      int    // where the name begins
	value, end int    // the value, without quotes; both are 0 when there is none
	behind     int    // the first byte that is no part of it
	quote      byte   // 0: none
}

// attributes finds the attributes of a start tag as the HTML Standard tokenizes it (section
// 13.2.5.32 and on). The first one of a name counts.
func attributes(raw []byte, from int) []attribute {
	var found []attribute
	at := from
	skip := func(set string) {
		for at < len(raw) && strings.IndexByte(set, raw[at]) >= 0 {
			at++
		}
	}
	until := func(set string) {
		for at < len(raw) && strings.IndexByte(set, raw[at]) < 0 {
			at++
		}
	}
	const spaces = " \t\r\n\f"
	for {
		if skip(spaces + "/"); at >= len(raw) || raw[at] == '>' {
			return found
		}
		a := attribute{start: at}
		at++ // also "=", which is part of a name here
		until(spaces + "/>=")
		a.name, a.behind = lower(raw[a.start:at]), at
		if skip(spaces); at < len(raw) && raw[at] == '=' {
			at++
			skip(spaces)
			switch {
			case at < len(raw) && (raw[at] == '"' || raw[at] == '\''):
				a.quote = raw[at]
				at++
				a.value = at
				until(string(a.quote))
				a.end = at
				at = min(at+1, len(raw))
			default:
				a.value = at
				until(spaces + ">")
				a.end = at
			}
			a.behind = at
		}
		if !slices.ContainsFunc(found, func(b attribute) bool { return b.name == a.name }) {
			found = append(found, a)
		}
		if len(found) > maxAttributes {
			return found
		}
	}
}

// maxAttributes bounds the attributes of a tag that are read: the names of each are compared with
// those before it.
const maxAttributes = 256

// tag appends a start tag to out, with its references replaced.
func (r *rewriter) tag(out []byte, name string, raw []byte) []byte {
	r.local = false
	attrs := attributes(raw, 1+len(name))
	isRefresh := name == "meta" && slices.ContainsFunc(attrs, func(a attribute) bool {
		return a.name == "http-equiv" &&
			strings.EqualFold(strings.TrimSpace(string(raw[a.value:a.end])), "refresh")
	})
	values := make([][]byte, len(attrs)) // nil: it stays
	for i, a := range attrs {
		k := kindOf(name, a.name)
		if isRefresh && a.name == "content" {
			k = refresh
		}
		if a.value > 0 && k != nothing && k != forbidden {
			values[i] = r.value(k, raw[a.value:a.end])
		}
	}
	done := 0
	for i, a := range attrs {
		switch {
		case values[i] != nil:
			out = append(append(append(out, raw[done:a.value]...), quoted(values[i], a.quote)...),
				raw[a.end:a.behind]...)
			done = a.behind
		case r.local && kindOf(name, a.name) == forbidden:
			out = append(out, raw[done:a.start]...)
			done = a.behind
		}
	}
	return append(out, raw[done:]...)
}

// value returns the new value of an attribute, or nil when it stays.
func (r *rewriter) value(k kind, raw []byte) []byte {
	value := unescape(raw)
	var replaced []byte
	switch k {
	case address:
		if ref, ok := r.ref(value); ok {
			replaced = []byte(ref)
		}
	case addresses:
		replaced = r.srcset(value)
	case style:
		local := r.local // a picture in a style is no reason to drop an attribute
		replaced = r.css(value)
		r.local = local
	case refresh:
		replaced = r.refresh(value)
	case base:
		replaced = []byte{}
	}
	if replaced == nil || bytes.Equal(replaced, value) {
		return nil
	}
	return replaced
}

// quoted escapes a value for its quotes, and adds quotes when it has none.
func quoted(value []byte, quote byte) []byte {
	var out []byte
	if quote == 0 {
		out = append(out, '"')
	}
	for _, c := range value {
		switch c {
		case '&':
			out = append(out, "&amp;"...)
		case '"':
			out = append(out, "&quot;"...)
		case '\'':
			out = append(out, "&#39;"...)
		default:
			out = append(out, c)
		}
	}
	if quote == 0 {
		out = append(out, '"')
	}
	return out
}

// unescape replaces the character references of an attribute's value, whose rules differ from those
// of text: "&copy=1" is none.
func unescape(raw []byte) []byte {
	raw = bytes.ReplaceAll(raw, []byte{0}, []byte("\uFFFD"))
	if bytes.IndexByte(raw, '&') < 0 {
		return raw
	}
	tag := append([]byte(`<a b="`), bytes.ReplaceAll(raw, []byte(`"`), []byte("&#34;"))...)
	z := html.NewTokenizer(bytes.NewReader(append(tag, `">`...)))
	z.Next()
	z.TagName()
	_, value, _ := z.TagAttr()
	return value
}
