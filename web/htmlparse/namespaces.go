package htmlparse

import (
	"bytes"
	"strings"
)

// vocabulary is what the elements of an XML namespace are to this package.
type vocabulary uint8

const (
	otherWords vocabulary = iota // elements that mean nothing here
	htmlWords
	svgWords
	mathWords
)

// vocabularyOf returns the vocabulary of a namespace.
func vocabularyOf(namespace []byte) vocabulary {
	switch string(bytes.TrimSpace(namespace)) {
	case "http://www.w3.org/1999/xhtml":
		return htmlWords
	case "http://www.w3.org/2000/svg":
		return svgWords
	case "http://www.w3.org/1998/Math/MathML":
		return mathWords
	}
	return otherWords
}

// maxBindings is how many declarations of namespaces can be in force at a time, and maxPrefix the
// number of bytes of a prefix. What is beyond is not declared.
const (
	maxBindings = 64
	maxPrefix   = 32
)

// namespaces resolves the names of an XML document (Namespaces in XML 1.0). Elements of HTML keep
// their local name, whatever their prefix is, and those of unknown namespaces have none.
type namespaces struct {
	initial  vocabulary // of names without prefix, where nothing is declared
	depth    int        // elements that are open
	bindings []binding
	tag      vocabulary // of the last tag
	written  []byte     // the name of the last tag as it is written, in lower case
}

// binding is a declaration in force: prefix "" is the default namespace.
type binding struct {
	depth  int
	prefix string
	words  vocabulary
}

// newScanner begins a page that was served with the given Content-Type header.
func newScanner(page []byte, contentType string) scanner {
	s := scanner{page: page, xml: isXML(contentType)}
	if s.xml {
		s.names = &namespaces{}
		if mediaOf(contentType) == "application/xhtml+xml" {
			s.names.initial = htmlWords // some do without the declaration
		}
	}
	return s
}

// resolveStart makes the local name of the start tag's name, which ends at s.at, and takes the
// declarations of the tag. The tag itself is read afterwards.
func (s *scanner) resolveStart(start int) {
	n := s.names
	ahead := *s
	for {
		key, val, ok := ahead.attribute()
		if !ok {
			break
		}
		name, declares := bytes.CutPrefix(key, []byte("xmlns"))
		if !declares || len(n.bindings) >= maxBindings || len(name) > maxPrefix {
			continue
		}
		if prefix, ok := bytes.CutPrefix(name, []byte(":")); ok || len(name) == 0 {
			n.bindings = append(n.bindings, binding{n.depth + 1, string(prefix), vocabularyOf(value(val))})
		}
	}
	n.depth++
	s.resolve(start)
	if ahead.selfClosing || ahead.cut {
		n.leave()
	}
}

// resolveEnd does the same for an end tag.
func (s *scanner) resolveEnd(start int) {
	s.resolve(start)
	s.names.leave()
}

// leave ends the innermost element, and with it its declarations.
func (n *namespaces) leave() {
	for len(n.bindings) > 0 && n.bindings[len(n.bindings)-1].depth >= n.depth {
		n.bindings = n.bindings[:len(n.bindings)-1]
	}
	n.depth = max(n.depth-1, 0)
}

func (s *scanner) resolve(start int) {
	n := s.names
	written := s.page[start:s.at]
	prefix, local, ok := bytes.Cut(written, []byte(":"))
	if !ok {
		prefix, local = nil, written
	}
	n.tag = n.lookUp(prefix)
	if n.tag == otherWords || len(local) > len(s.nameBuf) || len(prefix) > maxPrefix {
		s.nameLen = len(s.nameBuf) + 1
		return
	}
	n.written = n.written[:0]
	for _, c := range written {
		n.written = append(n.written, lower(c))
	}
	s.nameLen = copy(s.nameBuf[:], n.written[len(written)-len(local):])
}

// lookUp returns the vocabulary that a prefix stands for now.
func (n *namespaces) lookUp(prefix []byte) vocabulary {
	for i := len(n.bindings) - 1; i >= 0; i-- {
		if n.bindings[i].prefix == string(prefix) {
			return n.bindings[i].words
		}
	}
	if len(prefix) == 0 {
		return n.initial
	}
	return otherWords
}

// mediaOf returns the type of a Content-Type header in lower case, without parameters.
func mediaOf(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// isXML reports whether a page was served as XML, where "<script/>" has no content and names have
// namespaces.
func isXML(contentType string) bool {
	media := mediaOf(contentType)
	return strings.HasSuffix(media, "+xml") || media == "text/xml" || media == "application/xml"
}

// rootBytes is the part of a document in which its root element must begin.
const rootBytes = 64 << 10

// IsPage reports whether an answer is a page with links to parse: HTML, or XML in which there are
// elements of HTML, by their namespace. Sitemaps and feeds are none, although they may contain
// such elements too. contentType is the header, or the type that was sniffed in its place.
func IsPage(contentType string, body []byte) bool {
	if media := mediaOf(contentType); media == "text/html" || media == "application/xhtml+xml" {
		return true
	}
	words, root := rootOf(contentType, body)
	switch {
	case words == htmlWords:
		return true
	case words == svgWords, words == mathWords:
		return false
	}
	switch root {
	case "", "urlset", "sitemapindex", "rss", "feed", "rdf":
		return false
	}
	return bytes.Contains(UTF8(body, contentType), []byte("http://www.w3.org/1999/xhtml"))
}

// IsDrawing reports whether an answer is an SVG document: a picture that may have hyperlinks.
func IsDrawing(contentType string, body []byte) bool {
	words, _ := rootOf(contentType, body)
	return words == svgWords
}

// rootOf returns the vocabulary and the local name of the root element of an XML document.
func rootOf(contentType string, body []byte) (words vocabulary, name string) {
	if !isXML(contentType) {
		return otherWords, ""
	}
	s := newScanner(UTF8(body[:min(len(body), rootBytes)], contentType), contentType)
	for {
		switch s.next() {
		case startTag:
			written := s.page[s.nameAt:s.at]
			if i := bytes.IndexByte(written, ':'); i >= 0 {
				written = written[i+1:]
			}
			return s.names.tag, strings.ToLower(string(written[:min(len(written), len(s.nameBuf))]))
		case textToken:
			continue
		}
		return otherWords, ""
	}
}
