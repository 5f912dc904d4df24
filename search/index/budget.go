package index

// maxWork bounds the steps over postings that one question takes in the index of one node (decision
// 0237). A step takes some 10 to 20 ns; a million documents with two words in four languages need
// eight million.
const maxWork = 1 << 23

// placeWork is what it costs to compare the places of a word of a phrase in one document, in steps.
const placeWork = 4

// positionsWork is how many bytes of places are read in one step.
const positionsWork = 8

// budget is what is left of the work of a question. Matchers find nothing more when it is spent;
// nil has no bound.
type budget struct {
	left int
	cut  bool // something was left out, or is not known
}

// take takes n steps; false says that there were not so many.
func (b *budget) take(n int) bool {
	if b == nil {
		return true
	}
	b.left -= n
	return b.left >= 0
}

// affords takes n steps if that is at most half of what is left.
func (b *budget) affords(n int) bool {
	if b == nil {
		return true
	}
	if n > b.left/2 {
		b.cut = true
		return false
	}
	b.left -= n
	return true
}

// inexact notes that something is not known that the answer depends on.
func (b *budget) inexact() {
	if b != nil {
		b.cut = true
	}
}

// exact reports whether everything was looked at.
func (b *budget) exact() bool { return !b.cut && !b.spent() }

func (b *budget) spent() bool { return b != nil && b.left < 0 }
