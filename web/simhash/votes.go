package simhash

import "math/bits"

const (
	// planes bound the number of votes: 2^24 words are more than any page has.
	planes = 24
	// votesAtOnce is how many votes are counted together.
	votesAtOnce = 16
)

// votes are 64 counters in bit slices.
type votes struct {
	plane [planes]uint64
	n     int
}

// add counts the votes of sixteen shingles, by the hashes of their words. Fifteen full
// adders leave one carry for the planes from the fifth on (Harley and Seal's way to count
// bits).
func (v *votes) add(hashes *[votesAtOnce + shingle - 1]uint64) {
	eightsA := v.addEight((*[8 + shingle - 1]uint64)(hashes[:]))
	eightsB := v.addEight((*[8 + shingle - 1]uint64)(hashes[8:]))
	eights, sixteens := fullAdder(v.plane[3], eightsA, eightsB)
	v.plane[3] = eights
	v.ripple(sixteens, 4)
	v.n += votesAtOnce
}

// ripple adds bits of the weight 2^i.
func (v *votes) ripple(carry uint64, i int) {
	for ; carry != 0 && i < planes; i++ {
		v.plane[i], carry = v.plane[i]^carry, v.plane[i]&carry
	}
}

// addEight counts eight votes in the first three planes and returns what they carry into the
// fourth.
func (v *votes) addEight(h *[8 + shingle - 1]uint64) (eights uint64) {
	ones, twos, fours := v.plane[0], v.plane[1], v.plane[2]
	ones, twosA := fullAdder(ones, vote(h[0], h[1], h[2]), vote(h[1], h[2], h[3]))
	ones, twosB := fullAdder(ones, vote(h[2], h[3], h[4]), vote(h[3], h[4], h[5]))
	twos, foursA := fullAdder(twos, twosA, twosB)
	ones, twosA = fullAdder(ones, vote(h[4], h[5], h[6]), vote(h[5], h[6], h[7]))
	ones, twosB = fullAdder(ones, vote(h[6], h[7], h[8]), vote(h[7], h[8], h[9]))
	twos, foursB := fullAdder(twos, twosA, twosB)
	fours, eights = fullAdder(fours, foursA, foursB)
	v.plane[0], v.plane[1], v.plane[2] = ones, twos, fours
	return eights
}

// vote is the hash of a shingle of three words, by their hashes.
func vote(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a+bits.RotateLeft64(b, 21)+bits.RotateLeft64(c, 42), 0xc4ceb9fe1a85ec53)
	return hi ^ lo
}

// fullAdder adds three numbers of one bit, 64 times.
func fullAdder(a, b, c uint64) (sum, carry uint64) {
	x := a ^ b
	return x ^ c, a&b | x&c
}

// replace takes votes out that were counted in v, and puts others in.
func (v *votes) replace(out, in *votes) {
	var carry, borrow uint64
	for i := range planes {
		a, b := v.plane[i], out.plane[i]
		a, carry = fullAdder(a, in.plane[i], carry)
		v.plane[i], borrow = a^b^borrow, ^a&(b|borrow)|b&borrow
	}
	v.n += in.n - out.n
}

// majority returns the bits for which more than half have voted.
func (v *votes) majority() uint64 {
	// more and same hold, for each counter, how it compares with n/2 according to the planes read
	// so far, from the top down.
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
