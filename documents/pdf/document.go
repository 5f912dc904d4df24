package pdf

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"crawlnode/documents/page"

	"github.com/klippa-app/go-pdfium/enums"
	pdfiumerrors "github.com/klippa-app/go-pdfium/errors"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/structs"
	"github.com/tetratelabs/wazero/sys"
)

// The bounds of a file. What is beyond is left out, and the page is marked.
const (
	maxBody     = 64 << 20 // bytes
	maxChars    = 1 << 20  // characters of a page
	maxLinks    = 1024     // links of a page
	maxAllLinks = 16 << 10 // links of a file
	maxOutline  = 4096     // entries of the outline
	maxDepth    = 8        // nested levels of the outline
	maxLinkText = 1000     // characters that a link stands on
	maxAddress  = 2 << 10  // bytes of a link's address
	maxBadPages = 100      // pages in a row that cannot be read: then nor can the rest
)

// The default limits of a page.
const (
	defaultHTML  = 8 << 20
	defaultPages = 10_000
)

// The reasons why a file is not read, or not wholly.
var (
	ErrTooLarge  = errors.New("pdf: the file is larger than 64 MiB")
	ErrEncrypted = errors.New("pdf: the file is encrypted")
	ErrDamaged   = errors.New("pdf: the file is damaged")
	ErrMemory    = errors.New("pdf: the file needs more memory than it may have")

	// ErrNoText says that a file has been read and has no text: it is scanned, drawn, or empty.
	ErrNoText = errors.New("pdf: the file has no text; it may be scanned")
)

// Limits are the limits of one page. A zero is the default.
type Limits struct {
	HTML  int // bytes of the page's body; 0 is 8 MiB
	Pages int // pages of the file; 0 is 10,000
}

// Read reads a file. It returns the page, and whether something was left out of it. The end of ctx
// interrupts it; without a deadline a hostile file may take for ever.
//
// With an error html is what had been read until then, or nil if that is nothing. With ErrNoText
// it is all that there is: title and properties.
func (e *Engine) Read(ctx context.Context, body []byte, l Limits) (
	html []byte, truncated bool, err error,
) {
	if len(body) > maxBody {
		return nil, false, ErrTooLarge
	}
	if l.HTML <= 0 {
		l.HTML = defaultHTML
	}
	if l.Pages <= 0 {
		l.Pages = defaultPages
	}
	in, release, err := e.instance(ctx)
	if err != nil {
		return nil, false, err
	}
	defer release()
	r := &reader{ctx: ctx, in: in, w: page.New(l.HTML), pages: l.Pages}
	err = r.read(body)
	if err != nil && !r.opened {
		return nil, false, err
	}
	if err != nil && !errors.Is(err, ErrNoText) {
		r.w.Truncate()
	}
	return r.w.HTML(), r.w.Truncated(), err
}

// reader reads one file.
type reader struct {
	ctx     context.Context
	in      *instance
	w       *page.Writer
	pages   int // that may be read
	doc     references.FPDF_DOCUMENT
	opened  bool // there is something to give back
	hasText bool
	links   int
	outline map[int]outline // by the page that the entries lead to
}

func (r *reader) read(body []byte) error {
	doc, err := r.in.OpenDocument(&requests.OpenDocument{File: &body})
	if err != nil {
		return r.opening(err)
	}
	r.doc, r.opened = doc.Document, true
	if err := r.properties(); err != nil {
		return err
	}
	count, err := r.in.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: r.doc})
	if err != nil {
		return r.reason(err)
	}
	if count.PageCount > r.pages {
		r.w.Truncate()
	}
	if err := r.readOutline(); err != nil {
		return err
	}
	bad, read := 0, 0
	for i := range min(count.PageCount, r.pages) {
		if r.w.Full() {
			r.w.Truncate()
			break
		}
		err := r.page(i)
		switch {
		case err == nil:
			bad, read = 0, read+1
		case r.ended(err):
			return fmt.Errorf("%w (page %d of %d)", r.reason(err), i+1, count.PageCount)
		default: // this page is damaged
			r.w.Truncate()
			bad++
		}
		if bad == maxBadPages {
			break
		}
	}
	switch {
	case read == 0:
		return fmt.Errorf("%w: none of %d pages can be read", ErrDamaged, count.PageCount)
	case !r.hasText:
		return ErrNoText
	}
	return nil
}

// ended reports whether an error is the end of the instance, and not only of what it was asked.
func (r *reader) ended(err error) bool {
	var exit *sys.ExitError
	return r.ctx.Err() != nil || errors.As(err, &exit) ||
		strings.Contains(err.Error(), "wasm error") || // wazero's trap has no type
		strings.Contains(err.Error(), "panic occurred") // what go-pdfium recovers from
}

// reason is why PDFium has failed.
func (r *reader) reason(err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n") // the rest is a stack of the sandbox
	switch {
	case r.ctx.Err() != nil:
		return fmt.Errorf("pdf: interrupted: %w", context.Cause(r.ctx))
	case r.in.memory.exhausted():
		return fmt.Errorf("%w, %d MiB", ErrMemory, r.in.memory.most>>20)
	case r.ended(err):
		return fmt.Errorf("%w: it stops its reader: %s", ErrDamaged, first)
	}
	return fmt.Errorf("%w: %s", ErrDamaged, first)
}

// opening is why a file cannot be opened.
func (r *reader) opening(err error) error {
	switch {
	case r.ended(err):
		return r.reason(err)
	case errors.Is(err, pdfiumerrors.ErrPassword):
		return fmt.Errorf("%w: it needs a password", ErrEncrypted)
	case errors.Is(err, pdfiumerrors.ErrSecurity):
		return fmt.Errorf("%w in a way that is not known", ErrEncrypted)
	}
	return r.reason(err)
}

// failed is an error that ends the file; that of one damaged thing is nil.
func (r *reader) failed(err error) error {
	if err != nil && r.ended(err) {
		return r.reason(err)
	}
	return nil
}

// properties reads the document's information and its language.
func (r *reader) properties() error {
	set := func(tag string, use func(string)) error {
		a, err := r.in.FPDF_GetMetaText(&requests.FPDF_GetMetaText{Document: r.doc, Tag: tag})
		if err != nil {
			return r.failed(err)
		}
		use(a.Value)
		return nil
	}
	generator := ""
	for _, p := range []struct {
		tag string
		use func(string)
	}{
		{"Title", r.w.Title},
		{"Author", func(s string) {
			for _, name := range authors(s) {
				r.w.Property(page.Author, name)
			}
		}},
		{"Subject", func(s string) { r.w.Property(page.Description, s) }},
		{"Keywords", func(s string) { r.w.Property(page.Keywords, s) }},
		{"Creator", func(s string) { generator = s; r.w.Property(page.Generator, s) }},
		{"Producer", func(s string) {
			if s != generator {
				r.w.Property(page.Generator, s)
			}
		}},
		{"CreationDate", func(s string) { r.w.Time(page.Created, Time(s)) }},
		{"ModDate", func(s string) { r.w.Time(page.Modified, Time(s)) }},
	} {
		if err := set(p.tag, p.use); err != nil {
			return err
		}
	}
	a, err := r.in.FPDFCatalog_GetLanguage(&requests.FPDFCatalog_GetLanguage{Document: r.doc})
	if err != nil {
		return r.failed(err)
	}
	r.w.Language(a.Language)
	return nil
}

// readOutline reads the outline. A hostile one is a circle or a tree without end; so it is counted.
func (r *reader) readOutline() error {
	r.outline = map[int]outline{}
	left := maxOutline
	return r.entries(nil, 0, &left)
}

// entries reads the entries below one, or the highest ones.
func (r *reader) entries(parent *references.FPDF_BOOKMARK, depth int, left *int) error {
	if depth == maxDepth {
		return nil
	}
	first, err := r.in.FPDFBookmark_GetFirstChild(
		&requests.FPDFBookmark_GetFirstChild{Document: r.doc, Bookmark: parent})
	if err != nil {
		return r.failed(err)
	}
	for entry := first.Bookmark; entry != nil && *left > 0; {
		*left--
		if err := r.entry(*entry, depth); err != nil {
			return err
		}
		if err := r.entries(entry, depth+1, left); err != nil {
			return err
		}
		next, err := r.in.FPDFBookmark_GetNextSibling(
			&requests.FPDFBookmark_GetNextSibling{Document: r.doc, Bookmark: *entry})
		if err != nil {
			return r.failed(err)
		}
		entry = next.Bookmark
	}
	return nil
}

// entry reads one entry of the outline: its title and the page that it leads to.
func (r *reader) entry(ref references.FPDF_BOOKMARK, depth int) error {
	title, err := r.in.FPDFBookmark_GetTitle(&requests.FPDFBookmark_GetTitle{Bookmark: ref})
	if err != nil {
		return r.failed(err)
	}
	name := letters(title.Title)
	if name == "" || len(name) > maxLinkText {
		return nil
	}
	dest, err := r.in.FPDFBookmark_GetDest(
		&requests.FPDFBookmark_GetDest{Document: r.doc, Bookmark: ref})
	if err != nil {
		return r.failed(err)
	}
	at := dest.Dest
	if at == nil {
		action, err := r.in.FPDFBookmark_GetAction(&requests.FPDFBookmark_GetAction{Bookmark: ref})
		if err != nil || action.Action == nil {
			return r.failed(err)
		}
		to, err := r.in.FPDFAction_GetDest(
			&requests.FPDFAction_GetDest{Document: r.doc, Action: *action.Action})
		if err != nil || to.Dest == nil {
			return r.failed(err)
		}
		at = to.Dest
	}
	number, err := r.in.FPDFDest_GetDestPageIndex(
		&requests.FPDFDest_GetDestPageIndex{Document: r.doc, Dest: *at})
	if err != nil {
		return r.failed(err)
	}
	if r.outline[number.Index] == nil {
		r.outline[number.Index] = outline{}
	}
	r.outline[number.Index].add(&outlined{title: name, level: depth + 2})
	return nil
}

// page reads one page.
func (r *reader) page(index int) error {
	loaded, err := r.in.FPDF_LoadPage(&requests.FPDF_LoadPage{Document: r.doc, Index: index})
	if err != nil {
		return err
	}
	p := &pageReader{reader: r, index: index, page: requests.Page{ByReference: &loaded.Page}}
	err = p.read()
	if err == nil || !r.ended(err) {
		// Closing fails only together with the instance, which the next page notices.
		_, _ = r.in.FPDF_ClosePage(&requests.FPDF_ClosePage{Page: loaded.Page})
	}
	return err
}

// pageReader reads one page. Its text is indexed by PDFium's characters.
type pageReader struct {
	*reader
	index int
	page  requests.Page
	chars references.FPDF_TEXTPAGE
	text  []rune
	lines []line
	on    []link   // links that stand on text
	loose []string // addresses of links that do not
}

func (p *pageReader) read() error {
	loaded, err := p.in.FPDFText_LoadPage(&requests.FPDFText_LoadPage{Page: p.page})
	if err != nil {
		return err
	}
	p.chars = loaded.TextPage
	if err := p.readText(); err != nil {
		return err
	}
	p.lines = lines(p.text)
	for i := range p.lines {
		if err := p.place(&p.lines[i]); err != nil {
			return err
		}
	}
	if err := p.annotations(); err != nil {
		return err
	}
	if err := p.webLinks(); err != nil {
		return err
	}
	p.write()
	_, err = p.in.FPDFText_ClosePage(&requests.FPDFText_ClosePage{TextPage: p.chars})
	return err
}

// readText reads the page's characters. PDFium gives them all at once, without those that it has no
// Unicode for; if there are such, one by one, because places and links count them.
func (p *pageReader) readText() error {
	count, err := p.in.FPDFText_CountChars(&requests.FPDFText_CountChars{TextPage: p.chars})
	if err != nil {
		return err
	}
	n := count.Count
	if n <= 0 {
		return nil
	}
	if n > maxChars {
		n = maxChars
		p.w.Truncate()
	}
	all, err := p.in.FPDFText_GetText(&requests.FPDFText_GetText{TextPage: p.chars, Count: n})
	if err != nil {
		return err
	}
	if p.text = []rune(all.Text); len(p.text) == n {
		return nil
	}
	p.text = make([]rune, n)
	for i := range p.text {
		c, err := p.in.FPDFText_GetUnicode(
			&requests.FPDFText_GetUnicode{TextPage: p.chars, Index: i})
		if err != nil {
			return err
		}
		if c.Unicode <= unicode.MaxRune {
			p.text[i] = rune(c.Unicode)
		}
	}
	return nil
}

// place finds out where a line stands. A line whose place is unknown keeps the size 0.
func (p *pageReader) place(l *line) error {
	at := firstVisible(p.text, *l)
	if at < 0 {
		return nil
	}
	origin, err := p.in.FPDFText_GetCharOrigin(
		&requests.FPDFText_GetCharOrigin{TextPage: p.chars, Index: at})
	if err != nil {
		return p.failed(err)
	}
	box, err := p.in.FPDFText_GetLooseCharBox(
		&requests.FPDFText_GetLooseCharBox{TextPage: p.chars, Index: at})
	if err != nil {
		return p.failed(err)
	}
	l.x, l.y = origin.X, origin.Y
	if size := float64(box.Rect.Top - box.Rect.Bottom); size > 0 {
		l.size = size
	}
	return nil
}

// annotations finds the links that the page's annotations are: to addresses, and to other files.
func (p *pageReader) annotations() error {
	for position := 0; ; {
		next, err := p.in.FPDFLink_Enumerate(
			&requests.FPDFLink_Enumerate{Page: p.page, StartPos: position})
		if err != nil {
			return p.failed(err)
		}
		if next.Link == nil || next.NextStartPos == nil || *next.NextStartPos <= position {
			return nil
		}
		position = *next.NextStartPos
		address, err := p.address(*next.Link)
		if err != nil {
			return err
		}
		if address == "" {
			continue
		}
		if !p.another() {
			return nil
		}
		if err := p.under(*next.Link, address); err != nil {
			return err
		}
	}
}

// another counts a link, and reports whether it may be read.
func (p *pageReader) another() bool {
	p.links++
	if len(p.on)+len(p.loose) >= maxLinks || p.links > maxAllLinks {
		p.w.Truncate()
		return false
	}
	return true
}

// address is where a link leads; "" for a place in the same file and for what is no link.
func (p *pageReader) address(ref references.FPDF_LINK) (string, error) {
	action, err := p.in.FPDFLink_GetAction(&requests.FPDFLink_GetAction{Link: ref})
	if err != nil || action.Action == nil {
		return "", p.failed(err)
	}
	kind, err := p.in.FPDFAction_GetType(&requests.FPDFAction_GetType{Action: *action.Action})
	if err != nil {
		return "", p.failed(err)
	}
	var address *string
	switch kind.Type {
	case enums.FPDF_ACTION_ACTION_URI:
		a, err := p.in.FPDFAction_GetURIPath(
			&requests.FPDFAction_GetURIPath{Document: p.doc, Action: *action.Action})
		if err != nil {
			return "", p.failed(err)
		}
		address = a.URIPath
	case enums.FPDF_ACTION_ACTION_REMOTEGOTO:
		a, err := p.in.FPDFAction_GetFilePath(
			&requests.FPDFAction_GetFilePath{Action: *action.Action})
		if err != nil {
			return "", p.failed(err)
		}
		address = a.FilePath
	}
	if address == nil {
		return "", nil
	}
	return usable(*address), nil
}

// usable is an address without white space around it; "" for one that is a program or too long.
func usable(address string) string {
	address = strings.TrimSpace(address)
	if len(address) > maxAddress {
		return ""
	}
	scheme, _, _ := strings.Cut(address, ":")
	switch strings.ToLower(strings.TrimSpace(scheme)) {
	case "javascript", "vbscript", "data":
		return ""
	}
	return address
}

// under finds the text that a link's rectangle is on. Where it is on none, or on too much, the
// address is listed at the page's end.
func (p *pageReader) under(ref references.FPDF_LINK, address string) error {
	area, err := p.in.FPDFLink_GetAnnotRect(&requests.FPDFLink_GetAnnotRect{Link: ref})
	if err != nil {
		if err := p.failed(err); err != nil {
			return err
		}
	}
	start, end := -1, -1
	if err == nil && area.Rect != nil {
		left, right := float64(area.Rect.Left), float64(area.Rect.Right)
		height := float64(area.Rect.Top - area.Rect.Bottom)
		middle := float64(area.Rect.Bottom) + height/2
		if start, err = p.charAt(left+1, middle, height/2); err != nil {
			return err
		}
		if end, err = p.charAt(right-1, middle, height/2); err != nil {
			return err
		}
	}
	if start < 0 || end < start || end >= len(p.text) || end-start > maxLinkText {
		p.loose = append(p.loose, address)
		return nil
	}
	if start, end, err = p.widen(start, end, *area.Rect); err != nil {
		return err
	}
	for end > start && unicode.IsSpace(p.text[end]) {
		end--
	}
	for start < end && unicode.IsSpace(p.text[start]) {
		start++
	}
	p.on = append(p.on, link{start: start, end: end + 1, address: address})
	return nil
}

// widen adds the characters beside a link's text whose middle is in its rectangle: PDFium's nearest
// character is not always the outermost one.
func (p *pageReader) widen(start, end int, area structs.FPDF_FS_RECTF) (int, int, error) {
	const most = 3
	within := func(i int) (bool, error) {
		if i < 0 || i >= len(p.text) || unicode.IsSpace(p.text[i]) {
			return false, nil
		}
		box, err := p.in.FPDFText_GetCharBox(
			&requests.FPDFText_GetCharBox{TextPage: p.chars, Index: i})
		if err != nil {
			return false, p.failed(err)
		}
		x, y := float32(box.Left+box.Right)/2, float32(box.Top+box.Bottom)/2
		return x > area.Left && x < area.Right && y > area.Bottom && y < area.Top, nil
	}
	for range most {
		if in, err := within(start - 1); err != nil {
			return 0, 0, err
		} else if in {
			start--
		}
		if in, err := within(end + 1); err != nil {
			return 0, 0, err
		} else if in {
			end++
		}
	}
	return start, end, nil
}

// charAt is the character at a point or, if there is none, the nearest one to its left, right, top
// and bottom; -1 for none.
func (p *pageReader) charAt(x, y, withinY float64) (int, error) {
	const withinX = 3 // points
	c, err := p.in.FPDFText_GetCharIndexAtPos(&requests.FPDFText_GetCharIndexAtPos{
		TextPage: p.chars, X: x, Y: y, XTolerance: withinX, YTolerance: max(withinY, 0)})
	if err != nil {
		return -1, p.failed(err)
	}
	return c.CharIndex, nil
}

// webLinks finds the addresses that are written in the text. A link of an annotation on the same
// text comes before.
func (p *pageReader) webLinks() error {
	if len(p.text) == 0 {
		return nil
	}
	loaded, err := p.in.FPDFLink_LoadWebLinks(&requests.FPDFLink_LoadWebLinks{TextPage: p.chars})
	if err != nil {
		return p.failed(err)
	}
	count, err := p.in.FPDFLink_CountWebLinks(
		&requests.FPDFLink_CountWebLinks{PageLink: loaded.PageLink})
	if err != nil {
		return p.failed(err)
	}
	for i := 0; i < count.Count && p.another(); i++ {
		address, err := p.in.FPDFLink_GetURL(
			&requests.FPDFLink_GetURL{PageLink: loaded.PageLink, Index: i})
		if err != nil {
			if err := p.failed(err); err != nil {
				return err
			}
			continue
		}
		on, err := p.in.FPDFLink_GetTextRange(
			&requests.FPDFLink_GetTextRange{PageLink: loaded.PageLink, Index: i})
		if err != nil {
			if err := p.failed(err); err != nil {
				return err
			}
			continue
		}
		end := on.StartCharIndex + on.CharCount
		if on.StartCharIndex < 0 || end < on.StartCharIndex || end > len(p.text) {
			continue
		}
		if a := usable(address.URL); a != "" {
			p.on = append(p.on, link{start: on.StartCharIndex, end: end, address: a})
		}
	}
	_, err = p.in.FPDFLink_CloseWebLinks(
		&requests.FPDFLink_CloseWebLinks{PageLink: loaded.PageLink})
	return p.failed(err)
}
