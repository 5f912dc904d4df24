package layout

import (
	"encoding/binary"
	"fmt"

	"crawlnode/crawl"
)

// Documents for the index have three tables, which a crawl with --index off never writes:
//
//	t seq (8) fingerprint (16)   the newest document of a URL, or that it has none any more, or where it is
//	y fingerprint (16)           where that entry is, and where the document
//	l fingerprint (16)           the texts of links to the URL
//
// seq is the number of the mutation that wrote the entry, so the order of t is the order of the
// changes. A URL has one entry: a new one takes the place of the old one. When only the links to a
// URL have changed, its document stays where it is, and a further entry behind it says where; there
// is one of these at most.
const (
	TableTexts      = 't'
	TableTextPlaces = 'y'
	TableAnchors    = 'l'
)

// MaxAnchors bounds the texts of links that are kept of a URL, each from another host;
// MaxAnchorsBytes is the size of the entry with them at most.
const (
	MaxAnchors      = 8
	MaxAnchorsBytes = 2 + MaxAnchors*(8+2+crawl.MaxAnchor)
)

// Anchor is the text of a link.
type Anchor struct {
	Source uint64 // a hash of the host of its page
	Text   string
}

// TextKeyLen is the length of what follows the letter in a key of TableTexts.
const TextKeyLen = 24

// TextPlace says where the entry of a URL is. It is the value of TableTextPlaces.
type TextPlace struct {
	Seq  crawl.Seq
	Size uint32 // of the document; 0: the URL has none any more
	// Document is where the document itself is, when the entry only says that links have changed; else
	// 0.
	Document crawl.Seq
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
//	version, u seq, u size, [u document]
func EncodeTextPlace(p TextPlace) []byte {
	w := newEncoder(20)
	w.u(uint64(p.Seq))
	w.u(uint64(p.Size))
	if p.Document != 0 {
		w.u(uint64(p.Document))
	}
	return w.b
}

// DecodeTextPlace reads a place.
func DecodeTextPlace(b []byte) (TextPlace, error) {
	d := newDecoder(b)
	p := TextPlace{Seq: crawl.Seq(d.u()), Size: uint32(d.u())}
	if len(d.b) > 0 {
		p.Document = crawl.Seq(d.u())
	}
	return p, d.end("place of a document")
}

// AppendAnchorsKey appends the relative key of the texts of links to a URL.
func AppendAnchorsKey(b []byte, fp Fingerprint) []byte {
	return append(append(b, TableAnchors), fp[:]...)
}

// EncodeAnchors writes the texts of the links to a URL.
//
//	version, for each: 8 bytes of its source, str text
func EncodeAnchors(all []Anchor) []byte {
	w := newEncoder(MaxAnchorsBytes / 4)
	for i := range all {
		w.b = binary.BigEndian.AppendUint64(w.b, all[i].Source)
		w.str(all[i].Text)
	}
	return w.b
}

// DecodeAnchors reads the texts of the links to a URL.
func DecodeAnchors(b []byte) (all []Anchor, err error) {
	d := newDecoder(b)
	for len(d.b) > 0 {
		var a Anchor
		if source := d.take(8); len(source) == 8 {
			a.Source = binary.BigEndian.Uint64(source)
		}
		a.Text = d.str()
		all = append(all, a)
	}
	return all, d.end("texts of links")
}

// elsewhere begins an entry whose document is in an entry before it. No document begins so.
const elsewhere = 0

// EncodeTextElsewhere writes the entry of a URL whose document is in the entry that another
// mutation has written.
//
//	version, str URL, byte 0, u seq
func EncodeTextElsewhere(url string, document crawl.Seq) []byte {
	w := newEncoder(len(url) + 14)
	w.str(url)
	w.byte(elsewhere)
	w.u(uint64(document))
	return w.b
}

// ElsewhereOf is the mutation whose entry has the document, when the document of an entry only says
// so.
func ElsewhereOf(document []byte) (seq crawl.Seq, ok bool) {
	if len(document) == 0 || document[0] != elsewhere {
		return 0, false
	}
	d := decoder{b: document[1:]}
	seq = crawl.Seq(d.u())
	return seq, !d.bad && len(d.b) == 0
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
