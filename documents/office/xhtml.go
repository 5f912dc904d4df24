package office

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding/unicode"
)

// readXHTML passes a chapter on: elements of structure, links and text. Attributes, scripts, styles
// and pictures are left out. Whatever the nesting of the file, that of the page is right.
func readXHTML(r *reader, f io.Reader) error {
	z := html.NewTokenizer(decodeXHTML(f))
	z.SetMaxBuf(maxToken)
	z.AllowCDATA(true)
	c := chapterWriter{reader: r, space: true}
	r.page.Open("section")
	for n := 0; ; n++ {
		if n%64 == 0 {
			if err := r.stop(); err != nil {
				return err
			}
		}
		switch kind := z.Next(); kind {
		case html.ErrorToken:
			if err := z.Err(); errors.Is(err, html.ErrBufferExceeded) {
				return fmt.Errorf("a token has more than %d bytes: %w", maxToken, ErrLimit)
			} else if !isEOF(err) {
				return err
			}
			return nil
		case html.TextToken:
			c.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			empty := kind == html.SelfClosingTagToken
			if empty {
				// <title/> and <script/> are empty in XHTML; in HTML they would swallow the rest.
				z.NextIsNotRawText()
			}
			c.start(z, empty)
		case html.EndTagToken:
			name, _ := z.TagName()
			c.end(string(name))
		}
	}
}

// chapterWriter writes the elements of one chapter.
type chapterWriter struct {
	*reader
	open  []string // elements of the page, by the names of the chapter
	skip  string   // the element whose content is left out
	depth int      // elements of that name that are open
	pre   int      // of open that are pre
	space bool     // the text before ends in a space
}

// written are the elements that are passed on, and what they become.
var written = map[string]string{
	"p": "p", "h1": "h1", "h2": "h2", "h3": "h3", "h4": "h4", "h5": "h5", "h6": "h6", "ul": "ul",
	"ol": "ol", "li": "li", "table": "table", "tr": "tr", "th": "th", "td": "td", "pre": "pre",
	"blockquote": "blockquote", "section": "section", "article": "section", "a": "a",
	"div": "div", "dl": "div", "dt": "p", "dd": "p", "figure": "div", "figcaption": "p",
	"caption": "p", "aside": "section", "nav": "section", "header": "div", "footer": "div",
	"address": "p", "main": "div", "hgroup": "div", "details": "div", "summary": "p",
	// DTBook, which EPUB 2 allows.
	"level": "section", "level1": "section", "level2": "section", "level3": "section",
	"level4": "section", "level5": "section", "level6": "section", "list": "ul", "doctitle": "h1",
	"docauthor": "p",
}

// leftOut are the elements whose content is no text of the chapter.
var leftOut = map[string]bool{
	"head": true, "script": true, "style": true, "template": true, "svg": true, "iframe": true,
	"object": true, "audio": true, "video": true, "canvas": true, "rt": true, "rp": true,
	"annotation": true, "annotation-xml": true, "select": true, "textarea": true,
}

// isLine reports whether an element of the page is a paragraph or a heading: a block ends it.
func isLine(name string) bool {
	return name == "p" || len(name) == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6'
}

// start reads a start tag. Its attributes are taken one by one: a list of them may be large.
func (c *chapterWriter) start(z *html.Tokenizer, empty bool) {
	tag, more := z.TagName()
	name := localName(string(tag))
	if c.skip != "" {
		if name == c.skip && !empty {
			c.depth++
		}
		return
	}
	link, hidden := "", false
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		switch string(key) {
		case "href":
			link = absolute(string(value))
		case "hidden":
			hidden = true
		}
	}
	if leftOut[name] || hidden {
		if !empty && !isVoid(name) {
			c.skip, c.depth = name, 1
		}
		return
	}
	switch name {
	case "br":
		c.page.Break()
		c.space = true
		return
	case "hr":
		return
	}
	element, ok := written[name]
	if !ok || empty || len(c.open) >= maxNesting {
		return
	}
	if element == "a" {
		c.page.Link(link)
	} else {
		for len(c.open) > 0 && isLine(written[c.open[len(c.open)-1]]) {
			c.close()
		}
		c.page.Open(element)
		c.space = true
	}
	c.open = append(c.open, name)
	if element == "pre" {
		c.pre++
	}
}

func (c *chapterWriter) end(name string) {
	name = localName(name)
	if c.skip != "" {
		if name == c.skip {
			if c.depth--; c.depth == 0 {
				c.skip = ""
			}
		}
		return
	}
	if written[name] == "" {
		return
	}
	for i := len(c.open) - 1; i >= 0; i-- {
		if c.open[i] == name {
			for len(c.open) > i {
				c.close()
			}
			return
		}
	}
}

func (c *chapterWriter) close() {
	last := len(c.open) - 1
	element := written[c.open[last]]
	if element == "pre" {
		c.pre--
	}
	if element != "a" {
		c.space = true
	}
	c.open = c.open[:last]
	c.page.Close()
}

// text adds text. White space is collapsed, as in a browser, but in pre.
func (c *chapterWriter) text(s string) {
	if c.skip != "" {
		return
	}
	if c.pre == 0 {
		s = c.collapse(s)
	}
	if s == "" {
		return
	}
	c.out.wrote = true
	c.page.Text(s)
}

func (c *chapterWriter) collapse(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch r {
		case ' ', '\t', '\n', '\r', '\f':
			if !c.space {
				b.WriteByte(' ')
			}
			c.space = true
		default:
			c.space = false
			b.WriteRune(r)
		}
	}
	return b.String()
}

// localName is a name without the prefix of its namespace: some books write xhtml:p.
func localName(name string) string {
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		return name[i+1:]
	}
	return name
}

func isVoid(name string) bool {
	switch name {
	case "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param",
		"source", "track", "wbr":
		return true
	}
	return false
}

var declaredEncoding = regexp.MustCompile(
	`^\s*<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']`)

// decodeXHTML makes UTF-8 of a chapter: by its byte order mark, its XML declaration, or as UTF-8.
func decodeXHTML(f io.Reader) io.Reader {
	r := bufio.NewReaderSize(f, 4<<10)
	head, _ := r.Peek(256)
	if isUTF16(head) {
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewDecoder().Reader(r)
	}
	if m := declaredEncoding.FindSubmatch(head); m != nil {
		e, name := charset.Lookup(string(m[1]))
		if e != nil && name != "utf-8" && !strings.HasPrefix(name, "utf-16") {
			return e.NewDecoder().Reader(r)
		}
	}
	if len(head) >= 3 && string(head[:3]) == "\xef\xbb\xbf" {
		_, _ = r.Discard(3) // cannot fail: the bytes are buffered
	}
	return r
}

// plainText is the text of a value that may be a piece of HTML.
func plainText(s string) string {
	if !strings.Contains(s, "<") {
		return s
	}
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(s))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.Join(strings.Fields(b.String()), " ")
		case html.TextToken:
			b.WriteString(html.UnescapeString(string(z.Raw())))
		default:
			b.WriteByte(' ')
		}
	}
}
