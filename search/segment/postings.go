package segment

import (
	"encoding/binary"
	"errors"
)

// postingBlock is the largest number of documents of a block of postings.
const postingBlock = 128

// The postings of a term begin with its forms (forms.go). Then there are blocks of up to 128
// documents:
//
//	uvarint  last document, less that of the block before
//	uvarint  length of the documents' part, uvarint length of the positions
//	for each document: uvarint document less the one before
//	for each document: impact, 1 byte
//	for each document: the fields that have the term, a bit each, 1 byte
//	for each document: uvarint length and positions, each a uvarint: the position less the one
//	before, times the number of forms, plus the number of its form
//
// A reader that looks for a later document passes over a block by its first three numbers. Format 1
// has no forms: its postings begin with the blocks, and a position is the number alone.
type postingsWriter struct {
	out  []byte
	last uint32 // of the blocks written

	docs, impacts, masks, positions []byte
	n                               int
	prev                            uint32
	count                           uint64
}

// begin begins the postings of a term.
func (w *postingsWriter) begin(term string, forms []string) {
	w.out, w.last, w.prev, w.count = appendForms(w.out[:0], wordOf(term), forms), 0, 0, 0
	w.clear()
}

func (w *postingsWriter) clear() {
	w.docs, w.impacts, w.masks, w.positions, w.n = w.docs[:0], w.impacts[:0], w.masks[:0],
		w.positions[:0], 0
}

// add appends a document; positions are encoded, without their length.
func (w *postingsWriter) add(doc uint32, impact, mask byte, positions []byte) {
	w.docs = binary.AppendUvarint(w.docs, uint64(doc-w.prev))
	w.impacts = append(w.impacts, impact)
	w.masks = append(w.masks, mask)
	w.positions = binary.AppendUvarint(w.positions, uint64(len(positions)))
	w.positions = append(w.positions, positions...)
	w.prev = doc
	w.count++
	if w.n++; w.n == postingBlock {
		w.flush()
	}
}

func (w *postingsWriter) flush() {
	if w.n == 0 {
		return
	}
	w.out = binary.AppendUvarint(w.out, uint64(w.prev-w.last))
	w.out = binary.AppendUvarint(w.out, uint64(len(w.docs)+2*w.n))
	w.out = binary.AppendUvarint(w.out, uint64(len(w.positions)))
	w.out = append(w.out, w.docs...)
	w.out = append(w.out, w.impacts...)
	w.out = append(w.out, w.masks...)
	w.out = append(w.out, w.positions...)
	w.last = w.prev
	w.clear()
}

var errPostings = errors.New("postings are damaged")

// Postings walks over the documents of a term, in their order. The zero value has none.
type Postings struct {
	rest  []byte // blocks after the current one
	left  int    // documents after the current block
	count int

	docs           [postingBlock]uint32
	impacts, masks []byte
	positions      []byte // of the current block, from document place on
	place          int
	i, n           int
	last, first    uint32
	err            error

	word     string // of the term
	forms    []byte // of the term, as they are encoded
	ways     uint64 // how many forms there are; 0 is 1
	accepted Set    // forms, by number, whose positions count; nil: all
}

// Len is the number of documents, with those that are deleted.
func (p *Postings) Len() int { return p.count }

// Err is what was wrong with the postings, when Next or Seek ended early.
func (p *Postings) Err() error { return p.err }

// Next moves to the next document; it is false when there is none.
func (p *Postings) Next() bool {
	if p.i++; p.i < p.n {
		return true
	}
	return p.load(0)
}

// Seek moves to the first document that is not before doc. It never moves back.
func (p *Postings) Seek(doc uint32) bool {
	if p.n > 0 && p.i >= 0 && p.i < p.n && p.docs[p.i] >= doc {
		return true
	}
	if p.n == 0 || p.docs[p.n-1] < doc {
		if !p.load(doc) {
			return false
		}
	}
	p.i = max(p.i, 0)
	for p.i < p.n && p.docs[p.i] < doc {
		p.i++
	}
	return p.i < p.n
}

// Doc is the current document.
func (p *Postings) Doc() uint32 { return p.docs[p.i] }

// Impact is what the term is worth in the current document.
func (p *Postings) Impact() byte { return p.impacts[p.i] }

// Mask has a bit for each field of the current document that has the term.
func (p *Postings) Mask() byte { return p.masks[p.i] }

// load reads the first block whose last document is not before doc.
func (p *Postings) load(doc uint32) bool {
	for p.left > 0 {
		delta, a := binary.Uvarint(p.rest)
		if a <= 0 {
			return p.fail()
		}
		docs, b := binary.Uvarint(p.rest[a:])
		if b <= 0 {
			return p.fail()
		}
		positions, c := binary.Uvarint(p.rest[a+b:])
		if c <= 0 {
			return p.fail()
		}
		body := p.rest[a+b+c:]
		n := min(p.left, postingBlock)
		if docs > uint64(len(body)) || positions > uint64(len(body))-docs || docs < uint64(3*n) {
			return p.fail()
		}
		p.first = p.last
		p.last += uint32(delta)
		p.left -= n
		p.rest = body[docs+positions:]
		if p.last >= doc {
			p.positions, p.place = body[docs:docs+positions], 0
			return p.decode(body[:docs], n)
		}
	}
	p.n, p.i = 0, 0
	return false
}

func (p *Postings) decode(body []byte, n int) bool {
	cut := len(body) - 2*n
	p.impacts, p.masks = body[cut:cut+n], body[cut+n:]
	deltas, doc := body[:cut], p.first
	for i := range n {
		if len(deltas) > 0 && deltas[0] < 0x80 {
			doc += uint32(deltas[0])
			deltas = deltas[1:]
		} else {
			v, k := binary.Uvarint(deltas)
			if k <= 0 {
				return p.fail()
			}
			doc += uint32(v)
			deltas = deltas[k:]
		}
		p.docs[i] = doc
	}
	p.i, p.n = 0, n
	return true
}

func (p *Postings) fail() bool {
	p.err, p.left, p.n, p.i = errPostings, 0, 0, 0
	return false
}

// rawPositions are the encoded positions of the current document.
func (p *Postings) rawPositions() []byte {
	for {
		size, n := binary.Uvarint(p.positions)
		if n <= 0 || size > uint64(len(p.positions)-n) {
			p.fail()
			return nil
		}
		if p.place == p.i {
			return p.positions[n : n+int(size)]
		}
		p.positions = p.positions[n+int(size):]
		p.place++
	}
}

// Positions appends the positions of the current document, in order.
func (p *Postings) Positions(dst []uint32) []uint32 {
	raw, at := p.rawPositions(), uint32(0)
	for len(raw) > 0 {
		v, n := binary.Uvarint(raw)
		if n <= 0 {
			p.fail()
			return dst
		}
		raw = raw[n:]
		form := uint64(0)
		if p.ways > 1 {
			v, form = v/p.ways, v%p.ways
		}
		at += uint32(v)
		if p.accepted == nil || p.accepted.Has(uint32(form)) {
			dst = append(dst, at)
		}
	}
	return dst
}

// Encoded is the number of bytes of the positions of the current document: what Positions costs.
func (p *Postings) Encoded() int { return len(p.rawPositions()) }

// Only makes Positions return those positions only whose form f accepts. It is false when f accepts
// none, so that no document has what is looked for. In format 1 all positions stay.
func (p *Postings) Only(f func(form string) bool) bool {
	if p.forms == nil {
		return true
	}
	forms, err := cutForms(p.forms, p.word)
	if err != nil {
		return p.fail()
	}
	var accepted []uint32
	for i, form := range forms {
		if f(form) {
			accepted = append(accepted, uint32(i))
		}
	}
	p.accepted = nil
	if len(accepted) < len(forms) {
		p.accepted = Set(nil).With(len(forms), accepted...)
	}
	return len(accepted) > 0
}
