package htmlparse

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"

	"crawlnode/web/urlnorm"
)

// parser is the state of one pass over a page.
type parser struct {
	doc           Document
	size          int               // bytes of the page
	queryEncoding encoding.Encoding // of the page, when queries are to be written in it; else nil
	baseSeen      bool              // a base element with an address was met, whatever it was worth
	lateBase      bool              // it came behind references that it should have applied to
	noscript      bool              // inside noscript or noframes
	cutComment    bool              // the last token was a comment that has not ended
	raw           string            // element whose content comes as one raw text token, or ""
	space         bool              // a space is due before the next word of doc.Text
	linkBytes     int
	attrs         attributes
	name          [16]byte // of the current tag; longer names than any that matters
}

// run reads body, stepping over the tokens that the tokenizer cannot hold.
func (p *parser) run(body []byte) {
	p.size = len(body)
	for len(body) > 0 {
		n, complete := p.tokens(body)
		if complete {
			return
		}
		p.doc.Oversized++
		body = p.behindOversized(body[n:])
	}
}

// tokens reads tokens up to the end of body, and then reports true, or up to
// one that is too large, and then says how many bytes stand before the rest.
func (p *parser) tokens(body []byte) (consumed int, complete bool) {
	z := html.NewTokenizer(bytes.NewReader(body))
	z.SetMaxBuf(maxToken)
	for {
		switch z.Next() {
		case html.ErrorToken:
			return consumed, !errors.Is(z.Err(), html.ErrBufferExceeded)
		case html.TextToken:
			p.text(z)
		case html.StartTagToken, html.SelfClosingTagToken:
			p.startTag(z)
		case html.EndTagToken:
			p.endTag(z)
		}
		raw := z.Raw()
		p.cutComment = bytes.HasPrefix(raw, []byte("<!--")) && !bytes.HasSuffix(raw, []byte("-->"))
		consumed += len(raw)
	}
}

// behindOversized returns what follows the token, or the rest of the token,
// that rest begins with.
func (p *parser) behindOversized(rest []byte) []byte {
	switch {
	case p.raw != "":
		end := indexEndTag(rest, p.raw)
		p.raw = ""
		return rest[end:]
	case p.cutComment || bytes.HasPrefix(rest, []byte("<!--")):
		if end := bytes.Index(rest, []byte("-->")); end >= 0 {
			return rest[end+len("-->"):]
		}
		return nil
	case bytes.HasPrefix(rest, []byte("<")):
		// Most likely a tag with an inline image in it, which has no '<'.
		rest = rest[min(maxToken, len(rest)):]
	}
	if next := bytes.IndexByte(rest, '<'); next >= 0 {
		return rest[next:]
	}
	return nil
}

// indexEndTag returns the offset of "</name" in b, or len(b).
func indexEndTag(b []byte, name string) int {
	for at := 0; ; {
		next := bytes.Index(b[at:], []byte("</"))
		if next < 0 {
			return len(b)
		}
		at += next
		tail := b[at+len("</"):]
		if len(tail) >= len(name) && strings.EqualFold(string(tail[:len(name)]), name) {
			return at
		}
		at += len("</")
	}
}

// text takes a text token: the title, or visible text, or the content of an
// element that shows none.
func (p *parser) text(z *html.Tokenizer) {
	switch {
	case p.raw == "title" && p.doc.Title == "":
		p.doc.Title = clean(z.Text(), maxTitle)
	case p.raw == "" && !p.noscript:
		p.appendText(z.Text())
	}
}

// appendText adds b to the page's text, with each stretch of white space made
// one space.
func (p *parser) appendText(b []byte) {
	if len(p.doc.Text) >= MaxText {
		p.doc.TextTruncated = p.doc.TextTruncated || len(bytes.TrimSpace(b)) > 0
		return
	}
	text := p.doc.Text
	if text == nil {
		// Half of a page is text, more or less; growing step by step would copy it
		// several times.
		text = make([]byte, 0, min(p.size/2+512, MaxText))
	}
	start := -1 // of the current word
	for i := 0; i <= len(b); i++ {
		if i < len(b) && b[i] > ' ' {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			if p.space && len(text) > 0 {
				text = append(text, ' ')
			}
			text = append(text, b[start:i]...)
			start, p.space = -1, false
		}
		p.space = p.space || i < len(b)
	}
	if len(text) > MaxText {
		text = text[:runeBoundary(text, MaxText)]
		p.doc.TextTruncated = true
	}
	p.doc.Text = text
}

// ref records the reference raw of an element.
func (p *parser) ref(tag, rel string, raw []byte) {
	if !p.baseSeen && len(raw) > 0 && raw[0] == '#' {
		return
	}
	p.doc.LinksFound++
	ref := string(raw)
	if p.queryEncoding != nil {
		ref = encodeQuery(ref, p.queryEncoding)
	}
	u, err := p.doc.Base.Resolve(ref)
	switch {
	case err == nil:
		p.keep(Link{URL: u, Tag: tag, Rel: rel, NoFollow: hasToken(rel, "nofollow")})
	case errors.Is(err, urlnorm.ErrScheme):
		p.doc.OtherScheme++
	case errors.Is(err, urlnorm.ErrTooLong):
		p.doc.TooLong++
	default:
		p.doc.Invalid++
	}
}

func (p *parser) keep(l Link) {
	p.linkBytes += len(l.URL.String())
	if len(p.doc.Links) >= MaxLinks || p.linkBytes > MaxLinkBytes {
		p.doc.LinksDropped++
		return
	}
	p.doc.Links = append(p.doc.Links, l)
}

// clean makes a string of b: valid UTF-8, white space collapsed, at most limit
// bytes.
func clean(b []byte, limit int) string {
	// A first cut keeps a megabyte of white space or of title from being copied.
	if len(b) > 4*limit {
		b = b[:4*limit]
	}
	s := strings.ToValidUTF8(strings.Join(strings.Fields(string(b)), " "), "\uFFFD")
	if len(s) > limit {
		s = s[:runeBoundary([]byte(s), limit)]
	}
	return s
}

// runeBoundary returns the largest offset up to limit at which a rune begins.
func runeBoundary(b []byte, limit int) int {
	for n := limit; n > limit-utf8.UTFMax; n-- {
		if utf8.RuneStart(b[n]) {
			return n
		}
	}
	return limit
}

// hasToken reports whether the space-separated list has the token, in any case.
func hasToken(list, token string) bool {
	for len(list) >= len(token) {
		var word string
		list = strings.TrimLeft(list, " \t\r\n\f")
		if end := strings.IndexAny(list, " \t\r\n\f"); end >= 0 {
			word, list = list[:end], list[end:]
		} else {
			word, list = list, ""
		}
		if strings.EqualFold(word, token) {
			return true
		}
	}
	return false
}
