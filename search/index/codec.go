package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zeebo/xxh3"

	"crawlnode/search/analyse"
	"crawlnode/search/rank"
	"crawlnode/search/segment"
)

// codec is the first byte of a document as bytes; another one is of a later version. cutMark
// follows a document whose text was cut; earlier versions do not read it.
const (
	codec   = 1
	cutMark = 0xC7
)

// ErrDocument is what ParseDocument returns for bytes that are no document.
var ErrDocument = errors.New("these bytes are no document of this version")

// AppendDocument appends a document as bytes, for the index's own records and for a copy on another
// node: byte 1; the strings URL, host, title, headings, text, description, language and file, each
// with its uvarint length; uvarint number of anchors, and those; varints milliseconds since 1970
// and offset; uvarints partition, revision; fingerprint and importance, 8 bytes each; cutMark if
// its text was cut.
func AppendDocument(dst []byte, d *Document) []byte {
	dst = append(dst, codec)
	for _, s := range []string{d.URL, d.Host, d.Title, d.Headings, d.Text, d.Description, d.Language,
		d.File} {
		dst = appendString(dst, s)
	}
	dst = binary.AppendUvarint(dst, uint64(len(d.Anchors)))
	for _, a := range d.Anchors {
		dst = appendString(dst, a)
	}
	dst = binary.AppendVarint(dst, d.FetchedAt.UnixMilli())
	dst = binary.AppendVarint(dst, d.Offset)
	dst = binary.AppendUvarint(dst, uint64(d.Partition))
	dst = binary.AppendUvarint(dst, uint64(d.Revision))
	dst = binary.LittleEndian.AppendUint64(dst, d.Fingerprint)
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(d.Importance))
	if d.Cut {
		dst = append(dst, cutMark)
	}
	return dst
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// reader cuts values off bytes; after a mistake it gives zeros.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) uvarint(most uint64) uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > most {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) string() string {
	n := r.uvarint(uint64(len(r.rest)))
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *reader) fixed() uint64 {
	if len(r.rest) < 8 {
		r.bad, r.rest = true, nil
		return 0
	}
	v := binary.LittleEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return v
}

// ParseDocument reads what AppendDocument wrote, and returns the bytes after it. It may be given
// any bytes.
func ParseDocument(src []byte) (d Document, rest []byte, err error) {
	if len(src) == 0 || src[0] != codec {
		return Document{}, nil, ErrDocument
	}
	r := reader{rest: src[1:]}
	for _, s := range []*string{&d.URL, &d.Host, &d.Title, &d.Headings, &d.Text, &d.Description,
		&d.Language, &d.File} {
		*s = r.string()
	}
	for range r.uvarint(MaxAnchors) {
		d.Anchors = append(d.Anchors, r.string())
	}
	d.FetchedAt = time.UnixMilli(r.varint()).UTC()
	d.Offset = r.varint()
	d.Partition = uint32(r.uvarint(math.MaxUint32))
	d.Revision = uint32(r.uvarint(math.MaxUint32))
	d.Fingerprint = r.fixed()
	d.Importance = math.Float64frombits(r.fixed())
	if r.bad {
		return Document{}, nil, fmt.Errorf("%w: they are cut off or changed", ErrDocument)
	}
	if len(r.rest) > 0 && r.rest[0] == cutMark {
		d.Cut, r.rest = true, r.rest[1:]
	}
	return d, r.rest, nil
}

// keyOf is the key of a URL.
func keyOf(url string) segment.Key { return xxh3.HashString128(url).Bytes() }

// bounded is the document within the limits, with valid UTF-8, times to the millisecond in UTC and
// a language of two letters.
func bounded(d Document) Document {
	d.URL, d.Host = cut(d.URL, MaxURL), cut(d.Host, 253)
	d.Cut = d.Cut || len(d.Text) > MaxText || earlierCut(d.Text)
	d.Title, d.Headings, d.Text = cut(d.Title, MaxTitle), cut(d.Headings, MaxHeadings),
		cut(d.Text, MaxText)
	d.Description = cut(d.Description, MaxDescription)
	if len(d.Anchors) > MaxAnchors {
		d.Anchors = d.Anchors[:MaxAnchors]
	}
	anchors := make([]string, len(d.Anchors))
	for i, a := range d.Anchors {
		anchors[i] = cut(a, MaxAnchor)
	}
	d.Anchors = anchors
	d.Language = strings.ToLower(d.Language)
	if i := strings.IndexAny(d.Language, "-_"); i >= 0 {
		d.Language = d.Language[:i]
	}
	if len(d.Language) != 2 {
		d.Language = ""
	}
	d.FetchedAt = time.UnixMilli(d.FetchedAt.UnixMilli()).UTC()
	if math.IsNaN(d.Importance) || d.Importance < 0 {
		d.Importance = 0
	}
	return d
}

// cut is at most n bytes of s, in valid UTF-8.
func cut(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// labels of documents: what conditions other than on the text look for.
const (
	labelHost     = "h"
	labelSite     = "s"
	labelLanguage = "l"
	labelType     = "f"
	// labelCut is that of documents whose text was cut off.
	labelCut = "c"
)

// textBreak stands in a text where something of the page was left out: what is before and after it
// are no neighbours.
const textBreak = "\n\n"

// earlierMaxText is what earlier versions kept of a text.
const earlierMaxText = 64 << 10

// earlierCut reports whether an earlier version, which did not say so, probably cut a text: it is
// as long as it could be, less a character.
func earlierCut(text string) bool {
	return len(text) > earlierMaxText-utf8.UTFMax && len(text) <= earlierMaxText
}

// entryOf is the document as a segment takes it.
func entryOf(d *Document) segment.Document {
	e := segment.Document{
		URL: d.URL, Stored: AppendDocument(nil, d), Language: analyse.LanguageOf(d.Language),
		Card: segment.Card{
			Key: keyOf(d.URL), Partition: d.Partition, Revision: d.Revision, FetchedAt: d.FetchedAt,
			Fingerprint: d.Fingerprint, Importance: float32(d.Importance),
		},
	}
	copy(e.Card.Language[:], d.Language)
	path := pathOf(d.URL)
	e.Fields[rank.Title] = []string{d.Title}
	e.Fields[rank.URL] = []string{d.Host, path}
	e.Fields[rank.Description] = []string{d.Description}
	e.Fields[rank.Headings] = strings.Split(d.Headings, "\n")
	e.Fields[rank.Anchors] = d.Anchors
	e.Fields[rank.Text] = strings.Split(d.Text, textBreak)
	host := strings.ToLower(d.Host)
	e.Labels = append(e.Labels, labelHost+host)
	for site := host; ; {
		e.Labels = append(e.Labels, labelSite+site)
		_, parent, ok := strings.Cut(site, ".")
		if !ok {
			break
		}
		site = parent
	}
	if d.Language != "" {
		e.Labels = append(e.Labels, labelLanguage+d.Language)
	}
	if d.Cut || earlierCut(d.Text) {
		e.Labels = append(e.Labels, labelCut)
	}
	if t := fileType(path); t != "" {
		e.Labels = append(e.Labels, labelType+t)
	}
	return e
}

// pathOf is what follows the host in a URL, without its escapes of letters that words are made of.
func pathOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	i := strings.IndexByte(rest, '/')
	if i < 0 {
		return ""
	}
	return unescape(rest[i:])
}

// unescape replaces %XX, so that words of other scripts are words; what is no escape is kept.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if hi, lo := hex(s[i+1]), hex(s[i+2]); hi >= 0 && lo >= 0 {
				out = append(out, byte(hi<<4|lo))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return strings.ToValidUTF8(string(out), " ")
}

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// fileType is the lower-case ending of a path's last part, "" when it has none.
func fileType(path string) string {
	path, _, _ = strings.Cut(path, "?")
	path = path[strings.LastIndexByte(path, '/')+1:]
	i := strings.LastIndexByte(path, '.')
	if i < 0 || len(path)-i > 9 {
		return ""
	}
	return strings.ToLower(path[i+1:])
}

// hostOf is the host of a canonical URL, without its port.
func hostOf(url string) string {
	_, rest, _ := strings.Cut(url, "://")
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	if strings.HasPrefix(rest, "[") {
		i := strings.IndexByte(rest, ']')
		return rest[:i+1]
	}
	rest, _, _ = strings.Cut(rest, ":")
	return rest
}
