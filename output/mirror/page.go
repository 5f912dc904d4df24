package mirror

import (
	"context"
	"errors"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/output/archive"
	"crawlnode/output/readback"
)

// MaxContent bounds the content of a file, in bytes, where a Folder does not say.
const MaxContent = readback.MaxContent

// Source has the captures of a crawl.
type Source interface {
	// Entries calls fn with what the indexes say of each capture, in any order, some perhaps twice.
	// It returns an error of fn.
	Entries(ctx context.Context, fn func(archive.Entry) error) error
	readback.Records
}

// load reads a capture, and for a revisit the payload of the record original. A coded payload is
// unpacked up to limit bytes; one without a coding is whole.
func load(
	ctx context.Context,
	src Source,
	ref, original crawl.ArchiveRef,
	limit int64,
) (*readback.Page, error) {
	record, err := src.Record(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("%s at %d: %w", ref.File, ref.Offset, err)
	}
	if original.File == "" {
		return readback.With(ctx, src, record, nil, max(limit, int64(len(record.Payload))))
	}
	first, err := src.Record(ctx, original)
	if err != nil {
		return nil, fmt.Errorf("%s at %d: %w", original.File, original.Offset, err)
	}
	if first.PayloadDigest != record.PayloadDigest {
		return nil, errors.New("the record that it refers to has another content")
	}
	return readback.With(ctx, src, record, first, max(limit, int64(len(first.Payload))))
}

// contentOf is what the crawl saw of a page, or what was received when that cannot be decoded. An
// error says what is wrong with it.
func contentOf(p *readback.Page) (content []byte, contentType string, cut bool, err error) {
	content, contentType, cut, err = p.Seen()
	if err != nil && len(content) == 0 {
		content = p.Payload()
	}
	return content, contentType, cut, err
}
