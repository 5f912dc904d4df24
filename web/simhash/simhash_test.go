//race:none

package simhash

import (
	"bytes"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// text returns n words out of a vocabulary of 5,000.
func text(r *rand.Rand, n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("w%x", int(5000*r.Float64()*r.Float64()))
	}
	return words
}

func printOf(t testing.TB, words []string) uint64 {
	t.Helper()
	p, ok := Fingerprint([]byte(strings.Join(words, " ")))
	if !ok {
		t.Fatalf("%d words have no fingerprint", len(words))
	}
	return p
}

// TestBits checks that each bit is set in about half of many fingerprints: a bit that is nearly
// constant distinguishes nothing.
func TestBits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	const n = 4000
	var set [64]int
	for range n {
		p := printOf(t, text(r, 60))
		for i := range set {
			set[i] += int(p >> i & 1)
		}
	}
	for i, s := range set {
		if share := float64(s) / n; share < 0.4 || share > 0.6 {
			t.Errorf("bit %d is set in %.3f of the texts", i, share)
		}
	}
}

// TestNearAndFar compares texts with a few words changed, and texts that share only their
// vocabulary.
func TestNearAndFar(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, c := range []struct {
		changed  float64
		distance float64 // on average, at most
	}{{0, 0}, {0.001, 3}, {0.01, 8}, {0.05, 16}} {
		sum := 0
		const runs = 50
		for range runs {
			a := text(r, 2000)
			b := append([]string(nil), a...)
			for range int(c.changed * float64(len(a))) {
				b[r.IntN(len(b))] = "changed"
			}
			sum += Distance(printOf(t, a), printOf(t, b))
		}
		if mean := float64(sum) / runs; mean > c.distance {
			t.Errorf("%.1f %% of the words changed: %.1f bits on average, want %.0f at most", 100*c.changed,
				mean, c.distance)
		}
	}
	near := 0
	const pairs = 5000
	for range pairs {
		if Distance(printOf(t, text(r, 100)), printOf(t, text(r, 100))) <= MaxDistance {
			near++
		}
	}
	if near*1000 > pairs {
		t.Errorf("%d of %d pairs of unrelated texts are near", near, pairs)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("one two three four five six seven eight nine ten ", 4)
	for _, c := range []struct {
		name, a, b string
		same       bool
	}{
		{"case", long, strings.ToUpper(long), true},
		{"punctuation and space", long, strings.ReplaceAll(long, " ", " ,\n\t- "), true},
		{"order", long, strings.Repeat("ten nine eight seven six five four three two one ", 4), false},
		{"characters as words", strings.Repeat("東京都は日本の首都", 5), strings.Repeat("東京都 は 日本 の 首都 ", 5), true},
		{"other characters", strings.Repeat("東京都は日本の首都", 5), strings.Repeat("大阪府も日本の都市", 5), false},
		{"a long word is not its beginning", strings.Repeat("abcdefgh ", 40), strings.Repeat("abcdefghi ", 40), false},
	} {
		a, okA := Fingerprint([]byte(c.a))
		b, okB := Fingerprint([]byte(c.b))
		if !okA || !okB || (a == b) != c.same {
			t.Errorf("%s: %x (%t), %x (%t)", c.name, a, okA, b, okB)
		}
	}
	for n, want := range map[int]bool{0: false, MinWords - 1: false, MinWords: true} {
		if _, ok := Fingerprint([]byte(strings.Repeat("x ", n))); ok != want {
			t.Errorf("%d words: a fingerprint is %t", n, ok)
		}
	}
}

// isPart reports whether a byte is part of a word. width is the length of the character that begins
// with it and is a word by itself; 0 if there is none.
func isPart(c byte) (part bool, width int) {
	switch {
	case '0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
		return true, 0
	case 0xe3 <= c && c <= 0xed:
		return false, 3
	case 0xf0 <= c && c <= 0xf4:
		return false, 4
	}
	return c >= 0x80, 0
}

// model splits byte by byte and counts each bit by itself.
func model(text []byte) (uint64, bool) {
	var words []uint64
	eights := func(word []byte, lower byte) (h uint64) {
		for {
			var part uint64
			n := min(len(word), 8)
			for i, c := range word[:n] {
				part |= uint64(c|lower) << (8 * i)
			}
			h = hash(h, part, uint(n))
			if word = word[n:]; n < 8 || len(word) == 0 {
				return h
			}
		}
	}
	for i := 0; i < len(text); {
		part, width := isPart(text[i])
		switch {
		case width > 0:
			b := make([]byte, width) // with zeros behind the end
			copy(b, text[i:])
			words = append(words, eights(b, 0))
			i += width
		case part:
			end := i
			for end < len(text) {
				if part, _ := isPart(text[end]); !part {
					break
				}
				end++
			}
			words = append(words, eights(text[i:end], 0x20))
			i = end
		default:
			i++
		}
	}
	var count [64]int
	for i := 2; i < len(words); i++ {
		hi, lo := bits.Mul64(words[i-2]+bits.RotateLeft64(words[i-1], 21)+bits.RotateLeft64(words[i], 42),
			0xc4ceb9fe1a85ec53)
		for b := range count {
			count[b] += int((hi ^ lo) >> b & 1)
		}
	}
	var print uint64
	for b := range count {
		if count[b] > (len(words)-2)/2 {
			print |= 1 << b
		}
	}
	return print, len(words) >= MinWords
}

// TestWindows puts words and characters of all lengths at all places of a window, and at the text's
// end.
func TestWindows(t *testing.T) {
	t.Parallel()
	begin := strings.Repeat("some words more ", 12)
	for _, c := range []string{"x", "\u0e01", "東", "\U0001f600", "\xe3", "\xff"} {
		for shift := 0; shift < 72; shift += 5 {
			for n := range 150 {
				word := strings.Repeat(c, n)
				text := []byte(begin + strings.Repeat(".", shift) + word + " a " + word)
				got, ok := Fingerprint(text)
				if want, wantOK := model(text); ok != wantOK || got != want {
					t.Fatalf("%q at %d, %d times: %x (%t), want %x (%t)", c, shift, n, got, ok, want, wantOK)
				}
			}
		}
	}
}

// FuzzFingerprint compares the bit slices with plain counters.
func FuzzFingerprint(f *testing.F) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 31, 32, 33, 34, 35, 1000, 70_000} {
		f.Add([]byte(strings.Join(text(r, n), " ")))
	}
	f.Add([]byte(strings.Repeat("東京都は日本の首都 \xe3\x80", 9)))
	f.Add([]byte(strings.Repeat("a b \xf0\x9f\x98\x80\xf0", 20)))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, ok := Fingerprint(text)
		want, wantOK := model(text)
		if ok != wantOK || ok && got != want {
			t.Errorf("%q: %x (%t), want %x (%t); valid: %t", text, got, ok, want, wantOK, utf8.Valid(text))
		}
	})
}

// TestIndex compares the index with a search of everything that it should keep.
func TestIndex(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 8))
	const capacity = 500
	x := NewIndex[int](capacity)
	if _, _, found := x.Near(1); found {
		t.Error("an empty index has found something")
	}
	var all []uint64
	flip := func(p uint64, n int) uint64 {
		for range n {
			p ^= 1 << r.IntN(64)
		}
		return p
	}
	found := 0
	for i := range 5000 {
		p := r.Uint64()
		if i%2 == 1 {
			p = flip(all[max(0, len(all)-1-r.IntN(2*capacity))], 1+r.IntN(6))
		}
		best := MaxDistance + 1
		for _, old := range all[max(0, len(all)-capacity):] {
			best = min(best, Distance(p, old))
		}
		value, distance, ok := x.Near(p)
		if ok != (best <= MaxDistance) ||
			ok && (distance != best || Distance(p, all[value]) != best || value < len(all)-capacity) {
			t.Fatalf("entry %d: %t, value %d at %d; the nearest is at %d", i, ok, value, distance, best)
		}
		if ok {
			found++
		}
		x.Add(p, i)
		all = append(all, p)
	}
	if found < 500 || x.Len() != capacity {
		t.Errorf("%d found, %d kept", found, x.Len())
	}
}

// TestIndexOfTheSame imitates a trap: one page ten thousand times.
func TestIndexOfTheSame(t *testing.T) {
	t.Parallel()
	x := NewIndex[int](10_000)
	for i := range 20_000 {
		if v, d, ok := x.Near(42); i > 0 && (!ok || d != 0 || v != i-1) {
			t.Fatalf("entry %d: %d at %d, %t", i, v, d, ok)
		}
		x.Add(42, i)
	}
}

// TestIndexOfLikes compares the index with a search of everything it should keep, where many
// fingerprints share their blocks, so that they are kept side by side: these grow, are cut at
// maxChain, run dry and come back.
func TestIndexOfLikes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(13, 14))
	const capacity = 1000
	x := NewIndex[int](capacity)
	var all []uint64
	found, rows, cut := 0, 0, 0
	for i := range 15_000 {
		era := uint64(i / 3000) // the blocks that many share change
		p := r.Uint64()
		for b := range blocks {
			if r.IntN(3) > 0 {
				shift := 16 * b
				p = p&^(0xffff<<shift) | (era*7+uint64(r.IntN(2)))<<shift
			}
		}
		best, newest, full := MaxDistance+1, 0, false
		kept := all[max(0, len(all)-capacity):]
		for b := range blocks { // what a lookup reads
			same := 0
			for k := len(kept) - 1; k >= 0 && same < maxChain; k-- {
				if block(kept[k], b) != block(p, b) {
					continue
				}
				same++
				at := len(all) - len(kept) + k
				if d := Distance(p, kept[k]); d < best || d == best && d <= MaxDistance && at > newest {
					best, newest = d, at
				}
			}
			full = full || same == maxChain
		}
		if full {
			cut++
		}
		value, distance, ok := x.Near(p)
		if ok != (best <= MaxDistance) || ok && (distance != best || value != newest) {
			t.Fatalf("entry %d: %t, value %d at %d; the nearest is %d at %d", i, ok, value, distance, newest,
				best)
		}
		if ok {
			found++
		}
		x.Add(p, i)
		all = append(all, p)
		rows = max(rows, len(x.dense[0])+len(x.dense[1])+len(x.dense[2])+len(x.dense[3]))
	}
	if found < 500 || cut < 500 || rows < blocks {
		t.Errorf("%d found, %d lookups of a whole chain, %d rows at most", found, cut, rows)
	}
	for range capacity { // nothing alike any more
		x.Add(r.Uint64(), 0)
	}
	for i, rows := range x.dense {
		for b, row := range rows {
			if len(row.numbers) == 0 || row.numbers[0] <= x.oldest() {
				t.Errorf("block %d of %x keeps what the index has dropped", i, b)
			}
		}
	}
}

func BenchmarkFingerprint(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 10))
	var page bytes.Buffer
	for page.Len() < 15_000 {
		page.WriteString([]string{"a", "the", "crawler", "visits", "pages", "of", "Hosts,", "politely",
			"in", "distributed"}[r.IntN(10)])
		page.WriteByte(' ')
	}
	b.SetBytes(int64(page.Len()))
	b.ReportAllocs()
	for b.Loop() {
		Fingerprint(page.Bytes())
	}
}

func BenchmarkIndex(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	x := NewIndex[int](1 << 18)
	for range 1 << 18 {
		x.Add(r.Uint64(), 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		p := r.Uint64()
		x.Near(p)
		x.Add(p, 0)
	}
}

// BenchmarkIndexOfLikes has fingerprints whose blocks are as those of texts in one language: some
// are frequent.
func BenchmarkIndexOfLikes(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	z := rand.NewZipf(r, 1.1, 8, 1<<16-1)
	like := func() uint64 { return z.Uint64() | z.Uint64()<<16 | z.Uint64()<<32 | z.Uint64()<<48 }
	x := NewIndex[int](1 << 17)
	for range 1 << 17 {
		x.Add(like(), 0)
	}
	b.ReportAllocs()
	for b.Loop() {
		p := like()
		x.Near(p)
		x.Add(p, 0)
	}
}
