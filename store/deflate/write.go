package deflate

import (
	"encoding/binary"
	"slices"
)

// header is how the sizes of the codes are written: run lengths of them, with codes of their own (RFC 1951, section 3.2.7).
type header struct {
	literals, distances int // symbols whose sizes are written
	runs                []run
	codes               codes
	used                int // sizes of the header's own codes that are written
	bits                int // length of all
}

// run is a symbol of the header and its extra bits.
type run struct{ symbol, extra uint8 }

// order is that in which the sizes of the header's own codes are written.
var order = [19]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

// extraOf are the extra bits of the symbols 16, 17 and 18.
var extraOf = [3]uint8{2, 3, 7}

// plan decides what is written of both codes.
func (h *header) plan(literals, distances *codes) {
	h.literals, h.distances = max(257, lastOf(literals)), max(1, lastOf(distances))
	h.runs = h.runs[:0]
	h.codes.reset(19)
	h.add(literals.size[:h.literals])
	h.add(distances.size[:h.distances])
	h.codes.build(7)
	h.used = 19
	for h.used > 4 && h.codes.size[order[h.used-1]] == 0 {
		h.used--
	}
	h.bits = 5 + 5 + 4 + 3*h.used + h.codes.cost(extraOf[:], 16)
}

// lastOf returns the number of symbols up to the last one that has a code.
func lastOf(c *codes) int {
	n := c.n
	for n > 0 && c.size[n-1] == 0 {
		n--
	}
	return n
}

// add adds the runs of sizes.
func (h *header) add(sizes []uint8) {
	for i := 0; i < len(sizes); {
		size, n := sizes[i], 1
		for i+n < len(sizes) && sizes[i+n] == size {
			n++
		}
		i += n
		if size != 0 {
			h.put(size, 0)
			n--
		}
		for n >= 3 {
			switch {
			case size != 0:
				k := min(n, 6)
				h.put(16, k-3)
				n -= k
			case n >= 11:
				k := min(n, 138)
				h.put(18, k-11)
				n -= k
			default:
				h.put(17, n-3)
				n = 0
			}
		}
		for range n {
			h.put(size, 0)
		}
	}
}

func (h *header) put(symbol uint8, extra int) {
	h.codes.freq[symbol]++
	h.runs = append(h.runs, run{symbol, uint8(extra)})
}

// bitWriter writes bits into memory that has eight bytes more than are written.
type bitWriter struct {
	out  []byte
	at   int // the next byte
	word uint64
	n    uint // bits in word
}

// put adds bits; the word has room for them.
func (w *bitWriter) put(x uint64, n uint) {
	w.word |= x << (w.n & 63)
	w.n += n
}

// flush writes the whole bytes of the word; at most seven bits stay.
func (w *bitWriter) flush() {
	binary.LittleEndian.PutUint64(w.out[w.at:], w.word)
	w.at += int(w.n >> 3)
	w.word >>= w.n &^ 7 & 63
	w.n &= 7
}

// write appends the block with codes of its own, of size bytes.
func (e *Encoder) write(dst []byte, size int) []byte {
	start := len(dst)
	dst = slices.Grow(dst, size+8)
	w := bitWriter{out: dst[:start+size+8], at: start}
	e.header.write(&w)
	w, rest := e.writeMatches(w)
	w = e.writeLiterals(w, rest)
	if w.at != start+size {
		panic("BUG: a block has another size than was planned")
	}
	return dst[:w.at]
}

// write writes the start of a last block with codes of its own.
func (h *header) write(w *bitWriter) {
	w.put(1|2<<1, 3)
	w.put(uint64(h.literals-257), 5)
	w.put(uint64(h.distances-1), 5)
	w.put(uint64(h.used-4), 4)
	w.flush()
	for _, s := range order[:h.used] {
		w.put(uint64(h.codes.size[s]), 3)
		w.flush()
	}
	for _, r := range h.runs {
		c := h.codes.code[r.symbol]
		w.put(uint64(c&0xffff), uint(c>>16))
		if r.symbol >= 16 {
			w.put(uint64(r.extra), uint(extraOf[r.symbol-16]))
		}
		w.flush()
	}
}

// tails are the masks of the last literals before a match, by their number.
var tails = [4][3]uint32{{}, {^uint32(0)}, {^uint32(0), ^uint32(0)}, {^uint32(0), ^uint32(0), ^uint32(0)}}

// writeMatches writes what was found. The state of the writer is in local variables, and so in registers.
func (e *Encoder) writeMatches(w bitWriter) (bitWriter, []byte) {
	literals, distances := &e.literals.code, &e.distances.code
	out, at, word, n := w.out, w.at, w.word, w.n
	src := e.literal[:e.taken+4] // three are read, whether they are there or not
	for _, m := range e.found {
		run := int(m >> 33)
		for ; run >= 4; run -= 4 {
			x := src[:4]
			a, b, c, d := literals[x[0]], literals[x[1]], literals[x[2]], literals[x[3]]
			src = src[4:]
			word |= uint64(a&0xffff) << (n & 63)
			n += uint(a >> 16)
			word |= uint64(b&0xffff) << (n & 63)
			n += uint(b >> 16)
			word |= uint64(c&0xffff) << (n & 63)
			n += uint(c >> 16)
			word |= uint64(d&0xffff) << (n & 63)
			n += uint(d >> 16)
			binary.LittleEndian.PutUint64(out[at:], word)
			at += int(n >> 3)
			word >>= n &^ 7 & 63
			n &= 7
		}
		// Up to three more: those that are not there have no bits. A branch for each would be guessed wrong too often.
		x, has := src[:3:3], &tails[run&3]
		a, b, c := literals[x[0]]&has[0], literals[x[1]]&has[1], literals[x[2]]&has[2]
		word |= uint64(a&0xffff) << (n & 63)
		n += uint(a >> 16)
		word |= uint64(b&0xffff) << (n & 63)
		n += uint(b >> 16)
		word |= uint64(c&0xffff) << (n & 63)
		n += uint(c >> 16)
		src = src[run:]
		binary.LittleEndian.PutUint64(out[at:], word)
		at += int(n >> 3)
		word >>= n &^ 7 & 63
		n &= 7
		length, d := m>>28&31, m>>15&31
		a = literals[257+length]
		word |= uint64(a&0xffff) << (n & 63)
		n += uint(a >> 16)
		word |= (uint64(m>>20&255) - uint64(lengthBase[length])) << (n & 63)
		n += uint(lengthExtra[length])
		a = distances[d]
		word |= uint64(a&0xffff) << (n & 63)
		n += uint(a >> 16)
		word |= (uint64(m&(window-1)) - uint64(distanceBase[d])) << (n & 63)
		n += uint(distanceExtra[d])
		binary.LittleEndian.PutUint64(out[at:], word)
		at += int(n >> 3)
		word >>= n &^ 7 & 63
		n &= 7
	}
	return bitWriter{out, at, word, n}, src[:len(src)-4]
}

// writeLiterals writes the literals behind the last match, and the end of the block.
func (e *Encoder) writeLiterals(w bitWriter, rest []byte) bitWriter {
	for _, b := range rest {
		x := e.literals.code[b]
		w.put(uint64(x&0xffff), uint(x>>16))
		w.flush()
	}
	x := e.literals.code[endOfBlock]
	w.put(uint64(x&0xffff), uint(x>>16))
	w.flush()
	if w.n > 0 {
		w.at++ // flush has written the last bits, too
	}
	return w
}
