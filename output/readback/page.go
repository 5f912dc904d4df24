package readback

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"unicode"

	"crawlnode/crawl"
	"crawlnode/documents"
	"crawlnode/output/archive"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/maintext"
	"crawlnode/web/markdown"
	"crawlnode/web/metadata"
	"crawlnode/web/mime"
	"crawlnode/web/simhash"
	"crawlnode/web/urlnorm"
)

// MaxContent bounds what is decoded of a page where nobody says how much is wanted, in bytes: the
// default of --max-body, beyond which a crawl has not read either.
const MaxContent = 10 << 20

// Page is a capture with its payload: what the crawl saw. It is not for several goroutines at once.
type Page struct {
	// Record is the answer; of a 304 that for which it stands, under the URL of the 304.
	Record *archive.Record
	// Shown is the page as a browser showed it to the crawl; nil: it was taken as it was fetched.
	Shown *archive.Record
	// Converted is the page that the crawl made of a document, such as a PDF; nil: it is none, or it
	// was not read.
	Converted *archive.Record

	limit   int64
	payload []byte
	fields  textproto.MIMEHeader
	decoded *decoded
	text    *madeOfText
}

// madeOfText is the page that a plain text is read as.
type madeOfText struct {
	html []byte
	cut  bool
}

// decoded is the payload without its content codings.
type decoded struct {
	content []byte
	cut     bool
	err     error
}

// Load reads the newest capture of a URL. At most limit bytes of its content are decoded.
func Load(ctx context.Context, s Source, url string, limit int64) (*Page, error) {
	record, err := s.Capture(ctx, url)
	if err != nil {
		return nil, err
	}
	return Of(ctx, s, record, limit)
}

// Of is the page of a record; what the record refers to is read from s.
func Of(ctx context.Context, s Source, record *archive.Record, limit int64) (*Page, error) {
	if record.Type == "revisit" && record.Status == http.StatusNotModified {
		answer, err := s.Answer(ctx, record)
		if errors.Is(err, archive.ErrNoCapture) { // of another URL with that payload
			answer, err = s.Payload(ctx, record)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", record.TargetURI, err)
		}
		of := *answer
		of.TargetURI = record.TargetURI
		if of.Status == http.StatusNotModified {
			return nil, fmt.Errorf("%s: a 304 refers to another one", record.TargetURI)
		}
		return Of(ctx, s, &of, limit)
	}
	var original *archive.Record
	if record.Type == "revisit" && !isEmpty(record.PayloadDigest) {
		var err error
		if original, err = s.Payload(ctx, record); err != nil {
			return nil, fmt.Errorf("%s: %w", record.TargetURI, err)
		}
	}
	return With(ctx, s, record, original, limit)
}

// With is the page of a record and of the one that has the payload of a duplicate, nil when it has
// its own; what a browser made of it is read from s.
func With(ctx context.Context, s Records, record, original *archive.Record, limit int64) (
	*Page, error,
) {
	p := New(record, original, nil, limit)
	if !p.hasBeside() {
		return p, nil
	}
	beside, err := shown(ctx, s, record)
	if beside == nil && err == nil && original != nil && !p.IsHTML() {
		beside, err = shown(ctx, s, original) // a document that was sent again is not read again
	}
	p.setBeside(beside)
	return p, err
}

// hasBeside reports whether a page, as the crawl saw it, may stand beside the answer.
func (p *Page) hasBeside() bool {
	return p.Delivered() && (p.IsHTML() || documents.MayBe(p.MediaType()))
}

// setBeside takes the page that stands beside the answer; nil: none does.
func (p *Page) setBeside(r *archive.Record) {
	switch {
	case r == nil:
	case p.IsHTML() && r.Type == "resource":
		p.Shown = r
	case !p.IsHTML() && r.Type == "conversion":
		p.Converted = r
	}
}

// isEmpty reports whether a digest is that of no bytes.
func isEmpty(digest string) bool { return digest == "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ" }

// New is the page of a record that was read, with the record that has the payload of a duplicate
// and the one that the crawl made of it; nil: there is none.
func New(record, original, beside *archive.Record, limit int64) *Page {
	p := &Page{Record: record, limit: limit, payload: record.Payload,
		fields: fieldsOf(record.Head)}
	defer func() { p.setBeside(beside) }() // when all is known that its kind depends on
	if original == nil {
		return p
	}
	p.payload = original.Payload
	first := fieldsOf(original.Head)
	switch {
	case len(record.Head) == 0: // some crawlers store none with a duplicate
		answer := *record
		answer.Head, answer.Status = original.Head, original.Status
		p.Record, p.fields = &answer, first
	case len(p.fields["Content-Encoding"]) == 0 && len(first["Content-Encoding"]) > 0:
		p.fields["Content-Encoding"] = first["Content-Encoding"]
	}
	return p
}

// maxBeside is how many records of one capture follow its answer at the most.
const maxBeside = 8

// shown finds what a browser made of an answer: it stands behind the answer in its file.
func shown(ctx context.Context, s Records, answer *archive.Record) (*archive.Record, error) {
	at := answer
	for range maxBeside {
		if at.File == "" || at.Length == 0 {
			return nil, nil
		}
		next, err := s.Record(ctx, crawl.ArchiveRef{File: at.File, Offset: at.Offset + at.Length})
		switch {
		case err == nil:
		case isMissing(err):
			return nil, nil
		default:
			return nil, err
		}
		switch {
		case !isBeside(next, answer):
			return nil, nil
		case isShown(next):
			return next, nil
		}
		at = next
	}
	return nil, nil
}

// isMissing reports whether no record stands at a place: the file ends there, or what follows is
// being written.
func isMissing(err error) bool {
	damage, ok := errors.AsType[*archive.DamageError](err)
	var absent interface{ NotFound() bool } // an answer of a node
	return ok && damage != nil || errors.Is(err, archive.ErrNoCapture) ||
		errors.Is(err, crawl.ErrNoCapture) || errors.As(err, &absent) && absent.NotFound()
}

// isBeside reports whether a record is of the capture of an answer.
func isBeside(r, answer *archive.Record) bool {
	for _, field := range [...]string{"Warc-Refers-To", "Warc-Concurrent-To"} {
		for _, id := range r.Fields[field] {
			if strings.Trim(id, "<> ") == answer.ID && answer.ID != "" {
				return r.Type != "response" && r.Type != "revisit"
			}
		}
	}
	return false
}

// isShown reports whether a record beside an answer is the page as a browser showed it, or the page
// that was made of a document.
func isShown(r *archive.Record) bool {
	media := mime.Extract(r.Fields["Content-Type"]).Essence
	return (r.Type == "resource" || r.Type == "conversion") &&
		(media == "text/html" || media == "application/xhtml+xml")
}

// Within is the page with a lower limit of what is decoded of it.
func (p *Page) Within(limit int64) *Page {
	short := *p
	short.limit = min(p.limit, limit)
	if d := p.decoded; d != nil && int64(len(d.content)) > short.limit {
		short.decoded = &decoded{content: d.content[:short.limit], cut: true}
	}
	return &short
}

// Head is the status line and the header of the answer.
func (p *Page) Head() []byte { return p.Record.Head }

// Raw is the answer as it was received: head, and payload with its content codings.
func (p *Page) Raw() []byte { return append(bytes.Clone(p.Record.Head), p.payload...) }

// Payload is the body as it was received.
func (p *Page) Payload() []byte { return p.payload }

// Content is the payload without its content codings. cut says that it was longer than the limit.
// An error says what is wrong with it, and comes with what could be decoded.
func (p *Page) Content() (content []byte, cut bool, err error) {
	if p.decoded == nil {
		d := &decoded{}
		d.content, d.cut, d.err = fetcher.Content(p.payload, p.fields["Content-Encoding"], p.limit)
		if p.Record.Truncated != "" && errors.Is(d.err, io.ErrUnexpectedEOF) {
			d.err = nil // it was cut on its way, and is marked so
		}
		if int64(len(d.content)) > p.limit { // it had no coding
			d.content, d.cut = d.content[:p.limit], true
		}
		p.decoded = d
	}
	return p.decoded.content, p.decoded.cut, p.decoded.err
}

// Seen is what the crawl read text and links from, with its Content-Type: what a browser made of
// the page, or its content. cut and err are as those of Content; what a browser made is whole.
func (p *Page) Seen() (content []byte, contentType string, cut bool, err error) {
	if p.Shown == nil {
		content, cut, err = p.Content()
		return content, typeOf(p.fields, content).String(), cut, err
	}
	content = p.Shown.Payload
	if int64(len(content)) > p.limit {
		content, cut = content[:p.limit], true
	}
	return content, p.Shown.Fields.Get("Content-Type"), cut, nil
}

// reading is what the crawl reads text, title and links from, with its Content-Type: a page as Seen
// has it, or the page that a document is read as. cut and err are as those of Content.
func (p *Page) reading() (page []byte, contentType string, cut bool, err error) {
	switch {
	case p.Converted != nil:
		page = p.Converted.Payload
		if int64(len(page)) > p.limit {
			page, cut = page[:p.limit], true
		}
		return page, p.Converted.Fields.Get("Content-Type"), cut, nil
	case p.isPlainText():
		content, cut, err := p.Content()
		if p.text == nil {
			made := &madeOfText{}
			made.html, made.cut = documents.PageOfText(content, typeOf(p.fields, content).String())
			p.text = made
		}
		if len(content) == 0 {
			return nil, "", cut, err
		}
		return p.text.html, documents.PageType, cut || p.text.cut, err
	}
	return p.Seen()
}

// isPlainText reports whether the content is a text that is read as a page.
func (p *Page) isPlainText() bool {
	kind, media := p.kind()
	if kind != Text || media != documents.PlainText || !p.Delivered() {
		return false
	}
	content, _, _ := p.Content() // as far as it can be read
	return documents.IsText(content)
}

// IsPage reports whether the content has what a page has, title, text and links: it is HTML, or a
// document that the crawl has read.
func (p *Page) IsPage() bool { return p.IsHTML() || p.Converted != nil || p.isPlainText() }

// Damage is what is wrong with a page of which something could be read: nil, or a reason that its
// content is not whole.
func (p *Page) Damage() error {
	content, _, _, err := p.Seen()
	if err == nil || len(content) == 0 {
		return nil
	}
	return fmt.Errorf("the body could not be decoded whole: %w", err)
}

// Kind is what the crawl took the content for.
func (p *Page) Kind() Kind {
	kind, _ := p.kind()
	return kind
}

// MediaType is the media type of the content: the one that its header names, or what it looks like.
func (p *Page) MediaType() string {
	_, media := p.kind()
	return media
}

func (p *Page) kind() (Kind, string) {
	content, _, _ := p.Content() // as far as it can be read
	media := typeOf(p.fields, content)
	return kindOf(media, content), media.Essence
}

// IsHTML reports whether the content is a page.
func (p *Page) IsHTML() bool { return p.Kind() == HTML }

// Delivered reports whether the server gave the page: only then it has text and links for a crawl.
func (p *Page) Delivered() bool { return p.Record.Status >= 200 && p.Record.Status < 300 }

// errNoText is returned for what has no text, such as pictures.
var errNoText = errors.New("it has no text")

// Text is the visible text of an HTML page, or a text as it is, in UTF-8 without control
// characters. It is what could be read; Damage says whether something is wrong.
func (p *Page) Text() (string, error) {
	content, _, err := p.Content()
	if err != nil && len(content) == 0 && p.Shown == nil {
		return "", err
	}
	switch kind, media := p.kind(); {
	case p.Converted != nil:
		main, err := p.Main() // with its paragraphs, which a book needs
		if err != nil {
			return "", err
		}
		content = []byte(main.Text)
	case kind == HTML:
		document, err := p.Document(htmlparse.Options{})
		if err != nil {
			return "", err
		}
		content = document.Text
	case kind == Other:
		return "", fmt.Errorf("%s: %w: it is %s", p.Record.TargetURI, errNoText,
			cmp.Or(media, "of no known type"))
	case media != "application/json": // which is in UTF-8
		content = htmlparse.UTF8(content, typeOf(p.fields, content).String())
	}
	return plain(content), nil
}

// Document is an HTML page as the parser reads it. It is made of what could be read; Damage says
// whether something is wrong. An error: nothing could be.
func (p *Page) Document(o htmlparse.Options) (*htmlparse.Document, error) {
	content, contentType, _, err := p.reading()
	if err != nil && len(content) == 0 {
		return nil, err
	}
	base, err := urlnorm.ParseRouted(p.Record.TargetURI)
	if err != nil {
		return nil, err
	}
	o.Agent = p.agent()
	document := htmlparse.ParseWith(o, content, contentType, base)
	return &document, nil
}

// agent is the name by which preferences addressed the crawl that fetched the page.
func (p *Page) agent() string {
	return cmp.Or(p.Record.Fields.Get("Crawlnode-Robots-Agent"), crawl.DefaultAgent)
}

// Main is the main text of an HTML page, as the crawl's own search has it. An error: nothing of the
// page could be read.
func (p *Page) Main() (main maintext.Page, err error) {
	content, contentType, _, err := p.reading()
	if err != nil && len(content) == 0 {
		return main, err
	}
	if !p.IsHTML() {
		return maintext.Whole(content, contentType, p.Header("Content-Language")), nil
	}
	return maintext.Extract(content, contentType, p.Header("Content-Language")), nil
}

// Markdown is the main content of a page, or a document whole, as Markdown. cut says that it is
// only the beginning.
func (p *Page) Markdown() (text string, cut bool, err error) {
	if !p.IsPage() {
		return "", false, fmt.Errorf("%s: %w: it is %s", p.Record.TargetURI, errNoText,
			cmp.Or(p.MediaType(), "of no known type"))
	}
	content, contentType, cut, err := p.reading()
	if err != nil && len(content) == 0 {
		return "", false, err
	}
	of := markdown.Of
	switch {
	case p.isPlainText(): // it stays as it is
		content, _, _ = p.Content() // as far as it can be read
		contentType = typeOf(p.fields, content).String()
	case p.Converted != nil:
		of = markdown.Whole
	}
	base, err := urlnorm.ParseRouted(p.Record.TargetURI)
	if err != nil {
		return "", false, err
	}
	text, err = of(content, contentType, base)
	if errors.Is(err, markdown.ErrTruncated) {
		return text, true, nil
	}
	return text, cut, err
}

// Metadata is what a page or a document says of itself.
func (p *Page) Metadata() (m metadata.Record, err error) {
	content, contentType, _, err := p.reading()
	if err != nil && len(content) == 0 {
		return m, err
	}
	base, err := urlnorm.ParseRouted(p.Record.TargetURI)
	if err != nil {
		return m, err
	}
	o := metadata.Options{HeaderLanguage: p.Header("Content-Language")}
	return metadata.Read(content, contentType, base, o), nil
}

// NoIndex reports whether the page asks to be in no search: by its header, by itself, or as the
// crawl has noted.
func (p *Page) NoIndex(document *htmlparse.Document) bool {
	noted := strings.Contains(p.Record.Fields.Get("Crawlnode-Robots"), "noindex")
	byHeader, _ := directives(p.fields, p.agent(), p.Record.Date)
	return noted || byHeader || document != nil && document.NoIndex
}

// Describe is the metadata of a page or document that was delivered, with no more than
// metadata.MaxBytes; nil: it says nothing of itself, or cannot be read.
func (p *Page) Describe() *metadata.Record {
	if !p.Delivered() || !p.IsPage() || p.Wall() {
		return nil
	}
	m, err := p.Metadata()
	if err != nil || m.Empty() {
		return nil
	}
	var bounded metadata.Record
	if err := json.Unmarshal(m.JSON(), &bounded); err != nil {
		panic("BUG: metadata that was written cannot be read: " + err.Error())
	}
	return &bounded
}

// AsksNoIndex is NoIndex for who has not read the page. An error: nothing of it could be read.
func (p *Page) AsksNoIndex() (bool, error) {
	document, err := p.Document(htmlparse.Options{})
	if err != nil {
		return false, err
	}
	return p.NoIndex(document), nil
}

// Wall reports whether the crawl has taken the answer for a bot wall: it is no page, and says
// nothing of the page.
func (p *Page) Wall() bool { return p.Record.Fields.Get("Crawlnode-Wall") != "" }

// NoFollow reports whether the page asks that none of its links is followed.
func (p *Page) NoFollow(document *htmlparse.Document) bool {
	_, byHeader := directives(p.fields, p.agent(), p.Record.Date)
	return byHeader || document != nil && document.NoFollow
}

// Fingerprint is the simhash of the text: the one that was stored, or that of the document; 0: it
// has none.
func (p *Page) Fingerprint(document *htmlparse.Document) uint64 {
	if stored, err := strconv.ParseUint(p.Record.Fields.Get("Crawlnode-Simhash"), 16, 64); err == nil {
		return stored
	}
	if document == nil {
		return 0
	}
	made, _ := simhash.Fingerprint(document.Text)
	return made
}

// Size is that of the payload as it was received, in bytes.
func (p *Page) Size() int64 { return int64(len(p.payload)) }

// Header is a field of the answer's header, "" when it is missing.
func (p *Page) Header(name string) string { return p.fields.Get(name) }

// plain makes text safe for a terminal: valid UTF-8, no control characters but line ends and tabs.
func plain(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), "\uFFFD"))
}
