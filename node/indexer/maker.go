package indexer

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"crawlnode/frontier/texts"
	"crawlnode/pipeline"
	"crawlnode/store/search"
	"crawlnode/web/maintext"
)

// maxText bounds the text of a document: what is beyond is not found. It is some 10,000 words.
const maxText = 64 << 10

// maxDecoded bounds what a stored document may become when it is read.
const maxDecoded = 1 << 20

// Maker makes documents; any goroutine may call it. Its memory is made with the first document.
type Maker struct {
	once sync.Once
	zstd *zstd.Encoder
}

// Document is the document of a page in the stored form: search.AppendDocument, compressed. Nil: it is too large.
func (m *Maker) Document(p *pipeline.Indexed) []byte {
	t := maintext.Extract(p.Body, p.ContentType, p.Language)
	o, u := p.Outcome, p.Visit.Item.URL
	d := search.Document{
		URL: u.String(), Host: u.Host(), Partition: uint32(p.Visit.Partition),
		Title: t.Title, Headings: cut(strings.Join(t.Headings, "\n"), search.MaxHeadings), Text: cut(t.Text, maxText), Description: t.Description, Language: t.Language,
		FetchedAt: o.FetchedAt, Fingerprint: o.Simhash, File: o.Archive.File, Offset: o.Archive.Offset,
	}
	m.once.Do(func() {
		m.zstd, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2), zstd.WithLowerEncoderMem(true)) // no error without a wrong option
	})
	b := m.zstd.EncodeAll(search.AppendDocument(nil, &d), nil)
	if len(b) > texts.MaxBytes {
		return nil // text of 64 KiB that cannot be compressed is none
	}
	return b
}

// cut is at most n bytes of s, at a whole character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// unpacker reads stored documents. It is for one goroutine.
type unpacker struct {
	zstd *zstd.Decoder
	buf  []byte
}

func newUnpacker() (*unpacker, error) {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDecoded))
	return &unpacker{zstd: d}, err
}

func (u *unpacker) document(b []byte) (d search.Document, err error) {
	if u.buf, err = u.zstd.DecodeAll(b, u.buf[:0]); err != nil {
		return d, err
	}
	d, _, err = search.ParseDocument(u.buf)
	return d, err
}
