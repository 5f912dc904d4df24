package snippet

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"crawlnode/search/analyse"
)

const (
	// Length is about how many bytes a passage has, at the most.
	Length = 260
	// lead is how much may stand before the first marked word, to begin with a sentence.
	lead = 70
	// maxScan bounds the bytes of text that are looked at once a word was found in them, maxWords
	// those that are looked at for words. Phrases are looked for in all of it.
	maxScan  = 64 << 10
	maxWords = 256 << 10
	// ellipsis stands where the text goes on.
	ellipsis = "…"
)

// Part is a piece of the passage; Hit marks a word of the question.
type Part struct {
	Text string
	Hit  bool
}

// Found is what is asked for and ends with a word of the text.
type Found struct {
	Of   int // its number in the question
	From int // where it begins; a phrase begins before its last word
	// Phrase: it is worth more than any number of words, and looked for to the end of the text.
	Phrase bool
}

// hit is a word or a phrase of the question in the text.
type hit struct {
	from, to int
	word     int
	phrase   bool
}

// Make returns the passage of text with most of what match says is asked for: match is called for
// each word in turn, and is false when nothing ends with it. The text may hold anything. Without
// a match it is the beginning of the text. phrases is the number of phrases that are asked for.
func Make(text string, phrases int, match func(word *analyse.Scanner) (Found, bool)) []Part {
	hits := find(text, phrases, match)
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

func find(text string, phrases int, match func(*analyse.Scanner) (Found, bool)) []hit {
	var hits []hit
	seen := map[int]bool{}
	for s := analyse.NewScanner(text); s.Next(); {
		from, _ := s.Span()
		if from > maxWords && phrases == 0 {
			break
		}
		if from > maxScan && len(hits) > 0 && len(seen) >= phrases && from > hits[len(hits)-1].to+Length {
			break
		}
		f, ok := match(s)
		if !ok {
			continue
		}
		if f.Phrase {
			seen[f.Of] = true
			for len(hits) > 0 && hits[len(hits)-1].from >= f.From {
				hits = hits[:len(hits)-1] // they are in it
			}
		}
		_, to := s.Span()
		hits = append(hits, hit{f.From, to, f.Of, f.Phrase})
	}
	return hits
}

// phraseWorth is what a phrase counts when passages are compared; a word counts 1.
const phraseWorth = 100

func (h *hit) worth() int {
	if h.phrase {
		return phraseWorth
	}
	return 1
}

// densest finds the hits, within the length of a passage, that are of most different words, then the
// most; of equal ones the first.
func densest(hits []hit) (first, last int) {
	counts := map[int]int{}
	now, most, bestHits, i := 0, 0, 0, 0
	for j := range hits {
		if counts[hits[j].word]++; counts[hits[j].word] == 1 {
			now += hits[j].worth()
		}
		for hits[j].to-hits[i].from > Length-lead {
			if i == j {
				break
			}
			if counts[hits[i].word]--; counts[hits[i].word] == 0 {
				now -= hits[i].worth()
			}
			i++
		}
		if n := j - i + 1; now > most || now == most && n > bestHits {
			most, bestHits, first, last = now, n, i, j
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
