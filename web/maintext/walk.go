package maintext

import (
	"golang.org/x/net/html/atom"

	"crawlnode/web/htmlparse"
)

// A Visitor takes the main part of a page from [Walk], with its markup. It is told of every element
// that is known, wherever it stands, since its end may be missing and what is in it may be left
// out; text comes only from what is kept. The values of attributes are parts of the page; text is
// good until the method returns.
type Visitor interface {
	// Start is a start tag. Elements such as br and img have no end, others may have none.
	Start(Element)
	// End is an end tag. There may have been no start.
	End(atom.Atom)
	// Text is text with its white space, its character references replaced.
	Text([]byte)
	// Line ends a line: what comes next is another block.
	Line()
}

// Element is a start tag. The values of its attributes have their character references.
type Element struct {
	Tag atom.Atom
	// Kept: what stands here belongs to the main part. It counts for elements without text.
	Kept bool
	// Grid: a table whose cells have lines of text, not parts of the page.
	Grid bool

	Class, Href, Src, DataSrc, Alt, Start, Width, Height []byte
}

// Walk reads a page of HTML as [Extract] does, and gives v what is kept of it. It keeps the same
// blocks, and of a list or table of which it keeps some also those that consist of links: their
// structure would be broken. It reports whether a limit has cut something. Time is linear in the
// page's length; the page is read twice.
func Walk(body []byte, contentType string, v Visitor) (truncated bool) {
	return walkPage(body, contentType, v, mainPart)
}

// WalkWhole reads a page as [Whole] does, and gives v what can be seen of it.
func WalkWhole(body []byte, contentType string, v Visitor) (truncated bool) {
	return walkPage(body, contentType, v, wholePage)
}

func walkPage(body []byte, contentType string, v Visitor, c choice) (truncated bool) {
	text := htmlparse.UTF8(body, contentType)
	w := &walk{}
	first := newReader(text, contentType, c)
	first.walk = w
	first.read()
	w.choose(first.blocks, c)
	first.release()
	w.to, w.units = v, w.units[:0]
	second := newReader(text, contentType, c)
	defer second.release()
	second.walk = w
	second.read()
	return second.truncated
}

// walk is what the two readings of a page know beside their blocks. The first finds lists and
// tables, the second tells a visitor of what is kept.
type walk struct {
	to      Visitor  // nil in the first reading
	units   []unit   // of this reading
	blocks  []uint32 // their units, as those of elements are counted; of the first reading
	kept    []bool   // of the blocks
	grids   []bool   // of the units
	rule    rule
	element Element // of the current tag
}

// choose decides what is kept after the first reading.
func (w *walk) choose(all []block, c choice) {
	blocks, rule := c.of(all)
	w.kept, w.grids, w.rule = make([]bool, len(all)), make([]bool, len(w.units)), rule
	whole := make([]bool, len(w.units)) // the units of which something is kept
	for _, at := range places(all, blocks) {
		w.kept[at] = true
		if unit := w.blocks[at]; unit > 0 {
			whole[unit-1] = true
		}
	}
	for i := range w.units {
		u := &w.units[i]
		w.grids[i] = u.grid()
		whole[i] = whole[i] && (!u.table || w.grids[i])
	}
	for i, unit := range w.blocks {
		if unit > 0 && whole[unit-1] && rule.keeps(all[i].place) {
			w.kept[i] = true
		}
	}
}

// places are the indices of some of the blocks, which are in the order of all.
func places(all, some []block) []int {
	out, at := make([]int, len(some)), 0
	for i := range some {
		for all[at].from != some[i].from {
			at++
		}
		out[i] = at
	}
	return out
}

// line takes the end of a line, before the reader's block ends.
func (w *walk) line(r *reader) {
	switch n := len(r.text) - r.from; {
	case w.to != nil:
		w.to.Line()
	case n > 0:
		unit := r.unit()
		if unit > 0 {
			w.units[unit-1].bytes += uint32(n)
		}
		w.blocks = append(w.blocks, unit)
	}
}

// end takes an end tag.
func (w *walk) end(tag atom.Atom) {
	if w.to != nil {
		w.to.End(tag)
	}
}

// text takes text of the current block.
func (w *walk) text(r *reader, b []byte) {
	if w.to == nil {
		return
	}
	if n := len(r.blocks); n < len(w.kept) && w.kept[n] {
		w.to.Text(b)
	}
}

// listing takes text without markup.
func (w *walk) listing(r *reader, b []byte) {
	if w.to == nil {
		return
	}
	w.to.Start(Element{Tag: atom.Pre, Kept: w.rule.keeps(r.now())})
	w.text(r, b)
	w.to.End(atom.Pre)
}

// attribute takes one of the current tag. Of an attribute that is there twice, the first counts.
func (w *walk) attribute(key, val []byte) {
	var into *[]byte
	switch e := &w.element; {
	case equalFold(key, "href"):
		into = &e.Href
	case equalFold(key, "src"):
		into = &e.Src
	case equalFold(key, "data-src"):
		into = &e.DataSrc
	case equalFold(key, "alt"):
		into = &e.Alt
	case equalFold(key, "start"):
		into = &e.Start
	case equalFold(key, "width"):
		into = &e.Width
	case equalFold(key, "height"):
		into = &e.Height
	}
	if into != nil && *into == nil {
		*into = val
	}
}

// start takes a start tag, when its attributes have been read.
func (w *walk) start(r *reader, tag atom.Atom, class []byte) {
	if w.to == nil {
		return
	}
	e := &w.element
	e.Tag, e.Kept, e.Class = tag, w.rule.keeps(r.now()), class
	if n := len(w.units); tag == atom.Table && n < len(w.grids) {
		e.Grid = w.grids[n] // it becomes the next one
	}
	w.to.Start(*e)
}

// maxUnits bounds the lists and tables of a page that are followed.
const maxUnits = 20_000

// unit is a list with the lists in it, or a table.
type unit struct {
	table       bool
	parts       bool // it has headings, tables, lists or code in it
	rows, cells uint32
	inRow, most uint32 // cells of the current row, and of the longest
	bytes       uint32
}

// The limits of a table that is a grid: the bytes of a cell on the average, its columns, and its
// holes, which are written as empty cells.
const (
	maxCellBytes = 500
	maxColumns   = 256
	maxHoles     = 1_000
)

// grid reports whether a unit is a table in the sense of Markdown: several columns, and cells that
// are lines of text. Other tables place parts of a page side by side.
func (u *unit) grid() bool {
	return u.table && !u.parts && u.most > 1 && u.most <= maxColumns &&
		u.bytes/max(u.cells, 1) < maxCellBytes &&
		uint64(u.rows)*uint64(u.most) <= 4*uint64(u.cells)+maxHoles
}

// unit is that of what comes next.
func (r *reader) unit() uint32 {
	if len(r.open) == 0 {
		return 0
	}
	return r.open[len(r.open)-1].unit
}

// push returns the unit of what is in an element that is opened now.
func (w *walk) push(r *reader, tag atom.Atom) uint32 {
	n := r.unit()
	begins := tag == atom.Table || isList(tag) && (n == 0 || w.units[n-1].table)
	if !begins || len(w.units) >= maxUnits {
		return n
	}
	w.units = append(w.units, unit{table: tag == atom.Table})
	return uint32(len(w.units))
}

// inUnit notes an element in the list or table where it stands.
func (w *walk) inUnit(r *reader, tag atom.Atom) {
	n := r.unit()
	if n == 0 {
		return
	}
	u := &w.units[n-1]
	switch tag {
	case atom.Tr:
		u.rows++
		u.inRow = 0
	case atom.Td, atom.Th:
		u.cells++
		u.inRow++
		u.most = max(u.most, u.inRow)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Table, atom.Pre, atom.Ul,
		atom.Ol, atom.Dl, atom.Blockquote:
		u.parts = true
	}
}

func isList(tag atom.Atom) bool { return tag == atom.Ul || tag == atom.Ol || tag == atom.Dl }
