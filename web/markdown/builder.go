package markdown

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"crawlnode/web/htmlparse"
	"crawlnode/web/maintext"
	"crawlnode/web/urlnorm"
)

// The limits of a tree. Nested lists are rendered once for each level, so these are few.
const (
	maxOpen    = 512 // block elements that are followed
	maxLevels  = 16  // lists and quotations within each other; of deeper ones only the text is kept
	maxClose   = 64  // how far up an end tag is looked for
	maxInlines = 64  // elements within words that are followed
	maxNodes   = 100_000
	maxRef     = 4 << 10 // bytes of an address as it is written
	maxAlt     = 512     // bytes
)

// block is an open block element.
type block struct {
	tag atom.Atom
	// node is nil until there is something in it. That of a table and its parts is made at once,
	// since empty cells count, and is attached to the tree when there is text in a cell.
	node *html.Node
	flat bool // it is no element of the tree: what is in it belongs to the block around it
	head bool // of a table: its first row is one of headings; of a row: likewise
}

// inline is an open element within words.
type inline struct {
	tag   atom.Atom
	raw   []byte // of a link: its address in the page, until there is text in it
	href  string // its absolute form; "" for what is no link
	depth int    // the blocks that were open
}

// style is how the next text is written.
type style struct {
	href                   string
	strong, em, del, fixed bool
}

// builder makes a tree of what maintext.Walk says. Blocks are where blocks may be and words are in
// paragraphs, headings, cells or code, whatever the page is.
type builder struct {
	base    urlnorm.URL
	root    *html.Node
	blocks  []block
	inlines []inline

	text  []byte // the last text, which is no node yet; it has the style at
	at    style
	link  *html.Node // the node of at.href, if the line has text in it
	space bool       // white space is due before the next text
	begun bool       // the line has text
	due   bool       // of a cell: a line has ended, and the next one needs a break

	inPre    bool
	language string // of the code
	hint     string // the language that the element around the next code names
	heads    int    // thead elements that are open
	levels   int
	nodes    int
	left     int // bytes
	// truncated: a limit has cut something.
	truncated bool
}

func newBuilder(base urlnorm.URL) *builder {
	b := &builder{base: base, root: &html.Node{Type: html.DocumentNode}, left: MaxBytes}
	b.blocks = append(b.blocks, block{node: b.root})
	return b
}

// top is the innermost block that is an element of the tree.
func (b *builder) top() *block {
	i := len(b.blocks) - 1
	for b.blocks[i].flat {
		i--
	}
	return &b.blocks[i]
}

// Line ends a line.
func (b *builder) Line() {
	if b.inPre {
		if n := len(b.text); n > 0 && b.text[n-1] != '\n' {
			b.text = append(b.text, '\n')
		}
		return
	}
	b.flush()
	switch last := b.blocks[len(b.blocks)-1].tag; {
	case last == atom.P || last == atom.Span:
		b.pop(len(b.blocks) - 1)
	case isLeaf(last): // a heading is one line
		b.space = b.begun
		return
	}
	b.link, b.at = nil, style{}
	b.due = b.due || b.begun
	b.space, b.begun = false, false
}

// Start takes a start tag.
func (b *builder) Start(e maintext.Element) {
	if b.inPre {
		switch e.Tag {
		case atom.Br:
			b.Text([]byte("\n"))
		case atom.Code:
			b.noteLanguage(e.Class)
		}
		return
	}
	switch e.Tag {
	case atom.A, atom.B, atom.Strong, atom.Em, atom.I, atom.Cite, atom.Dfn, atom.Var, atom.Del,
		atom.S, atom.Strike, atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		b.startInline(e)
	case atom.Img:
		b.image(e)
	case atom.Br:
		b.lineBreak()
	case atom.Hr:
		b.rule(e)
	case atom.Pre:
		b.startPre(e)
	case atom.Div, atom.Figure, atom.Section:
		if l := highlighted(e.Class); l != "" {
			b.hint = l
		}
	default:
		b.startBlock(e)
	}
}

// startBlock opens a block. In a cell there are none.
func (b *builder) startBlock(e maintext.Element) {
	if b.inCell() && e.Tag != atom.Td && e.Tag != atom.Th && e.Tag != atom.Tr {
		return
	}
	switch e.Tag {
	case atom.P:
		if isLeaf(b.top().tag) && b.top().tag != atom.P {
			return
		}
		b.endLeaf()
		b.push(block{tag: atom.P})
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Dt:
		b.endLeaf()
		b.push(block{tag: e.Tag})
	case atom.Dd:
		b.endLeaf()
	case atom.Blockquote:
		b.endLeaf()
		b.push(block{tag: e.Tag, flat: b.levels >= maxLevels})
	case atom.Ul, atom.Ol, atom.Menu:
		b.endLeaf()
		b.startList(e)
	case atom.Li:
		b.endLeaf()
		b.startItem()
	case atom.Table:
		b.endLeaf()
		b.push(block{tag: atom.Table, flat: !e.Grid, node: b.detached(atom.Table, !e.Grid)})
	case atom.Caption:
		if b.top().tag == atom.Table {
			b.push(block{tag: atom.Caption})
		}
	case atom.Thead:
		b.heads++
	case atom.Tr:
		b.startRow()
	case atom.Td, atom.Th:
		b.startCell(e.Tag)
	}
}

// detached is a node that is not yet in the tree; nil for a flat block.
func (b *builder) detached(tag atom.Atom, flat bool) *html.Node {
	if flat {
		return nil
	}
	return b.newNode(tag)
}

// startList opens a list. One that stands in a list without an item becomes part of an item.
func (b *builder) startList(e maintext.Element) {
	flat := b.levels >= maxLevels
	if tag := b.top().tag; !flat && (tag == atom.Ul || tag == atom.Ol) {
		b.push(block{tag: atom.Li})
	}
	tag := e.Tag
	if tag == atom.Menu {
		tag = atom.Ul
	}
	l := block{tag: tag, flat: flat}
	n, err := strconv.Atoi(string(e.Start))
	if tag == atom.Ol && !flat && err == nil && n >= 0 && n < 1e9 {
		l.node = b.newNode(tag)
		l.node.Attr = []html.Attribute{{Key: "start", Val: strconv.Itoa(n)}}
	}
	b.push(l)
}

// startItem opens an item of the innermost list. Without a list it is only a line.
func (b *builder) startItem() {
	for i := len(b.blocks) - 1; i >= max(0, len(b.blocks)-maxClose); i-- {
		switch b.blocks[i].tag {
		case atom.Ul, atom.Ol:
			b.pop(i + 1)
			b.push(block{tag: atom.Li, flat: b.blocks[i].flat})
			return
		case atom.Blockquote, atom.Table:
			return
		}
	}
}

// startRow opens a row of the innermost table, if that is a grid.
func (b *builder) startRow() {
	i := b.table()
	if i < 0 || b.blocks[i].flat {
		return
	}
	b.pop(i + 1)
	t := &b.blocks[i]
	row := b.newNode(atom.Tr)
	first := t.node.FirstChild == nil
	t.node.AppendChild(row)
	b.push(block{tag: atom.Tr, node: row, head: first && b.heads > 0})
}

// startCell opens a cell. The converter takes the row of the first th as that of the headings, so
// only cells of a first row are one.
func (b *builder) startCell(tag atom.Atom) {
	i := b.table()
	if i < 0 || b.blocks[i].flat {
		return
	}
	if len(b.blocks) == i+1 || b.blocks[i+1].tag != atom.Tr {
		b.startRow()
	}
	b.pop(i + 2)
	row := b.blocks[len(b.blocks)-1]
	if row.tag != atom.Tr {
		return // the limit of open elements
	}
	kind, last := atom.Td, row.node.LastChild
	switch {
	case row.node.PrevSibling != nil:
	case row.head, tag == atom.Th && (last == nil || last.DataAtom == atom.Th):
		kind = atom.Th
	case last != nil && last.DataAtom == atom.Th:
		for c := last; c != nil; c = c.PrevSibling {
			c.Data, c.DataAtom = "td", atom.Td // they were headings of a row
		}
	}
	cell := b.newNode(kind)
	row.node.AppendChild(cell)
	b.push(block{tag: atom.Td, node: cell})
	b.due, b.begun = false, false
}

// table is the index of the innermost table; -1: there is none.
func (b *builder) table() int {
	for i := len(b.blocks) - 1; i >= max(0, len(b.blocks)-maxClose); i-- {
		if b.blocks[i].tag == atom.Table {
			return i
		}
	}
	return -1
}

func (b *builder) inCell() bool { return b.top().tag == atom.Td }

// isLeaf reports whether a block has words and no blocks in it.
func isLeaf(tag atom.Atom) bool {
	switch tag {
	case atom.P, atom.Span, atom.Dt, atom.Caption, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5,
		atom.H6:
		return true
	}
	return false
}

// endLeaf ends a paragraph or heading that was not closed.
func (b *builder) endLeaf() {
	if isLeaf(b.blocks[len(b.blocks)-1].tag) {
		b.pop(len(b.blocks) - 1)
	}
}

func (b *builder) push(k block) {
	if len(b.blocks) >= maxOpen {
		return
	}
	if isLevel(k) {
		b.levels++
	}
	b.blocks = append(b.blocks, k)
}

func isLevel(k block) bool {
	return !k.flat && (k.tag == atom.Ul || k.tag == atom.Ol || k.tag == atom.Blockquote)
}

// pop ends the blocks from the i-th on, and the elements within words that began in them.
func (b *builder) pop(i int) {
	if i >= len(b.blocks) {
		return
	}
	b.flush()
	b.link, b.at = nil, style{}
	b.space, b.begun = false, false
	for _, k := range b.blocks[i:] {
		if isLevel(k) {
			b.levels--
		}
	}
	b.blocks = b.blocks[:i]
	for n := len(b.inlines); n > 0 && b.inlines[n-1].depth > i; n-- {
		b.inlines = b.inlines[:n-1]
	}
}

// End takes an end tag.
func (b *builder) End(tag atom.Atom) {
	if b.inPre {
		if tag == atom.Pre {
			b.endPre()
		}
		return
	}
	switch tag {
	case atom.Thead:
		b.heads = max(0, b.heads-1)
		return
	case atom.Th:
		tag = atom.Td
	case atom.Menu:
		tag = atom.Ul
	}
	for i := len(b.inlines) - 1; i >= 0; i-- {
		if b.inlines[i].tag == tag {
			b.inlines = append(b.inlines[:i], b.inlines[i+1:]...)
			return
		}
	}
	for i := len(b.blocks) - 1; i > max(0, len(b.blocks)-maxClose); i-- {
		k := b.blocks[i].tag
		if k == tag || isHeading(k) && isHeading(tag) {
			b.pop(i)
			return
		}
		if k == atom.Td && tag != atom.Tr && tag != atom.Table {
			return // the end of an element outside of the cell
		}
	}
}

func isHeading(tag atom.Atom) bool {
	return isLeaf(tag) && tag != atom.P && tag != atom.Span && tag != atom.Dt && tag != atom.Caption
}

// startInline opens an element within words.
func (b *builder) startInline(e maintext.Element) {
	if len(b.inlines) >= maxInlines {
		return
	}
	k := inline{tag: e.Tag, depth: len(b.blocks)}
	if e.Tag == atom.A {
		for i := range b.inlines { // links are not within links
			if b.inlines[i].tag == atom.A {
				b.inlines[i].raw, b.inlines[i].href = nil, ""
			}
		}
		k.raw = e.Href
	}
	b.inlines = append(b.inlines, k)
}

// address is the absolute form of a reference, "" for none of http. The fragment of a link says
// where in the page.
func (b *builder) address(raw []byte, link bool) string {
	if len(raw) == 0 || len(raw) > maxRef {
		return ""
	}
	ref := string(htmlparse.AppendText(nil, raw, true))
	u, err := b.base.Resolve(ref)
	if err != nil {
		return ""
	}
	_, fragment, _ := strings.Cut(ref, "#")
	if fragment = strings.TrimSpace(fragment); !link || fragment == "" || u.Route() != "" {
		return u.String()
	}
	return u.String() + "#" + inFragment(fragment)
}

// inFragment escapes what a fragment has escaped in the URL standard, and spaces.
func inFragment(s string) string {
	var out strings.Builder
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7F || strings.IndexByte("\"<>`\\|", c) >= 0 {
			out.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)|0x100, 16)[1:]))
		} else {
			out.WriteByte(c)
		}
	}
	return out.String()
}

// now is the style of the next text. Marks of one kind within each other are one.
func (b *builder) now() style {
	var s style
	for i := range b.inlines {
		k := &b.inlines[i]
		switch k.tag {
		case atom.A:
			if k.raw != nil {
				k.href, k.raw = b.address(k.raw, true), nil
			}
			s.href = k.href
		case atom.B, atom.Strong:
			s.strong = true
		case atom.Em, atom.I, atom.Cite, atom.Dfn, atom.Var:
			s.em = true
		case atom.Del, atom.S, atom.Strike:
			s.del = true
		default:
			s.fixed = true
		}
	}
	switch top := b.top().tag; {
	case top == atom.Dt:
		s.strong = true
	case isHeading(top):
		s.strong = false
	}
	if s.fixed { // there is no markup in code
		s.strong, s.em, s.del = false, false, false
	}
	return s
}

// Text takes text.
func (b *builder) Text(t []byte) {
	if b.nodes > maxNodes {
		t, b.truncated = nil, true
	} else if len(t) > b.left {
		n := b.left
		for n > 0 && !utf8.RuneStart(t[n]) {
			n--
		}
		t, b.truncated = t[:n], true
	}
	b.left -= len(t)
	if b.inPre {
		b.text = append(b.text, t...)
		return
	}
	for len(t) > 0 {
		words := bytes.TrimLeft(t, spaces)
		b.space = b.space || len(words) < len(t)
		if len(words) == 0 {
			return
		}
		n := bytes.IndexAny(words, spaces)
		if n < 0 {
			n = len(words)
		}
		b.word(words[:n])
		t = words[n:]
	}
}

const spaces = " \t\r\n\f"

// word adds a word, or a piece of one.
func (b *builder) word(w []byte) {
	b.ready()
	b.hint = ""
	if b.at.fixed && b.inCell() {
		w = bytes.ReplaceAll(w, []byte("|"), []byte(`\|`))
	}
	b.text = append(b.text, w...)
}

// ready makes b.text the place of the next word, with a space before it if one is due. Between two
// styles the space has neither.
func (b *builder) ready() {
	if s := b.now(); s != b.at || len(b.text) == 0 {
		b.flush()
		b.open()
		if b.at.href != s.href {
			b.link = nil
		}
		if b.space && b.begun {
			if b.at.href == s.href {
				b.at = style{href: s.href}
			} else {
				b.at = style{}
			}
			b.text = append(b.text, ' ')
			b.flush()
			b.space = false
		}
		b.at = s
	}
	if b.space && b.begun {
		b.text = append(b.text, ' ')
	}
	b.space, b.begun = false, true
}

// open makes sure that text may stand where the tree is, and ends the line before in a cell.
func (b *builder) open() {
	switch top := b.top(); {
	case top.tag == atom.Table || top.tag == atom.Tr:
		b.startCell(atom.Td)
	case top.tag == atom.Ul || top.tag == atom.Ol:
		b.push(block{tag: atom.Li})
		b.push(block{tag: atom.Span})
	case !isLeaf(top.tag) && top.tag != atom.Td:
		b.push(block{tag: atom.Span})
	}
	b.attach()
	if cell := b.top(); cell.tag == atom.Td && b.due && !b.begun && cell.node.FirstChild != nil {
		cell.node.AppendChild(b.newNode(atom.Br))
	}
	b.due = false
}

// attach puts the nodes of the open blocks into the tree.
func (b *builder) attach() {
	parent := b.root
	for i := range b.blocks {
		k := &b.blocks[i]
		captioned := i+1 < len(b.blocks) && b.blocks[i+1].tag == atom.Caption
		if k.flat || k.tag == atom.Table && captioned { // a caption stands before its table
			continue
		}
		if k.node == nil {
			k.node = b.newNode(elementOf(k.tag))
		}
		if k.node.Parent == nil && k.node != b.root {
			parent.AppendChild(k.node)
		}
		parent = k.node
	}
}

// elementOf is the element of the tree for a block.
func elementOf(tag atom.Atom) atom.Atom {
	switch tag {
	case atom.Span, atom.Dt, atom.Caption:
		return atom.P
	}
	return tag
}

func (b *builder) newNode(tag atom.Atom) *html.Node {
	b.nodes++
	return &html.Node{Type: html.ElementNode, DataAtom: tag, Data: tag.String()}
}

// flush makes nodes of the text, in the order that Markdown wants: a link, marks, code.
func (b *builder) flush() {
	if len(b.text) == 0 || b.inPre {
		return
	}
	text := strings.Map(printable, strings.ToValidUTF8(string(b.text), "\uFFFD"))
	b.text = b.text[:0]
	if text == "" {
		return
	}
	to := b.target()
	for _, mark := range [...]struct {
		on  bool
		tag atom.Atom
	}{
		{b.at.strong, atom.Strong}, {b.at.em, atom.Em}, {b.at.del, atom.Del}, {b.at.fixed, atom.Code},
	} {
		if mark.on {
			n := b.newNode(mark.tag)
			to.AppendChild(n)
			to = n
		}
	}
	b.nodes++
	to.AppendChild(&html.Node{Type: html.TextNode, Data: text})
}

// target is the node for what has the style b.at: a link of the line, or the block.
func (b *builder) target() *html.Node {
	to := b.top().node
	if b.at.href == "" {
		return to
	}
	if b.link == nil {
		if len(b.at.href) > b.left {
			b.truncated = true
			return to
		}
		b.left -= len(b.at.href)
		b.link = b.newNode(atom.A)
		b.link.Attr = []html.Attribute{{Key: "href", Val: b.at.href}}
		to.AppendChild(b.link)
	}
	return b.link
}

// image takes an image.
func (b *builder) image(e maintext.Element) {
	if !e.Kept || tiny(e.Width) || tiny(e.Height) {
		return
	}
	if b.nodes > maxNodes {
		b.truncated = true
		return
	}
	src := b.address(e.Src, false)
	if src == "" {
		src = b.address(e.DataSrc, false) // of images that a script loads
	}
	if src == "" {
		return
	}
	alt := htmlparse.AppendText(nil, e.Alt[:min(len(e.Alt), maxAlt)], true)
	words := strings.Join(strings.Fields(strings.ToValidUTF8(string(alt), "\uFFFD")), " ")
	words = strings.Map(printable, words)
	if len(src)+len(words) > b.left {
		b.truncated = true
		return
	}
	b.left -= len(src) + len(words)
	b.ready()
	b.flush()
	n := b.newNode(atom.Img)
	n.Attr = []html.Attribute{{Key: "src", Val: src}, {Key: "alt", Val: words}}
	b.target().AppendChild(n)
}

// tiny reports whether a length is that of an image that only counts visits.
func tiny(size []byte) bool {
	s := string(bytes.TrimSuffix(bytes.TrimSpace(size), []byte("px")))
	return s == "0" || s == "1" || s == "2"
}

// lineBreak takes a line break within a block.
func (b *builder) lineBreak() {
	if !b.begun || isHeading(b.top().tag) {
		b.space = true
		return
	}
	b.flush()
	b.link = nil
	if b.inCell() {
		b.due, b.begun, b.space = true, false, false
		return
	}
	b.top().node.AppendChild(b.newNode(atom.Br))
	b.space = false
}

// rule takes a line between parts. There is none at the beginning.
func (b *builder) rule(e maintext.Element) {
	if !e.Kept || b.inCell() || b.root.FirstChild == nil || b.nodes > maxNodes {
		return
	}
	b.endLeaf()
	if top := b.top(); top.node == b.root && b.root.LastChild.DataAtom != atom.Hr {
		b.root.AppendChild(b.newNode(atom.Hr))
	}
}

// startPre opens a block of code. In a cell it is words.
func (b *builder) startPre(e maintext.Element) {
	if b.inCell() {
		return
	}
	b.endLeaf()
	b.inPre, b.language = true, b.hint
	b.hint = ""
	b.noteLanguage(e.Class)
}

// endPre ends it.
func (b *builder) endPre() {
	b.inPre = false
	text := strings.ReplaceAll(strings.ToValidUTF8(string(b.text), "\uFFFD"), "\r\n", "\n")
	text = strings.TrimRight(strings.TrimPrefix(strings.Map(printable, text), "\n"), " \t\n")
	b.text = b.text[:0]
	b.begun, b.space = false, false
	if strings.TrimSpace(text) == "" {
		return
	}
	if top := b.top().tag; top == atom.Ul || top == atom.Ol {
		b.push(block{tag: atom.Li})
	}
	b.attach()
	pre, code := b.newNode(atom.Pre), b.newNode(atom.Code)
	if b.language != "" {
		code.Attr = []html.Attribute{{Key: "class", Val: "language-" + b.language}}
	}
	b.nodes++
	code.AppendChild(&html.Node{Type: html.TextNode, Data: text})
	pre.AppendChild(code)
	b.top().node.AppendChild(pre)
}

// noteLanguage takes the language of the code from a class, such as language-go.
func (b *builder) noteLanguage(class []byte) {
	class = class[:min(len(class), maxAlt)]
	for _, prefix := range [...]string{"language-", "lang-", "brush:", "highlight-source-"} {
		if _, after, ok := bytes.Cut(class, []byte(prefix)); ok && b.language == "" {
			b.language = languageName(after)
		}
	}
	if b.language == "" && bytes.HasPrefix(class, []byte("sourceCode ")) { // of pandoc
		b.language = languageName(class[len("sourceCode "):])
	}
}

// highlighted is the language in the class of an element around code: highlight-python3, and
// "highlight highlight-source-go".
func highlighted(class []byte) string {
	class = class[:min(len(class), maxAlt)]
	for _, prefix := range [...]string{"highlight-source-", "highlight-", "language-"} {
		if _, after, ok := bytes.Cut(class, []byte(prefix)); ok {
			return languageName(after)
		}
	}
	return ""
}

// languageName is the name at the beginning of a list of words; "" for what says nothing.
func languageName(s []byte) string {
	s = bytes.TrimLeft(s, " ")
	n := 0
	for n < len(s) && n < 32 {
		c := s[n]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte("+-#._", c) < 0 {
			break
		}
		n++
	}
	switch name := strings.ToLower(string(s[:n])); name {
	case "default", "none", "notranslate", "text", "plaintext", "wrapper":
		return ""
	default:
		return name
	}
}

// finish ends what is open.
func (b *builder) finish() {
	if b.inPre {
		b.endPre()
	}
	b.pop(1)
	b.flush()
}
