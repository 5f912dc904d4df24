package office

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// sheet reads an xlsx: a heading and a table for each visible sheet, in the workbook's order.
type sheet struct {
	*reader
	strings sharedStrings
	formats []cellFormat // by the index of a style
	epoch   time.Time    // day 0; see serialTime
	links   map[string]string
}

// cellFormat says which parts of a date a number format shows.
type cellFormat uint8

const (
	showsDate cellFormat = 1 << iota
	showsTime
	showsElapsed // hours beyond 24, minutes and seconds
)

// sharedStrings are the strings that cells refer to, in one block of memory.
type sharedStrings struct {
	text []byte
	ends []uint32
}

func (s *sharedStrings) at(i int) string {
	if i < 0 || i >= len(s.ends) {
		return ""
	}
	start := uint32(0)
	if i > 0 {
		start = s.ends[i-1]
	}
	return string(s.text[start:s.ends[i]])
}

func readSheet(r *reader) error {
	d := &sheet{reader: r, epoch: time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)}
	main := r.mainPart("xl/workbook.xml")
	rels, order := r.relations(main)
	type visible struct{ name, part string }
	var sheets []visible
	r.note(r.part(main, true, func(x *xmlReader, _, e element) error {
		switch e.Name.Local {
		case "workbookPr":
			if v := attr(e, "date1904"); v != "" && v != "0" && v != "false" {
				d.epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
			}
		case "sheets":
			return x.each(func(e element) error {
				rel := rels[relation(e)]
				state := attr(e, "state")
				if e.Name.Local == "sheet" && rel.kind == "worksheet" && !rel.external &&
					state != "hidden" && state != "veryHidden" && r.room(len(sheets)) {
					sheets = append(sheets, visible{attr(e, "name"), rel.target})
				}
				return nil
			}, nil)
		}
		return nil
	}))
	folder := path.Dir(main)
	name := related(rels, order, "sharedStrings", path.Join(folder, "sharedStrings.xml"))
	r.note(d.readStrings(name))
	name = related(rels, order, "styles", path.Join(folder, "styles.xml"))
	r.note(d.readFormats(name))
	for _, s := range sheets {
		if r.stop() != nil {
			break
		}
		r.out.begin(para{heading: 2})
		r.out.text(s.name)
		r.out.end()
		if err := d.read(s.part); err != nil {
			r.out.reset()
			r.note(err)
		}
	}
	return nil
}

func (d *sheet) readStrings(name string) error {
	s := &d.strings
	return d.part(name, false, func(x *xmlReader, _, e element) error {
		if e.Name.Local != "si" {
			return nil
		}
		start := len(s.text)
		err := richText(x, func(b []byte) {
			if len(s.text)+len(b)+4*len(s.ends) <= d.l.Strings {
				s.text = append(s.text, b...)
			} else {
				d.cut = true
			}
		})
		if len(s.text)+4*len(s.ends)+4 > d.l.Strings {
			s.text, d.cut = s.text[:start], true
			return nil
		}
		s.ends = append(s.ends, uint32(len(s.text)))
		return err
	})
}

// richText gives the text of the runs of a string; phonetic hints (rPh) are no part of it.
func richText(x *xmlReader, add func([]byte)) error {
	return x.each(func(e element) error {
		switch e.Name.Local {
		case "t":
			return x.each(nil, add)
		case "r":
			return richText(x, add)
		}
		return nil
	}, nil)
}

func (d *sheet) readFormats(name string) error {
	custom := map[int]cellFormat{}
	return d.part(name, false, func(x *xmlReader, _, e element) error {
		return x.each(func(child element) error {
			id, err := strconv.Atoi(attr(child, "numFmtId"))
			switch {
			case child.Name.Local == "numFmt" && err == nil && d.room(len(custom)):
				custom[id] = formatOf(attr(child, "formatCode"))
			case e.Name.Local == "cellXfs" && child.Name.Local == "xf" && d.room(len(d.formats)):
				format, ok := custom[id]
				if !ok {
					format = builtinFormat(id)
				}
				d.formats = append(d.formats, format)
			}
			return nil
		}, nil)
	})
}

// builtinFormat is the format of an identifier that needs no definition: ECMA-376 part 1, 18.8.30,
// with the East Asian ones.
func builtinFormat(id int) cellFormat {
	switch {
	case id >= 14 && id <= 17, id >= 27 && id <= 31, id == 36, id >= 50 && id <= 54,
		id >= 57 && id <= 58:
		return showsDate
	case id >= 18 && id <= 21, id >= 32 && id <= 35, id == 45, id == 47, id == 55, id == 56:
		return showsTime
	case id == 46:
		return showsElapsed
	case id == 22:
		return showsDate | showsTime
	}
	return 0
}

// formatOf reads a format code: which of the letters of dates and times are outside of quotes,
// brackets and escapes. Brackets around hours, minutes or seconds make an elapsed time.
func formatOf(code string) cellFormat {
	var f cellFormat
	month := false
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '"':
			end := strings.IndexByte(code[i+1:], '"')
			if end < 0 {
				return f
			}
			i += end + 1
		case '\\', '_', '*':
			i++
		case '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				return f
			}
			if strings.Trim(strings.ToLower(code[i+1:i+end]), "hms") == "" && end > 1 {
				return showsElapsed
			}
			i += end
		case ';': // the formats of negative numbers, zero and text
			i = len(code)
		case 'y', 'Y', 'd', 'D':
			f |= showsDate
		case 'h', 'H', 's', 'S':
			f |= showsTime
		case 'm', 'M':
			month = true
		case 'G', 'g':
			const general = "General"
			if len(code)-i >= len(general) && strings.EqualFold(code[i:i+len(general)], general) {
				i += len(general) - 1
			}
		}
	}
	if f == 0 && month {
		f = showsDate // minutes alone are not a format that people use; months are
	}
	return f
}

// serialTime is the time of a serial number, in whole seconds, as the format shows it in ISO 8601;
// "" if it is no date. Day 60 of the epoch of 1900 is a 29 February that never was, so the days
// before it count from the day before.
func (d *sheet) serialTime(value float64, f cellFormat) string {
	const lastDay = 2958466 // 31 December 9999
	if !(value >= 0 && value < lastDay) {
		return ""
	}
	seconds := int(math.Round(value * 86400))
	if f == showsElapsed {
		return fmt.Sprintf("%d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)
	}
	day := d.epoch
	if value < 60 && day.Year() == 1899 {
		day = day.AddDate(0, 0, 1)
	}
	t := day.AddDate(0, 0, seconds/86400).Add(time.Duration(seconds%86400) * time.Second)
	switch {
	case f == showsDate:
		return t.Format(time.DateOnly)
	case f == showsTime && value < 1:
		return t.Format(time.TimeOnly)
	}
	return t.Format("2006-01-02T15:04:05")
}

// read writes one sheet.
func (d *sheet) read(name string) error {
	rels, _ := d.relations(name)
	d.links = map[string]string{}
	for _, rel := range rels {
		if rel.kind == "hyperlink" && rel.external {
			d.note(d.readLinks(name, rels))
			break
		}
	}
	open := false
	err := d.part(name, true, func(x *xmlReader, _, e element) error {
		if e.Name.Local != "sheetData" {
			return nil
		}
		return x.each(func(e element) error {
			if e.Name.Local != "row" {
				return nil
			}
			return d.row(x, &open)
		}, nil)
	})
	if err == nil && open {
		d.out.closeTable()
	}
	return err
}

// row writes the cells of a row; without any, it leaves nothing.
func (d *sheet) row(x *xmlReader, table *bool) error {
	if err := d.stop(); err != nil {
		return err
	}
	column, row := 0, false
	err := x.each(func(e element) error {
		if e.Name.Local != "c" {
			return nil
		}
		text, link, err := d.value(x, e)
		if err != nil || text == "" {
			return err
		}
		if !*table {
			d.out.openTable()
			*table = true
		}
		if !row {
			d.out.openRow()
			row = true
		}
		at := max(columnOf(attr(e, "r")), column)
		for range min(at-column, maxGap) {
			if d.cell() {
				d.out.openCell()
				d.out.closeCell()
			}
		}
		column = at + 1
		if !d.cell() {
			return nil
		}
		d.out.openCell()
		if target := d.links[attr(e, "r")]; target != "" {
			link = target
		}
		d.out.setLink(link)
		d.out.text(text)
		d.out.closeCell()
		d.out.setLink("")
		return nil
	}, nil)
	if err == nil && row {
		d.out.closeRow()
	}
	return err
}

// columnOf is the column of a reference such as "AB12", from 0; 0 if it is none.
func columnOf(ref string) int {
	n := 0
	for i := 0; i < len(ref) && i < 3 && ref[i] >= 'A' && ref[i] <= 'Z'; i++ {
		n = n*26 + int(ref[i]-'A') + 1
	}
	return max(n-1, 0)
}

// value is the text of a cell, and the link that a formula makes of it. The text of a formula is
// the value that was computed last.
func (d *sheet) value(x *xmlReader, e element) (text, link string, err error) {
	var b strings.Builder
	add := func(t []byte) { b.Write(t) }
	err = x.each(func(e element) error {
		switch e.Name.Local {
		case "f":
			formula, err := x.text()
			// HYPERLINK("address", "text"): a double quote cannot be part of an address.
			if rest, ok := strings.CutPrefix(formula, `HYPERLINK("`); ok {
				target, _, _ := strings.Cut(rest, `"`)
				link = absolute(target)
			}
			return err
		case "v":
			return x.each(nil, add)
		case "is":
			return richText(x, add)
		}
		return nil
	}, nil)
	if b.Len() == 0 {
		return "", link, err
	}
	return d.shown(b.String(), attr(e, "t"), attr(e, "s")), link, err
}

// shown is a value as people see it, by the type and the style of its cell.
func (d *sheet) shown(v, kind, style string) string {
	switch kind {
	case "s":
		i, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil {
			return ""
		}
		return d.strings.at(i)
	case "b":
		if v == "1" {
			return "TRUE"
		}
		return "FALSE"
	case "", "n":
		return d.number(strings.TrimSpace(v), style)
	}
	return v // str, inlineStr, e, d
}

// number is a number as people see it: with 15 digits, or as a date if its style says so.
func (d *sheet) number(v, style string) string {
	value, err := strconv.ParseFloat(v, 64)
	if err != nil {
		return v
	}
	i, err := strconv.Atoi(style)
	if err == nil && i >= 0 && i < len(d.formats) && d.formats[i] != 0 {
		if s := d.serialTime(value, d.formats[i]); s != "" {
			return s
		}
	}
	if s := strconv.FormatFloat(value, 'g', 15, 64); !strings.Contains(s, "e") {
		return s
	}
	return v
}

// readLinks finds the links of a sheet. They stand behind the cells: the part is unpacked twice,
// and the first time only their element is read as XML.
func (d *sheet) readLinks(name string, rels map[string]relationship) error {
	f, err := d.zip.open(name)
	if err != nil {
		return err
	}
	at, err := seekLinks(f)
	if err != nil || at == nil {
		return partError(name, err)
	}
	x := newXML(io.MultiReader(strings.NewReader("<"+linksElement), at))
	err = x.each(func(element) error {
		err := x.each(func(e element) error {
			rel := rels[relation(e)]
			// A link of many cells is that of the first.
			ref, _, _ := strings.Cut(attr(e, "ref"), ":")
			if target := address(rel.target); rel.external && target != "" && d.room(len(d.links)) {
				d.links[ref] = target
			}
			return nil
		}, nil)
		if err != nil {
			return err
		}
		return errSeen
	}, nil)
	if errors.Is(err, errSeen) {
		return nil
	}
	return partError(name, err)
}

// errSeen ends a walk that has found what it looks for. It is no failure.
var errSeen = errors.New("found")

// linksElement is the element of a sheet that has its links.
const linksElement = "hyperlinks"

// seekLinks reads until the start tag of linksElement, and returns what follows the name; nil if
// there is none. A prefix of the tag is cut off with it.
func seekLinks(r io.Reader) (io.Reader, error) {
	const prefix = 20 // bytes of the longest prefix that is understood, with its < and colon
	buf := make([]byte, 0, 64<<10)
	for {
		from := max(len(buf)-len(linksElement), 0)
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		for {
			i := bytes.Index(buf[from:], []byte(linksElement))
			if i < 0 {
				break
			}
			at := from + i
			from = at + len(linksElement)
			before := buf[max(at-prefix, 0):at]
			open := bytes.LastIndexByte(before, '<')
			last := len(before) - 1
			if open >= 0 && (open == last || before[last] == ':' && before[open+1] != '/') {
				return io.MultiReader(bytes.NewReader(bytes.Clone(buf[from:])), &after{r, err}), nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		if len(buf) > cap(buf)/2 { // the tag may be cut: its beginning stays
			buf = buf[:copy(buf, buf[len(buf)-64:])]
		}
	}
}

// after is a reader whose last error came with bytes that were read already.
type after struct {
	r   io.Reader
	err error
}

func (a *after) Read(p []byte) (int, error) {
	if a.err != nil {
		return 0, a.err
	}
	return a.r.Read(p)
}
