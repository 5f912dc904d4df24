package index

import (
	"maps"
	"math"
	"slices"
	"sync"

	"crawlnode/search/analyse"
	"crawlnode/search/query"
	"crawlnode/search/rank"
	"crawlnode/search/segment"
)

const (
	// distrust is what a mistake costs a suggestion: a word with one mistake less is preferred unless
	// the other is e^distrust times as common.
	distrust = 4.0
	// alternatives is how many words may stand in for one that is not known. Each counts
	// by less than the one before.
	alternatives = 4
	lessEach     = 0.85
	// weakShare is what a stop word is worth, of what its rarity says: it is looked for in titles
	// only, where it is rarer than it is.
	weakShare = 0.15
	// completionShare is what a word that begins as asked is worth.
	completionShare = 0.9
)

func logarithm(n int64) float64 { return math.Log1p(float64(n)) }

// wanted is a clause of the query as every part of the index is searched for it.
type wanted struct {
	clause query.Clause
	terms  []weighted
	// variants are a phrase in each language. loose are those for segments that do not say how
	// words are written; nil: the same.
	variants, loose []variant
	weight          float64
	weak            bool // need not be there
}

// weighted is a term with its share of the clause's weight.
type weighted struct {
	term  string
	share float64
}

// variant is a phrase in one language. fields are those that it may be in; nil: any.
type variant struct {
	words  []placed
	fields []rank.Field
}

// placed is a word of a phrase: its term, its place in the phrase, and what its form must be; nil:
// it may be any. A common word says nothing of what a page is about.
type placed struct {
	term   string
	place  uint32
	form   func(string) bool
	common bool
}

// compiled is a plan with everything that is the same for all parts.
type compiled struct {
	plan     *Plan
	query    query.Query
	clauses  []wanted // without those excluded
	excluded []wanted
	weight   float64 // of all clauses
	// texts: something is looked for in texts; withoutTexts: something must not be there.
	texts, withoutTexts bool
}

// compile decides what each clause looks for and is worth. It depends on the plan only.
func compile(p *Plan, stem *analyse.Stemmer) *compiled {
	c := &compiled{plan: p, query: query.Parse(p.Text)}
	all := languages(p.Statistics.Languages)
	main := mainLanguages(&p.Statistics)
	strong := false
	for _, clause := range c.query.Clauses {
		w := wanted{clause: clause}
		switch clause.Kind {
		case query.Word:
			c.word(&w)
			w.weak = isStop(stem, main, clause.Words[0])
		case query.Prefix:
			c.prefix(&w)
		case query.Phrase:
			c.phrase(&w, stem, all)
		}
		if !clause.Title {
			c.texts, c.withoutTexts = c.texts || !clause.Not, c.withoutTexts || clause.Not
		}
		if clause.Not {
			c.excluded = append(c.excluded, w)
			continue
		}
		if w.weak {
			w.weight *= weakShare
		}
		strong = strong || !w.weak
		c.weight += w.weight
		c.clauses = append(c.clauses, w)
	}
	if !strong { // nothing but stop words: they are what is asked for
		for i := range c.clauses {
			c.clauses[i].weak = false
		}
	}
	return c
}

// mainLanguages are the languages whose stop words are those of the question: of a fifth of the
// documents at least, and English.
func mainLanguages(s *Statistics) []analyse.Language {
	out := []analyse.Language{analyse.LanguageOf("en")}
	for _, code := range slices.Sorted(maps.Keys(s.Languages)) {
		if l := analyse.LanguageOf(code); 5*s.Languages[code] >= s.Documents && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

func isStop(stem *analyse.Stemmer, languages []analyse.Language, w string) bool {
	return slices.ContainsFunc(languages,
		func(l analyse.Language) bool { return stem.Stem(l, []byte(w)).Stop })
}

// add adds the terms of a word to a clause, and returns how many documents they are in.
func (c *compiled) add(w *wanted, word string, share float64) int64 {
	terms := c.plan.Statistics.Words[word]
	for _, t := range slices.Sorted(maps.Keys(terms)) {
		if !slices.ContainsFunc(w.terms, func(known weighted) bool { return known.term == t }) {
			w.terms = append(w.terms, weighted{t, share})
		}
	}
	return sum(terms)
}

func (c *compiled) word(w *wanted) {
	word := w.clause.Words[0]
	found := c.add(w, word, 1)
	share := 1.0
	if found > 0 {
		share = lessEach
	}
	for _, other := range c.plan.Corrections[word] {
		found = max(found, c.add(w, other, share))
		share *= lessEach
	}
	w.weight = rank.Weight(found, c.plan.Statistics.Documents)
}

func (c *compiled) prefix(w *wanted) {
	word := w.clause.Words[0]
	found := c.plan.Statistics.Completions[word]
	n := int64(0)
	for _, other := range likeliest(found, maxCompletions, func(string) float64 { return 0 }) {
		share := completionShare
		if other == word {
			share = 1
		}
		n += c.add(w, other, share)
	}
	w.weight = rank.Weight(n, c.plan.Statistics.Documents)
}

func (c *compiled) phrase(w *wanted, stem *analyse.Stemmer, all []analyse.Language) {
	for _, word := range w.clause.Words {
		w.weight += rank.Weight(sum(c.plan.Statistics.Words[word]), c.plan.Statistics.Documents)
	}
	for _, l := range all {
		w.add(stem, l)
	}
}

// add adds the phrase in a language. Without quotes stop words stand for any word, unless there is
// nothing else.
func (w *wanted) add(stem *analyse.Stemmer, l analyse.Language) {
	var whole, loose []placed // all words; those that are not stop words
	common := false
	for i, word := range w.clause.Words {
		s := stem.Stem(l, []byte(word))
		whole = append(whole, placed{term: s.Term, place: uint32(i), common: s.Stop})
		if !s.Stop {
			loose = append(loose, whole[i])
		}
		common = common || s.Stop
	}
	if len(loose) == 0 {
		loose = whole
	}
	var title []rank.Field
	if w.clause.Title {
		title = []rank.Field{rank.Title}
	}
	if !w.clause.Exact {
		w.variants = append(w.variants, variant{loose, title})
		return
	}
	w.loose = append(w.loose, variant{loose, title})
	for i := range whole {
		asked, first, last := w.clause.Forms[i], i == 0, i == len(whole)-1
		whole[i].form = func(form string) bool { return analyse.Fits(form, asked, first, last) }
	}
	switch {
	case w.clause.Title:
		w.variants = append(w.variants, variant{whole, title})
	case !common:
		w.variants = append(w.variants, variant{whole, []rank.Field{rank.Title, rank.Text}})
	default: // a stop word has another term in texts
		text := slices.Clone(whole)
		for i := range text {
			if text[i].common {
				text[i].term = analyse.Common(l, w.clause.Words[i])
			}
		}
		w.variants = append(w.variants, variant{whole, []rank.Field{rank.Title}},
			variant{text, []rank.Field{rank.Text}})
	}
}

// corrections chooses, for each word that no document has, what it may have been meant to be; with
// all also for words that some have.
func corrections(s *Statistics, q *query.Query, all bool) map[string][]string {
	out := map[string][]string{}
	for _, w := range q.Words(query.Word) {
		found := sum(s.Words[w])
		if found > 0 && !all || len(s.Suggestions[w]) == 0 {
			continue
		}
		most := mistakes(w)
		words := likeliest(s.Suggestions[w], alternatives, func(o string) float64 {
			bonus := -distrust * float64(segment.Distance(w, o, most))
			if o[0] == w[0] {
				bonus++
			}
			return bonus
		})
		if found > 0 && s.Suggestions[w][words[0]] < 2*found {
			continue
		}
		out[w] = words
	}
	return out
}

// stemmerPool keeps Stemmers for questions: they remember what they have stemmed.
func stemmerPool() sync.Pool {
	return sync.Pool{New: func() any { return analyse.NewStemmer() }}
}
