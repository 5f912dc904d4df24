package office

import (
	"slices"
	"strings"

	"crawlnode/documents/page"
)

// flow writes paragraphs, lists and tables as the readers find them. Elements are opened with the
// first text in them, so that empty paragraphs leave nothing.
type flow struct {
	w       *page.Writer
	para    para
	started bool // the paragraph has text
	element bool // the paragraph has an element of its own
	link    string
	linked  bool // the link's element is open
	lists   []list
	cell    bool // plain paragraphs are lines of a cell
	filled  bool // the cell has a line
	outer   []flowState
	copied  *strings.Builder // also gets the text of the paragraph, unless nil
	wrote   bool             // there is text at all
}

// para is the kind of a paragraph. The zero value is a plain one.
type para struct {
	heading int // 1 for the highest level; 0 for none
	list    int // depth in lists; 0 outside of them
	item    bool
	ordered bool
	id      string // of the list: items of different ones are not joined
	hidden  bool
}

type list struct {
	ordered bool
	id      string
}

// flowState is what a table keeps of the flow around it.
type flowState struct {
	cell, filled bool
}

const maxListDepth = 9

// begin ends the paragraph before and begins one. Its text may begin later.
func (f *flow) begin(p para) {
	f.end()
	f.para = p
}

// end ends the paragraph.
func (f *flow) end() {
	f.closeLink()
	if f.element {
		f.w.Close()
	}
	f.started, f.element = false, false
	f.para = para{}
}

func (f *flow) closeLink() {
	if f.linked {
		f.w.Close()
	}
	f.linked = false
}

// setLink sets the address of the text that follows; "" ends the link.
func (f *flow) setLink(address string) {
	if address != f.link {
		f.closeLink()
		f.link = address
	}
}

// text adds text to the paragraph. White space does not begin one.
func (f *flow) text(s string) {
	if s == "" || f.para.hidden {
		return
	}
	if f.copied != nil && f.copied.Len() < maxTitle {
		f.copied.WriteString(s[:min(len(s), maxTitle)])
	}
	blank := strings.TrimSpace(s) == ""
	if !f.started {
		if blank {
			return
		}
		f.start()
	}
	if f.link != "" && !f.linked && !blank {
		f.w.Link(f.link)
		f.linked = true
	}
	f.w.Text(s)
	f.wrote = true
}

const maxTitle = 1 << 10 // bytes of a title that is taken from the text

// lineBreak adds a line break within the paragraph.
func (f *flow) lineBreak() {
	if f.copied != nil {
		f.copied.WriteByte(' ')
	}
	if f.started {
		f.w.Break()
	}
}

func (f *flow) start() {
	f.started = true
	switch p := f.para; {
	case p.heading > 0:
		f.closeLists()
		f.w.Heading(p.heading)
		f.element = true
	case p.list > 0:
		f.openItem(p)
	case f.cell:
		f.closeLists()
		if f.filled {
			f.w.Break()
		}
		f.filled = true
	default:
		f.closeLists()
		f.w.Open("p")
		f.element = true
	}
}

// openItem moves to the item of a list that the paragraph belongs to.
func (f *flow) openItem(p para) {
	depth := min(p.list, len(f.lists)+1, maxListDepth)
	for len(f.lists) > depth {
		f.closeList()
	}
	want := list{p.ordered, p.id}
	switch {
	case len(f.lists) < depth:
	case !p.item:
		f.w.Break()
		return
	case f.lists[depth-1] == want:
		f.w.Close()
		f.w.Open("li")
		return
	default:
		f.closeList()
	}
	name := "ul"
	if p.ordered {
		name = "ol"
	}
	f.w.Open(name)
	f.w.Open("li")
	f.lists = append(f.lists, want)
}

func (f *flow) closeList() {
	f.w.Close()
	f.w.Close()
	f.lists = f.lists[:len(f.lists)-1]
}

func (f *flow) closeLists() {
	for len(f.lists) > 0 {
		f.closeList()
	}
}

// openTable begins a table; closeTable, openRow, closeRow, openCell and closeCell are called in the
// order of the elements.
func (f *flow) openTable() {
	f.end()
	f.closeLists()
	f.outer = append(f.outer, flowState{cell: f.cell, filled: f.filled})
	f.w.Open("table")
}

func (f *flow) closeTable() {
	f.w.Close()
	last := f.outer[len(f.outer)-1]
	f.outer = f.outer[:len(f.outer)-1]
	// A line behind the table begins with no break: the table ends the line before.
	f.cell, f.filled = last.cell, false
}

func (f *flow) openRow()  { f.w.Open("tr") }
func (f *flow) closeRow() { f.w.Close() }

func (f *flow) openCell() {
	f.w.Open("td")
	f.cell, f.filled = true, false
}

func (f *flow) closeCell() {
	f.end()
	f.closeLists()
	f.w.Close()
	f.cell = false
}

// reset closes everything, so that what follows a part that failed is not inside of it.
func (f *flow) reset() {
	for f.w.Depth() > 0 {
		f.w.Close()
	}
	*f = flow{w: f.w, wrote: f.wrote}
}

// address is a link's address: absolute with a scheme that people follow, or relative to the file.
// Others are "".
func address(s string) string {
	s = strings.TrimSpace(s)
	scheme, _, ok := strings.Cut(s, ":")
	if !ok || strings.ContainsAny(scheme, "/?#") {
		if strings.HasPrefix(s, "#") {
			return "" // a place in the file itself
		}
		return s
	}
	if slices.Contains([]string{"http", "https", "ftp", "mailto"}, strings.ToLower(scheme)) {
		return s
	}
	return ""
}

// absolute is an address that has a scheme, "" for others.
func absolute(s string) string {
	if s = address(s); strings.Contains(s, ":") {
		return s
	}
	return ""
}

// hyperlink is the address in the instruction of a HYPERLINK field, such as
// `HYPERLINK "https://example.org/" \l "part"`; "" for other fields.
func hyperlink(instruction string) string {
	rest := strings.TrimSpace(instruction[:min(len(instruction), maxInstruction)])
	const name = "HYPERLINK"
	if len(rest) <= len(name) || !strings.EqualFold(rest[:len(name)], name) {
		return ""
	}
	var target, place string
	rest = rest[len(name):]
	for local := false; ; {
		var word string
		if word, rest = fieldWord(rest); word == "" {
			break
		}
		switch {
		case word == `\l`:
			local = true
		case strings.HasPrefix(word, `\`):
			// \t and \o have an argument, a frame and a tip, that cannot be taken for an address
			// because that comes first.
		case local:
			place, local = word, false
		case target == "":
			target = word
		}
	}
	if target = address(target); target != "" && place != "" && !strings.Contains(target, "#") {
		target += "#" + place
	}
	return target
}

// fieldWord is the first word of a field's instruction, without its quotes, and what follows it.
func fieldWord(s string) (word, rest string) {
	s = strings.TrimLeft(s, " \t\r\n")
	if strings.HasPrefix(s, `"`) {
		word, rest, _ = strings.Cut(s[1:], `"`)
		if word == "" {
			return fieldWord(rest)
		}
		return word, rest
	}
	if i := strings.IndexAny(s, " \t\r\n\""); i > 0 {
		return s[:i], s[i:]
	}
	return s, ""
}
