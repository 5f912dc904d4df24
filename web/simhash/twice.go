package simhash

import "unicode/utf8"

// Fingerprints returns two fingerprints in little more than the time of one: that of text, and that
// of the same text without its numbers, as MaskNumbers makes it. One of a text with fewer than
// MinWords words is 0. buf is memory, which is returned for the next call.
//
// Few words of a text have digits. So its words are hashed and counted once; then the votes of the
// shingles with digits are taken out, and those of the masked ones are put in. A text with many
// numbers is read twice instead. So is one with broken characters of those that are words by
// themselves: the words of a piece of it may be others than within the text.
func Fingerprints(text, buf []byte) (print, masked uint64, memory []byte) {
	var w words
	w.all(text)
	print, enough := w.finish()
	first := plain(text)
	// a number is one word at least, so masking makes no more of them
	if !enough || first == len(text) {
		return print, print, buf
	}
	buf, few := withNumbers(buf[:0], text, first)
	if !few || w.alone && !utf8.Valid(text) {
		buf = MaskNumbers(buf[:0], text)
		masked, _ = Fingerprint(buf)
		return print, masked, buf
	}
	n := len(buf)
	buf = MaskNumbers(buf, buf)
	var out, in words
	had := out.piece(buf[:n])
	has := in.piece(buf[n:])
	if w.votes.n+shingle-1-had+has < MinWords {
		return print, 0, buf
	}
	w.votes.replace(&out.votes, &in.votes)
	return print, w.votes.majority(), buf
}

// context is how many words on either side of one belong to shingles with it.
const context = shingle - 1

// fewNumbers is the part of a text, 1 / fewNumbers, up to which taking out pieces of it costs less
// than reading all of it again.
const fewNumbers = 4

// withNumbers appends to dst the pieces of text that have digits, from the first digit on, with as
// many words around them as belong to their shingles. A shingle of two pieces has words without
// digits only, so it is the same in the masked text. false: the pieces are too large a part of the
// text.
func withNumbers(dst, text []byte, first int) (pieces []byte, few bool) {
	for at := first; at < len(text); {
		begin, end := around(text, at)
		if len(dst)+end-begin > len(text)/fewNumbers {
			return dst, false
		}
		dst = append(append(dst, text[begin:end]...), ' ')
		at = end + plain(text[end:])
	}
	return dst, true
}

// around returns the piece of text with the digit at at. It goes on to where the text has no digits
// for as many words as a shingle reaches.
func around(text []byte, at int) (begin, end int) {
	for begin = at; begin > 0 && inWord(text[begin-1]); begin-- {
	}
	for range context {
		for begin > 0 && !inWord(text[begin-1]) {
			begin--
		}
		for begin > 0 && inWord(text[begin-1]) {
			begin--
		}
	}
	end = at
	for clean := 0; clean < context && end < len(text); {
		for end < len(text) && !inWord(text[end]) {
			end++
		}
		digits, from := false, end
		for ; end < len(text) && inWord(text[end]); end++ {
			digits = digits || digit(text[end])
		}
		switch {
		case digits:
			clean = 0
		case end > from:
			clean++
		}
	}
	return begin, end
}

// inWord reports whether a byte is part of a word, or of some that stand together: characters that
// are words by themselves.
func inWord(c byte) bool {
	lower := c | 0x20
	return digit(c) || 'a' <= lower && lower <= 'z' || c >= 0x80
}

// piece counts the shingles of a text and returns the number of its words.
func (w *words) piece(text []byte) int {
	w.all(text)
	w.count()
	n := w.votes.n + w.n
	w.rest()
	return n
}
