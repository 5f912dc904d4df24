package index

import (
	"context"
	"maps"
	"slices"
	"strings"

	"crawlnode/search/analyse"
	"crawlnode/search/query"
	"crawlnode/search/segment"
)

const (
	maxCompletions = 64      // words for one beginning
	maxWalk        = 8192    // words of a segment that are looked at for one beginning
	maxSuggestions = 12      // words for one that is not known
	maxLooked      = 1 << 20 // words that are looked at for all words of a question that are not known
)

// Statistics implements Source.
func (x *Index) Statistics(ctx context.Context, q Question) (Statistics, error) {
	s := x.snapshot()
	defer s.release()
	parsed := query.Parse(q.Text)
	st := Statistics{Languages: map[string]int64{}, Words: map[string]map[string]int64{}}
	_, st.Documents = s.documents()
	st.Held = s.held(q.Partitions)
	for _, p := range s.parts {
		p.seg.Labels(labelLanguage, func(label []byte, n int64) bool {
			st.Languages[string(label[1:])] += n
			return true
		})
	}
	stem := x.stemmers.Get().(*analyse.Stemmer)
	defer x.stemmers.Put(stem)
	c := counter{
		parts:     s.parts,
		stem:      stem,
		languages: languages(st.Languages),
		words:     st.Words,
		left:      maxLooked,
	}
	for _, clause := range parsed.Clauses {
		if err := ctx.Err(); err != nil {
			return Statistics{}, err
		}
		for _, w := range clause.Words {
			if clause.Kind == query.Prefix {
				if st.Completions == nil {
					st.Completions = map[string]map[string]int64{}
				}
				st.Completions[w] = c.completions(w)
				continue
			}
			known := c.count(w)
			if clause.Kind == query.Word && !clause.Not && (known == 0 || q.Suggest) {
				if st.Suggestions == nil {
					st.Suggestions = map[string]map[string]int64{}
				}
				st.Suggestions[w] = c.suggestions(w)
			}
		}
	}
	return st, nil
}

// held counts the documents of partitions; nil means all.
func (s *snapshot) held(partitions []uint32) int64 {
	if partitions == nil {
		live, _ := s.documents()
		return live
	}
	n := int64(0)
	for _, p := range s.parts {
		for _, partition := range partitions {
			n += p.partitions[partition]
		}
	}
	return n
}

// languages are those with rules that documents have, and Other, in order.
func languages(documents map[string]int64) []analyse.Language {
	out := []analyse.Language{analyse.Other}
	for code := range documents {
		if l := analyse.LanguageOf(code); !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	slices.Sort(out)
	return out
}

// counter counts documents by term.
type counter struct {
	parts     []*part
	stem      *analyse.Stemmer
	languages []analyse.Language
	words     map[string]map[string]int64
	left      int // words that may still be looked at for suggestions
}

// count counts the documents of a word, once.
func (c *counter) count(w string) int64 {
	terms, ok := c.words[w]
	if !ok {
		terms = map[string]int64{}
		for _, l := range c.languages {
			term := c.stem.Stem(l, []byte(w)).Term
			for _, p := range c.parts {
				if n := p.seg.Count(term); n > 0 {
					terms[term] += n
				}
			}
		}
		c.words[w] = terms
	}
	return sum(terms)
}

func sum(counts map[string]int64) int64 {
	n := int64(0)
	for _, v := range counts {
		n += v
	}
	return n
}

// completions are the commonest words that begin so.
func (c *counter) completions(prefix string) map[string]int64 {
	found := map[string]int64{}
	for _, p := range c.parts {
		left := maxWalk
		p.seg.Words(prefix, func(w []byte, n int64) bool {
			found[string(w)] += n
			left--
			return left > 0
		})
	}
	return c.keep(found, maxCompletions, func(string) float64 { return 0 })
}

// suggestions are the words that are spelt nearly like w, the likeliest.
func (c *counter) suggestions(w string) map[string]int64 {
	found := map[string]int64{}
	most := mistakes(w)
	if most == 0 {
		return found
	}
	for _, p := range c.parts {
		p.seg.Similar(w, most, &c.left, func(similar []byte, n int64) {
			if string(similar) != w {
				found[string(similar)] += n
			}
		})
	}
	return c.keep(found, maxSuggestions,
		func(s string) float64 { return -distrust * float64(segment.Distance(w, s, most)) })
}

// mistakes is the number of letters of a word that may be wrong.
func mistakes(w string) int {
	var n int
	switch letters := len([]rune(w)); {
	case letters < 3 || strings.ContainsAny(w, "0123456789"):
		return 0
	case letters < 8:
		n = 1
	default:
		n = 2
	}
	if len(w) > len([]rune(w)) {
		n++ // a letter has several bytes
	}
	return n
}

// keep keeps the n likeliest words, and counts the documents of each.
func (c *counter) keep(found map[string]int64, n int, bonus func(string) float64) map[string]int64 {
	out := map[string]int64{}
	for _, w := range likeliest(found, n, bonus) {
		if c.count(w) > 0 {
			out[w] = found[w]
		}
	}
	return out
}

// likeliest orders words by their number of documents and what else speaks for them.
func likeliest(found map[string]int64, n int, bonus func(string) float64) []string {
	worth := map[string]float64{}
	for w, count := range found {
		worth[w] = logarithm(count) + bonus(w)
	}
	words := slices.Sorted(maps.Keys(found))
	slices.SortStableFunc(words, func(a, b string) int {
		switch {
		case worth[a] > worth[b]:
			return -1
		case worth[a] < worth[b]:
			return 1
		}
		return 0
	})
	return words[:min(n, len(words))]
}

// Add adds the statistics of another index.
func (s *Statistics) Add(o Statistics) {
	s.Documents += o.Documents
	s.Held += o.Held
	addCounts(&s.Languages, o.Languages)
	addNested(&s.Words, o.Words)
	addNested(&s.Completions, o.Completions)
	addNested(&s.Suggestions, o.Suggestions)
}

func addCounts(to *map[string]int64, from map[string]int64) {
	if *to == nil {
		*to = map[string]int64{}
	}
	for k, n := range from {
		(*to)[k] += n
	}
}

func addNested(to *map[string]map[string]int64, from map[string]map[string]int64) {
	if *to == nil {
		*to = map[string]map[string]int64{}
	}
	for k, counts := range from {
		inner := maps.Clone((*to)[k])
		addCounts(&inner, counts)
		(*to)[k] = inner
	}
}
