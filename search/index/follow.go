package index

import (
	"crawlnode/search/analyse"
	"crawlnode/search/query"
)

// follower finds a quoted phrase in the words of a text, one after another (Knuth, Morris and
// Pratt), so that a long phrase over a text of its own first words costs no more than another one.
type follower struct {
	clause int
	words  []string
	forms  []string
	// back[n] is how many words of the phrase still match when n did and the next one does not.
	back []int
	n    int      // words that match so far
	ring []passed // the last words of the text; word number k is in ring[k%len(words)]
	at   int      // words of the text that were seen
}

// passed is a word of the text that matched.
type passed struct {
	from int
	form string
}

func newFollower(clause int, of *query.Clause) *follower {
	f := &follower{
		clause: clause, words: of.Words, forms: of.Forms,
		back: make([]int, len(of.Words)+1), ring: make([]passed, len(of.Words)),
	}
	for n := 1; n < len(f.words); n++ {
		k := f.back[n]
		for k > 0 && f.words[k] != f.words[n] {
			k = f.back[k]
		}
		if f.words[k] == f.words[n] {
			k++
		}
		f.back[n+1] = k
	}
	return f
}

// reset begins a new text.
func (f *follower) reset() { f.n, f.at = 0, 0 }

// next takes the next word of the text. It is true when the phrase ends with it, and tells where
// the phrase begins.
func (f *follower) next(s *analyse.Scanner) (from int, ends bool) {
	word := s.Word()
	for f.n > 0 && f.words[f.n] != string(word) {
		f.n = f.back[f.n]
	}
	if f.words[f.n] != string(word) {
		f.at++
		return 0, false
	}
	start, _ := s.Span()
	f.ring[f.at%len(f.ring)] = passed{start, string(s.Form())}
	f.at++
	if f.n++; f.n < len(f.words) {
		return 0, false
	}
	f.n = f.back[f.n]
	for i, asked := range f.forms {
		p := f.ring[(f.at-len(f.forms)+i)%len(f.ring)]
		if !analyse.Fits(p.form, asked, i == 0, i == len(f.forms)-1) {
			return 0, false
		}
	}
	return f.ring[(f.at-len(f.forms))%len(f.ring)].from, true
}
