package pdf

import (
	"slices"
	"unicode"
)

// write writes the page: headings and paragraphs with their links, then the links that stand on no
// text.
func (p *pageReader) write() {
	// Those of annotations come first in on, so that they win over an address that is written.
	all := ordered(p.on)
	links := all
	titles := headings(p.text, p.lines, p.outline[p.index])
	first := paragraphs(p.text, p.lines)
	for i := 0; i < len(p.lines); {
		end := i + 1
		if h, ok := titles[i]; ok {
			end = i + h.lines
			p.element(i, end, h.level, links)
		} else {
			for end < len(p.lines) && titles[end].lines == 0 && !first[end] {
				end++
			}
			p.element(i, end, 0, links)
		}
		i = end
		for len(links) > 0 && links[0].end <= p.lines[end-1].end {
			links = links[1:]
		}
	}
	p.list(all)
}

// element writes lines as a heading, or as a paragraph with level 0.
func (p *pageReader) element(from, to, level int, links []link) {
	start, end := p.lines[from].start, p.lines[to-1].end
	for end > start && unicode.IsSpace(p.text[end-1]) {
		end--
	}
	if text, _ := tidy(p.text[start:end], false); text == "" || text == " " {
		return
	}
	p.hasText = true
	if level > 0 {
		p.w.Heading(level)
	} else {
		p.w.Open("p")
	}
	space := false
	piece := func(from, to int) {
		if from < to {
			var text string
			text, space = tidy(p.text[from:to], space)
			p.w.Text(text)
		}
	}
	for _, l := range links {
		if l.start >= end {
			break
		}
		if l.end <= start {
			continue
		}
		from, to := max(l.start, start), min(l.end, end)
		piece(start, from)
		p.w.Link(l.address)
		piece(from, to)
		p.w.Close()
		start = to
	}
	piece(start, end)
	p.w.Close()
}

// list writes the links that stand on no text. Addresses that are links of this page already are
// left out.
func (p *pageReader) list(links []link) {
	var seen []string
	for _, l := range links {
		seen = append(seen, l.address)
	}
	open := false
	for _, address := range p.loose {
		if slices.Contains(seen, address) {
			continue
		}
		seen = append(seen, address)
		if !open {
			p.w.Open("ul")
			open = true
		}
		p.w.Open("li")
		p.w.Link(address)
		p.w.Text(address)
		p.w.Close()
		p.w.Close()
	}
	if open {
		p.w.Close()
	}
}
