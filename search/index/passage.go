package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"crawlnode/search/analyse"
)

const (
	// passageLength is about how many bytes a passage has, at the most.
	passageLength = 260
	// passageLead is how much may stand before the first marked word, to begin with a sentence.
	passageLead = 70
	// maxPassageScan bounds the bytes of text that are looked at once a word was found in them,
	// maxPassageWords those that are looked at for words. Phrases are looked for in all of it.
	maxPassageScan  = 64 << 10
	maxPassageWords = 256 << 10
	// ellipsis stands where the text goes on.
	ellipsis = "…"
)

// passageHit is a word or a phrase of the question in the text. A phrase is worth more than any
// number of words, and looked for to the end of the text.
type passageHit struct {
	from, to int
	clause   int // its number in the question
	phrase   bool
}

// passage is the part of a text that is shown: that with most of what is asked for; without any of
// it, the beginning. The text may hold anything.
func (m *marker) passage(l analyse.Language, text string) []Part {
	hits := m.passageHits(l, text)
	if len(hits) == 0 {
		return passageParts(text, 0, passageEnd(text, 0, 0), nil)
	}
	first, last := densest(hits)
	from := passageStart(text, hits[first].from)
	to := passageEnd(text, from, hits[last].to)
	return passageParts(text, from, to, hits)
}

// passageHits finds what is asked for in a text.
func (m *marker) passageHits(l analyse.Language, text string) []passageHit {
	for _, p := range m.phrases {
		p.reset()
	}
	var hits []passageHit
	seen := map[int]bool{}
	for s := analyse.NewScanner(text); s.Next(); {
		from, _ := s.Span()
		if from > maxPassageWords && len(m.phrases) == 0 {
			break
		}
		if from > maxPassageScan && len(hits) > 0 && len(seen) >= len(m.phrases) &&
			from > hits[len(hits)-1].to+passageLength {
			break
		}
		h, ok := m.hit(l, text, s)
		if !ok {
			continue
		}
		if h.phrase {
			seen[h.clause] = true
			for len(hits) > 0 && hits[len(hits)-1].from >= h.from {
				hits = hits[:len(hits)-1] // they are in it
			}
		}
		hits = append(hits, h)
	}
	return hits
}

// phraseWorth is what a phrase counts when passages are compared; a word counts 1.
const phraseWorth = 100

func (h *passageHit) worth() int {
	if h.phrase {
		return phraseWorth
	}
	return 1
}

// densest finds the hits, within the length of a passage, that are of most different words, then
// the most; of equal ones the first.
func densest(hits []passageHit) (first, last int) {
	counts := map[int]int{}
	now, most, bestHits, i := 0, 0, 0, 0
	for j := range hits {
		if counts[hits[j].clause]++; counts[hits[j].clause] == 1 {
			now += hits[j].worth()
		}
		for hits[j].to-hits[i].from > passageLength-passageLead {
			if i == j {
				break
			}
			if counts[hits[i].clause]--; counts[hits[i].clause] == 0 {
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

// passageStart is where a passage begins that must show what is at hit: at a sentence or a line if
// one begins not far before, else at a word.
func passageStart(text string, hit int) int {
	least := max(0, hit-passageLead)
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

// passageEnd is where a passage from a place ends that must reach to: after the last sentence that
// fits, or word.
func passageEnd(text string, from, to int) int {
	most := from + passageLength
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
			if i >= 2 && i-from > passageLength/2 &&
				(c == '\n' || strings.IndexByte(".!?", text[i-2]) >= 0) {
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

// passageParts cuts the passage into parts, with white space collapsed.
func passageParts(text string, from, to int, hits []passageHit) []Part {
	var out []Part
	add := func(s string, marked bool) {
		s = oneSpaced(s)
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

// oneSpaced makes one space of white space, and drops control characters and broken UTF-8.
func oneSpaced(s string) string {
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
