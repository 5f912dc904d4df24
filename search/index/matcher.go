package index

import (
	"cmp"
	"slices"

	"crawlnode/search/query"
	"crawlnode/search/rank"
	"crawlnode/search/segment"
)

// end is the document after the last of any segment.
const end = ^uint32(0)

const titleBit = 1 << rank.Title

// matcher walks over the documents of one part that a clause matches.
type matcher interface {
	// seek moves to the first match that is not before doc, and returns it; end when there is none.
	// It never moves back.
	seek(doc uint32) uint32
	// share is what the current document has of the clause's weight: from 0 to 1.
	share() float64
	// cost is about how many documents match.
	cost() int
}

// list is the postings of a term.
type list struct {
	*segment.Postings
	share float64
	doc   uint32
}

func (l *list) seek(doc uint32) {
	if l.doc != end && (l.doc < doc || l.doc == 0) {
		l.doc = end
		if l.Seek(doc) {
			l.doc = l.Doc()
		}
	}
}

// anyTerm matches documents that have one of several terms.
type anyTerm struct {
	lists []*list
	title bool
	now   uint32
	work  *budget
}

func newAnyTerm(p *part, terms []weighted, title bool, work *budget) *anyTerm {
	m := &anyTerm{title: title, work: work}
	for _, t := range terms {
		if postings := p.seg.Postings(t.term); postings.Len() > 0 {
			m.lists = append(m.lists, &list{Postings: postings, share: t.share})
		}
	}
	return m
}

func (m *anyTerm) seek(doc uint32) uint32 {
	for {
		m.now = end
		if !m.work.take(len(m.lists)) {
			return end
		}
		fits := !m.title
		for _, l := range m.lists {
			l.seek(doc)
			switch {
			case l.doc < m.now:
				m.now, fits = l.doc, !m.title || l.Mask()&titleBit != 0
			case l.doc == m.now && m.now != end && l.Mask()&titleBit != 0:
				fits = true
			}
		}
		if fits || m.now == end {
			return m.now
		}
		doc = m.now + 1
	}
}

func (m *anyTerm) share() float64 {
	best := 0.0
	for _, l := range m.lists {
		if l.doc == m.now {
			best = max(best, l.share*float64(l.Impact())/255)
		}
	}
	return best
}

func (m *anyTerm) cost() int {
	n := 0
	for _, l := range m.lists {
		n += l.Len()
	}
	return n
}

// positions appends the positions of the terms in the current document, in order.
func (m *anyTerm) positions(dst []uint32) []uint32 {
	lists := 0
	for _, l := range m.lists {
		if l.doc == m.now {
			dst = l.Positions(dst)
			lists++
		}
	}
	if lists > 1 {
		slices.Sort(dst)
	}
	return dst
}

// dense matches what many terms match: their shares are gathered in a table of the part's
// documents.
type dense struct {
	shares []float32
	n      int
	began  bool
	now    uint32
}

// newDense takes the terms in their order, likeliest first, as long as there is work left for all
// of one.
func newDense(p *part, terms []weighted, title bool, work *budget) *dense {
	m := &dense{shares: make([]float32, p.seg.Len())}
	for _, t := range terms {
		if !work.affords(p.seg.Postings(t.term).Len()) {
			break
		}
		for l := p.seg.Postings(t.term); l.Next(); {
			if title && l.Mask()&titleBit == 0 {
				continue
			}
			m.n++
			doc := l.Doc()
			m.shares[doc] = max(m.shares[doc], float32(t.share*float64(l.Impact())/255))
		}
	}
	return m
}

func (m *dense) seek(doc uint32) uint32 {
	if m.began && m.now >= doc {
		return m.now
	}
	m.began = true
	for m.now = doc; m.now < uint32(len(m.shares)); m.now++ {
		if m.shares[m.now] > 0 {
			return m.now
		}
	}
	m.now = end
	return end
}

func (m *dense) share() float64 { return float64(m.shares[m.now]) }
func (m *dense) cost() int      { return m.n }

// phrase matches documents that have terms in a row, in one of several languages.
type phrase struct {
	rows []*row
	now  uint32
}

// row is the phrase in one language.
type row struct {
	words  []rowWord // the rarest first
	fields []rank.Field
	doc    uint32
	began  bool
	work   *budget
	buffer [2][]uint32
}

// rowWord is a word of a row and its place in the phrase.
type rowWord struct {
	*list
	place  uint32
	common bool
}

func newPhrase(p *part, w *wanted, work *budget) *phrase {
	m := &phrase{}
	variants := w.variants
	if w.clause.Exact && !p.seg.Exact() {
		variants = w.loose
		work.inexact()
	}
	for _, v := range variants {
		r := &row{fields: v.fields, work: work}
		for _, word := range v.words {
			l := p.seg.Postings(word.term)
			if l.Len() == 0 || word.form != nil && !l.Only(word.form) {
				break
			}
			r.words = append(r.words, rowWord{&list{Postings: l}, word.place, word.common})
		}
		if len(r.words) == len(v.words) {
			slices.SortStableFunc(r.words, func(a, b rowWord) int { return cmp.Compare(a.Len(), b.Len()) })
			m.rows = append(m.rows, r)
		}
	}
	return m
}

func (m *phrase) seek(doc uint32) uint32 {
	m.now = end
	for _, r := range m.rows {
		if !r.began || r.doc < doc {
			r.began = true
			r.doc = r.seek(doc)
		}
		m.now = min(m.now, r.doc)
	}
	return m.now
}

// seek finds the first document, not before doc, that has all terms in their places.
func (r *row) seek(doc uint32) uint32 {
	for {
		for i := 0; i < len(r.words); i++ {
			l := r.words[i]
			if !r.work.take(1) {
				return end
			}
			l.seek(doc)
			if l.doc == end {
				return end
			}
			if l.doc > doc {
				doc, i = l.doc, -1
			}
		}
		if !r.work.take(placeWork * len(r.words)) {
			return end
		}
		if r.inPlace() {
			return doc
		}
		doc++
	}
}

// inPlace reports whether the terms stand in their places somewhere in the current document.
func (r *row) inPlace() bool {
	starts := r.positions(0)
	n := 0
	for _, at := range starts {
		if at >= r.words[0].place {
			starts[n] = at - r.words[0].place
			n++
		}
	}
	starts = starts[:n]
	for i := 1; i < len(r.words) && len(starts) > 0; i++ {
		others := r.positions(i)
		kept, j := starts[:0], 0
		for _, s := range starts {
			at := s + r.words[i].place
			for j < len(others) && others[j] < at {
				j++
			}
			if j < len(others) && others[j] == at {
				kept = append(kept, s)
			}
		}
		starts = kept
	}
	return slices.ContainsFunc(starts, func(at uint32) bool {
		return r.fields == nil || slices.Contains(r.fields, rank.FieldOf(at))
	})
}

// positions are those of a word in the current document; none when there is no work left. They are
// valid until they are asked for again, those of the first word until the first is asked for.
func (r *row) positions(i int) []uint32 {
	buffer := &r.buffer[min(i, 1)]
	*buffer = (*buffer)[:0]
	if r.work.take(r.words[i].Encoded() / positionsWork) {
		*buffer = r.words[i].Positions(*buffer)
	}
	return *buffer
}

// share is that of the language that has the most; common words count only if there is no other.
func (m *phrase) share() float64 {
	best := 0.0
	for _, r := range m.rows {
		if r.doc != m.now {
			continue
		}
		sum, n := [2]float64{}, [2]float64{} // of words that say something, and of common ones
		for _, w := range r.words {
			i := 0
			if w.common {
				i = 1
			}
			sum[i] += float64(w.Impact()) / 255
			n[i]++
		}
		i := 0
		if n[0] == 0 {
			i = 1
		}
		best = max(best, sum[i]/n[i])
	}
	return best
}

func (m *phrase) cost() int {
	n := 0
	for _, r := range m.rows {
		n += r.words[0].Len()
	}
	return n
}

// every matches all documents of a part.
type every struct{ n uint32 }

func (m every) seek(doc uint32) uint32 {
	if doc < m.n {
		return doc
	}
	return end
}
func (m every) share() float64 { return 0 }
func (m every) cost() int      { return int(m.n) }

// manyTerms is the number of terms from which a table is cheaper than walking over all lists.
const manyTerms = 8

// matcherOf is the matcher of a clause in a part.
func matcherOf(p *part, w *wanted, work *budget) matcher {
	switch {
	case w.clause.Kind == query.Phrase:
		return newPhrase(p, w, work)
	case len(w.terms) >= manyTerms:
		return newDense(p, w.terms, w.clause.Title, work)
	}
	return newAnyTerm(p, w.terms, w.clause.Title, work)
}
