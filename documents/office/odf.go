package office

import (
	"errors"
	"strconv"
	"strings"

	"crawlnode/documents/page"
)

// odf reads the three kinds of OpenDocument: paragraphs, headings, lists, tables and frames of
// content.xml; the styles before them say what is hidden and which lists are numbered.
type odf struct {
	*reader
	kind    Kind
	hidden  map[string]bool            // styles by family/name whose text is not shown
	titles  map[string]bool            // paragraph styles of titles
	ordered map[string]map[string]bool // list styles -> levels that are numbered
	list    []string                   // the styles of the lists that are open
	item    bool                       // the next paragraph is the first of its item
	sheet   bool                       // in a table of a spreadsheet, which is not in another
	space   bool                       // the text before ends in a space
	boxes   []kept
	notes   []kept
	within  int // paragraphs that are open
	tables  int // tables that are open
	titled  bool
}

const (
	familyText      = "text"
	familyParagraph = "paragraph"
	familyTable     = "table"
	familyPage      = "drawing-page"
)

func readODF(r *reader, kind Kind) error {
	d := &odf{reader: r, kind: kind, hidden: map[string]bool{},
		titles: map[string]bool{"Title": true}, ordered: map[string]map[string]bool{}}
	encrypted, err := d.encrypted()
	r.note(err)
	if encrypted {
		return ErrEncrypted
	}
	r.note(d.meta())
	r.note(r.part("styles.xml", false, func(x *xmlReader, _, e element) error {
		if e.Name.Local == "styles" {
			return d.styles(x)
		}
		return nil
	}))
	err = r.part("content.xml", true, func(x *xmlReader, _, e element) error {
		switch e.Name.Local {
		case "automatic-styles":
			return d.styles(x)
		case "body":
			return d.blocks(x)
		}
		return nil
	})
	if err != nil {
		r.out.reset()
		r.note(err)
		d.list, d.item = nil, false
	}
	return d.flushNotes()
}

// flushNotes writes the notes that were kept.
func (d *odf) flushNotes() error {
	for len(d.notes) > 0 { // a note may have notes
		note := d.notes[0]
		d.notes = d.notes[1:]
		err := d.blocks(note.replay())
		d.release(note)
		if err != nil {
			d.out.reset()
			d.notes = nil
			return err
		}
	}
	return nil
}

// encrypted reports whether the manifest says that the content is.
func (d *odf) encrypted() (found bool, err error) {
	err = d.part("META-INF/manifest.xml", false, func(x *xmlReader, _, e element) error {
		name := attr(e, "full-path")
		if e.Name.Local != "file-entry" || name != "content.xml" && name != "encrypted-package" {
			return nil
		}
		return x.each(func(e element) error {
			found = found || e.Name.Local == "encryption-data"
			return nil
		}, nil)
	})
	return found, err
}

func (d *odf) meta() error {
	var creator string
	authors := 0
	err := d.part("meta.xml", false, func(x *xmlReader, _, e element) error {
		if e.Name.Local != "meta" {
			return nil
		}
		return x.each(func(e element) error {
			value, err := x.text()
			switch e.Name.Local {
			case "title":
				d.page.Title(value)
			case "initial-creator":
				d.authors(value)
				authors++
			case "creator": // who changed it last
				creator = value
			case "subject", "keyword":
				d.keyword(value)
			case "description":
				d.page.Property(page.Description, value)
			case "language":
				d.language(value)
			case "creation-date":
				d.page.Property(page.Created, isoTime(value))
			case "date":
				d.page.Property(page.Modified, isoTime(value))
			case "publisher":
				d.page.Property(page.Publisher, value)
			case "rights":
				d.page.Property(page.Rights, value)
			case "generator":
				d.page.Property(page.Generator, value)
			}
			return err
		}, nil)
	})
	if authors == 0 {
		d.authors(creator)
	}
	return err
}

// styles reads style:style, style:default-style and text:list-style.
func (d *odf) styles(x *xmlReader) error {
	return x.each(func(e element) error {
		name, family := attr(e, "name"), attr(e, "family")
		switch e.Name.Local {
		case "style":
			parent := attr(e, "parent-style-name")
			if family == familyParagraph && d.titles[parent] && d.room(len(d.titles)) {
				d.titles[name] = true
			}
			if d.hidden[family+"/"+parent] && d.room(len(d.hidden)) {
				d.hidden[family+"/"+name] = true
			}
			return x.each(func(e element) error {
				if (attr(e, "display") == "none" || attr(e, "display") == "false" ||
					attr(e, "visibility") == "hidden") && d.room(len(d.hidden)) {
					d.hidden[family+"/"+name] = true
				}
				return nil
			}, nil)
		case "default-style":
			return x.each(func(e element) error {
				if language := attr(e, "language"); language != "" && language != "none" {
					if country := attr(e, "country"); country != "" && country != "none" {
						language += "-" + country
					}
					d.language(language)
				}
				return nil
			}, nil)
		case "list-style":
			if !d.room(len(d.ordered)) {
				return nil
			}
			levels := map[string]bool{}
			d.ordered[name] = levels
			return x.each(func(e element) error {
				if e.Name.Local == "list-level-style-number" && attr(e, "num-format") != "" &&
					len(levels) < maxListDepth+1 {
					levels[attr(e, "level")] = true
				}
				return nil
			}, nil)
		}
		return nil
	}, nil)
}

func (d *odf) blocks(x *xmlReader) error {
	return x.each(func(e element) error { return d.block(x, e) }, nil)
}

// block reads what may stand between paragraphs.
func (d *odf) block(x *xmlReader, e element) error {
	switch e.Name.Local {
	case "p":
		return d.paragraph(x, e, 0)
	case "h":
		level, err := strconv.Atoi(attr(e, "outline-level"))
		if err != nil {
			level = 1
		}
		return d.paragraph(x, e, min(max(level, 1), 10))
	case "list":
		return d.readList(x, e)
	case "list-item":
		d.item = true
		return d.blocks(x)
	case "table":
		return d.table(x, e)
	case "page":
		return d.drawPage(x, e)
	case "frame":
		switch attr(e, "class") {
		case "date-time", "footer", "page-number", "header":
			return nil
		}
		return d.frame(x)
	case "notes":
		tokens, err := d.keep(x)
		d.notes = append(d.notes, tokens)
		return err
	case "section":
		if attr(e, "display") == "none" {
			return nil
		}
		return d.blocks(x)
	case "title", "desc":
		if strings.Contains(e.Name.Space, "svg") { // what a picture shows
			return nil
		}
		return d.blocks(x)
	case "tracked-changes", "forms", "scripts", "event-listeners", "annotation", "page-thumbnail",
		"table-of-content-source", "alphabetical-index-source", "illustration-index-source",
		"table-index-source", "object-index-source", "user-index-source", "bibliography-source",
		"sequence-decls", "variable-decls", "user-field-decls", "named-expressions",
		"content-validations", "calculation-settings", "database-ranges", "header-decl",
		"footer-decl", "date-time-decl", "binary-data", "image-map", "shapes":
		return nil
	}
	return d.blocks(x)
}

// frame reads what a frame shows: one of its alternatives, a text box or a table.
func (d *odf) frame(x *xmlReader) error {
	done := false
	return x.each(func(e element) error {
		switch e.Name.Local {
		case "text-box", "table":
			if !done {
				done = true
				return d.block(x, e)
			}
		}
		return nil
	}, nil)
}

func (d *odf) readList(x *xmlReader, e element) error {
	style := attr(e, "style-name")
	if style == "" && len(d.list) > 0 {
		style = d.list[len(d.list)-1]
	}
	d.list = append(d.list, style)
	err := d.blocks(x)
	d.list = d.list[:len(d.list)-1]
	d.item = false
	return err
}

// paragraph reads text:p and text:h; a heading has a level above 0.
func (d *odf) paragraph(x *xmlReader, e element, level int) error {
	if err := d.stop(); err != nil {
		return err
	}
	style := attr(e, "style-name")
	kind := para{heading: level, hidden: d.hidden[familyParagraph+"/"+style]}
	if n := len(d.list); n > 0 && level == 0 {
		last := d.list[n-1]
		kind.list, kind.item, kind.id = n, d.item, last
		kind.ordered = d.ordered[last][strconv.Itoa(n)]
		d.item = false
	}
	title := level == 0 && d.kind == ODFText && d.titles[style]
	if title {
		kind = para{heading: 1, hidden: kind.hidden}
	}
	d.out.begin(kind)
	if title && !d.titled {
		d.out.copied = &strings.Builder{}
	}
	d.space = true
	d.within++
	err := d.inlines(x)
	d.within--
	d.out.end()
	if d.out.copied != nil && d.within == 0 {
		d.page.Title(d.out.copied.String())
		d.titled, d.out.copied = d.titled || d.out.copied.Len() > 0, nil
	}
	boxes := d.boxes
	d.boxes = nil
	for _, box := range boxes {
		if err == nil {
			err = d.box(box)
		}
	}
	return err
}

// box writes a text box behind its paragraph.
func (d *odf) box(tokens kept) error {
	list, item := d.list, d.item
	d.list = nil
	err := d.frame(tokens.replay())
	d.release(tokens)
	d.list, d.item = list, item
	return err
}

func (d *odf) inlines(x *xmlReader) error {
	return x.each(func(e element) error { return d.inline(x, e) }, d.text)
}

// inline reads what may stand in a paragraph.
func (d *odf) inline(x *xmlReader, e element) error {
	switch e.Name.Local {
	case "span":
		if !d.hidden[familyText+"/"+attr(e, "style-name")] {
			return d.inlines(x)
		}
	case "a":
		before := d.out.link
		d.out.setLink(address(attr(e, "href")))
		err := d.inlines(x)
		d.out.setLink(before)
		return err
	case "s":
		d.out.text(" ")
		d.space = true
	case "tab":
		d.out.text("\t")
		d.space = true
	case "line-break":
		d.out.lineBreak()
		d.space = true
	case "note":
		return x.each(func(e element) error {
			if e.Name.Local != "note-body" {
				return nil
			}
			tokens, err := d.keep(x)
			d.notes = append(d.notes, tokens)
			return err
		}, nil)
	case "frame":
		tokens, err := d.keep(x)
		d.boxes = append(d.boxes, tokens)
		return err
	case "hidden-text", "hidden-paragraph", "annotation", "annotation-end", "ruby-text", "script",
		"tracked-changes", "binary-data", "event-listeners", "image-map", "page-number",
		"page-count":
	case "p":
		return d.paragraph(x, e, 0)
	case "title", "desc":
		if !strings.Contains(e.Name.Space, "svg") {
			return d.inlines(x)
		}
	default:
		return d.inlines(x)
	}
	return nil
}

// text adds text with its white space collapsed, as ODF 1.3 part 3, 6.1.2 says.
func (d *odf) text(b []byte) {
	var s strings.Builder
	for _, c := range b {
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			if !d.space {
				s.WriteByte(' ')
			}
			d.space = true
			continue
		}
		d.space = false
		s.WriteByte(c)
	}
	d.out.text(s.String())
}

// drawPage reads a slide: the title first, the notes last.
func (d *odf) drawPage(x *xmlReader, e element) error {
	if err := d.stop(); err != nil {
		return err
	}
	if d.hidden[familyPage+"/"+attr(e, "style-name")] {
		return nil
	}
	titled := false
	var early []kept // frames before the title
	err := x.each(func(e element) error {
		switch {
		case e.Name.Local == "frame" && attr(e, "class") == "title":
			titled = true
			return d.slideTitle(x)
		case e.Name.Local == "frame" && !titled && len(early) < maxRepeats:
			tokens, err := d.keep(x)
			early = append(early, tokens)
			return err
		}
		if titled {
			return errors.Join(d.flush(&early), d.block(x, e))
		}
		return d.block(x, e)
	}, nil)
	return errors.Join(err, d.flush(&early), d.flushNotes())
}

func (d *odf) flush(frames *[]kept) error {
	all := *frames
	*frames = nil
	for _, tokens := range all {
		err := d.frame(tokens.replay())
		d.release(tokens)
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *odf) slideTitle(x *xmlReader) error {
	d.out.begin(para{heading: 2})
	if !d.titled {
		d.out.copied = &strings.Builder{}
	}
	var walk func(element) error
	walk = func(e element) error {
		switch e.Name.Local {
		case "p", "h":
			d.out.lineBreak()
			d.space = true
			return d.inlines(x)
		case "title", "desc":
			return nil
		}
		return x.each(walk, nil)
	}
	err := x.each(walk, nil)
	d.out.end()
	if d.out.copied != nil {
		d.page.Title(d.out.copied.String())
		d.titled, d.out.copied = d.titled || d.out.copied.Len() > 0, nil
	}
	return err
}

// table reads a table; in a spreadsheet, a visible sheet with its name as a heading.
func (d *odf) table(x *xmlReader, e element) error {
	if d.hidden[familyTable+"/"+attr(e, "style-name")] {
		return nil
	}
	list, item, sheet := d.list, d.item, d.sheet
	d.list, d.sheet = nil, d.kind == ODFSheet && d.tables == 0
	d.tables++
	if d.sheet {
		d.out.begin(para{heading: 2})
		d.out.text(attr(e, "name"))
	}
	open := false
	err := d.tableRows(x, &open)
	if err == nil && open {
		d.out.closeTable()
	}
	d.tables--
	d.list, d.item, d.sheet = list, item, sheet
	return err
}

func (d *odf) tableRows(x *xmlReader, open *bool) error {
	return x.each(func(e element) error {
		switch e.Name.Local {
		case "table-row":
			return d.repeatRow(x, e, open)
		case "table-header-rows", "table-rows", "table-row-group":
			return d.tableRows(x, open)
		}
		return nil
	}, nil)
}

// repeated is how often a row or a cell is to be written: once if it stands for more than there can
// be content in, such as all rows below the last.
func repeated(e element, name string) int {
	n, err := strconv.Atoi(attr(e, name))
	if err != nil || n < 1 || n > maxRepeats {
		return 1
	}
	return n
}

func (d *odf) repeatRow(x *xmlReader, e element, open *bool) error {
	n := repeated(e, "number-rows-repeated")
	if n == 1 {
		return d.tableRow(x, open)
	}
	row, err := d.keep(x)
	for ; n > 0 && err == nil; n-- {
		before := d.cells
		if err = d.tableRow(row.replay(), open); d.cells == before {
			break // empty rows leave nothing
		}
	}
	d.release(row)
	return err
}

func (d *odf) tableRow(x *xmlReader, open *bool) error {
	if err := d.stop(); err != nil {
		return err
	}
	row, empty := false, 0
	// cell writes a cell, and the empty ones before it: those behind the last one are left out.
	cell := func(x *xmlReader, text string) error {
		if !*open {
			d.out.openTable()
			*open = true
		}
		if !row {
			d.out.openRow()
			row = true
		}
		for empty = min(empty, maxGap); empty > 0; empty-- {
			if !d.cell() {
				return errFull
			}
			d.out.openCell()
			d.out.closeCell()
		}
		if !d.cell() {
			return errFull
		}
		d.out.openCell()
		d.out.text(text)
		if text == "" {
			if err := d.blocks(x); err != nil {
				return err
			}
		}
		d.out.closeCell()
		return nil
	}
	err := x.each(func(e element) error {
		if e.Name.Local != "table-cell" && e.Name.Local != "covered-table-cell" {
			return nil
		}
		n := repeated(e, "number-columns-repeated")
		if !d.sheet && n == 1 {
			return cell(x, "")
		}
		content, err := d.keep(x)
		text := cellValue(e, d.sheet, content.hasText())
		if err == nil && text == "" && !content.hasText() {
			empty += n
			n = 0
		}
		for ; n > 0 && err == nil; n-- {
			err = cell(content.replay(), text)
		}
		d.release(content)
		return err
	}, nil)
	if err == nil && row {
		d.out.closeRow()
	}
	return err
}

// cellValue is the value of a cell of a spreadsheet that is not, or not in ISO 8601, in its text.
func cellValue(e element, sheet, hasText bool) string {
	if !sheet {
		return ""
	}
	if date := attr(e, "date-value"); date != "" || hasText {
		return date
	}
	for _, name := range []string{"string-value", "value", "time-value", "boolean-value"} {
		if v := attr(e, name); v != "" {
			return v
		}
	}
	return ""
}
