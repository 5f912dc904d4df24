package deflate

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
)

// MaxInput is the size of the largest contents: positions have 16 bits.
const MaxInput = 1<<16 - 1

const (
	tableBits = 13
	// margin is what the search leaves to be literals at the end, so that it may read eight bytes at once.
	margin = 12
	// window is the largest distance of a match (RFC 1951, section 2).
	window = 1 << 15
	// minMatch and maxMatch are lengths of matches that are looked for; the format has 3 as well.
	minMatch, maxMatch = 4, 258
)

// Encoder makes members. It keeps its memory; one goroutine at a time uses it. The zero value is ready.
type Encoder struct {
	src   []byte                 // the contents
	table [1 << tableBits]uint16 // the newest position of a hash
	found []match
	// literal are the literals, taken is their number.
	literal [MaxInput + 16]byte
	taken   int

	literals  codes // and lengths
	distances codes
	header    header
}

// match is a run of literals and the match behind it, in one word: the count of literals (16 bits), the length's symbol less 256 (5),
// the length less 3 (8), the distance's symbol (5), the distance less 1 (15).
type match uint64

// AppendMember appends a member whose contents are the parts, one after the other. It panics when they are longer than MaxInput.
func (e *Encoder) AppendMember(dst []byte, parts ...[]byte) []byte {
	e.src = e.src[:0]
	for _, p := range parts {
		if len(p) > MaxInput-len(e.src) {
			panic("BUG: contents of more than MaxInput bytes are to be compressed at once")
		}
		e.src = append(e.src, p...)
	}
	dst = e.appendBlock(append(dst, head...))
	return appendEnd(dst, crc32.ChecksumIEEE(e.src), len(e.src))
}

// head begins a member: no name, no time; the fastest level, an unknown system.
const head = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x04\xff"

func appendEnd(dst []byte, sum uint32, size int) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, sum)
	return binary.LittleEndian.AppendUint32(dst, uint32(size))
}

// AppendStored appends a member whose contents, of any size, are the parts as they are.
func AppendStored(dst []byte, parts ...[]byte) []byte {
	dst = append(dst, head...)
	size, sum := 0, uint32(0)
	for _, p := range parts {
		size += len(p)
		sum = crc32.Update(sum, crc32.IEEETable, p)
	}
	return appendEnd(appendStored(dst, size, parts), sum, size)
}

// appendStored appends blocks with what the parts, of that size together, contain.
func appendStored(dst []byte, size int, parts [][]byte) []byte {
	room := min(size, MaxInput) // of the block
	dst = appendStoredHead(dst, room, size)
	for _, p := range parts {
		for len(p) > 0 {
			if room == 0 {
				room = min(size, MaxInput)
				dst = appendStoredHead(dst, room, size)
			}
			n := min(room, len(p))
			dst = append(dst, p[:n]...)
			p, room, size = p[n:], room-n, size-n
		}
	}
	return dst
}

// appendStoredHead begins a block of n bytes of the size that are left.
func appendStoredHead(dst []byte, n, size int) []byte {
	last := byte(0)
	if n == size {
		last = 1
	}
	return append(dst, last, byte(n), byte(n>>8), ^byte(n), ^byte(n>>8))
}

// appendBlock appends the one block.
func (e *Encoder) appendBlock(dst []byte) []byte {
	e.literals.reset(literalSymbols)
	e.distances.reset(distanceSymbols)
	e.taken = 0
	e.take(e.search(), len(e.src))
	e.literals.count(e.literal[:e.taken])
	e.literals.freq[endOfBlock]++
	e.literals.build(maxLiteralBits)
	e.distances.build(maxDistanceBits)
	e.header.plan(&e.literals, &e.distances)
	size := (3 + e.header.bits + e.literals.cost(lengthExtra[:], 257) + e.distances.cost(distanceExtra[:], 0) + 7) / 8
	if size >= 5+len(e.src) {
		return appendStored(dst, len(e.src), [][]byte{e.src})
	}
	return e.write(dst, size)
}

// search fills found, counts the symbols of it, and returns the position of the literals behind the last match.
func (e *Encoder) search() (rest int) {
	e.found = e.found[:0]
	if len(e.src) < margin+minMatch {
		return 0
	}
	clear(e.table[:])
	src, table := e.src, &e.table
	last := len(src) - margin
	for s := 1; ; {
		// Two of three positions are looked at, fewer the further the last match is. What is skipped is found when the match is
		// extended to the front.
		var from int
		word := binary.LittleEndian.Uint64(src[s:])
		for {
			next := s + 2 + (s-rest)>>5
			if next > last {
				return rest
			}
			h := hash(word)
			from = int(table[h])
			table[h] = uint16(s)
			if uint32(word) == binary.LittleEndian.Uint32(src[from:]) && s-from <= window {
				break
			}
			s = next
			word = binary.LittleEndian.Uint64(src[s:])
			h = hash(word)
			from = int(table[h])
			table[h] = uint16(s)
			if uint32(word) == binary.LittleEndian.Uint32(src[from:]) && s-from <= window {
				break
			}
			s++
			word = binary.LittleEndian.Uint64(src[s:])
		}
		for {
			back := before(src, from, s, rest)
			n := min(back+extend(src, from, s), maxMatch)
			from, s = from-back, s-back
			e.add(rest, s, n, s-from)
			s += n
			rest = s
			if s > last {
				return rest
			}
			// Two positions within the match are kept, and the one behind it is tried at once.
			word := binary.LittleEndian.Uint64(src[s-2:])
			table[hash(word)] = uint16(s - 2)
			word >>= 16
			h := hash(word)
			from = int(table[h])
			table[h] = uint16(s)
			if uint32(word) != binary.LittleEndian.Uint32(src[from:]) || s-from > window {
				s++
				break
			}
		}
	}
}

// hash is that of the six bytes at the low end of word. With five, a fourth more matches are found, and members of pages are as long: the
// shortest ones take as many bits as their literals.
func hash(word uint64) uint64 {
	return word << 16 * 227718039650203 >> (64 - tableBits)
}

// extend returns the length of the match of what is at s with what is at from, up to some more than maxMatch; minMatch bytes are known to be
// equal. The first sixteen bytes take no branch.
func extend(src []byte, from, s int) int {
	if len(src)-s < minMatch+16 {
		return extendSlowly(src, from, s, minMatch)
	}
	a, b := src[from+minMatch:][:16], src[s+minMatch:][:16]
	x := binary.LittleEndian.Uint64(a) ^ binary.LittleEndian.Uint64(b)
	y := binary.LittleEndian.Uint64(a[8:]) ^ binary.LittleEndian.Uint64(b[8:])
	if x|y == 0 {
		return extendSlowly(src, from, s, minMatch+16)
	}
	n := bits.TrailingZeros64(x) // 64 for 0
	more := bits.TrailingZeros64(y)
	if n < 64 {
		more = 0
	}
	return minMatch + (n+more)>>3
}

// extendSlowly continues a match of n bytes.
func extendSlowly(src []byte, from, s, n int) int {
	a, b := src[from+n:], src[s+n:]
	for n < maxMatch && len(b) >= 8 && len(a) >= 8 {
		if x := binary.LittleEndian.Uint64(a) ^ binary.LittleEndian.Uint64(b); x != 0 {
			return n + bits.TrailingZeros64(x)>>3
		}
		a, b, n = a[8:], b[8:], n+8
	}
	for i := range b[:min(len(b), 7)] { // else n is maxMatch or more
		if a[i] != b[i] {
			break
		}
		n++
	}
	return n
}

// before returns how many bytes, at most eight, before from equal those before s and are not in a match yet.
func before(src []byte, from, s, rest int) int {
	if from < 8 {
		return 0
	}
	x := binary.LittleEndian.Uint64(src[from-8:]) ^ binary.LittleEndian.Uint64(src[s-8:])
	return min(bits.LeadingZeros64(x)>>3, s-rest)
}

// add adds a match and the literals before it.
func (e *Encoder) add(rest, s, n, distance int) {
	e.take(rest, s)
	length := lengthSymbols[uint8(n-3)]
	d := distanceSymbol(uint32(distance - 1))
	e.literals.freq[257+int(length&31)]++
	e.distances.freq[d&31]++
	e.found = append(e.found, match(s-rest)<<33|match(length)<<28|match(n-3)<<20|match(d)<<15|match(distance-1))
}

// take adds literals. Short runs are copied with more than they are, since that takes no branch.
func (e *Encoder) take(from, to int) {
	at := e.taken
	e.taken += to - from
	if len(e.src)-from >= 16 {
		copy(e.literal[at:][:16], e.src[from:][:16])
		if to-from <= 16 {
			return
		}
	}
	copy(e.literal[at:], e.src[from:to])
}

// count counts literals.
func (c *codes) count(literals []byte) {
	for len(literals) >= 4 {
		c.freq[literals[0]]++
		c.freq[literals[1]]++
		c.freq[literals[2]]++
		c.freq[literals[3]]++
		literals = literals[4:]
	}
	for _, b := range literals {
		c.freq[b]++
	}
}
