package simhash

import (
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
	var w word
	for i := 0; i < len(text); i++ {
		class := classes[text[i]]
		if class >= firstLetter {
			w.add(class)
			continue
		}
		if w.n > 0 {
			s.add(w.end())
			w = word{}
		}
		if class == space {
			continue
		}
		end := min(i+int(class), len(text)) // of a character that is a word
		for ; i < end; i++ {
			w.add(text[i])
		}
		i--
		s.add(w.end())
		w = word{}
	}
	if w.n > 0 {
		s.add(w.end())
	}
	if s.words < MinWords {
		return 0, false
	}
	return s.votes.majority(), true
}

// shingles makes votes of the hashes of words.
type shingles struct {
	votes votes
	a, b  uint64 // the words before
	words int
}

func (s *shingles) add(h uint64) {
	if s.words++; s.words >= 3 {
		s.votes.add(mix(s.a + bits.RotateLeft64(s.b, 21) + bits.RotateLeft64(h, 42)))
	}
	s.a, s.b = s.b, h
}

// Classes of bytes. A letter's class is itself, in lower case.
const (
	space       = 0
	firstLetter = '0'
)

// classes maps a byte to its class; 3 and 4 are the lengths of characters that
// are words of their own.
var classes = func() (t [256]byte) {
	for c := range t {
		switch {
		case '0' <= c && c <= '9', 'a' <= c && c <= 'z', c >= 0x80:
			t[c] = byte(c)
		case 'A' <= c && c <= 'Z':
			t[c] = byte(c) | 0x20
		}
		switch {
		case 0xe3 <= c && c <= 0xed: // kana, CJK, Hangul: U+3000 to U+DFFF
			t[c] = 3
		case 0xf0 <= c && c <= 0xf4: // and what is beyond U+FFFF
			t[c] = 4
		}
	}
	return t
}()

// word is the hash of a word in the making.
type word struct {
	hash uint64
	last uint64 // up to eight bytes that are not in hash yet
	n    int
}

func (w *word) add(c byte) {
	w.last = w.last<<8 | uint64(c)
	if w.n++; w.n&7 == 0 {
		w.hash, w.last = mix(w.hash+w.last), 0
	}
}

// end returns the hash of the whole word.
func (w *word) end() uint64 { return mix(w.hash + w.last + uint64(w.n)<<56) }

// mix spreads each bit of x over all of the result (the finalizer of MurmurHash3,
// with a constant added so that 0 does not stay 0).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// planes bound the number of votes: 2^24 words are more than any page has.
const planes = 24

// votes are 64 counters in bit slices.
type votes struct {
	plane [planes]uint64
	n     int
	// Two votes wait for a third: of three, a full adder makes one sum and one
	// carry, which is less work than three additions one by one.
	waiting [2]uint64
	waits   int
}

// add counts the bits of h.
func (v *votes) add(h uint64) {
	v.n++
	if v.waits < 2 {
		v.waiting[v.waits] = h
		v.waits++
		return
	}
	a, b := v.waiting[0], v.waiting[1]
	v.waits = 0
	x := a ^ b
	v.ripple(x^h, 0)
	v.ripple(a&b|x&h, 1)
}

// ripple adds bits of the weight 2^i.
func (v *votes) ripple(carry uint64, i int) {
	for ; carry != 0 && i < planes; i++ {
		v.plane[i], carry = v.plane[i]^carry, v.plane[i]&carry
	}
}

// majority returns the bits for which more than half have voted.
func (v *votes) majority() uint64 {
	for ; v.waits > 0; v.waits-- {
		v.ripple(v.waiting[v.waits-1], 0)
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
