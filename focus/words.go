package focus

import (
	"encoding/binary"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

const (
	// featureBits is the logarithm of the number of places that words are hashed to.
	featureBits = 18
	features    = 1 << featureBits

	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// words splits a text into words: letters and digits of any script, in lower case.
type words struct {
	text  []byte
	at    int // the next byte
	start int // of the last word, which ends before at
	end   int
}

// next returns the hash of the next word, and 0 at the end of the text. Words are the same word
// when their lower-case forms are.
//
// Eight bytes of plain ASCII are classified at a time: three words of four have less than
// eight bytes, so a word costs one step without a branch for each byte.
func (w *words) next() uint64 {
	b := w.text
	i := w.at
	for i+8 <= len(b) {
		x := binary.LittleEndian.Uint64(b[i:])
		high := x & tops
		letter, digit := classify(x)
		word := (letter | digit) &^ high
		n := bits.TrailingZeros64(^word&tops) >> 3 // bytes of the word; 8: it may continue
		if n == 0 {
			if high&0x80 != 0 {
				break // not ASCII
			}
			i += min(bits.TrailingZeros64(word|high)>>3, 8)
			continue
		}
		if n == 8 {
			if h := w.long(i, x, letter); h != 0 {
				return h
			}
			break
		}
		if high>>(8*n)&0x80 != 0 {
			break // not ASCII alone
		}
		mask := uint64(1)<<(8*n) - 1
		if letter&mask == 0 {
			i += n
			continue // a number
		}
		w.start, w.end, w.at = i, i+n, i+n+1
		return fold(0, (x|' '*ones)&mask) | 1
	}
	w.at = i
	return w.slow()
}

// long is next for a word of ASCII that begins at i with the eight bytes x. It returns 0 when slow
// must decide.
func (w *words) long(i int, x, letters uint64) uint64 {
	hash := uint64(0)
	for at := i; ; {
		hash = fold(hash, x|' '*ones)
		if at += 8; at+8 > len(w.text) {
			return 0
		}
		x = binary.LittleEndian.Uint64(w.text[at:])
		high := x & tops
		letter, digit := classify(x)
		word := (letter | digit) &^ high
		n := bits.TrailingZeros64(^word&tops) >> 3
		if n == 8 {
			letters |= letter
			continue
		}
		mask := uint64(1)<<(8*n) - 1
		if high>>(8*n)&0x80 != 0 || letters|letter&mask == 0 {
			return 0
		}
		w.start, w.end, w.at = i, at+n, at+n+1
		if n == 0 {
			return hash | 1
		}
		return fold(hash, (x|' '*ones)&mask) | 1
	}
}

// classify marks, by the top bit of each byte, the letters and digits of ASCII. Bytes beyond ASCII
// are marked at random.
func classify(x uint64) (letter, digit uint64) {
	l := (x | ' '*ones) &^ tops
	letter = (l + (0x80-'a')*ones) &^ (l + (0x7f-'z')*ones) & tops
	d := x &^ tops
	digit = (d + (0x80-'0')*ones) &^ (d + (0x7f-'9')*ones) & tops
	return letter, digit
}

// fold adds up to eight bytes to a hash.
func fold(h, x uint64) uint64 {
	high, low := bits.Mul64(h^x^0x9e3779b97f4a7c15, 0xd6e8feb86659fd93)
	return high ^ low
}

// slow is next for words of any length and script.
func (w *words) slow() uint64 {
	acc := accumulator{}
	for w.at < len(w.text) {
		r, size, kind := w.rune()
		if kind == alone && acc.bytes > 0 || kind == between {
			if acc.letters {
				w.end = w.at
				return acc.sum()
			}
			acc = accumulator{}
			if kind == between {
				w.at += size
				continue
			}
		}
		if acc.bytes == 0 {
			w.start = w.at
		}
		acc.add(r)
		acc.letters = acc.letters || kind != number
		if w.at += size; kind == alone {
			w.end = w.at
			return acc.sum()
		}
	}
	if acc.letters {
		w.end = w.at
		return acc.sum()
	}
	return 0
}

// rune reads the next character in lower case.
func (w *words) rune() (r rune, size int, kind runeKind) {
	c := w.text[w.at]
	switch {
	case c < utf8.RuneSelf:
		kind = kindOf(rune(c), 1)
		return lower(rune(c)), 1, kind
	case c >= 0xd0 && c <= 0xd1 && w.at+1 < len(w.text) && w.text[w.at+1]&0xc0 == 0x80:
		// U+0400 to U+047F: Cyrillic
		r = rune(c&0x1f)<<6 | rune(w.text[w.at+1]&0x3f)
		switch {
		case r < 0x410:
			r += 0x50
		case r < 0x430:
			r += 0x20
		case r >= 0x460:
			return unicode.ToLower(r), 2, kindOf(r, 2)
		}
		return r, 2, letter
	}
	r, size = utf8.DecodeRune(w.text[w.at:])
	kind = kindOf(r, size)
	if kind == letter || kind == number { // Roman numerals have cases
		r = unicode.ToLower(r)
	}
	return r, size, kind
}

// accumulator makes the hash of a word from its letters.
type accumulator struct {
	hash, piece uint64
	bytes       int
	letters     bool
}

func (a *accumulator) add(r rune) {
	if r < utf8.RuneSelf {
		a.addByte(byte(r))
		return
	}
	at := a.bytes & 7
	switch {
	case r < 0x800 && at < 6:
		a.piece |= uint64(0x80c0|r>>6|r&0x3f<<8) << (8 * at)
		a.bytes += 2
		return
	case r >= 0x800 && r < 0x10000 && at < 5:
		a.piece |= uint64(0x8080e0|r>>12|r>>6&0x3f<<8|r&0x3f<<16) << (8 * at)
		a.bytes += 3
		return
	}
	var buf [utf8.UTFMax]byte
	for _, c := range buf[:utf8.EncodeRune(buf[:], r)] {
		a.addByte(c)
	}
}

func (a *accumulator) addByte(c byte) {
	a.piece |= uint64(c) << (8 * (a.bytes & 7))
	if a.bytes++; a.bytes&7 == 0 {
		a.hash, a.piece = fold(a.hash, a.piece), 0
	}
}

func (a *accumulator) sum() uint64 {
	if a.bytes&7 != 0 {
		return fold(a.hash, a.piece) | 1
	}
	return a.hash | 1
}

// runeKind says what a character is to words.
type runeKind uint8

const (
	between runeKind = iota // it ends a word
	letter
	number
	alone // it is a word: its script puts no spaces between words
)

func kindOf(r rune, size int) runeKind {
	switch {
	case r < utf8.RuneSelf:
		switch {
		case r|' ' >= 'a' && r|' ' <= 'z':
			return letter
		case r >= '0' && r <= '9':
			return number
		}
		return between
	case r == utf8.RuneError && size <= 1:
		return between
	case r < 0x0e00:
		// Latin, Greek, Cyrillic, Hebrew, Arabic, Indic: most of what is written with spaces
	case r >= 0x4e00 && r < 0xa000, r >= 0x3041 && r <= 0x3096, r >= 0x30a1 && r <= 0x30fa,
		r >= 0xac00 && r <= 0xd7a3:
		// most of Han, kana, Hangul
		return alone
	case r < 0x1100 && unicode.In(r, unicode.Thai, unicode.Lao, unicode.Myanmar),
		r >= 0x1780 && r < 0x1800 && unicode.Is(unicode.Khmer, r),
		r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
		return alone
	}
	switch {
	case unicode.IsLetter(r), unicode.IsMark(r):
		return letter
	case unicode.IsNumber(r):
		return number
	}
	return between
}

func lower(r rune) rune {
	if r < utf8.RuneSelf {
		if r >= 'A' && r <= 'Z' {
			return r | ' '
		}
		return r
	}
	return unicode.ToLower(r)
}

// place is the feature of a word's or a pair's hash.
func place(h uint64) uint32 { return uint32(h >> (64 - featureBits)) }

// pair is the hash of two neighbouring words.
func pair(before, h uint64) uint64 { return fold(bits.RotateLeft64(before, 23), h) }
