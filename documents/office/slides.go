package office

import (
	"slices"
	"strconv"
	"strings"
)

// presentation reads a pptx: for each visible slide its title as a heading, then the shapes in
// their order, then the notes.
type presentation struct {
	*reader
	rels   map[string]relationship // of the part that is read
	wanted func(placeholder string) bool
	titled bool // the title of a slide was found
}

func readSlides(r *reader) error {
	d := &presentation{reader: r}
	main := r.mainPart("ppt/presentation.xml")
	rels, _ := r.relations(main)
	var parts []string
	r.note(r.part(main, true, func(x *xmlReader, _, e element) error {
		if e.Name.Local != "sldIdLst" {
			return nil
		}
		return x.each(func(e element) error {
			rel := rels[relation(e)]
			if rel.kind == "slide" && !rel.external && r.room(len(parts)) {
				parts = append(parts, rel.target)
			}
			return nil
		}, nil)
	}))
	for _, name := range parts {
		if r.stop() != nil {
			break
		}
		if err := d.slide(name); err != nil {
			r.out.reset()
			r.note(err)
		}
	}
	return nil
}

func isTitle(placeholder string) bool { return placeholder == "title" || placeholder == "ctrTitle" }

func isBody(placeholder string) bool { return placeholder == "body" }

// isContent excludes the title, which is read before, and what repeats on each slide.
func isContent(placeholder string) bool {
	return !isTitle(placeholder) &&
		!slices.Contains([]string{"dt", "ftr", "hdr", "sldNum", "sldImg"}, placeholder)
}

// slide reads a slide twice, because its title may be anywhere: slides are small.
func (d *presentation) slide(name string) error {
	rels, order := d.relations(name)
	d.rels = rels
	hidden := false
	read := func(x *xmlReader, root, e element) error {
		show := attr(root, "show")
		if hidden = show == "0" || show == "false"; hidden || e.Name.Local != "cSld" {
			return nil
		}
		return d.shapes(x)
	}
	for _, d.wanted = range []func(string) bool{isTitle, isContent} {
		if err := d.part(name, true, read); err != nil || hidden {
			return err
		}
	}
	notes := related(rels, order, "notesSlide", "")
	if notes == "" {
		return nil
	}
	d.rels, _ = d.relations(notes)
	d.wanted = isBody
	return d.part(notes, false, read)
}

func (d *presentation) shapes(x *xmlReader) error {
	return x.each(func(e element) error {
		switch e.Name.Local {
		case "sp":
			return d.shape(x)
		case "graphicFrame":
			if d.wanted("") {
				return d.frame(x)
			}
		case "AlternateContent":
			return alternate(x, d.shapes)
		case "pic", "cxnSp", "bg", "extLst", "nvGrpSpPr", "grpSpPr":
		default:
			return d.shapes(x)
		}
		return nil
	}, nil)
}

// shape reads a shape that is wanted. Its placeholder stands before its text.
func (d *presentation) shape(x *xmlReader) error {
	if err := d.stop(); err != nil {
		return err
	}
	placeholder := ""
	var find func(element) error
	find = func(e element) error {
		if e.Name.Local == "ph" {
			if placeholder = attr(e, "type"); placeholder == "" {
				placeholder = "obj"
			}
		}
		return x.each(find, nil)
	}
	return x.each(func(e element) error {
		switch e.Name.Local {
		case "nvSpPr":
			return x.each(find, nil)
		case "txBody":
			if d.wanted(placeholder) {
				return d.text(x, placeholder)
			}
		}
		return nil
	}, nil)
}

// frame reads a table or the texts of a diagram.
func (d *presentation) frame(x *xmlReader) error {
	return x.each(func(e element) error {
		switch e.Name.Local {
		case "tbl":
			return d.rows(x, func(x *xmlReader) error {
				return x.each(func(e element) error {
					if e.Name.Local != "txBody" {
						return nil
					}
					return d.text(x, "")
				}, nil)
			})
		case "relIds":
			if rel := d.rels[relation(e)]; rel.kind == "diagramData" && !rel.external {
				return d.diagram(rel.target)
			}
			return nil
		}
		return d.frame(x)
	}, nil)
}

func (d *presentation) diagram(name string) error {
	return d.part(name, false, func(x *xmlReader, _, e element) error {
		var walk func(element) error
		walk = func(e element) error {
			if e.Name.Local == "t" {
				return d.text(x, "")
			}
			return x.each(walk, nil)
		}
		return walk(e)
	})
}

// text reads the paragraphs of a text body.
func (d *presentation) text(x *xmlReader, placeholder string) error {
	title := isTitle(placeholder)
	if title {
		d.out.begin(para{heading: 2})
		if !d.titled {
			d.out.copied = &strings.Builder{}
		}
	}
	err := x.each(func(e element) error {
		if e.Name.Local != "p" {
			return nil
		}
		if title {
			d.out.lineBreak()
		}
		return d.paragraph(x, placeholder)
	}, nil)
	if err != nil {
		return err
	}
	d.out.end()
	d.out.closeLists()
	if d.out.copied != nil {
		d.page.Title(d.out.copied.String())
		d.titled, d.out.copied = d.titled || d.out.copied.Len() > 0, nil
	}
	return nil
}

func (d *presentation) paragraph(x *xmlReader, placeholder string) error {
	bullets := placeholder == "body" && !d.notes() || placeholder == "obj"
	if !isTitle(placeholder) {
		d.out.begin(para{})
		if bullets {
			d.out.begin(para{list: 1, item: true})
		}
	}
	return x.each(func(e element) error {
		switch e.Name.Local {
		case "pPr":
			if isTitle(placeholder) {
				return nil
			}
			return d.bullet(x, e, bullets)
		case "r", "fld":
			t := attr(e, "type") // of a field: the number of the slide, and the date of the show
			if strings.HasPrefix(t, "slidenum") || strings.HasPrefix(t, "datetime") {
				return nil
			}
			err := d.run(x)
			d.out.setLink("")
			return err
		case "br":
			d.out.lineBreak()
		case "AlternateContent":
			return alternate(x, d.run)
		}
		return nil
	}, nil)
}

// notes reports whether notes are read: their body is running text.
func (d *presentation) notes() bool { return !d.wanted("") }

// bullet begins the paragraph anew as an item of a list, or as none.
func (d *presentation) bullet(x *xmlReader, e element, bullets bool) error {
	level, err := strconv.Atoi(attr(e, "lvl"))
	if err != nil || level < 0 || level >= maxListDepth {
		level = 0
	}
	ordered := false
	err = x.each(func(e element) error {
		switch e.Name.Local {
		case "buNone":
			bullets = false
		case "buChar", "buBlip":
			bullets = true
		case "buAutoNum":
			bullets, ordered = true, true
		}
		return nil
	}, nil)
	if bullets {
		d.out.begin(para{list: level + 1, item: true, ordered: ordered})
	} else {
		d.out.begin(para{})
	}
	return err
}

// run reads a run of text; its properties, with its link, stand first.
func (d *presentation) run(x *xmlReader) error {
	return x.each(func(e element) error {
		switch e.Name.Local {
		case "rPr":
			return x.each(func(e element) error {
				if rel := d.rels[relation(e)]; e.Name.Local == "hlinkClick" && rel.external {
					d.out.setLink(address(rel.target))
				}
				return nil
			}, nil)
		case "t":
			return x.each(nil, func(b []byte) { d.out.text(string(b)) })
		case "oMath", "oMathPara", "m":
			return d.run(x)
		}
		return nil
	}, nil)
}
