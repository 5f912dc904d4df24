package htmlparse

import (
	"math/rand/v2"
	"testing"
)

// TestCollapsed compares the eight-byte loop with a byte loop, with spaces, and bytes that might be
// taken for spaces, on both sides of each eighth byte.
func TestCollapsed(t *testing.T) {
	t.Parallel()
	byteByByte := func(b []byte) int {
		for i := range b {
			if b[i] > ' ' {
				continue
			}
			if b[i] < ' ' || i+1 == len(b) || b[i+1] <= ' ' {
				return i
			}
		}
		return len(b)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		b := []byte("x")
		for range r.IntN(40) {
			b = append(b, "aaaaaaaaaaaa     !!\n\x00\x1f\xff"[r.IntN(23)])
		}
		if got, want := collapsed(b), byteByByte(b); got != want {
			t.Fatalf("%q: %d, want %d", b, got, want)
		}
	}
}
