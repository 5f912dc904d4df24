package maintext

import (
	"strings"
	"unicode/utf8"

	"crawlnode/web/htmlparse"
)

// Page is what was found. Strings are valid UTF-8.
type Page struct {
	Title       string
	Description string
	Headings    []string
	Text        string // paragraphs by newline; two where something was left out
	Language    string // ISO 639-1, declared or detected; "" when neither
	// Detected: the language was read from the text, because none that fits it was declared.
	Detected  bool
	Truncated bool // a limit has cut something
}

// The limits for one page.
const (
	MaxText     = 960 << 10 // the largest pages of real documentation have less
	MaxHeadings = 256
	MaxBlocks   = 50_000
	// Of a page that is kept whole.
	MaxWhole       = 4 << 20
	MaxWholeBlocks = 400_000
	maxTitle       = 1 << 10
)

// Extract reads a page: its body as it was served (HTML, XHTML or plain text), decoded from its
// Content-Encoding, and its Content-Type header ("" when there was none). language is what the
// server declared (Content-Language), "" for nothing. body is not changed and not kept.
func Extract(body []byte, contentType, language string) Page {
	return extract(body, contentType, language, mainPart)
}

// Whole is Extract for a page that has no menus and banners, such as one that was made of a
// document: all of its text that can be seen is kept, up to MaxWhole.
func Whole(body []byte, contentType, language string) Page {
	return extract(body, contentType, language, wholePage)
}

func extract(body []byte, contentType, language string, c choice) Page {
	text := htmlparse.UTF8(body, contentType)
	if kind, _, _ := strings.Cut(strings.ToLower(contentType), ";"); strings.TrimSpace(kind) ==
		"text/plain" {
		return plain(text, language)
	}
	r := newReader(text, contentType, c)
	defer r.release()
	r.read()
	p := Page{Truncated: r.truncated}
	kept, _ := c.of(r.blocks)
	p.take(r.text, r.blocks, kept, c.text)
	p.Title = r.title
	if p.Title == "" {
		p.Title = r.shareTitle
	}
	if p.Title == "" && len(p.Headings) > 0 {
		p.Title = p.Headings[0]
	}
	p.Title = cut(p.Title, maxTitle)
	p.Description = cut(r.description, maxTitle)
	if p.Description == "" {
		p.Description = cut(r.shareDescription, maxTitle)
	}
	if r.language != "" {
		language = r.language
	}
	p.Language, p.Detected = languageOf(language, p.Text)
	return p
}

// Shorten leaves of a text that is kept whole what is kept of a page: MaxText.
func (p *Page) Shorten() {
	if len(p.Text) > MaxText {
		p.Text, p.Truncated = cut(p.Text, MaxText), true
	}
}

// take takes the text of the blocks that were chosen, with an empty line where one that can be seen
// was left out.
func (p *Page) take(text []byte, blocks, kept []block, most int) {
	total := 0
	for i := range kept {
		total += kept[i].len() + 1
	}
	var all strings.Builder
	all.Grow(min(total, most))
	for i := range kept {
		b := &kept[i]
		text := text[b.from:b.to]
		if b.heading && len(p.Headings) < MaxHeadings {
			p.Headings = append(p.Headings, string(text))
		}
		omitted := false
		for blocks[0].from != b.from {
			omitted = omitted || !blocks[0].place.hidden
			blocks = blocks[1:]
		}
		blocks = blocks[1:]
		if all.Len() > 0 {
			all.WriteByte('\n')
			if omitted && all.Len() < most {
				all.WriteByte('\n')
			}
		}
		if left := most - all.Len(); len(text) >= left { // room for a newline stays
			all.WriteString(cut(string(text), max(left-1, 0)))
			p.Truncated = true
			break
		}
		all.Write(text)
	}
	p.Text = all.String()
}

// plain is a text without markup.
func plain(text []byte, language string) Page {
	var p Page
	lines := strings.Split(cut(string(text), MaxText), "\n")
	for i, line := range lines {
		lines[i] = clean([]byte(line), MaxText)
	}
	p.Text = strings.TrimSpace(strings.Join(lines, "\n"))
	p.Truncated = len(text) > MaxText
	p.Language, p.Detected = languageOf(language, p.Text)
	return p
}

// clean collapses white space, and makes the text valid UTF-8 without control characters, of most
// bytes at the most.
func clean(b []byte, most int) string {
	s := string(b[:min(len(b), 4*most)]) // a megabyte of white space is not copied
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	return cut(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7F {
			return -1
		}
		return r
	}, s), most)
}

// cut is at most n bytes of s, at a whole character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
