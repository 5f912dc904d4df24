package traps

import "strings"

const (
	// newWords are how many unknown words make a page novel. One may be a token that a page shows
	// of itself, as an id of the session or of the request.
	newWords = 2
	// newRun is how many unknown sequences of words make a page novel, however long it is.
	// A list in another order has two for each of its entries.
	newRun = 60
	// maxText bounds the bytes of a text that are looked at.
	maxText = 64 << 10
	// wholeRuns are the first sequences of a text, which are all looked at; of later ones, one in
	// sampling, which their hash chooses.
	wholeRuns = 64
	sampling  = 4
)

// novelty is what a page brought.
type novelty uint8

const (
	empty  novelty = iota // no text and no picture: it says nothing about the site
	barren                // nothing new
	novel
)

// take notes the words of a page's text and its pictures, and judges what is new.
func (s *seen) take(text []byte, pictures []string) novelty {
	words, unknown, runs, unknownRuns := 0, 0, 0, 0
	var before [2]uint64
	for text = text[:min(len(text), maxText)]; ; {
		var h uint64
		if h, text = nextWord(text); h == 0 {
			break
		}
		words++
		if s.add(h) {
			unknown++
		}
		if before[0] != 0 {
			run, weight := mix(before[0]*3+before[1]*5+h*7), 1
			if words > wholeRuns {
				weight = sampling
			}
			if weight == 1 || run%sampling == 0 {
				runs += weight
				if s.add(run) {
					unknownRuns += weight
				}
			}
		}
		before[0], before[1] = before[1], h
	}
	newPictures := 0
	for _, p := range pictures {
		p, _, _ = strings.Cut(p, "?") // what follows may count the requests
		if s.add(hash(p)) {
			newPictures++
		}
	}
	switch {
	case words == 0 && len(pictures) == 0:
		return empty
	case newPictures > 0, unknown >= newWords, unknownRuns >= newRun:
		return novel
	case runs > 2 && 2*unknownRuns >= runs:
		return novel
	}
	return barren
}

// nextWord returns the hash of the first word of text that is no number, and what is behind it;
// 0: there is none. A word is a run of letters, digits and bytes beyond ASCII.
func nextWord(text []byte) (h uint64, rest []byte) {
	for i := 0; i < len(text); {
		for i < len(text) && wordByte[text[i]] == 0 {
			i++
		}
		h, number := uint64(hashBasis), true
		start := i
		for ; i < len(text); i++ {
			c := wordByte[text[i]]
			if c == 0 {
				break
			}
			number = number && isDigit(c)
			h = (h ^ uint64(c)) * hashPrime
		}
		if i > start && !number {
			return mix(h), text[i:]
		}
	}
	return 0, nil
}

// wordByte has the bytes of words, in lower case; 0: the byte is none.
var wordByte = func() (t [256]byte) {
	for c := range t {
		switch b := byte(c); {
		case isDigit(b), 'a' <= b && b <= 'z', b >= 0x80:
			t[c] = b
		case 'A' <= b && b <= 'Z':
			t[c] = b | 0x20
		}
	}
	return t
}()

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// The parameters of FNV-1a with 64 bits.
const (
	hashBasis = 14695981039346656037
	hashPrime = 1099511628211
)

// hash is FNV-1a, mixed so that all bits depend on all bytes. It is never 0.
func hash(s string) uint64 {
	h := uint64(hashBasis)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * hashPrime
	}
	return mix(h)
}

// mix is the finalizer of MurmurHash3; 0 becomes 1.
func mix(h uint64) uint64 {
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return max(h^h>>33, 1)
}

// seen is a set of hashes that forgets what was not asked for in a long time: when the younger of
// two tables is full it becomes the elder, and the elder is dropped. What is found in the elder
// moves to the younger.
type seen struct{ younger, elder table }

// maxEntries bounds the entries of one table.
const maxEntries = 1 << 13

// add adds a hash, and reports whether it was unknown.
func (s *seen) add(h uint64) bool {
	v := max(uint32(h>>32), 1)
	if !s.younger.add(v) {
		return false
	}
	known := s.elder.has(v)
	if s.younger.n >= maxEntries {
		s.elder, s.younger = s.younger, s.elder
		s.younger.clear()
	}
	return !known
}

// bytes is the memory of the set.
func (s *seen) bytes() int { return 4 * (len(s.younger.slots) + len(s.elder.slots)) }

// table is a hash table with open addressing, at most half full. 0 is an empty slot.
type table struct {
	slots []uint32
	n     int
}

// slot is the place of v, or the empty one where it belongs.
func (t *table) slot(v uint32) int {
	mask := len(t.slots) - 1
	i := int(v) & mask
	for t.slots[i] != 0 && t.slots[i] != v {
		i = (i + 1) & mask
	}
	return i
}

func (t *table) clear() {
	clear(t.slots)
	t.n = 0
}

func (t *table) has(v uint32) bool { return len(t.slots) > 0 && t.slots[t.slot(v)] == v }

// add reports whether v is new.
func (t *table) add(v uint32) bool {
	if 2*t.n >= len(t.slots) {
		old := t.slots
		t.slots = make([]uint32, max(2*len(old), 256))
		for _, o := range old {
			if o != 0 {
				t.slots[t.slot(o)] = o
			}
		}
	}
	i := t.slot(v)
	if t.slots[i] == v {
		return false
	}
	t.slots[i] = v
	t.n++
	return true
}
