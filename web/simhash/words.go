package simhash

import (
	"encoding/binary"
	"math/bits"
)

const (
	// window is how many bytes of text are processed together: one for each bit of a mask.
	window = 64
	// reach is how much of the text one window reads: eight bytes from each of its bytes on.
	reach = window + 8
)

// read hashes the words of text, as far as whole windows can be read, and returns how
// much of the text that was.
func (w *words) read(text []byte) int {
	i := 0
	for i+reach <= len(text) {
		if w.n+window > waiting {
			w.count()
		}
		b := (*[reach]byte)(text[i:])
		letters, alone := masks(b)
		var n int
		if alone == 0 {
			n = w.window(b, letters)
		} else {
			w.alone = true
			n = w.mixed(b, letters, alone)
		}
		if n == 0 {
			n = w.long(text[i:])
		}
		i += n
	}
	return i
}

// window hashes the words that begin in b, whose letters are given, and returns the number of bytes
// of the words and the gaps between them. A word that reaches the window's end may continue after
// it and is left to the next window, which begins with it. If nothing precedes that word, window
// returns 0.
//
// The words are taken from a mask with one bit for each byte, and not found byte by byte or
// load by load. The start of the next word is then known five cycles after the last, with
// no branch that depends on word lengths, and the processor hashes several words at once. This
// and the next choice halved the cost of a fingerprint.
//
// Bits before a position are counted instead of searched for (math/bits.TrailingZeros64), which
// saves a third: the instruction that Go uses for the search on amd64 is eight times slower on
// AMD processors than counting.
func (w *words) window(b *[reach]byte, letters uint64) int {
	n := uint(w.n) // and below waiting: a window has no more words than bytes
	end := window
	for letters != 0 {
		begin := letters & -letters
		behind := letters & (letters + begin) // the carry runs through the word and out of it
		word := letters ^ behind
		at := bits.OnesCount64(begin - 1)
		if int64(word) < 0 { // it has the window's last byte
			end = at
			break
		}
		letters = behind
		w.hashes[n%waiting] = wordHash(b, uint(at), uint(bits.OnesCount64(word)))
		n++
	}
	w.n = int(n)
	return end
}

// mixed is window for a text that also contains characters that are words by themselves. The last
// may take some bytes after the window.
func (w *words) mixed(b *[reach]byte, letters, alone uint64) int {
	n, end := uint(w.n), uint(window)
	for begins := letters | alone; begins != 0; begins = letters | alone {
		begin := begins & -begins
		at := uint(bits.OnesCount64(begin - 1))
		if begin&alone != 0 {
			width := runeLen(b[at%window])
			w.hashes[n%waiting] = hash(0, load(b, at)&first(width), width)
			n++
			// The following bytes belong to the character, whatever they are.
			passed := begin<<width - 1
			letters, alone = letters&^passed, alone&^passed
			end = max(window, at+width)
			continue
		}
		behind := letters & (letters + begin)
		word := letters ^ behind
		if int64(word) < 0 {
			end = at
			break
		}
		letters = behind
		w.hashes[n%waiting] = wordHash(b, at, uint(bits.OnesCount64(word)))
		n++
	}
	w.n = int(n)
	return int(end)
}

// wordHash is the hash of a word within a window.
func wordHash(b *[reach]byte, at, length uint) uint64 {
	h := uint64(0)
	for ; length > 8; length -= 8 {
		h = hash(h, load(b, at)|eachCase, 8)
		at += 8
	}
	return hash(h, (load(b, at)|eachCase)&first(length), length)
}

// long hashes the word that text begins with, however long it is, and returns its length.
func (w *words) long(text []byte) int {
	h, length := uint64(0), 0
	for {
		var x uint64
		if rest := text[length:]; len(rest) >= 8 {
			x = binary.LittleEndian.Uint64(rest)
		} else {
			var b [8]byte // with zeros behind the end
			copy(b[:], rest)
			x = binary.LittleEndian.Uint64(b[:])
		}
		letters, _ := classify(x)
		n := uint(bits.TrailingZeros64(^letters&eachTop)) / 8 // 8 when all are letters
		if n > 0 {
			h = hash(h, (x|eachCase)&first(n), n)
			length += int(n)
		}
		if n < 8 {
			break
		}
	}
	w.hashes[w.n] = h
	w.n++
	return length
}

// load reads eight bytes of a window, starting at at. The remainder tells the compiler that they
// are in bounds.
func load(b *[reach]byte, at uint) uint64 {
	return binary.LittleEndian.Uint64(b[at%window:])
}

const (
	each    = 0x0101010101010101
	eachTop = 0x80 * each
	// eachCase sets the bit that lower case letters have: those of ASCII, of Latin-1
	// and most Cyrillic and Greek ones. Digits have it too.
	eachCase = 0x20 * each
)

// first is the mask of the first n bytes, 1 to 8. The table takes two instructions instead of five,
// once for each word.
func first(n uint) uint64 { return firsts[n%16] }

// firsts is read-only.
var firsts = [16]uint64{
	1: 1<<8 - 1,
	1<<16 - 1,
	1<<24 - 1,
	1<<32 - 1,
	1<<40 - 1,
	1<<48 - 1,
	1<<56 - 1,
	1<<64 - 1,
}

// masks returns a bit for each byte of the window that is part of a word, and for each
// that begins a character which is a word by itself.
func masks(b *[reach]byte) (letters, alone uint64) {
	for k := 0; k < window; k += 8 {
		x := binary.LittleEndian.Uint64(b[k : k+8])
		if x&eachTop != 0 {
			return masksBeyond(b)
		}
		letters = letters>>8 | gather(asciiLetters(x)&eachTop)
	}
	return letters, 0
}

// masksBeyond is masks for what is not all ASCII.
func masksBeyond(b *[reach]byte) (letters, alone uint64) {
	for k := 0; k < window; k += 8 {
		l, a := classify(binary.LittleEndian.Uint64(b[k : k+8]))
		letters, alone = letters>>8|gather(l), alone>>8|gather(a)
	}
	return letters, alone
}

// gather returns, as its top byte, the top bits of the bytes of x, which has no others set.
func gather(x uint64) uint64 { return x * 0x0002040810204081 &^ (1<<56 - 1) }

// atLeast sets the top bits of the bytes of v, all below 0x80, that are c or more.
func atLeast(v uint64, c byte) uint64 { return v + (0x80-uint64(c))*each }

// asciiLetters sets the top bit of each letter and digit of x, all of it ASCII. The
// other bits are anything.
func asciiLetters(x uint64) uint64 {
	lower := x | eachCase
	return (atLeast(lower, 'a') ^ atLeast(lower, 'z'+1)) | (atLeast(x, '0') ^ atLeast(x, '9'+1))
}

// classify sets the top bit of each byte of x that is part of a word, and of each that
// begins a character which is a word by itself.
func classify(x uint64) (letters, alone uint64) {
	y, beyond := x&^eachTop, x&eachTop
	// U+3000 to U+DFFF, which holds kana, CJK and Hangul, and what is beyond U+FFFF.
	alone = (atLeast(y, 0xe3&0x7f) ^ atLeast(y, 0xee&0x7f)) |
		(atLeast(y, 0xf0&0x7f) ^ atLeast(y, 0xf5&0x7f))
	alone &= beyond
	return asciiLetters(y)&^beyond&eachTop | beyond&^alone, alone
}

// runeLen is the length of a character that is a word by itself, by its first byte.
func runeLen(c byte) uint {
	if c >= 0xf0 {
		return 4
	}
	return 3
}
