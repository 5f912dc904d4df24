package crawl

// Basis stands for everything on which the reading of a page depended beside its payload: the
// settings, the scope, the parsers, the header fields that count, the page's depth. Two readings
// of one payload with equal bases bring the same links, text and document. 0: it is not known, so
// the page is read again. The lowest two bits are what a reading found.
type Basis uint32

// The marks of a Basis.
const (
	basisNoIndex  Basis = 1 << iota // the page asks to be left out of indexes
	basisDepthCut                   // links were left out for their depth
	basisMarks    = basisNoIndex | basisDepthCut
)

// BasisOf makes a Basis, without marks, of a hash of all that counts.
func BasisOf(hash uint64) Basis { return max(Basis(hash)&^basisMarks, basisMarks+1) }

// Marked is b with what a reading has found.
func (b Basis) Marked(noIndex, depthCut bool) Basis {
	if b &^= basisMarks; b == 0 {
		return 0
	}
	if noIndex {
		b |= basisNoIndex
	}
	if depthCut {
		b |= basisDepthCut
	}
	return b
}

// Same reports whether a reading under other would bring what one under b has brought.
func (b Basis) Same(other Basis) bool { return b != 0 && b&^basisMarks == other&^basisMarks }

// NoIndex reports whether the page asked to be left out of indexes.
func (b Basis) NoIndex() bool { return b&basisNoIndex != 0 }

// DepthCut reports whether links were left out for their depth.
func (b Basis) DepthCut() bool { return b&basisDepthCut != 0 }
