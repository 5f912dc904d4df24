package simhash

import (
	"encoding/binary"
	"math/bits"
)

// MaskNumbers appends text to dst with every run of digits as one 0. Dates, times, counters and
// prices are the boilerplate that changes with every request; a text's other words decide whether
// it has changed. A run may have separators of numbers within: 1,234.5 and 12:30:59 are one.
func MaskNumbers(dst, text []byte) []byte {
	for len(text) > 0 {
		n := plain(text)
		dst = append(dst, text[:n]...)
		if text = text[n:]; len(text) == 0 {
			break
		}
		dst = append(dst, '0')
		text = text[number(text):]
	}
	return dst
}

// plain is the length of what text begins with up to its first digit. It looks at eight bytes at a
// time.
func plain(text []byte) int {
	i := 0
	for ; i+8 <= len(text); i += 8 {
		x := binary.LittleEndian.Uint64(text[i:])
		y := x &^ eachTop
		if digits := (atLeast(y, '0') ^ atLeast(y, '9'+1)) & eachTop &^ x; digits != 0 {
			return i + bits.TrailingZeros64(digits)/8
		}
	}
	for i < len(text) && !digit(text[i]) {
		i++
	}
	return i
}

// number is the length of the run of digits that text begins with.
func number(text []byte) int {
	i := 0
	for i < len(text) &&
		(digit(text[i]) || i+1 < len(text) && separator(text[i]) && digit(text[i+1])) {
		i++
	}
	return i
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func separator(c byte) bool { return c == '.' || c == ',' || c == ':' || c == '-' || c == '/' }
