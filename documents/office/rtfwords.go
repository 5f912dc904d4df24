package office

import (
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	"golang.org/x/text/encoding/unicode"

	"crawlnode/documents/page"
)

// codePages are the encodings of the code pages of Windows, DOS and the Macintosh.
var codePages = map[int]encoding.Encoding{
	437: charmap.CodePage437, 850: charmap.CodePage850, 852: charmap.CodePage852,
	855: charmap.CodePage855, 858: charmap.CodePage858, 860: charmap.CodePage860,
	862: charmap.CodePage862, 863: charmap.CodePage863, 865: charmap.CodePage865,
	866: charmap.CodePage866, 874: charmap.Windows874, 932: japanese.ShiftJIS,
	936: simplifiedchinese.GBK, 949: korean.EUCKR, 950: traditionalchinese.Big5,
	1250: charmap.Windows1250, 1251: charmap.Windows1251, 1252: charmap.Windows1252,
	1253: charmap.Windows1253, 1254: charmap.Windows1254, 1255: charmap.Windows1255,
	1256: charmap.Windows1256, 1257: charmap.Windows1257, 1258: charmap.Windows1258,
	10000: charmap.Macintosh, 10007: charmap.MacintoshCyrillic, 20866: charmap.KOI8R,
	21866: charmap.KOI8U, 28591: charmap.ISO8859_1, 28592: charmap.ISO8859_2,
	28595: charmap.ISO8859_5, 28597: charmap.ISO8859_7, 54936: simplifiedchinese.GB18030,
	65001: unicode.UTF8,
}

// fontCharsets are the code pages of \fcharset. Charset 1 is the document's own.
var fontCharsets = map[int]int{
	0: 1252, 77: 10000, 128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258,
	177: 1255, 178: 1256, 186: 1257, 204: 1251, 222: 874, 238: 1250, 254: 437, 255: 850,
}

// symbols are the control words that stand for text.
var symbols = map[string]string{
	"tab": "\t", "emdash": "\u2014", "endash": "\u2013", "emspace": "\u2003", "enspace": "\u2002",
	"qmspace": "\u2005", "bullet": "\u2022", "lquote": "\u2018", "rquote": "\u2019",
	"ldblquote": "\u201c", "rdblquote": "\u201d", "zwj": "\u200d", "zwnj": "\u200c",
	"nestcell": "\t",
}

// primaryLanguages are the languages of the lower ten bits of a Windows language identifier.
var primaryLanguages = map[int]string{
	0x01: "ar", 0x02: "bg", 0x03: "ca", 0x04: "zh", 0x05: "cs", 0x06: "da", 0x07: "de", 0x08: "el",
	0x09: "en", 0x0a: "es", 0x0b: "fi", 0x0c: "fr", 0x0d: "he", 0x0e: "hu", 0x0f: "is", 0x10: "it",
	0x11: "ja", 0x12: "ko", 0x13: "nl", 0x14: "no", 0x15: "pl", 0x16: "pt", 0x18: "ro", 0x19: "ru",
	0x1b: "sk", 0x1c: "sq", 0x1d: "sv", 0x1e: "th", 0x1f: "tr", 0x20: "ur", 0x21: "id", 0x22: "uk",
	0x23: "be", 0x24: "sl", 0x25: "et", 0x26: "lv", 0x27: "lt", 0x29: "fa", 0x2a: "vi", 0x2b: "hy",
	0x2d: "eu", 0x2f: "mk", 0x36: "af", 0x37: "ka", 0x38: "fo", 0x39: "hi", 0x3e: "ms", 0x3f: "kk",
	0x41: "sw", 0x45: "bn", 0x49: "ta", 0x4a: "te", 0x52: "cy", 0x56: "gl",
}

// properties are the destinations of \info that are text, and what they become.
var properties = map[string]string{
	"title": "title", "author": page.Author, "subject": page.Keywords, "keywords": page.Keywords,
	"doccomm": page.Description, "generator": page.Generator,
}

// skipped are the destinations that show nothing and are not marked with \*.
var skipped = map[string]bool{
	"colortbl": true, "pict": true, "objdata": true, "nonshppict": true, "header": true,
	"headerl": true, "headerr": true, "headerf": true, "footer": true, "footerl": true,
	"footerr": true,
	"footerf": true, "ftnsep": true, "ftnsepc": true, "ftncn": true, "aftnsep": true,
	"aftnsepc": true, "aftncn": true, "xe": true, "tc": true, "tcn": true, "rxe": true, "txe": true,
	"filetbl":      true,
	"nonesttables": true, "sp": true, "template": true, "private": true, "listtable": true,
	"listoverridetable": true, "revtbl": true, "rsidtbl": true, "stextflow": true,
	"mmathPict": true,
	"bkmkstart": true, "bkmkend": true, "do": true, "listname": true, "leveltext": true,
	"levelnumbers": true, "mtype": true,
}

// word does what a control word says.
func (d *rtf) word(word string, value int, has bool) {
	if s, ok := symbols[word]; ok {
		if word != "tab" || d.paragraph || d.s.dest != destText {
			d.emit(s)
		}
		return
	}
	if d.destination(word) {
		return
	}
	if d.star {
		d.begin(destSkip)
		return
	}
	isOn := !has || value != 0
	switch word {
	case "u":
		d.unicode(value)
	case "uc":
		d.s.uc = min(max(value, 0), 64)
	case "ansicpg":
		d.ansi = value
	case "mac":
		d.ansi = 10000
	case "pc":
		d.ansi = 437
	case "pca":
		d.ansi = 850
	case "deff":
		d.s.font, d.font = value, value
	case "f":
		d.s.font = value
	case "fcharset":
		if cp, ok := fontCharsets[value]; ok && d.s.dest == destFonts && d.room(len(d.fonts)) {
			d.fonts[d.s.font] = cp
		}
	case "cpg":
		if d.s.dest == destFonts && d.room(len(d.fonts)) {
			d.fonts[d.s.font] = value
		}
	case "deflang":
		d.page.Language(primaryLanguages[value&0x3ff])
	case "plain":
		d.s.hidden, d.s.deleted, d.s.font = false, false, d.font
	case "v":
		d.s.hidden = isOn
	case "deleted":
		d.s.deleted = isOn
	default:
		d.layout(word, value)
	}
}

// layout does what the control words of paragraphs and tables say, and those of times.
func (d *rtf) layout(word string, value int) {
	text := d.s.dest == destText
	switch word {
	case "pard":
		d.s.style, d.s.outline, d.s.list, d.s.level, d.s.inTable = 0, -1, 0, 0, false
	case "s":
		d.s.style = value
	case "outlinelevel":
		d.s.outline = value
	case "ls":
		d.s.list = value
	case "ilvl":
		d.s.level = value
	case "intbl":
		d.s.inTable = true
	case "par", "sect", "page":
		if text {
			d.endParagraph()
		}
	case "line", "softline", "lbr":
		if text && d.paragraph && !d.s.hidden && !d.s.deleted {
			d.out.lineBreak()
		}
	case "cell":
		if text {
			d.endCell()
		}
	case "row":
		if text {
			d.endRow()
		}
	case "yr":
		d.stamp.year = value
	case "mo":
		d.stamp.month = value
	case "dy":
		d.stamp.day = value
	case "hr":
		d.stamp.hour = min(max(value, 0), 23)
	case "min":
		d.stamp.minute = min(max(value, 0), 59)
	case "sec":
		d.stamp.second = min(max(value, 0), 59)
	}
}

// destination begins the destination of this name, if it is one.
func (d *rtf) destination(word string) bool {
	if d.s.dest == destSkip {
		return word != "u" && word != "uc"
	}
	info := d.s.dest == destInfo
	switch word {
	case "fonttbl":
		d.begin(destFonts)
	case "stylesheet":
		d.begin(destStyles)
	case "info":
		d.begin(destInfo)
	case "creatim", "revtim":
		if !info {
			return false
		}
		d.begin(destTime)
		d.s.property = page.Created
		if word == "revtim" {
			d.s.property = page.Modified
		}
	case "field":
		d.s.field = &rtfField{}
	case "fldinst":
		d.begin(destField)
	case "fldrslt":
		if d.s.field != nil && d.s.field.link != "" {
			d.s.link = d.s.field.link
		}
	case "listtext", "pntext":
		if d.s.dest != destText {
			return false
		}
		d.begin(destNumber)
	case "footnote":
		d.footnote()
	case "shpinst":
		d.begin(destShape)
	case "shptxt", "shprslt", "objattph":
		d.s.dest = destText
		if word == "shprslt" { // the same for readers that know no shapes
			d.begin(destSkip)
		}
	case "nesttableprops": // ends a row of a table in a cell, whose cells are lines here
		d.endParagraph()
		d.begin(destSkip)
	case "upr":
		d.begin(destUnicode)
	case "ud":
		if n := len(d.stack); d.s.dest == destUnicode && n > 1 {
			d.s.dest = d.stack[n-2].dest
		}
	default:
		if property, ok := properties[word]; ok && (info || word == "generator" && d.star) {
			d.begin(destProperty)
			d.s.property = property
			return true
		}
		if info && !d.s.opened || skipped[word] {
			d.begin(destSkip)
			return true
		}
		return false
	}
	return true
}

// footnote remembers the rest of the group for the end of the page, and skips it.
func (d *rtf) footnote() {
	state := d.s
	d.begin(destSkip)
	if state.dest != destText || d.inNotes || len(d.notes) >= maxNotes {
		return
	}
	state.link, state.inTable, state.list, state.outline, state.style = "", false, 0, -1, 0
	d.notes = append(d.notes, rtfNote{start: d.at, state: state})
}
