package index

import (
	"context"
	"strings"

	"crawlnode/search/analyse"
	"crawlnode/search/query"
)

// Show implements Source.
func (x *Index) Show(ctx context.Context, p Plan, urls []string) ([]Result, error) {
	s := x.snapshot()
	defer s.release()
	stem := x.stemmers.Get().(*analyse.Stemmer)
	defer x.stemmers.Put(stem)
	m := newMarker(&p, stem)
	var out []Result
	for _, url := range urls[:min(len(urls), MaxSize)] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		part, doc, ok := s.find(keyOf(url))
		if !ok {
			continue
		}
		d, err := part.document(doc)
		if err != nil {
			return nil, err
		}
		out = append(out, m.result(&d))
	}
	return out, nil
}

// marker finds the words of a question in documents.
type marker struct {
	stem  *analyse.Stemmer
	terms map[string]int // of words, by number of the clause
	begin map[string]int // beginnings of words
	// first has the first bytes of what can match: a stem begins as its word does, so most words of a
	// text need not be stemmed to know that they do not match. Stemming them took a third of the time
	// of a question.
	first [256]bool
	// phrases are those that were quoted: they are marked as a whole, and not their words elsewhere.
	phrases []*follower
}

func newMarker(p *Plan, stem *analyse.Stemmer) *marker {
	m := &marker{stem: stem, terms: map[string]int{}, begin: map[string]int{}}
	q := query.Parse(p.Text)
	all := languages(p.Statistics.Languages)
	main := mainLanguages(&p.Statistics)
	for i, clause := range q.Clauses {
		if clause.Not {
			continue
		}
		if clause.Exact {
			m.phrases = append(m.phrases, newFollower(i, &clause))
			continue
		}
		for _, w := range clause.Words {
			if clause.Kind == query.Prefix {
				m.begin[w] = i
				m.first[w[0]] = true
				continue
			}
			if clause.Kind == query.Word && len(q.Clauses) > 1 && isStop(stem, main, w) {
				continue
			}
			for _, word := range append([]string{w}, p.Corrections[w]...) {
				for _, l := range all {
					term := stem.Stem(l, []byte(word)).Term
					if _, ok := m.terms[term]; !ok {
						m.terms[term] = i
						_, of := analyse.Split(term)
						m.first[of[0]] = true
					}
				}
			}
		}
	}
	return m
}

func (m *marker) match(l analyse.Language, word []byte) int {
	if !m.first[word[0]] {
		return -1
	}
	if i, ok := m.terms[m.stem.Stem(l, word).Term]; ok {
		return i
	}
	for begin, i := range m.begin {
		if strings.HasPrefix(string(word), begin) {
			return i
		}
	}
	return -1
}

// hit is what is asked for and ends with the word at which s is; false: nothing does. A phrase
// begins before its last word.
func (m *marker) hit(l analyse.Language, text string, s *analyse.Scanner) (h passageHit, ok bool) {
	from, to := s.Span()
	for _, p := range m.phrases {
		begin, ends := p.next(s)
		if ends && (!ok || begin < h.from) && !strings.Contains(text[begin:to], textBreak) {
			h, ok = passageHit{begin, to, p.clause, true}, true
		}
	}
	if ok {
		return h, true
	}
	i := m.match(l, s.Word())
	return passageHit{from, to, i, false}, i >= 0
}

// result is a document as it is shown: the passage is of its text, or of its description if only
// that has a word of the question.
func (m *marker) result(d *Document) Result {
	r := Result{
		URL: d.URL, Host: d.Host, Title: strings.Join(strings.Fields(d.Title), " "), Language: d.Language,
		FetchedAt: d.FetchedAt, File: d.File, Offset: d.Offset,
	}
	if r.Title == "" {
		r.Title = d.URL
	}
	l := analyse.LanguageOf(d.Language)
	parts := m.passage(l, d.Text)
	if d.Description != "" && !marked(parts) {
		if other := m.passage(l, d.Description); marked(other) || len(parts) == 0 {
			parts = other
		}
	}
	var all strings.Builder
	r.Highlight = append([]Part{}, parts...) // an empty list in JSON, not null
	for _, p := range parts {
		all.WriteString(p.Text)
	}
	r.Snippet = all.String()
	return r
}

func marked(parts []Part) bool {
	for _, p := range parts {
		if p.Hit {
			return true
		}
	}
	return false
}
