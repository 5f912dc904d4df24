package crawl

import "math/bits"

// Nodes send each other sets of partitions as bitmaps: partition p is bit p%8 of byte p/8.

// HasBit reports whether i is in the set b; false beyond its end.
func HasBit(b []byte, i int) bool { return i/8 < len(b) && b[i/8]&(1<<(i%8)) != 0 }

// SetBit adds i to the set b, which must be large enough.
func SetBit(b []byte, i int) { b[i/8] |= 1 << (i % 8) }

// CountBits is the size of the set b.
func CountBits(b []byte) int {
	n := 0
	for _, x := range b {
		n += bits.OnesCount8(x)
	}
	return n
}
