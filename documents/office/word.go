package office

import (
	"strconv"
	"strings"
)

// word reads a docx: the body in its order, then footnotes and endnotes.
type word struct {
	*reader
	rels   map[string]relationship
	styles map[string]*wordStyle
	lists  map[string]map[int]bool // numbering: number -> levels that are ordered
	fields []wordField
	boxes  []kept // text boxes of the paragraph that is read
	hidden bool   // the run
	titled bool   // a paragraph of style Title was found
	drop   bool   // the paragraph is a drop cap: a frame with the first letters of the next one
	capped string // the letters of a drop cap that waits for the rest of its word
}

// wordStyle is what counts of a paragraph's style; unset levels are -1.
type wordStyle struct {
	based   string
	outline int
	number  string
	level   int
	title   bool
	hidden  bool
}

// wordField is a complex field: its instruction is text until its result begins.
type wordField struct {
	instruction []byte
	result      bool
	link        string // the address around the field
}

const (
	maxBased       = 16      // styles that a style is based on
	maxInstruction = 4 << 10 // bytes
	maxFields      = 64      // that nest
)

func readWord(r *reader) error {
	d := &word{reader: r, styles: map[string]*wordStyle{}, lists: map[string]map[int]bool{}}
	main := r.mainPart("word/document.xml")
	rels, order := r.relations(main)
	d.rels = rels
	r.note(d.readStyles(related(rels, order, "styles", "word/styles.xml")))
	r.note(d.readNumbering(related(rels, order, "numbering", "word/numbering.xml")))
	err := r.part(main, true, func(x *xmlReader, _, e element) error {
		if e.Name.Local != "body" {
			return nil
		}
		return d.blocks(x)
	})
	if err != nil {
		r.out.reset()
		r.note(err)
	}
	d.text("") // of a drop cap, if nothing follows
	for _, kind := range []string{"footnotes", "endnotes"} {
		name := related(rels, order, kind, "")
		if name == "" {
			continue
		}
		d.rels, _ = r.relations(name)
		r.out.end()
		r.out.closeLists()
		d.fields = nil
		if err := r.part(name, false, d.note); err != nil {
			r.out.reset()
			r.note(err)
		}
	}
	return nil
}

// note reads a footnote or an endnote; the separators are of these types too.
func (d *word) note(x *xmlReader, _, e element) error {
	switch attr(e, "type") {
	case "separator", "continuationSeparator", "continuationNotice":
		return nil
	}
	return d.blocks(x)
}

func (d *word) readStyles(name string) error {
	return d.part(name, false, func(x *xmlReader, _, e element) error {
		switch e.Name.Local {
		case "docDefaults":
			return d.defaults(x)
		case "style":
			if !d.room(len(d.styles)) {
				return nil
			}
			s := &wordStyle{outline: -1, level: -1}
			d.styles[attr(e, "styleId")] = s
			return x.each(func(e element) error { return d.style(x, e, s) }, nil)
		}
		return nil
	})
}

func (d *word) defaults(x *xmlReader) error {
	var walk func(element) error
	walk = func(e element) error {
		if e.Name.Local == "lang" {
			d.language(attr(e, "val"))
		}
		return x.each(walk, nil)
	}
	return x.each(walk, nil)
}

func (d *word) style(x *xmlReader, e element, s *wordStyle) error {
	switch e.Name.Local {
	case "name":
		// Built-in styles have these names in every language; their identifiers are translated.
		name := strings.ToLower(attr(e, "val"))
		s.title = name == "title"
		if level, ok := strings.CutPrefix(name, "heading "); ok && s.outline < 0 {
			if n, err := strconv.Atoi(level); err == nil && n >= 1 && n <= 9 {
				s.outline = n - 1
			}
		}
	case "basedOn":
		s.based = attr(e, "val")
	case "pPr":
		var p wordParagraph
		p.reset()
		if err := x.each(func(e element) error { return d.property(x, e, &p) }, nil); err != nil {
			return err
		}
		if p.outline >= 0 {
			s.outline = p.outline
		}
		s.number, s.level = p.number, p.level
	case "rPr":
		return x.each(func(e element) error {
			if e.Name.Local == "vanish" {
				s.hidden = on(e)
			}
			return nil
		}, nil)
	}
	return nil
}

// readNumbering learns which levels of which lists are ordered.
func (d *word) readNumbering(name string) error {
	abstract := map[string]map[int]bool{}
	return d.part(name, false, func(x *xmlReader, _, e element) error {
		switch e.Name.Local {
		case "abstractNum":
			if !d.room(len(abstract)) {
				return nil
			}
			levels := map[int]bool{}
			abstract[attr(e, "abstractNumId")] = levels
			return x.each(func(e element) error {
				level, err := strconv.Atoi(attr(e, "ilvl"))
				if e.Name.Local != "lvl" || err != nil || level < 0 || level >= maxListDepth {
					return nil
				}
				return x.each(func(e element) error {
					if e.Name.Local == "numFmt" {
						format := attr(e, "val")
						levels[level] = format != "bullet" && format != "none"
					}
					return nil
				}, nil)
			}, nil)
		case "num":
			if !d.room(len(d.lists)) {
				return nil
			}
			number := attr(e, "numId")
			return x.each(func(e element) error {
				if e.Name.Local == "abstractNumId" {
					d.lists[number] = abstract[attr(e, "val")]
				}
				return nil
			}, nil)
		}
		return nil
	})
}

func (d *word) blocks(x *xmlReader) error {
	return x.each(func(e element) error { return d.block(x, e) }, nil)
}

// block reads what may stand between paragraphs.
func (d *word) block(x *xmlReader, e element) error {
	switch e.Name.Local {
	case "p":
		return d.paragraph(x)
	case "tbl":
		return d.table(x)
	case "del", "moveFrom", "sectPr", "sdtPr", "sdtEndPr", "customXmlPr":
		return nil
	case "AlternateContent":
		return alternate(x, d.blocks)
	}
	return d.blocks(x)
}

// alternate reads one branch of markup compatibility: the first choice, or the fallback if there is
// none. The others have the same content in other words.
func alternate(x *xmlReader, fn func(*xmlReader) error) error {
	done := false
	return x.each(func(e element) error {
		if done || e.Name.Local != "Choice" && e.Name.Local != "Fallback" {
			return nil
		}
		done = true
		return fn(x)
	}, nil)
}

// wordParagraph is what a paragraph's properties say; -1 and "" are unset.
type wordParagraph struct {
	style   string
	outline int
	number  string
	level   int
	drop    bool
}

func (p *wordParagraph) reset() { *p = wordParagraph{outline: -1, level: -1} }

func (d *word) property(x *xmlReader, e element, p *wordParagraph) error {
	switch e.Name.Local {
	case "pStyle":
		p.style = attr(e, "val")
	case "framePr":
		kind := attr(e, "dropCap")
		p.drop = kind == "drop" || kind == "margin"
	case "outlineLvl":
		if n, err := strconv.Atoi(attr(e, "val")); err == nil && n >= 0 && n <= 9 {
			p.outline = n
		}
	case "numPr":
		return x.each(func(e element) error {
			switch e.Name.Local {
			case "ilvl":
				n, err := strconv.Atoi(attr(e, "val"))
				if err == nil && n >= 0 && n < maxListDepth {
					p.level = n
				}
			case "numId":
				p.number = attr(e, "val")
			}
			return nil
		}, nil)
	}
	return nil
}

// builtIn is a style that the document uses and does not describe, as small programs write it: it
// has the identifier that Word gives the style in English.
func builtIn(id string) *wordStyle {
	s := &wordStyle{outline: -1, level: -1, title: id == "Title"}
	if level, ok := strings.CutPrefix(id, "Heading"); ok {
		if n, err := strconv.Atoi(level); err == nil && n >= 1 && n <= 9 {
			s.outline = n - 1
		}
	}
	return s
}

// para is the kind of a paragraph, by its properties and its styles.
func (d *word) para(p wordParagraph) (out para, title bool) {
	name := p.style
	for range maxBased {
		if name == "" {
			break
		}
		s := d.styles[name]
		if s == nil {
			s = builtIn(name)
		}
		if p.outline < 0 {
			p.outline = s.outline
		}
		if p.number == "" {
			p.number = s.number
		}
		if p.level < 0 {
			p.level = s.level
		}
		title, out.hidden = title || s.title, out.hidden || s.hidden
		name = s.based
	}
	switch {
	case p.outline >= 0 && p.outline < 9: // 9 is body text
		out.heading = p.outline + 1
	case title:
		out.heading = 1
	case p.number != "" && p.number != "0": // 0 removes the number that a style gives
		out.list, out.item, out.id = max(p.level, 0)+1, true, p.number
		out.ordered = d.lists[p.number][max(p.level, 0)]
	}
	return out, title
}

func (d *word) paragraph(x *xmlReader) error {
	if err := d.stop(); err != nil {
		return err
	}
	d.out.begin(para{})
	err := x.each(func(e element) error {
		if e.Name.Local != "pPr" {
			return d.inline(x, e)
		}
		var p wordParagraph
		p.reset()
		if err := x.each(func(e element) error { return d.property(x, e, &p) }, nil); err != nil {
			return err
		}
		kind, title := d.para(p)
		if title && !d.titled {
			d.titled = true
			d.out.copied = &strings.Builder{}
		}
		d.out.begin(kind)
		d.drop = p.drop
		return nil
	}, nil)
	d.out.end()
	d.drop = false
	if d.out.copied != nil {
		d.page.Title(d.out.copied.String())
		d.out.copied = nil
	}
	// A field whose result has not begun ends here, or it would silence the rest of the document.
	d.fields = d.fields[:d.results()]
	boxes, fields, link := d.boxes, d.fields, d.out.link
	d.boxes, d.fields = nil, nil
	for _, box := range boxes {
		if err != nil {
			break
		}
		d.out.setLink("")
		err = d.blocks(box.replay())
		d.release(box)
	}
	d.fields = fields
	d.out.setLink(link)
	return err
}

// inline reads what may stand in a paragraph.
func (d *word) inline(x *xmlReader, e element) error {
	inner := func() error {
		return x.each(func(e element) error { return d.inline(x, e) }, nil)
	}
	switch e.Name.Local {
	case "r":
		hidden := d.hidden
		d.hidden = false
		err := inner()
		d.hidden = hidden
		return err
	case "rPr":
		return d.runProperties(x)
	case "t":
		return x.each(nil, func(b []byte) { d.text(string(b)) })
	case "tab", "ptab":
		d.text("\t")
	case "br", "cr":
		if !d.silent() {
			d.out.lineBreak()
		}
	case "noBreakHyphen":
		d.text("\u2011")
	case "hyperlink":
		return d.linked(d.rels[relation(e)], inner)
	case "fldSimple":
		return d.linked(relationship{target: hyperlink(attr(e, "instr")), external: true}, inner)
	case "fldChar":
		d.fieldMark(attr(e, "fldCharType"))
	case "instrText":
		return x.each(nil, func(b []byte) {
			if n := len(d.fields); n > 0 && len(d.fields[n-1].instruction) < maxInstruction {
				f := &d.fields[n-1]
				f.instruction = append(f.instruction, b[:min(len(b), maxInstruction)]...)
			}
		})
	case "txbxContent":
		tokens, err := d.keep(x)
		d.boxes = append(d.boxes, tokens)
		return err
	case "AlternateContent":
		return alternate(x, func(*xmlReader) error { return inner() })
	case "tbl":
		return d.table(x)
	case "p":
		return d.paragraph(x)
	case "del", "moveFrom", "delText", "rt", "sdtPr", "sdtEndPr", "smartTagPr", "pPr":
	default:
		return inner()
	}
	return nil
}

func (d *word) runProperties(x *xmlReader) error {
	return x.each(func(e element) error {
		switch e.Name.Local {
		case "vanish":
			d.hidden = on(e)
		case "rStyle":
			if s := d.styles[attr(e, "val")]; s != nil && s.hidden {
				d.hidden = true
			}
		}
		return nil
	}, nil)
}

// silent reports whether text is not shown: it is hidden, or of the instruction of a field.
func (d *word) silent() bool {
	return d.hidden || d.results() < len(d.fields)
}

// results is the number of open fields, from the outermost, whose result is read.
func (d *word) results() int {
	for i := range d.fields {
		if !d.fields[i].result {
			return i
		}
	}
	return len(d.fields)
}

func (d *word) text(s string) {
	switch {
	case d.silent():
	case d.drop && len(d.capped) < maxTitle:
		d.capped += s[:min(len(s), maxTitle)]
	default:
		d.out.text(d.capped + s)
		d.capped = ""
	}
}

// linked reads what is in a link.
func (d *word) linked(rel relationship, inner func() error) error {
	before := d.out.link
	if target := address(rel.target); rel.external && target != "" {
		d.out.setLink(target)
	}
	err := inner()
	d.out.setLink(before)
	return err
}

// fieldMark is a mark of a complex field: begin, separate or end.
func (d *word) fieldMark(kind string) {
	n := len(d.fields)
	switch {
	case kind == "begin" && n < maxFields:
		d.fields = append(d.fields, wordField{link: d.out.link})
	case kind == "separate" && n > 0 && !d.fields[n-1].result:
		f := &d.fields[n-1]
		f.result = true
		if target := hyperlink(string(f.instruction)); target != "" {
			d.out.setLink(target)
		}
	case kind == "end" && n > 0:
		d.out.setLink(d.fields[n-1].link)
		d.fields = d.fields[:n-1]
	}
}

func (d *word) table(x *xmlReader) error {
	return d.rows(x, d.blocks)
}

// rows reads a table of the shape that WordprocessingML and DrawingML share: tr, tc, and properties
// of which only deletion counts.
func (r *reader) rows(x *xmlReader, cell func(*xmlReader) error) error {
	r.out.openTable()
	var row func(element) error
	row = func(e element) error {
		switch e.Name.Local {
		case "tr":
			if err := r.stop(); err != nil {
				return err
			}
			return r.row(x, cell)
		case "del", "tblPr", "tblGrid":
			return nil
		}
		return x.each(row, nil) // ins, sdt, customXml
	}
	if err := x.each(row, nil); err != nil {
		return err
	}
	r.out.closeTable()
	return nil
}

func (r *reader) row(x *xmlReader, cell func(*xmlReader) error) error {
	r.out.openRow()
	deleted := false
	var each func(element) error
	each = func(e element) error {
		switch {
		case deleted:
		case e.Name.Local == "trPr":
			return x.each(func(e element) error {
				deleted = deleted || e.Name.Local == "del"
				return nil
			}, nil)
		case e.Name.Local == "tc":
			if !r.cell() {
				return nil
			}
			r.out.openCell()
			if err := cell(x); err != nil {
				return err
			}
			r.out.closeCell()
		case e.Name.Local == "tcPr", e.Name.Local == "sdtPr", e.Name.Local == "tblPrEx":
		default:
			return x.each(each, nil)
		}
		return nil
	}
	err := x.each(each, nil)
	if err == nil {
		r.out.closeRow()
	}
	return err
}
