package simhash

import (
	"encoding/binary"
	"math/bits"
)

const (
	// MaxDistance is the number of bits in which near-duplicates may differ.
	MaxDistance = 3
	// MinWords is the least number of words that have a fingerprint.
	MinWords = 32
)

// Distance counts the bits in which two fingerprints differ.
func Distance(a, b uint64) int { return bits.OnesCount64(a ^ b) }

// Fingerprint returns the fingerprint of text, which is UTF-8 or taken as such,
// and false when the text has fewer than MinWords words. It allocates nothing.
func Fingerprint(text []byte) (uint64, bool) {
	var s shingles
	word, inWord := uint64(0), false // the hash of a word's first eights
	for i := 0; i < len(text); {
		x := load(text, i)
		letters, alone := classify(x)
		if letters&(1<<7) == 0 { // x does not begin with a part of a word
			if inWord {
				s.add(word)
				word, inWord = 0, false
			}
			switch begin := letters | alone; {
			case begin == 0:
				i += 8
			case begin&(1<<7) == 0:
				i += bits.TrailingZeros64(begin) / 8
			default:
				n := runeLen(byte(x))
				s.add(hash(0, x&first(n), n))
				i += n
			}
			continue
		}
		n := bits.TrailingZeros64(^letters&eachTop) / 8 // 8 when all are letters
		word = hash(word, (x|eachCase)&first(n), n)
		if n == 8 {
			inWord = true
			i += 8
			continue
		}
		s.add(word)
		word, inWord = 0, false
		if begin := (letters | alone) &^ first(n); begin != 0 {
			i += bits.TrailingZeros64(begin) / 8 // most words begin within eight bytes of the last
		} else {
			i += 8
		}
	}
	if inWord {
		s.add(word)
	}
	if s.words < MinWords {
		return 0, false
	}
	return s.votes.majority(), true
}

// load reads eight bytes, with zeros behind the end.
func load(text []byte, i int) uint64 {
	if i+8 <= len(text) {
		return binary.LittleEndian.Uint64(text[i:])
	}
	var b [8]byte
	copy(b[:], text[i:])
	return binary.LittleEndian.Uint64(b[:])
}

const (
	each    = 0x0101010101010101
	eachTop = 0x80 * each
	// eachCase sets the bit that lower case letters have: those of ASCII, of Latin-1
	// and most Cyrillic and Greek ones. Digits have it too.
	eachCase = 0x20 * each
)

// first is the mask of the first n bytes, 0 to 8.
func first(n int) uint64 { return 1<<(8*n) - 1 }

// atLeast sets the top bits of the bytes of v, all below 0x80, that are c or more.
func atLeast(v uint64, c byte) uint64 { return v + (0x80-uint64(c))*each }

// classify sets the top bit of each byte of x that is part of a word, and of each that
// begins a character which is a word by itself.
func classify(x uint64) (letters, alone uint64) {
	y := x &^ eachTop
	lower := y | eachCase
	letters = atLeast(lower, 'a')&^atLeast(lower, 'z'+1) | atLeast(y, '0')&^atLeast(y, '9'+1)
	beyond := x & eachTop
	if beyond == 0 {
		return letters & eachTop, 0
	}
	// U+3000 to U+DFFF, which holds kana, CJK and Hangul, and what is beyond U+FFFF.
	alone = atLeast(y, 0xe3&0x7f)&^atLeast(y, 0xee&0x7f) | atLeast(y, 0xf0&0x7f)&^atLeast(y, 0xf5&0x7f)
	alone &= beyond
	return letters&^beyond&eachTop | beyond&^alone, alone
}

// runeLen is the length of a character that is a word by itself, by its first byte.
func runeLen(c byte) int {
	if c >= 0xf0 {
		return 4
	}
	return 3
}

// hash adds n bytes of a word to the hash of those before.
func hash(before, part uint64, n int) uint64 {
	hi, lo := bits.Mul64(before^part^0x9e3779b97f4a7c15, 0xff51afd7ed558ccd+uint64(n)<<1)
	return hi ^ lo
}

// shingles makes votes of the hashes of words.
type shingles struct {
	votes votes
	a, b  uint64 // the words before
	words int
}

func (s *shingles) add(h uint64) {
	if s.words++; s.words >= 3 {
		hi, lo := bits.Mul64(s.a+bits.RotateLeft64(s.b, 21)+bits.RotateLeft64(h, 42), 0xc4ceb9fe1a85ec53)
		s.votes.add(hi ^ lo)
	}
	s.a, s.b = s.b, h
}

// planes bound the number of votes: 2^24 words are more than any page has.
const planes = 24

// votes are 64 counters in bit slices.
type votes struct {
	plane [planes]uint64
	n     int
	// Eight votes are added at once: seven full adders leave one carry for the planes
	// from the fourth on (Harley and Seal's way to count bits).
	waiting [8]uint64
}

// add counts the bits of h.
func (v *votes) add(h uint64) {
	at := v.n & 7
	v.waiting[at] = h
	if v.n++; at == 7 {
		v.addEight()
	}
}

func (v *votes) addEight() {
	w := &v.waiting
	ones, twos, fours := v.plane[0], v.plane[1], v.plane[2]
	ones, twosA := fullAdder(ones, w[0], w[1])
	ones, twosB := fullAdder(ones, w[2], w[3])
	twos, foursA := fullAdder(twos, twosA, twosB)
	ones, twosA = fullAdder(ones, w[4], w[5])
	ones, twosB = fullAdder(ones, w[6], w[7])
	twos, foursB := fullAdder(twos, twosA, twosB)
	fours, eights := fullAdder(fours, foursA, foursB)
	v.plane[0], v.plane[1], v.plane[2] = ones, twos, fours
	v.ripple(eights, 3)
}

// fullAdder adds three numbers of one bit, 64 times.
func fullAdder(a, b, c uint64) (sum, carry uint64) {
	x := a ^ b
	return x ^ c, a&b | x&c
}

// ripple adds bits of the weight 2^i.
func (v *votes) ripple(carry uint64, i int) {
	for ; carry != 0 && i < planes; i++ {
		v.plane[i], carry = v.plane[i]^carry, v.plane[i]&carry
	}
}

// majority returns the bits for which more than half have voted.
func (v *votes) majority() uint64 {
	for _, h := range v.waiting[:v.n&7] {
		v.ripple(h, 0)
	}
	// more and same hold, for each counter, how it compares with n/2 as far as
	// the planes from the top down have told.
	more, same := uint64(0), ^uint64(0)
	for i := planes - 1; i >= 0; i-- {
		if v.n/2>>i&1 == 1 {
			same &= v.plane[i]
		} else {
			more |= same & v.plane[i]
			same &^= v.plane[i]
		}
	}
	return more
}
