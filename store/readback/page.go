package readback

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"
	"unicode"

	"crawlnode/store/archive"
	"crawlnode/web/fetcher"
	"crawlnode/web/htmlparse"
	"crawlnode/web/urlnorm"
)

// MaxContent bounds what Content returns, in bytes.
const MaxContent = 1 << 30

// Page is a capture with its payload.
type Page struct {
	Record  *archive.Record
	payload []byte
}

// Load reads the newest capture of a URL, and for a revisit the payload that it refers to.
func Load(ctx context.Context, s Source, url string) (*Page, error) {
	record, err := s.Capture(ctx, url)
	if err != nil {
		return nil, err
	}
	return Of(ctx, s, record)
}

// Of is the page of a record; the payload of a revisit is read from s. A 304 describes no payload, so its page is the answer
// that it stands for, head and all.
func Of(ctx context.Context, s Source, record *archive.Record) (*Page, error) {
	p := &Page{Record: record, payload: record.Payload}
	if record.Type == "revisit" {
		original, err := s.Payload(ctx, record)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", record.TargetURI, err)
		}
		p.payload = original.Payload
		if record.Status == http.StatusNotModified {
			answer := *original
			answer.TargetURI = record.TargetURI
			p.Record = &answer
		}
	}
	return p, nil
}

// Head is the status line and the header of the answer.
func (p *Page) Head() []byte { return p.Record.Head }

// Raw is the answer as it was received: head, and payload with its content codings.
func (p *Page) Raw() []byte { return append(bytes.Clone(p.Record.Head), p.payload...) }

// Content is the payload without its content codings; cut says that it was longer than MaxContent.
func (p *Page) Content() (content []byte, cut bool, err error) {
	return fetcher.Content(p.payload, p.header()["Content-Encoding"], MaxContent)
}

// header are the fields of the head.
func (p *Page) header() textproto.MIMEHeader {
	_, fields, _ := bytes.Cut(p.Record.Head, []byte("\r\n"))
	h, _ := textproto.NewReader(bufio.NewReader(bytes.NewReader(fields))).ReadMIMEHeader() // as far as it can be read
	return h
}

// IsHTML reports whether the content is a page.
func (p *Page) IsHTML() bool {
	return p.Record.ContentType == "text/html" || p.Record.ContentType == "application/xhtml+xml"
}

// errNoText is returned for what has no text, such as pictures.
var errNoText = errors.New("it has no text")

// Text is the visible text of an HTML page, or a text as it is, in UTF-8 without control
// characters.
func (p *Page) Text() (string, error) {
	content, _, err := p.Content()
	if err != nil {
		return "", err
	}
	kind := p.Record.ContentType
	switch {
	case p.IsHTML():
		document, err := p.Document(htmlparse.Options{})
		if err != nil {
			return "", err
		}
		content = document.Text
	case !strings.HasPrefix(kind, "text/") && kind != "application/json" && kind != "application/xml":
		return "", fmt.Errorf("%s: %w: it is %s", p.Record.TargetURI, errNoText, kind)
	}
	return plain(content), nil
}

// Document is an HTML page as the parser reads it.
func (p *Page) Document(o htmlparse.Options) (*htmlparse.Document, error) {
	content, _, err := p.Content()
	if err != nil {
		return nil, err
	}
	base, err := urlnorm.Parse(p.Record.TargetURI)
	if err != nil {
		return nil, err
	}
	document := htmlparse.ParseWith(o, content, p.header().Get("Content-Type"), base)
	return &document, nil
}

// Size is that of the payload as it was received, in bytes.
func (p *Page) Size() int64 { return int64(len(p.payload)) }

// Header is a field of the answer's header, "" when it is missing.
func (p *Page) Header(name string) string { return p.header().Get(name) }

// plain makes text safe for a terminal: valid UTF-8, no control characters but line ends and tabs.
func plain(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), "\uFFFD"))
}
