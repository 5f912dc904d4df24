package search

import (
	"slices"

	"crawlnode/store/search/query"
	"crawlnode/store/search/rank"
	"crawlnode/store/search/segment"
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

// dense matches what many terms match: their shares are gathered in a table of the part's documents.
type dense struct {
	shares []float32
	n      int
	began  bool
	now    uint32
}

// newDense takes the terms in their order, likeliest first, as long as there is work left for all of one.
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
	lists  []*list
	places []uint32
	title  bool
	doc    uint32
	began  bool
	work   *budget
	buffer [2][]uint32
}

func newPhrase(p *part, variants []variant, title bool, work *budget) *phrase {
	m := &phrase{}
	for _, v := range variants {
		r := &row{title: title, places: v.places, work: work}
		for _, term := range v.terms {
			if l := p.seg.Postings(term); l.Len() > 0 {
				r.lists = append(r.lists, &list{Postings: l})
			}
		}
		if len(r.lists) == len(v.terms) {
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
		for i := 0; i < len(r.lists); i++ {
			l := r.lists[i]
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
		if !r.work.take(placeWork * len(r.lists)) {
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
	starts := r.lists[0].Positions(r.buffer[0][:0])
	for i, at := range starts {
		starts[i] = at - r.places[0] // may wrap around: then nothing fits
	}
	for n, l := range r.lists[1:] {
		others := l.Positions(r.buffer[1][:0])
		kept, j := starts[:0], 0
		for _, s := range starts {
			at := s + r.places[n+1]
			for j < len(others) && others[j] < at {
				j++
			}
			if j < len(others) && others[j] == at {
				kept = append(kept, s)
			}
		}
		r.buffer[1], starts = others, kept
		if len(starts) == 0 {
			break
		}
	}
	r.buffer[0] = starts
	if r.title {
		return len(starts) > 0 && starts[0] < rank.Title.End()
	}
	return len(starts) > 0
}

func (m *phrase) share() float64 {
	best := 0.0
	for _, r := range m.rows {
		if r.doc != m.now {
			continue
		}
		sum := 0.0
		for _, l := range r.lists {
			sum += float64(l.Impact()) / 255
		}
		best = max(best, sum/float64(len(r.lists)))
	}
	return best
}

func (m *phrase) cost() int {
	n := 0
	for _, r := range m.rows {
		least := r.lists[0].Len()
		for _, l := range r.lists {
			least = min(least, l.Len())
		}
		n += least
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
		return newPhrase(p, w.variants, w.clause.Title, work)
	case len(w.terms) >= manyTerms:
		return newDense(p, w.terms, w.clause.Title, work)
	}
	return newAnyTerm(p, w.terms, w.clause.Title, work)
}
