package search

import (
	"strings"
	"sync"
	"unicode/utf8"

	"crawlnode/frontier/texts"
	"crawlnode/pipeline"
	"crawlnode/search/index"
	"crawlnode/web/maintext"
)

// A text is kept whole up to maintext.MaxText, some 150,000 words. One that cannot be compressed to
// what the frontier stores is cut at lessText.
const lessText = 64 << 10

// Maker makes documents; any goroutine may call it.
type Maker struct{ buffers sync.Pool }

// buffers are the memory of one document that is made.
type buffers struct{ plain, packed []byte }

// Document is the document of a page in the stored form. Nil: it is too large.
func (m *Maker) Document(p *pipeline.Indexed) []byte {
	read := maintext.Extract
	if p.Whole {
		read = maintext.Whole
	}
	t := read(p.Body, p.ContentType, p.Language)
	t.Shorten()
	p.Cut = t.Truncated
	o, u := p.Outcome, p.Visit.Item.URL
	d := index.Document{
		URL: u.String(), Host: u.Host(), Partition: uint32(p.Visit.Partition),
		Title: t.Title, Headings: cut(strings.Join(t.Headings, "\n"), index.MaxHeadings),
		Text: t.Text, Cut: t.Truncated, Description: t.Description, Language: t.Language,
		FetchedAt: o.FetchedAt, Fingerprint: o.Simhash, File: o.Archive.File, Offset: o.Archive.Offset,
	}
	b, _ := m.buffers.Get().(*buffers)
	if b == nil {
		b = &buffers{}
	}
	defer m.buffers.Put(b)
	b.plain = index.AppendDocument(b.plain[:0], &d)
	packed := b.pack()
	if len(packed) > texts.MaxBytes {
		packed = b.packTightly()
	}
	if len(packed) > texts.MaxBytes {
		d.Text, d.Cut = cut(d.Text, lessText), d.Cut || len(d.Text) > lessText
		p.Cut = d.Cut
		b.plain = index.AppendDocument(b.plain[:0], &d)
		packed = b.pack()
	}
	if len(packed) > texts.MaxBytes {
		return nil // text of 64 KiB that cannot be compressed is none
	}
	return packed
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
