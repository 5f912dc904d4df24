package index

import (
	"context"
	"strings"

	"crawlnode/search/analyse"
	"crawlnode/search/query"
	"crawlnode/search/snippet"
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
	// first has the first bytes of what can match: a stem begins as its word does, so most words of a text need not be
	// stemmed to know that they do not match. Stemming them took a third of the time of a question.
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

// passage is the part of a text that is shown.
func (m *marker) passage(l analyse.Language, text string) []snippet.Part {
	for _, p := range m.phrases {
		p.reset()
	}
	return snippet.Make(text, len(m.phrases), func(s *analyse.Scanner) (f snippet.Found, ok bool) {
		for _, p := range m.phrases {
			from, ends := p.next(s)
			_, to := s.Span()
			if ends && (!ok || from < f.From) && !strings.Contains(text[from:to], textBreak) {
				f, ok = snippet.Found{Of: p.clause, From: from, Phrase: true}, true
			}
		}
		if ok {
			return f, true
		}
		from, _ := s.Span()
		i := m.match(l, s.Word())
		return snippet.Found{Of: i, From: from}, i >= 0
	})
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
	r.Highlight = []Part{}
	for _, p := range parts {
		r.Highlight = append(r.Highlight, Part{Text: p.Text, Hit: p.Hit})
		all.WriteString(p.Text)
	}
	r.Snippet = all.String()
	return r
}

func marked(parts []snippet.Part) bool {
	for _, p := range parts {
		if p.Hit {
			return true
		}
	}
	return false
}
