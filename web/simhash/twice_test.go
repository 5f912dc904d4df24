package simhash

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// checkTwice compares both fingerprints with those that are made one after the other.
func checkTwice(t *testing.T, text []byte) {
	t.Helper()
	print, masked, _ := Fingerprints(text, nil)
	want, _ := Fingerprint(text)
	wantMasked, _ := Fingerprint(MaskNumbers(nil, text))
	if print != want || masked != wantMasked {
		t.Errorf("%q: %x and %x, want %x and %x", text, print, masked, want, wantMasked)
	}
}

// TestFingerprints has texts with numbers at all distances, at both ends, and too many to take them
// one by one.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	numbers := []string{"7", "1,234.50", "12:30:59", "2026-11-24", "a1b22", "9.", "x9", "0",
		strings.Repeat("3", 80), "1-2-3-4", "\u00e91", "1. 2"}
	for n := range 1500 {
		words := text(r, r.IntN(120))
		for range r.IntN(1 + n%12) {
			at := r.IntN(len(words) + 1)
			words = append(words[:at:at], append([]string{numbers[r.IntN(len(numbers))]}, words[at:]...)...)
		}
		checkTwice(t, []byte(strings.Join(words, []string{" ", ", ", " - "}[n%3])))
	}
	for _, s := range []string{
		"", "1", "no number", strings.Repeat("word ", 31) + "1 2", strings.Repeat("word ", 30) + "1-2",
		strings.Repeat("1 ", 100),
		strings.Repeat("\u6771\u4eac1\u90fd ", 40),
		strings.Repeat("\u6771\u4eac\u90fd and some words ", 40) + "12 \u6771x\u90fd9",
		strings.Repeat("a word \xe3\x80", 40) + " 1 2\xe3 3",
		strings.Repeat("some words ", 40) + "12 \u6771",
	} {
		checkTwice(t, []byte(s))
	}
}

// FuzzFingerprints is checkTwice for any text, behind one that is long enough.
func FuzzFingerprints(f *testing.F) {
	long := strings.Repeat("some words that are no numbers, ", 10)
	for _, s := range []string{"", "1,234.5 at 12:30:59", "a1b22\xb2\xb9\xff0", long + "7" + long,
		"8 words 9 " + long + "1\xe3\x80 2"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkTwice(t, text)
		checkTwice(t, append([]byte(long), text...))
		checkTwice(t, slicesOf(text, long))
	})
}

// slicesOf is text with another one in its middle.
func slicesOf(text []byte, middle string) []byte {
	half := len(text) / 2
	return bytes.Join([][]byte{text[:half], []byte(middle), text[half:]}, nil)
}

// BenchmarkFingerprints has a text of the length of an article's, with so many words with digits
// among a thousand.
func BenchmarkFingerprints(b *testing.B) {
	for _, share := range []int{0, 10, 30, 100, 300} {
		r := rand.New(rand.NewPCG(3, 4))
		words := strings.Fields(
			string(bytes.Repeat([]byte("some words of an article about nothing in particular "), 300)))
		for i := range words {
			if r.IntN(1000) < share {
				words[i] = fmt.Sprintf("%d.%d", r.IntN(3000), r.IntN(100))
			}
		}
		text := []byte(strings.Join(words, " "))
		b.Run(fmt.Sprint("numbers=", share), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var buf []byte
			for b.Loop() {
				_, _, buf = Fingerprints(text, buf)
			}
		})
		b.Run(fmt.Sprint("one after the other, numbers=", share), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var buf []byte
			for b.Loop() {
				Fingerprint(text)
				buf = MaskNumbers(buf[:0], text)
				Fingerprint(buf)
			}
		})
	}
}
