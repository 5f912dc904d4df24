package readback

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
	"crawlnode/output/archive"
)

// Scanner reads the captures of WARC files in the order in which they stand, each with what it
// refers to: the payload of a duplicate may stand in an earlier file, or in a later one, and then
// the duplicate comes with Finish. A 304 is passed over: it says nothing new. Some 60 bytes a
// capture are in memory.
type Scanner struct {
	// Missing counts the duplicates whose payload no file has, after Finish.
	Missing int64

	limit  int64
	ctx    context.Context
	files  []string
	places map[xxh3.Uint128]place // of payloads, by their digest
	later  []place                // duplicates whose payload was not read yet
	temp   string
}

// place is where a record begins.
type place struct {
	file   int32
	offset int64
}

// NewScanner makes a scanner. At most limit bytes of the content of a page are decoded. The caller
// must call Close.
func NewScanner(ctx context.Context, limit int64) *Scanner {
	return &Scanner{ctx: ctx, limit: limit, places: map[xxh3.Uint128]place{}}
}

// Close removes what was made.
func (s *Scanner) Close() error {
	if s.temp == "" {
		return nil
	}
	return os.RemoveAll(s.temp)
}

// Scan reads a file: .warc, .warc.gz or .warc.zst, finished or open. It calls page with each
// capture, and record, when it is not nil, with each record. The error is one of them, that of the
// context, or says what is wrong with the file (archive.DamageError), after what stands before was
// read.
func (s *Scanner) Scan(path string, record func(r *archive.Record) error,
	page func(p *Page) error,
) error {
	err := s.scan(path, record, page)
	if !errors.Is(err, archive.ErrShared) {
		return err
	}
	if s.temp == "" {
		if s.temp, err = os.MkdirTemp("", "crawlnode-archives-"); err != nil {
			return err
		}
	}
	plain := filepath.Join(s.temp, fmt.Sprintf("%d-%s", len(s.files), nameOf(path)))
	if err := unpack(path, plain); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := s.scan(plain, record, page); err != nil {
		return fmt.Errorf("%s, unpacked: %w", path, err)
	}
	return nil
}

func (s *Scanner) scan(path string, record func(r *archive.Record) error,
	page func(p *Page) error,
) error {
	s.files = append(s.files, path)
	var waiting, beside *archive.Record // a capture, and what a browser made of it
	flush := func() error {
		r, shown := waiting, beside
		if waiting, beside = nil, nil; r == nil {
			return nil
		}
		return s.take(r, shown, page)
	}
	_, err := archive.Scan(path, func(r archive.Record) error {
		switch {
		case s.ctx.Err() != nil:
			return context.Cause(s.ctx)
		case r.Length == 0:
			return archive.ErrShared
		case waiting != nil && isBeside(&r, waiting):
			if beside == nil && isShown(&r) {
				beside = &r
			}
		default:
			if err := flush(); err != nil {
				return err
			}
			if r.Type == "response" || r.Type == "revisit" {
				waiting = &r
			}
		}
		if record == nil {
			return nil
		}
		return record(&r)
	})
	if damage, ok := errors.AsType[*archive.DamageError](err); err == nil || ok && damage != nil {
		return errors.Join(flush(), err)
	}
	return err
}

// take calls page with a capture whose payload is known.
func (s *Scanner) take(r, beside *archive.Record, page func(p *Page) error) error {
	at := place{int32(len(s.files) - 1), r.Offset} //nolint:gosec // as many files as a person names
	digest := xxh3.HashString128(r.PayloadDigest)
	switch {
	case r.Type == "response":
		if _, known := s.places[digest]; r.PayloadDigest != "" && !known && len(r.Payload) > 0 {
			s.places[digest] = at
		}
		return s.page(r, nil, beside, "", page)
	case r.Status == http.StatusNotModified:
		return nil
	case isEmpty(r.PayloadDigest):
		return s.page(r, nil, beside, "", page)
	}
	first, known := s.places[digest]
	if !known {
		s.later = append(s.later, at)
		return nil
	}
	original, err := s.read(first)
	if err != nil {
		return err
	}
	return s.page(r, original, beside, s.dir(first), page)
}

// dir is the folder of a place.
func (s *Scanner) dir(at place) string { return filepath.Dir(s.files[at.file]) }

// page calls page with a capture, the record that has the payload of a duplicate, which stands in
// dir, and what the crawl has made of the capture.
func (s *Scanner) page(r, original, beside *archive.Record, dir string,
	page func(p *Page) error,
) error {
	p := New(r, original, nil, s.limit)
	if p.hasBeside() {
		p.setBeside(beside)
	}
	if p.Converted == nil && original != nil && !p.IsHTML() && p.hasBeside() {
		made, err := shown(s.ctx, Folders{dir}, original)
		if err != nil {
			return err
		}
		p.setBeside(made)
	}
	return page(p)
}

// read reads a record again.
func (s *Scanner) read(at place) (*archive.Record, error) {
	path := s.files[at.file]
	ref := crawl.ArchiveRef{File: nameOf(path), Offset: at.offset}
	r, err := archive.ReadRef(filepath.Dir(path), ref)
	return &r, err
}

// Finish calls page with the duplicates whose payload was read behind them.
func (s *Scanner) Finish(page func(p *Page) error) error {
	later := s.later
	s.later = nil
	for _, at := range later {
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
		r, err := s.read(at)
		if err != nil {
			return err
		}
		first, known := s.places[xxh3.HashString128(r.PayloadDigest)]
		if !known {
			s.Missing++
			continue
		}
		original, err := s.read(first)
		if err != nil {
			return err
		}
		beside, err := shown(s.ctx, Folders{s.dir(at)}, r)
		if err != nil {
			return err
		}
		if err := s.page(r, original, beside, s.dir(first), page); err != nil {
			return err
		}
	}
	return nil
}
