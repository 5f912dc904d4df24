package htmlparse

// rawAnchor is how many bytes of the page are read for the text of one link. The text may contain
// character references and much white space.
const rawAnchor = 4 * MaxAnchor

// anchorLink takes an a element. It ends the previous one, whose end tag may be missing: links are
// not nested (HTML Standard, section 4.5.1).
func (p *parser) anchorLink() {
	p.endAnchor()
	before := len(p.doc.Links)
	p.hyperlink("a")
	if !p.anchors || len(p.doc.Links) == before {
		return
	}
	if p.anchorBytes >= MaxAnchorBytes {
		p.doc.AnchorsTruncated = true
		return
	}
	if s := &p.scan; s.selfClosing && (s.xml || p.foreign > 0) {
		return // it has no content
	}
	p.inAnchor, p.anchorAt, p.anchor = true, before, p.anchor[:0]
}

// anchorText adds a piece of the page to the text of the open link. White space before it, and an
// element before it that ends a word, become one space.
func (p *parser) anchorText(b []byte) {
	space := p.space
	for len(b) > 0 && b[0] <= ' ' {
		b, space = b[1:], true
	}
	room := rawAnchor - len(p.anchor) - 1
	if room <= 0 || len(b) == 0 && !space {
		return
	}
	if space && len(p.anchor) > 0 {
		p.anchor = append(p.anchor, ' ')
	}
	if len(b) > room {
		b = b[:runeBoundary(b, room)]
	}
	p.anchor = append(p.anchor, b...)
}

// endAnchor ends the open link, if there is one, and stores its text.
func (p *parser) endAnchor() {
	if !p.inAnchor {
		return
	}
	p.inAnchor = false
	if len(p.anchor) == 0 {
		return
	}
	text := clean(unescape(p.anchor, false), MaxAnchor)
	for len(p.doc.Anchors) < p.anchorAt {
		p.doc.Anchors = append(p.doc.Anchors, "")
	}
	p.doc.Anchors = append(p.doc.Anchors, text)
	p.anchorBytes += len(text)
}
