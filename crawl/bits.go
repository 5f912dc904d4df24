package crawl

import "math/bits"

// A set of partitions, as nodes tell each other of it, is a bitmap: partition p is bit p%8 of byte p/8.

// HasBit reports whether i is in the set b. What is beyond its end is not.
func HasBit(b []byte, i int) bool { return i/8 < len(b) && b[i/8]&(1<<(i%8)) != 0 }

// SetBit puts i into the set b, which has room for it.
func SetBit(b []byte, i int) { b[i/8] |= 1 << (i % 8) }

// CountBits is how many are in the set b.
func CountBits(b []byte) int {
	n := 0
	for _, x := range b {
		n += bits.OnesCount8(x)
	}
	return n
}
