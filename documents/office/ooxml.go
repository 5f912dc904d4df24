package office

import (
	"path"
	"strings"
	"time"

	"crawlnode/documents/page"
)

// relationship is a row of a .rels part (ECMA-376 part 2): what a part refers to.
type relationship struct {
	kind     string // the last segment of its type; the namespaces before it differ
	target   string // the name of a part, or an address if external
	external bool
}

// relations reads the relationships of a part by their identifiers; those of the package have the
// name "". A part without any has none. order has the identifiers as they are in the file.
func (r *reader) relations(part string) (rels map[string]relationship, order []string) {
	rels = map[string]relationship{}
	name := path.Join(path.Dir(part), "_rels", path.Base(part)+".rels")
	if part == "" {
		name = "_rels/.rels"
	}
	r.note(r.part(name, false, func(_ *xmlReader, _, e element) error {
		id := attr(e, "Id")
		if e.Name.Local != "Relationship" || !r.room(len(rels)) {
			return nil
		}
		rel := relationship{kind: path.Base(attr(e, "Type")), target: attr(e, "Target")}
		if rel.external = strings.EqualFold(attr(e, "TargetMode"), "External"); !rel.external {
			rel.target = resolve(part, rel.target)
		}
		if _, ok := rels[id]; !ok {
			order = append(order, id)
		}
		rels[id] = rel
		return nil
	}))
	return rels, order
}

// related is the part with the first relationship of a kind, or usual if there is none.
func related(rels map[string]relationship, order []string, kind, usual string) string {
	for _, id := range order {
		if rel := rels[id]; rel.kind == kind && !rel.external {
			return rel.target
		}
	}
	return usual
}

// mainPart is the part of the document itself. The properties of the package are read with it.
func (r *reader) mainPart(usual string) string {
	rels, order := r.relations("")
	r.coreProperties(related(rels, order, "core-properties", "docProps/core.xml"))
	r.application(related(rels, order, "extended-properties", "docProps/app.xml"))
	name := related(rels, order, "officeDocument", usual)
	if !r.zip.has(name) && r.zip.has(usual) {
		return usual
	}
	return name
}

func (r *reader) coreProperties(name string) {
	r.note(r.part(name, false, func(x *xmlReader, _, e element) error {
		value, err := x.text()
		switch e.Name.Local {
		case "title":
			r.page.Title(value)
		case "creator":
			r.authors(value)
		case "subject", "keywords":
			r.keyword(value)
		case "description":
			r.page.Property(page.Description, value)
		case "language":
			r.language(value)
		case "created":
			r.page.Property(page.Created, isoTime(value))
		case "modified":
			r.page.Property(page.Modified, isoTime(value))
		case "publisher":
			r.page.Property(page.Publisher, value)
		case "rights":
			r.page.Property(page.Rights, value)
		}
		return err
	}))
}

func (r *reader) application(name string) {
	r.note(r.part(name, false, func(x *xmlReader, _, e element) error {
		if e.Name.Local != "Application" {
			return nil
		}
		value, err := x.text()
		r.page.Property(page.Generator, value)
		return err
	}))
}

const maxProperty = 4 << 10 // bytes of a property's value

// authors adds each of the names in a list with semicolons, as Word writes it.
func (r *reader) authors(list string) {
	for name := range strings.SplitSeq(list, ";") {
		r.page.Property(page.Author, strings.TrimSpace(name))
	}
}

// isoTime is a time of W3CDTF or ISO 8601 in RFC 3339; without a zone it is taken as UTC. Partial
// dates, and what is no time, stay as they are.
func isoTime(s string) string {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00",
		"2006-01-02T15:04:05.999999999", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.Format(time.RFC3339)
		}
	}
	return s
}
