package office

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"golang.org/x/text/encoding"

	"crawlnode/documents/page"
)

// rtf reads Rich Text Format 1.9: one pass over the bytes, and one more over each footnote.
type rtf struct {
	*reader
	body  []byte
	at    int
	stack []rtfState
	s     rtfState

	ansi    int // the code page of text without a font's
	fonts   map[int]int
	headed  map[int]int  // styles -> outline levels, from 0
	titles  map[int]bool // styles
	font    int          // the default one
	raw     []byte       // text that is not decoded yet
	high    rune         // the first half of a character of \u
	skip    int          // characters that stand for one of \u
	star    bool         // the next control word may be ignored with its group
	notes   []rtfNote
	inNotes bool

	paragraph  bool // one has begun
	table, row bool // is open
	cellOpen   bool
	ordered    bool // the number before the paragraph is no bullet
	titled     bool

	// What a destination collects: a property, a field's instruction, a style's name.
	collected strings.Builder
	stamp     rtfTime
}

// rtfState is what a group restores at its end.
type rtfState struct {
	dest     rtfDest
	opened   bool // the group began the destination, and ends it
	uc       int  // characters after \u that stand for it
	font     int
	hidden   bool
	deleted  bool
	style    int
	outline  int // -1 for none
	list     int // its number; 0 for none
	level    int
	inTable  bool
	field    *rtfField
	link     string
	property string // of a page, for destInfo
}

type rtfField struct{ link string }

// rtfDest is what the text of a group is.
type rtfDest uint8

const (
	destText     rtfDest = iota
	destSkip             // nothing that is shown
	destFonts            // names of fonts
	destStyles           // the style sheet
	destStyle            // the name of a style
	destInfo             // a container of properties
	destProperty         // a property
	destTime             // a property made of numbers
	destField            // an instruction
	destNumber           // the bullet or the number before a paragraph
	destShape            // a shape's properties; its text is a group in it
	destUnicode          // the better one of two alternatives is in it
)

type rtfNote struct {
	start int // in the bytes; it ends with its group
	state rtfState
}

type rtfTime struct{ year, month, day, hour, minute, second int }

func (t rtfTime) String() string {
	if t.year < 1000 || t.year > 9999 || t.month < 1 || t.month > 12 || t.day < 1 || t.day > 31 {
		return ""
	}
	return time.Date(t.year, time.Month(t.month), t.day, t.hour, t.minute, t.second, 0, time.UTC).
		Format(time.RFC3339)
}

const (
	maxNotes     = 1 << 14
	maxCollected = 4 << 10 // bytes
	maxRaw       = 4 << 10 // bytes that are decoded at once
	maxWord      = 32      // letters of a control word
)

func readRTF(r *reader, body []byte) error {
	d := &rtf{reader: r, body: trimRTF(body), ansi: 1252, fonts: map[int]int{},
		headed: map[int]int{}, titles: map[int]bool{}}
	if !bytes.HasPrefix(d.body, []byte(`{\rtf`)) {
		return fmt.Errorf("no signature of RTF: %w", ErrDamaged)
	}
	d.s = rtfState{uc: 1, outline: -1}
	err := d.parse(len(d.body))
	if err == nil && len(d.stack) > 0 {
		err = fmt.Errorf("%d groups have no end: %w", len(d.stack), ErrDamaged)
	}
	d.flush()
	r.out.reset()
	d.inNotes, d.table, d.row, d.cellOpen, d.paragraph = true, false, false, false, false
	for _, n := range d.notes {
		if err != nil && !errors.Is(err, ErrDamaged) {
			break
		}
		d.at, d.stack, d.s = n.start, nil, n.state
		if failed := d.parse(len(d.body)); failed != nil {
			err = failed
		}
		d.flush()
		d.endParagraph()
	}
	r.out.reset()
	return err
}

// parse reads until end, or until the group that was open last before ends.
func (d *rtf) parse(end int) error {
	for n := 0; d.at < end; n++ {
		if n%1024 == 0 {
			if err := d.stop(); err != nil {
				return err
			}
		}
		c := d.body[d.at]
		d.at++
		switch c {
		case '{':
			d.flush()
			d.skip, d.star = 0, false
			if len(d.stack) >= maxNesting {
				return fmt.Errorf("groups nest deeper than %d: %w", maxNesting, ErrLimit)
			}
			d.stack = append(d.stack, d.s)
			d.s.opened = false
			if d.s.dest == destStyles {
				d.begin(destStyle)
				d.s.style, d.s.outline = 0, -1
			}
		case '}':
			d.flush()
			d.skip = 0
			d.endGroup()
			if len(d.stack) == 0 {
				return nil
			}
			d.s = d.stack[len(d.stack)-1]
			d.stack = d.stack[:len(d.stack)-1]
			if len(d.stack) == 0 && !d.inNotes {
				return nil // what follows is no RTF
			}
		case '\\':
			d.control(end)
		case '\r', '\n', 0:
		default:
			d.char(c)
		}
	}
	return nil
}

// char adds a byte of text in the code page of the font.
func (d *rtf) char(c byte) {
	if d.skip > 0 {
		d.skip--
		return
	}
	if n := len(d.raw); n >= 16*maxRaw || n >= maxRaw && c < 0x80 && d.raw[n-1] < 0x80 {
		d.flush() // only the first, which is no file's habit, may cut a character in two
	}
	d.raw = append(d.raw, c)
}

// control reads what follows a backslash.
func (d *rtf) control(end int) {
	if d.at >= end {
		return
	}
	c := d.body[d.at]
	if !isLetter(c) {
		d.at++
		d.symbol(c, end)
		return
	}
	start := d.at
	for d.at < end && isLetter(d.body[d.at]) && d.at-start < maxWord {
		d.at++
	}
	word := string(d.body[start:d.at])
	start = d.at
	if d.at < end && d.body[d.at] == '-' {
		d.at++
	}
	for d.at < end && d.body[d.at] >= '0' && d.body[d.at] <= '9' && d.at-start < 11 {
		d.at++
	}
	value, err := strconv.Atoi(string(d.body[start:d.at]))
	has := err == nil
	if d.at >= end {
		return // the word, or its number, may be cut
	}
	if d.body[d.at] == ' ' {
		d.at++
	}
	if word == "bin" { // bytes that are no RTF
		d.at += min(max(value, 0), end-d.at)
		return
	}
	if d.skip > 0 && word != "u" {
		d.skip--
		return
	}
	if word != "u" {
		d.flush()
	}
	d.word(word, value, has)
	d.star = false
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// symbol reads a control symbol.
func (d *rtf) symbol(c byte, end int) {
	switch c {
	case '\'':
		if d.at+2 > end {
			d.at = end
			return
		}
		b, err := strconv.ParseUint(string(d.body[d.at:d.at+2]), 16, 8)
		if err != nil {
			return
		}
		d.at += 2
		d.char(byte(b))
	case '\\', '{', '}':
		d.char(c)
	case '*':
		d.star = true
	case '~':
		d.put("\u00a0")
	case '_':
		d.put("\u2011")
	case '\r', '\n':
		d.flush()
		d.word("par", 0, false)
	}
}

// flush decodes the text that has gathered.
func (d *rtf) flush() {
	if d.high != 0 {
		d.high = 0
		d.emit("\uFFFD")
	}
	if len(d.raw) == 0 {
		return
	}
	text := d.decode(d.raw)
	d.raw = d.raw[:0]
	d.emit(text)
}

func (d *rtf) decode(b []byte) string {
	pageNumber, ok := d.fonts[d.s.font]
	if !ok {
		pageNumber = d.ansi
	}
	ascii := true
	for _, c := range b {
		ascii = ascii && c < 0x80
	}
	if ascii {
		return string(b)
	}
	var e encoding.Encoding
	if e = codePages[pageNumber]; e == nil {
		if e = codePages[d.ansi]; e == nil {
			e = codePages[1252]
		}
	}
	text, err := e.NewDecoder().Bytes(b)
	if err != nil {
		return strings.ToValidUTF8(string(b), "\uFFFD")
	}
	return string(text)
}

// put adds text that is no byte of the file, unless it stands for a character of \u.
func (d *rtf) put(s string) {
	if d.skip > 0 {
		d.skip--
		return
	}
	d.flush()
	d.emit(s)
}

// unicode adds a character of \u: a unit of UTF-16, as a number with a sign.
func (d *rtf) unicode(value int) {
	if len(d.raw) > 0 {
		d.flush()
	}
	u := rune(uint16(value))
	switch {
	case utf16.IsSurrogate(u) && d.high == 0:
		d.high = u
	case d.high != 0:
		high := d.high
		d.high = 0
		d.emit(string(utf16.DecodeRune(high, u)))
	default:
		d.emit(string(u))
	}
	d.skip = d.s.uc
}

// emit gives text to what the group is for.
func (d *rtf) emit(text string) {
	switch d.s.dest {
	case destText:
		if d.s.hidden || d.s.deleted {
			return
		}
		if strings.TrimSpace(text) != "" || d.paragraph {
			d.beginParagraph()
		}
		d.out.setLink(d.s.link)
		d.out.text(text)
	case destStyle, destProperty, destField, destNumber:
		if d.collected.Len() < maxCollected {
			d.collected.WriteString(text)
		}
	}
}

// beginParagraph begins the paragraph with its first text: by then its properties are known.
func (d *rtf) beginParagraph() {
	if d.paragraph {
		return
	}
	d.paragraph = true
	if d.s.inTable {
		d.openCell()
	} else {
		d.closeTable()
	}
	p := para{}
	outline, ok := d.s.outline, true
	if outline < 0 {
		outline, ok = d.headed[d.s.style]
	}
	title := d.titles[d.s.style] && !d.inNotes
	switch {
	case ok && outline >= 0 && outline < 9:
		p.heading = outline + 1
	case title:
		p.heading = 1
	case d.s.list > 0:
		p.list, p.item = min(max(d.s.level, 0), maxListDepth-1)+1, true
		p.id = strconv.Itoa(d.s.list)
		p.ordered = d.ordered
	}
	d.out.begin(p)
	if title && !d.titled {
		d.out.copied = &strings.Builder{}
	}
}

func (d *rtf) endParagraph() {
	if !d.paragraph {
		return
	}
	d.paragraph, d.ordered = false, false
	d.out.end()
	if d.out.copied != nil {
		d.page.Title(d.out.copied.String())
		d.titled, d.out.copied = true, nil
	}
}

func (d *rtf) openCell() {
	if d.cellOpen {
		return
	}
	if !d.table {
		d.out.openTable()
		d.table = true
	}
	if !d.row {
		d.out.openRow()
		d.row = true
	}
	d.out.openCell()
	d.cellOpen = true
}

// endCell ends a cell, which may be empty.
func (d *rtf) endCell() {
	d.endParagraph()
	if !d.cellOpen && !d.cell() {
		return
	}
	d.openCell()
	d.out.closeCell()
	d.cellOpen = false
}

func (d *rtf) endRow() {
	d.endParagraph()
	if d.cellOpen {
		d.out.closeCell()
		d.cellOpen = false
	}
	if d.row {
		d.out.closeRow()
		d.row = false
	}
}

func (d *rtf) closeTable() {
	if !d.table {
		return
	}
	d.endRow()
	d.out.closeTable()
	d.table = false
}

// begin makes the group one of a destination.
func (d *rtf) begin(dest rtfDest) {
	d.s.dest, d.s.opened = dest, true
	switch dest {
	case destStyle, destProperty, destField, destNumber:
		d.collected.Reset()
	case destTime:
		d.stamp = rtfTime{}
	}
}

// endGroup uses what the group has collected.
func (d *rtf) endGroup() {
	if !d.s.opened {
		return
	}
	text := d.collected.String()
	switch d.s.dest {
	case destStyle:
		name := strings.ToLower(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), ";")))
		name, _, _ = strings.Cut(name, ";")
		level, err := strconv.Atoi(strings.TrimPrefix(name, "heading "))
		switch {
		case !d.room(len(d.headed)), !d.room(len(d.titles)):
		case d.s.outline >= 0:
			d.headed[d.s.style] = d.s.outline
		case err == nil && strings.HasPrefix(name, "heading ") && level >= 1 && level <= 9:
			d.headed[d.s.style] = level - 1
		case name == "title":
			d.titles[d.s.style] = true
		}
	case destProperty:
		switch d.s.property {
		case "title":
			d.page.Title(text)
		case page.Author:
			d.authors(text)
		case page.Keywords:
			d.keyword(strings.TrimSpace(text))
		default:
			d.page.Property(d.s.property, strings.TrimSuffix(strings.TrimSpace(text), ";"))
		}
	case destTime:
		d.page.Property(d.s.property, d.stamp.String())
	case destField:
		if d.s.field != nil {
			d.s.field.link = hyperlink(text)
		}
	case destNumber:
		text = strings.TrimSpace(text)
		d.ordered = strings.ContainsAny(text, "0123456789") ||
			len(text) > 1 && strings.ContainsAny(text, ".)")
	}
}
