package simweb

import (
	"bytes"
	"compress/flate"
	"math"
	"sort"
)

// filler is text made once, in blocks, so that a page only needs copying. Each block is also kept
// compressed: pieces of a deflate stream that end on a byte boundary and refer only to themselves
// can be joined like text.
type filler struct {
	words  []string
	text   [][]byte // paragraphs of fillerSize bytes
	packed [][]byte // the same as non-final deflate blocks
}

// newFiller makes words that are all as frequent, or natural ones, and paragraphs of them.
func newFiller(seed uint64, natural bool) *filler {
	f := &filler{}
	d := &below{seed}
	if natural {
		f.words = naturalWords(d)
		f.fill(naturalBlocks, sentences(f.words, d))
		return f
	}
	f.words = make([]string, evenWords)
	for i := range f.words {
		f.words[i] = word(2+d.next(3), d)
	}
	f.fill(evenBlocks,
		func(b []byte) []byte { return append(append(b, f.words[d.next(evenWords)]...), ' ') })
	return f
}

const (
	evenWords, evenBlocks       = 3000, 64
	naturalVocabulary           = 20_000
	naturalBlocks               = 512
	zipfExponent, zipfOffset    = 1.0, 2.7 // Mandelbrot's correction for the most frequent words
	leastSentence, mostSentence = 5, 25    // words
)

// fill makes paragraphs of pieces that more appends.
func (f *filler) fill(blocks int, more func([]byte) []byte) {
	for range blocks {
		b := []byte("<p>")
		for len(b) < fillerSize-5 {
			b = more(b)
		}
		b = append(b[:fillerSize-5], "</p>\n"...)
		f.text, f.packed = append(f.text, b), append(f.packed, packed(b))
	}
}

// below draws whole numbers.
type below struct{ state uint64 }

// next draws a number below n.
func (d *below) next(n uint64) uint64 { d.state = mix(d.state); return d.state >> 16 % n }

// word makes a word of so many syllables.
func word(syllables uint64, d *below) string {
	var b []byte
	for range syllables {
		b = append(b, "bcdfghklmnprstvz"[d.next(16)], "aeiou"[d.next(5)])
	}
	return string(b)
}

// naturalWords makes a vocabulary, the most frequent word first. Frequent words are short, as in
// languages.
func naturalWords(d *below) []string {
	words := make([]string, naturalVocabulary)
	for rank := range words {
		words[rank] = word(1+uint64(math.Log10(float64(rank+1)))/2+d.next(2), d)
	}
	return words
}

// sentences returns what appends a sentence of words. The k-th is drawn as often as 1/(k+2.7) says
// (Zipf's law); three in four follow the word before them as they do elsewhere, and some are marked
// up, so that a page compresses as pages do.
func sentences(words []string, d *below) func([]byte) []byte {
	upTo := make([]float64, len(words)) // the share of a word and all before it
	sum := 0.0
	for k := range words {
		sum += math.Pow(float64(k+1)+zipfOffset, -zipfExponent)
		upTo[k] = sum
	}
	ranked := func(share float64) int {
		return min(sort.SearchFloat64s(upTo, share*sum), len(words)-1)
	}
	before := 0
	drawn := func() string {
		if r := d.next(8); r < 6 { // one of two that often follow
			before = ranked(unit(mix(uint64(before)<<1 | r&1)))
		} else {
			before = ranked(float64(d.next(1<<40)) / (1 << 40))
		}
		return words[before]
	}
	return func(b []byte) []byte {
		start := len(b)
		for range leastSentence + d.next(mostSentence-leastSentence+1) {
			switch w := drawn(); d.next(10) {
			case 0:
				b = append(append(append(b, `<span class="term" lang="en">`...), w...), "</span> "...)
			case 1:
				b = append(append(b, w...), ", "...)
			default:
				b = append(append(b, w...), ' ')
			}
		}
		if b[start] != '<' {
			b[start] -= 'a' - 'A'
		}
		return append(bytes.TrimRight(b, ", "), ". "...)
	}
}

// packed compresses text into deflate blocks that end on a byte boundary.
func packed(text []byte) []byte {
	var out bytes.Buffer
	z, err := flate.NewWriter(&out, flate.DefaultCompression)
	if err != nil {
		panic("BUG: simweb: " + err.Error())
	}
	// A bytes.Buffer does not fail.
	_, _ = z.Write(text)
	_ = z.Flush()
	return out.Bytes()
}

const (
	sizeBounds    = 16 // how many times smaller or larger than the median a page may be
	maxSizeSpread = 3  // of Config.SizeSpread: with more nearly all pages are at a bound
)

// pageBytes is the size of a page. With SizeSpread it is drawn from a log-normal distribution.
func (w *Web) pageBytes(page uint32) int {
	if w.cfg.SizeSpread == 0 {
		return w.cfg.PageBytes
	}
	d := draws{w.random(uint64(page), saltSize)}
	factor := min(max(math.Exp(w.cfg.SizeSpread*d.normal()), 1.0/sizeBounds), sizeBounds)
	return int(float64(w.cfg.PageBytes) * factor)
}
