package mirror

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strings"

	"crawlnode/crawl"
	"crawlnode/store/archive"
	"crawlnode/web/fetcher"
)

// MaxContent bounds the content of a file, in bytes.
const MaxContent = 1 << 30

// Source has the captures of a crawl.
type Source interface {
	// Entries calls fn with what the indexes say of each capture, in any order, some perhaps twice.
	// It returns an error of fn.
	Entries(ctx context.Context, fn func(archive.Entry) error) error
	// Record reads a record.
	Record(ctx context.Context, ref crawl.ArchiveRef) (*archive.Record, error)
}

// page is a capture with its payload.
type page struct {
	record  *archive.Record
	header  textproto.MIMEHeader
	payload []byte
}

// load reads a capture, and for a revisit the payload of the record original.
func load(ctx context.Context, src Source, ref, original crawl.ArchiveRef) (*page, error) {
	record, err := src.Record(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("%s at %d: %w", ref.File, ref.Offset, err)
	}
	p := &page{record: record, header: headerOf(record.Head), payload: record.Payload}
	if original.File == "" {
		return p, nil
	}
	first, err := src.Record(ctx, original)
	if err != nil {
		return nil, fmt.Errorf("%s at %d: %w", original.File, original.Offset, err)
	}
	if first.PayloadDigest != record.PayloadDigest {
		return nil, errors.New("the record that it refers to has another content")
	}
	p.payload = first.Payload
	if len(p.header["Content-Encoding"]) == 0 {
		if coding := headerOf(first.Head)["Content-Encoding"]; len(coding) > 0 {
			p.header["Content-Encoding"] = coding
		}
	}
	return p, nil
}

// headerOf reads the fields of an HTTP head, as far as it can be read.
func headerOf(head []byte) textproto.MIMEHeader {
	_, fields, _ := bytes.Cut(head, []byte("\r\n"))
	h, _ := textproto.NewReader(bufio.NewReader(bytes.NewReader(fields))).ReadMIMEHeader()
	if h == nil {
		h = textproto.MIMEHeader{}
	}
	return h
}

// media is the media type: the one that was identified, or what the content looks like.
func (p *page) media() string {
	if p.record.ContentType != "" {
		return p.record.ContentType
	}
	content, _, _ := p.content()
	media, _, _ := strings.Cut(http.DetectContentType(content), ";")
	return media
}

// content is the payload without its content codings. An error says what is wrong with it, and comes
// with what could be read.
func (p *page) content() (content []byte, cut bool, err error) {
	content, cut, err = fetcher.Content(p.payload, p.header["Content-Encoding"], MaxContent)
	if err != nil && len(content) == 0 {
		content = p.payload
	}
	return content, cut, err
}
