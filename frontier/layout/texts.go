package layout

import (
	"encoding/binary"
	"fmt"

	"crawlnode/crawl"
)

// Documents for the index have two tables, which a crawl with --index off never writes:
//
//	t seq (8) fingerprint (16)   the newest document of a URL, or that it has none any more
//	y fingerprint (16)           where that entry is
//
// seq is the number of the mutation that wrote the entry, so the order of t is the order of the
// changes. A URL has one entry: a new one takes the place of the old one.
const (
	TableTexts      = 't'
	TableTextPlaces = 'y'
)

// TextKeyLen is the length of what follows the letter in a key of TableTexts.
const TextKeyLen = 24

// TextPlace says where the entry of a URL is. It is the value of TableTextPlaces.
type TextPlace struct {
	Seq  crawl.Seq
	Size uint32 // of the document; 0: the URL has none any more
}

// AppendTextKey appends the relative key of an entry.
func AppendTextKey(b []byte, seq crawl.Seq, fp Fingerprint) []byte {
	b = binary.BigEndian.AppendUint64(append(b, TableTexts), uint64(seq))
	return append(b, fp[:]...)
}

// ParseTextKey reads the part behind the letter of a relative key of TableTexts.
func ParseTextKey(rel []byte) (at [TextKeyLen]byte, ok bool) {
	if len(rel) != 1+TextKeyLen || rel[0] != TableTexts {
		return at, false
	}
	copy(at[:], rel[1:])
	return at, true
}

// AppendTextPlaceKey appends the relative key of the place of a URL's entry.
func AppendTextPlaceKey(b []byte, fp Fingerprint) []byte {
	return append(append(b, TableTextPlaces), fp[:]...)
}

// EncodeTextPlace writes a place.
//
//	version, u seq, u size
func EncodeTextPlace(p TextPlace) []byte {
	w := newEncoder(12)
	w.u(uint64(p.Seq))
	w.u(uint64(p.Size))
	return w.b
}

// DecodeTextPlace reads a place.
func DecodeTextPlace(b []byte) (TextPlace, error) {
	d := newDecoder(b)
	p := TextPlace{Seq: crawl.Seq(d.u()), Size: uint32(d.u())}
	return p, d.end("place of a document")
}

// EncodeText writes the entry of a URL; an empty document says that it has none any more.
//
//	version, str URL, rest document
func EncodeText(url string, document []byte) []byte {
	w := newEncoder(len(url) + len(document) + 4)
	w.str(url)
	w.rest(string(document))
	return w.b
}

// DecodeText reads the entry of a URL. The document is a part of b.
func DecodeText(b []byte) (url string, document []byte, err error) {
	d := newDecoder(b)
	url = d.str()
	document = d.rest()
	if err := d.end("document"); err != nil {
		return "", nil, fmt.Errorf("%w of %q", err, url)
	}
	return url, document, nil
}
