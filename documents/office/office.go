package office

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"crawlnode/documents/page"
)

// Kind is the kind of a file that Read understands.
type Kind uint8

// The kinds of files. A kind includes the templates and the variants with macros.
const (
	None      Kind = iota // no file of this package
	Word                  // OOXML text, docx
	Sheet                 // OOXML workbook, xlsx
	Slides                // OOXML presentation, pptx
	ODFText               // odt
	ODFSheet              // ods
	ODFSlides             // odp
	EPUB                  // EPUB 2 or 3
	RTF                   // Rich Text Format
)

var kindNames = [...]string{"none", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "rtf"}

// String is the usual suffix of files of the kind.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// The classes of errors of Read. The text of an error says more.
var (
	ErrEncrypted = errors.New("is encrypted")
	ErrDamaged   = errors.New("is damaged")
	ErrLimit     = errors.New("exceeds a limit")
)

// Limits bounds what one file may cost. A field that is zero has its default.
type Limits struct {
	HTML     int   // bytes of the page's body; default 4 MiB
	Unpacked int64 // bytes unpacked from the file in all; default 64 MiB
	// Ratio is the number of bytes that may be unpacked for each byte of the file, beyond the first
	// 4 MiB. Deflate reaches 1032; office files stay below 100. Default 200.
	Ratio   int
	Entries int // entries of the zip; default 20,000
	Cells   int // of all tables, empty ones included; default 1,000,000
	Strings int // bytes of memory for the shared strings of a workbook; default 32 MiB
}

// The default limits, and those that are no field of Limits.
const (
	freeUnpacked = 4 << 20 // bytes that are unpacked whatever the ratio

	maxNesting = 512     // of XML elements and of RTF groups
	maxToken   = 2 << 20 // bytes of one XML token: a tag with its attributes, or a text
	maxKept    = 8 << 20 // bytes of memory of tokens that wait at one time
	maxTable   = 1 << 16 // rows of any lookup table: styles, relationships, manifest
	maxGap     = 256     // empty cells written before one that is not
	maxRepeats = 1 << 10 // of a row or cell that is written once and counted
)

func (l Limits) withDefaults(size int) Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.HTML, 4<<20)
	set(&l.Ratio, 200)
	set(&l.Entries, 20_000)
	set(&l.Cells, 1_000_000)
	set(&l.Strings, 32<<20)
	if l.Unpacked <= 0 {
		l.Unpacked = 64 << 20
	}
	l.Unpacked = min(l.Unpacked, max(freeUnpacked, int64(l.Ratio)*int64(size)))
	return l
}

// Read makes a page of a file of the given kind. With an error, the page is what could be read
// before, or nil if that is nothing; it is then truncated.
func Read(ctx context.Context, body []byte, kind Kind, l Limits) (html []byte, truncated bool,
	err error,
) {
	l = l.withDefaults(len(body))
	r := &reader{ctx: ctx, l: l, page: page.New(l.HTML)}
	r.out = &flow{w: r.page}
	if bytes.HasPrefix(body, compoundMagic) && bytes.Contains(body, encryptedPackage) {
		return nil, true, fmt.Errorf("%s file %w", kind, ErrEncrypted)
	}
	switch kind {
	case RTF:
		r.note(readRTF(r, body))
	case Word, Sheet, Slides, ODFText, ODFSheet, ODFSlides, EPUB:
		r.zip, err = openContainer(ctx, body, l)
		r.note(err)
		if r.zip != nil {
			r.note(r.readZip(kind))
		}
	default:
		return nil, false, fmt.Errorf("no office file: its kind is %s", kind)
	}
	r.page.Property(page.Keywords, strings.Join(r.keywords, ", "))
	truncated = r.cut || r.err != nil || r.page.Truncated()
	if r.err != nil {
		err = fmt.Errorf("%s file: %w", kind, r.err)
		if !r.out.wrote {
			return nil, true, err
		}
	}
	return r.page.HTML(), truncated, err
}

// reader is the state of one Read that all kinds share.
type reader struct {
	ctx      context.Context
	l        Limits
	zip      *container
	page     *page.Writer
	out      *flow
	err      error // the first failure
	cut      bool  // a bound was reached without a failure
	keywords []string
	// cells and kept count towards Limits.Cells and maxKept.
	cells, kept int
}

func (r *reader) readZip(kind Kind) error {
	switch kind {
	case Word:
		return readWord(r)
	case Sheet:
		return readSheet(r)
	case Slides:
		return readSlides(r)
	case EPUB:
		return readEPUB(r)
	default:
		return readODF(r, kind)
	}
}

// note remembers the first failure of a part. Reading goes on with the next part: if a budget is
// exhausted or the context is done, that one fails at once.
func (r *reader) note(err error) {
	if err != nil && (r.err == nil || errors.Is(err, ErrEncrypted)) && !errors.Is(err, errFull) {
		r.err = err
	}
}

// keyword adds subjects or keywords; they become one property.
func (r *reader) keyword(s string) {
	if s != "" && r.room(len(r.keywords)) {
		r.keywords = append(r.keywords, s)
	}
}

// language sets the language, unless the tag says that there is none.
func (r *reader) language(tag string) {
	switch strings.ToLower(tag) {
	case "x-none", "none", "zxx", "und", "mul":
	default:
		r.page.Language(tag)
	}
}

// room reports whether a lookup table of n rows may have one more.
func (r *reader) room(n int) bool {
	if n < maxTable {
		return true
	}
	r.cut = true
	return false
}

// cell counts a cell, and reports whether it may be written.
func (r *reader) cell() bool {
	if r.cells++; r.cells > r.l.Cells {
		r.cut = true
		return false
	}
	return true
}

// errFull ends the reading of a part when the page is full. It is no failure.
var errFull = errors.New("the page is full")

// stop is the reason to read no further, if there is one. It is asked for each paragraph and row.
func (r *reader) stop() error {
	if r.page.Full() {
		r.cut = true
		return errFull
	}
	return r.ctx.Err()
}

// part reads an XML part of the file with fn, which is called for each child of the part's root
// element and is handed the reader of its content. A part that is not required may be missing, and
// has half of the budget at most: a bomb in it leaves the text readable.
func (r *reader) part(name string, required bool,
	fn func(x *xmlReader, root, child element) error,
) error {
	f, err := r.zip.open(name)
	if errors.Is(err, errMissing) && !required {
		return nil
	} else if err != nil {
		return err
	}
	if !required {
		reserve := r.zip.left / 2
		r.zip.left -= reserve
		defer func() { r.zip.left += reserve }()
	}
	x := newXML(f)
	err = x.each(func(root element) error {
		return x.each(func(child element) error { return fn(x, root, child) }, nil)
	}, nil)
	return partError(name, err)
}

// partError says which part has failed, and gives errors of XML and of zip their class.
func partError(name string, err error) error {
	switch {
	case err == nil || errors.Is(err, errFull):
		return err
	case errors.Is(err, ErrLimit), errors.Is(err, ErrEncrypted), errors.Is(err, ErrDamaged),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%q: %w", short(name), err)
	case errors.Is(err, io.EOF):
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("%q %w: %w", short(name), ErrDamaged, err)
}

// short is the beginning of a name, for an error.
func short(name string) string {
	if len(name) > 100 {
		return strings.ToValidUTF8(name[:100], "") + "..."
	}
	return name
}
