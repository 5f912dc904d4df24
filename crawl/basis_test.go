package crawl

import (
	"math"
	"testing"
)

// TestBasis: the marks are no part of what is compared, and no hash makes the Basis that says that
// nothing is known.
func TestBasis(t *testing.T) {
	t.Parallel()
	for _, hash := range []uint64{0, 1, 2, 3, 4, 1 << 31, 1 << 32, 0xfeedface12345678,
		math.MaxUint64} {
		b := BasisOf(hash)
		if b == 0 || !b.Same(b) || b.NoIndex() || b.DepthCut() {
			t.Errorf("%x: %x", hash, b)
		}
		for _, noIndex := range []bool{false, true} {
			for _, cut := range []bool{false, true} {
				m := b.Marked(noIndex, cut)
				if m.NoIndex() != noIndex || m.DepthCut() != cut || !m.Same(b) || !b.Same(m) ||
					m.Marked(false, false) != b {
					t.Errorf("%x marked %v, %v: %x", b, noIndex, cut, m)
				}
				if m.Same(BasisOf(hash^1<<20)) || m.Same(0) || Basis(0).Same(m) {
					t.Errorf("%x is the same as another", m)
				}
			}
		}
	}
	if got := Basis(0).Marked(true, true); got != 0 {
		t.Errorf("what is not known is marked: %x", got)
	}
	for name, c := range map[string]struct {
		o    Outcome
		want bool
	}{
		"nothing":               {Outcome{}, false},
		"links left out":        {Outcome{Skipped: SkipCounts{SkipDepth: 1}}, true},
		"unchanged":             {Outcome{Unchanged: true, Basis: BasisOf(9)}, false},
		"unchanged, cut before": {Outcome{Unchanged: true, Basis: BasisOf(9).Marked(false, true)}, true},
	} {
		if got := c.o.DepthCut(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
