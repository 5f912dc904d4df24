package lists

import (
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/htmlparse"
)

// warcDate is the form of WARC-Date, as in the archive.
const warcDate = "2006-01-02T15:04:05.000Z"

// maxTag bounds a language tag; longer ones are not valid (RFC 5646, section 4.4.1).
const maxTag = 35

// textMember makes the conversion record of a page's text (WARC 1.1, section 6.9), as
// one gzip member.
func (s *Outputs) textMember(
	c *crawl.Capture,
	o *crawl.Outcome,
	doc *htmlparse.Document,
) ([]byte, error) {
	id, err := newRecordID(s.random)
	if err != nil {
		return nil, err
	}
	h := beginRecord("conversion", id, o.FetchedAt)
	h.field("WARC-Target-URI", c.URL.String())
	if o.Archive.Record != [16]byte{} {
		h.field("WARC-Refers-To", "<"+urn(o.Archive.Record)+">")
	}
	if isLanguageTag(doc.Lang) {
		h.field("WARC-Identified-Content-Language", doc.Lang)
	}
	if doc.TextTruncated {
		h.field("WARC-Truncated", "length")
	}
	h.field("Content-Type", "text/plain")
	return s.end(h, bytes.ToValidUTF8(doc.Text, []byte("\uFFFD")))
}

// fileHead makes the warcinfo record at the beginning of a file of texts.
func (s *Outputs) fileHead(name string, now time.Time) ([]byte, error) {
	id, err := newRecordID(s.random)
	if err != nil {
		return nil, err
	}
	h := beginRecord("warcinfo", id, now)
	h.field("WARC-Filename", name)
	h.field("Content-Type", "application/warc-fields")
	var block header
	if s.opts.Software != "" {
		block.field("software", s.opts.Software)
	}
	block.field("hostname", s.opts.Name)
	block.field("format", "WARC file version 1.1")
	block.field("conformsTo",
		"http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/")
	return s.end(h, block.b)
}

// header is the head of a WARC record being made.
type header struct{ b []byte }

func beginRecord(kind, id string, date time.Time) *header {
	h := &header{append(make([]byte, 0, 512), "WARC/1.1\r\n"...)}
	h.field("WARC-Type", kind)
	h.field("WARC-Record-ID", "<"+id+">")
	h.field("WARC-Date", date.UTC().Format(warcDate))
	return h
}

// field adds a line. Control bytes are percent-encoded, so that a value can never start a second
// field.
func (h *header) field(name, value string) {
	const digits = "0123456789ABCDEF"
	h.b = append(append(h.b, name...), ": "...)
	for i := range len(value) {
		if c := value[i]; c < ' ' || c == 0x7f {
			h.b = append(h.b, '%', digits[c>>4], digits[c&15])
		} else {
			h.b = append(h.b, c)
		}
	}
	h.b = append(h.b, "\r\n"...)
}

// end completes the record and returns it as a gzip member.
func (s *Outputs) end(h *header, block []byte) ([]byte, error) {
	h.field("WARC-Block-Digest", digest(sha1.Sum(block)))
	h.field("Content-Length", strconv.Itoa(len(block)))
	p := s.packers.Get().(*packer)
	defer s.packers.Put(p)
	member, err := p.pack(h.b, []byte("\r\n"), block, []byte("\r\n\r\n"))
	return bytes.Clone(member), err
}

// newRecordID makes a random UUID (RFC 9562, version 4).
func newRecordID(random io.Reader) (string, error) {
	var u [16]byte
	if _, err := io.ReadFull(random, u[:]); err != nil {
		return "", fmt.Errorf("make a record id: %w", err)
	}
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return urn(u), nil
}

// urn writes a UUID as WARC-Record-ID has it, without brackets.
func urn(u [16]byte) string {
	var b strings.Builder
	b.WriteString("urn:uuid:")
	for i, part := range [...][]byte{u[:4], u[4:6], u[6:8], u[8:10], u[10:]} {
		if i > 0 {
			b.WriteByte('-')
		}
		b.WriteString(hex.EncodeToString(part))
	}
	return b.String()
}

// isLanguageTag reports whether s has the form of a language tag. The page itself declared it: the
// text is not checked.
func isLanguageTag(s string) bool {
	if len(s) < 2 || len(s) > maxTag {
		return false
	}
	for part := range strings.SplitSeq(s, "-") {
		if part == "" || len(part) > 8 ||
			strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
			return false
		}
	}
	return true
}
