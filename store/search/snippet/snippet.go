package snippet

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"crawlnode/store/search/analyse"
)

const (
	// Length is about how many bytes a passage has, at the most.
	Length = 260
	// lead is how much may stand before the first marked word, to begin with a sentence.
	lead = 70
	// maxScan bounds the bytes of text that are looked at once a word was found in them.
	maxScan = 64 << 10
	// ellipsis stands where the text goes on.
	ellipsis = "…"
)

// Part is a piece of the passage; Hit marks a word of the question.
type Part struct {
	Text string
	Hit  bool
}

// hit is a word of the question in the text.
type hit struct {
	from, to int
	word     int
}

// Make returns the passage of text with most of the words that match says are asked for: match
// returns the number of the word in the question, from 0, or -1. The text may hold anything. Without
// a match it is the beginning of the text.
func Make(text string, match func(word []byte) int) []Part {
	hits := find(text, match)
	if len(hits) == 0 {
		from := 0
		to := endOf(text, from, from)
		return parts(text, from, to, nil)
	}
	first, last := densest(hits)
	from := startOf(text, hits[first].from)
	to := endOf(text, from, hits[last].to)
	return parts(text, from, to, hits)
}

func find(text string, match func([]byte) int) []hit {
	var hits []hit
	for s := analyse.NewScanner(text); s.Next(); {
		from, to := s.Span()
		if len(hits) > 0 && from > maxScan {
			break
		}
		if w := match(s.Word()); w >= 0 {
			hits = append(hits, hit{from, to, w})
		}
	}
	return hits
}

// densest finds the hits, within the length of a passage, that are of most different words, then the
// most; of equal ones the first.
func densest(hits []hit) (first, last int) {
	counts := map[int]int{}
	bestWords, bestHits, i := 0, 0, 0
	for j := range hits {
		counts[hits[j].word]++
		for hits[j].to-hits[i].from > Length-lead {
			if i == j {
				break
			}
			if counts[hits[i].word]--; counts[hits[i].word] == 0 {
				delete(counts, hits[i].word)
			}
			i++
		}
		if n := j - i + 1; len(counts) > bestWords || len(counts) == bestWords && n > bestHits {
			bestWords, bestHits, first, last = len(counts), n, i, j
		}
	}
	return first, last
}

// startOf is where a passage begins that must show what is at hit: at a sentence or a line if one
// begins not far before, else at a word.
func startOf(text string, hit int) int {
	least := max(0, hit-lead)
	if least == 0 && !strings.ContainsAny(text[:hit], "\n") {
		return 0
	}
	best := -1
	for i := hit; i > least; i-- {
		switch c := text[i-1]; {
		case c == '\n':
			return i
		case c == ' ' && i >= 2 && strings.IndexByte(".!?", text[i-2]) >= 0 && best < 0:
			best = i
		}
	}
	if least == 0 {
		return 0
	}
	if best >= 0 {
		return best
	}
	if i := strings.IndexByte(text[least:hit], ' '); i >= 0 {
		return least + i + 1
	}
	for least < hit && !utf8.RuneStart(text[least]) {
		least++
	}
	return least
}

// endOf is where a passage from a place ends that must reach to: after the last sentence that fits, or word.
func endOf(text string, from, to int) int {
	most := from + Length
	if most >= len(text) {
		return len(text)
	}
	if most < to {
		return to
	}
	sentence, word := -1, -1
	for i := max(to, from+1); i <= most; i++ {
		switch c := text[i-1]; {
		case c == ' ' || c == '\n':
			word = i - 1
			if i >= 2 && i-from > Length/2 && (c == '\n' || strings.IndexByte(".!?", text[i-2]) >= 0) {
				sentence = i - 1
			}
		}
	}
	switch {
	case sentence >= to:
		return sentence
	case word >= to:
		return word
	}
	for most > to && !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}

// parts cuts the passage into parts, with white space collapsed.
func parts(text string, from, to int, hits []hit) []Part {
	var out []Part
	add := func(s string, marked bool) {
		s = collapse(s)
		if s == "" {
			return
		}
		if n := len(out); n > 0 && out[n-1].Hit == marked {
			out[n-1].Text += s
			return
		}
		out = append(out, Part{s, marked})
	}
	if from > 0 {
		add(ellipsis+" ", false)
	}
	at := from
	for _, h := range hits {
		if h.from < at || h.to > to {
			if h.from < at && h.to > at && h.to <= to { // pairs of characters overlap
				add(text[at:h.to], true)
				at = h.to
			}
			continue
		}
		add(text[at:h.from], false)
		add(text[h.from:h.to], true)
		at = h.to
	}
	add(text[at:to], false)
	if to < len(text) {
		add(" "+ellipsis, false)
	}
	return out
}

// collapse makes one space of white space, and drops control characters and broken UTF-8.
func collapse(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			if !space {
				b.WriteByte(' ')
			}
			space = true
			continue
		}
		if r != utf8.RuneError && !unicode.IsControl(r) {
			b.WriteRune(r)
			space = false
		}
	}
	return b.String()
}
