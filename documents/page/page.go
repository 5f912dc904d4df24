package page

import (
	"html"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The limits of a page's head and of its nesting.
const (
	maxDepth   = 64      // of open elements; deeper ones are left out, their text is kept
	maxValue   = 4 << 10 // bytes of a property
	maxMetas   = 64
	maxAddress = 2 << 10 // bytes of a link's address
)

// The names of properties. They are those that readers of web pages know: the standard metadata
// names of HTML, and the terms of Dublin Core.
const (
	Author      = "author" // one for each author
	Description = "description"
	Keywords    = "keywords"
	Generator   = "generator"
	Created     = "dcterms.created"
	Modified    = "dcterms.modified"
	Publisher   = "dcterms.publisher"
	Rights      = "dcterms.rights"
	Type        = "dcterms.type"
	Identifier  = "dcterms.identifier"
)

// Writer writes one page. The zero value is not usable; use New.
type Writer struct {
	body      strings.Builder
	head      strings.Builder
	title     string
	language  string
	open      []string // elements; "" for one that was left out
	metas     int
	max       int
	closing   int  // bytes of the end tags of open
	full      bool // something of the body did not fit; nothing is added behind it
	truncated bool
}

// New returns a writer of a page whose body has at most limit bytes.
func New(limit int) *Writer { return &Writer{max: limit} }

// Title sets the title. The first one that is not empty counts.
func (w *Writer) Title(s string) {
	if w.title == "" {
		w.title = value(s)
	}
}

// Language sets the language, a tag of BCP 47. The first one that is not empty counts.
func (w *Writer) Language(tag string) {
	if w.language == "" && len(tag) <= 64 {
		w.language = value(tag)
	}
}

// Property adds a property; empty ones are ignored.
func (w *Writer) Property(name, content string) {
	if content = value(content); content == "" {
		return
	}
	if w.metas++; w.metas > maxMetas {
		w.truncated = true
		return
	}
	w.head.WriteString(`<meta name="` + html.EscapeString(name) + `" content="` +
		html.EscapeString(content) + "\">\n")
}

// Time adds a property that is a time. The zero time is ignored.
func (w *Writer) Time(name string, t time.Time) {
	if !t.IsZero() {
		w.Property(name, t.Format(time.RFC3339))
	}
}

// Open begins an element: p, h1 to h6, ul, ol, li, table, tr, th, td, pre, blockquote, section. The
// caller closes it.
func (w *Writer) Open(name string) {
	tag := "<" + name + ">"
	end := len("</>\n") + len(name)
	if len(w.open) >= maxDepth || !w.fits(len(tag)+end) {
		w.open = append(w.open, "")
		return
	}
	w.body.WriteString(tag)
	w.open = append(w.open, name)
	w.closing += end
}

// Heading begins a heading; levels above 6 are 6, below 1 are 1.
func (w *Writer) Heading(level int) { w.Open("h" + strconv.Itoa(min(max(level, 1), 6))) }

// Link begins a link. An address that is empty or too long makes none. The caller closes it.
func (w *Writer) Link(address string) {
	tag := `<a href="` + html.EscapeString(clean(address)) + `">`
	const end = len("</a>\n")
	if address == "" || len(address) > maxAddress || len(w.open) >= maxDepth || !w.fits(len(tag)+end) {
		w.open = append(w.open, "")
		return
	}
	w.body.WriteString(tag)
	w.open = append(w.open, "a")
	w.closing += end
}

// Close ends the innermost open element.
func (w *Writer) Close() {
	if len(w.open) == 0 {
		panic("BUG: page.Close without an open element")
	}
	name := w.open[len(w.open)-1]
	w.open = w.open[:len(w.open)-1]
	if name == "" {
		return
	}
	w.closing -= len("</>\n") + len(name)
	w.body.WriteString("</" + name + ">")
	if name != "a" {
		w.body.WriteByte('\n')
	}
}

// Depth is the number of open elements, for a caller that closes what it finds open.
func (w *Writer) Depth() int { return len(w.open) }

// Text adds text: made valid UTF-8, without control characters but line ends and tabs.
func (w *Writer) Text(s string) {
	if s == "" {
		return
	}
	// A long text is escaped in pieces, so that a limit costs no copy of the whole.
	for len(s) > 0 && !w.full {
		n := min(len(s), 32<<10)
		for n < len(s) && n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		if n == 0 {
			n = min(len(s), 32<<10) // no UTF-8
		}
		w.piece(html.EscapeString(clean(s[:n])))
		s = s[n:]
	}
}

func (w *Writer) piece(escaped string) {
	full := w.full
	if w.fits(len(escaped)) {
		w.body.WriteString(escaped)
		return
	}
	if full {
		return
	}
	left := max(w.max-w.body.Len()-w.closing, 0)
	cut := escaped[:min(left, len(escaped))]
	if i := strings.LastIndexByte(cut, '&'); i >= 0 && !strings.Contains(cut[i:], ";") {
		cut = cut[:i]
	}
	for len(cut) > 0 && !utf8.ValidString(cut[max(len(cut)-utf8.UTFMax, 0):]) {
		if r, size := utf8.DecodeLastRuneInString(cut); r != utf8.RuneError || size > 1 {
			break
		}
		cut = cut[:len(cut)-1]
	}
	w.body.WriteString(cut)
}

// Break adds a line break.
func (w *Writer) Break() {
	if w.fits(len("<br>")) {
		w.body.WriteString("<br>")
	}
}

// Paragraph adds a paragraph of text.
func (w *Writer) Paragraph(s string) {
	w.Open("p")
	w.Text(s)
	w.Close()
}

// Truncate marks the page as not whole: its reader has left something out.
func (w *Writer) Truncate() { w.truncated = true }

// Truncated reports whether something was left out.
func (w *Writer) Truncated() bool { return w.truncated }

// Full reports whether nothing more fits: the reader may stop.
func (w *Writer) Full() bool { return w.full || w.body.Len()+w.closing+64 > w.max }

// HTML closes what is open and returns the page.
func (w *Writer) HTML() []byte {
	for len(w.open) > 0 {
		w.Close()
	}
	var b strings.Builder
	b.Grow(w.body.Len() + w.head.Len() + 256)
	b.WriteString("<!DOCTYPE html>\n<html")
	if w.language != "" {
		b.WriteString(` lang="` + html.EscapeString(w.language) + `"`)
	}
	b.WriteString(">\n<head>\n<meta charset=\"utf-8\">\n")
	if w.title != "" {
		b.WriteString("<title>" + html.EscapeString(w.title) + "</title>\n")
	}
	b.WriteString(w.head.String())
	b.WriteString("</head>\n<body>\n")
	b.WriteString(w.body.String())
	b.WriteString("</body>\n</html>\n")
	return []byte(b.String())
}

// fits reports whether n more bytes fit beside the end tags of what is open, and behind nothing
// that did not fit: the page is a beginning of the document, without gaps.
func (w *Writer) fits(n int) bool {
	if !w.full && w.body.Len()+w.closing+n <= w.max {
		return true
	}
	w.full, w.truncated = true, true
	return false
}

// value is a property's value: one line, of bounded length.
func value(s string) string {
	if len(s) > maxValue {
		s = s[:maxValue]
	}
	return strings.Join(strings.Fields(clean(s)), " ")
}

// clean makes text valid UTF-8 without control characters but line ends and tabs.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\f' || r == '\v' || r == 0x85:
			return ' '
		case r < ' ' || r >= 0x7F && r < 0xA0:
			return -1
		case r == 0xFFFE || r == 0xFFFF: // no characters
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}
