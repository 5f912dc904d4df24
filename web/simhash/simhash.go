package simhash

import "math/bits"

const (
	// MaxDistance is the number of bits in which near-duplicates may differ.
	MaxDistance = 3
	// MinWords is the smallest number of words that gives a fingerprint.
	MinWords = 32
)

// Distance counts the bits in which two fingerprints differ.
func Distance(a, b uint64) int { return bits.OnesCount64(a ^ b) }

// Fingerprint returns the fingerprint of text, which is UTF-8 or taken as such,
// and false when the text has fewer than MinWords words. It allocates nothing.
func Fingerprint(text []byte) (uint64, bool) {
	var w words
	w.all(text)
	return w.finish()
}

// words makes votes of the hashes of a text's words.
type words struct {
	// The first n are hashes of consecutive words. Each three of them are a shingle whose vote is
	// not counted yet.
	hashes [waiting]uint64
	n      int
	votes  votes
	alone  bool // there was a character that is a word by itself
}

const (
	// waiting is how many words are hashed before their votes are counted. Hashing and counting are
	// separate short loops whose variables stay in registers. It is a power of two, so that a
	// remainder costs the loop less than a bounds check.
	waiting = 256
	// shingle is the number of words that vote together.
	shingle = 3
)

// all hashes the words of a text, or of a piece of one.
func (w *words) all(text []byte) {
	done := w.read(text)
	// The rest is read with zeros after it, which are not part of a word.
	var end [2 * reach]byte
	copy(end[:], text[done:])
	w.read(end[:])
}

// count counts the votes of the waiting words, sixteen at a time, and keeps the words that belong
// to later shingles.
func (w *words) count() {
	at := 0
	for ; at+votesAtOnce+shingle-1 <= w.n; at += votesAtOnce {
		w.votes.add((*[votesAtOnce + shingle - 1]uint64)(w.hashes[at:]))
	}
	w.n = copy(w.hashes[:], w.hashes[at:w.n])
}

// finish returns the fingerprint of the words, and false when they are too few.
func (w *words) finish() (uint64, bool) {
	w.count()
	if w.votes.n+w.n < MinWords {
		return 0, false
	}
	w.rest()
	return w.votes.majority(), true
}

// rest counts the votes of the last words, one at a time.
func (w *words) rest() {
	for h := w.hashes[:w.n]; len(h) >= shingle; h = h[1:] {
		w.votes.ripple(vote(h[0], h[1], h[2]), 0)
		w.votes.n++
	}
	w.n = 0
}

// hash adds n bytes of a word to the hash of those before.
func hash(before, part uint64, n uint) uint64 {
	hi, lo := bits.Mul64(before^part^0x9e3779b97f4a7c15, 0xff51afd7ed558ccd+uint64(n)<<1)
	return hi ^ lo
}
