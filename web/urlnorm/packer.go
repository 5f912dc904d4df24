package urlnorm

import "strings"

// The sizes of a Packer's pieces, in bytes: the first is for a page with few links.
const (
	firstPiece = 512
	nextPiece  = 2 << 10
)

// Packer resolves the references of one document. It puts the canonical forms one behind the other
// into few pieces of memory: one allocation for each link would be every seventh of a page. A URL
// that is kept for long keeps its piece, so a Packer is for URLs that mostly end together. The zero
// value is ready; it is for one goroutine.
type Packer struct{ piece strings.Builder }

// Resolve is [URL.Resolve] of base.
func (k *Packer) Resolve(base URL, ref string) (URL, error) { return base.resolve(k, ref) }

// join returns the five strings as one. A nil Packer gives it memory of its own, and so does any
// for a long one.
func (k *Packer) join(a, b, c, d, e string) string {
	n := len(a) + len(b) + len(c) + len(d) + len(e)
	if k == nil || n > nextPiece/4 {
		return a + b + c + d + e
	}
	if k.piece.Cap()-k.piece.Len() < n { // a piece that would grow would be copied
		size := nextPiece
		if k.piece.Cap() == 0 {
			size = firstPiece
		}
		k.piece = strings.Builder{}
		k.piece.Grow(size)
	}
	start := k.piece.Len()
	k.piece.WriteString(a) // five calls in a row: a loop takes half as long again
	k.piece.WriteString(b)
	if c != "" {
		k.piece.WriteString(c)
	}
	if d != "" {
		k.piece.WriteString(d)
	}
	if e != "" {
		k.piece.WriteString(e)
	}
	return k.piece.String()[start:]
}
