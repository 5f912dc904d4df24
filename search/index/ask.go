package index

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"
	"time"

	"crawlnode/search/analyse"
	"crawlnode/search/query"
	"crawlnode/search/rank"
	"crawlnode/search/segment"
)

const (
	// candidates is how many documents are looked at for the nearness of words.
	candidates = 500
	// fewWords is the length up to which a text has no fingerprint that says anything.
	fewWords = 40
)

// Ask implements Source.
func (x *Index) Ask(ctx context.Context, p Plan) (Answer, error) {
	return x.ask(ctx, p, &budget{left: maxWork})
}

// ask answers with so much work at the most.
func (x *Index) ask(ctx context.Context, p Plan, work *budget) (Answer, error) {
	s := x.snapshot()
	defer s.release()
	stem := x.stemmers.Get().(*analyse.Stemmer)
	defer x.stemmers.Put(stem)
	c := compile(&p, stem)
	answer := Answer{Exact: true}
	if c.query.Empty() {
		return answer, nil
	}
	depth := min(max(p.Depth, 1), 2*MaxResults)
	top := &best{most: max(depth, candidates)}
	of := newPartitionSet(p.Partitions)
	for _, part := range s.parts {
		n, err := c.searchPart(ctx, part, of, top, work)
		if err != nil {
			return Answer{}, err
		}
		answer.Total += n
	}
	answer.Exact = work.exact()
	slices.SortFunc(top.found, betterFirst)
	// The same ones whatever the depth: they stay before the others, since nearness only adds.
	near := top.found[:min(candidates, len(top.found))]
	c.nearness(near)
	slices.SortFunc(near, betterFirst)
	if err := c.written(ctx, top.found); err != nil {
		return Answer{}, err
	}
	for _, f := range top.found[:min(depth, len(top.found))] {
		answer.Hits = append(answer.Hits, f.hit())
	}
	return answer, nil
}

// found is a document that matches.
type found struct {
	part  *part
	doc   uint32
	score float64
	key   segment.Key
}

func (f *found) hit() Hit {
	h := Hit{URL: f.part.seg.URL(f.doc), Score: f.score}
	if card := f.part.seg.Card(f.doc); card.Words >= fewWords {
		h.Fingerprint = card.Fingerprint
	}
	h.Host = hostOf(h.URL)
	return h
}

// betterFirst orders by score; equal scores by key, which is the same on all nodes.
func betterFirst(a, b found) int {
	if c := cmp.Compare(b.score, a.score); c != 0 {
		return c
	}
	return bytes.Compare(a.key[:], b.key[:])
}

// best keeps the best documents.
type best struct {
	most  int
	found worstFirst
}

// wants reports whether a document of this score may be among the best; one that differs by a
// rounding may.
func (b *best) wants(score float64) bool {
	return len(b.found) < b.most || score > b.found[0].score-1e-6
}

// add takes a document. Fix allocates nothing, as Push would.
func (b *best) add(f found) {
	switch {
	case len(b.found) < b.most:
		b.found = append(b.found, f)
		heap.Fix(&b.found, len(b.found)-1)
	case betterFirst(f, b.found[0]) < 0:
		b.found[0] = f
		heap.Fix(&b.found, 0)
	}
}

// worstFirst is a heap of documents with the worst first.
type worstFirst []found

func (h worstFirst) Len() int           { return len(h) }
func (h worstFirst) Less(i, j int) bool { return betterFirst(h[i], h[j]) > 0 }
func (h worstFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push adds a document at the end, for package heap.
func (h *worstFirst) Push(f any) { *h = append(*h, f.(found)) }

// Pop removes the document at the end, for package heap.
func (h *worstFirst) Pop() any {
	last := len(*h) - 1
	f := (*h)[last]
	*h = (*h)[:last]
	return f
}

// weightedMatcher is a matcher with the share of its clause in the whole score.
type weightedMatcher struct {
	matcher
	weight float64
}

// searchPart adds the matches of a part to top, and returns their number.
func (c *compiled) searchPart(
	ctx context.Context,
	p *part,
	of *partitionSet,
	top *best,
	work *budget,
) (int64, error) {
	if of != nil && !p.hasAny(of) {
		return 0, nil
	}
	var must, may []weightedMatcher
	for i := range c.clauses {
		w := &c.clauses[i]
		m := weightedMatcher{matcherOf(p, w, work), w.weight / max(c.weight, math.SmallestNonzeroFloat64)}
		if (c.plan.Relaxed || w.weak) && !w.clause.Exact {
			may = append(may, m)
		} else {
			must = append(must, m)
		}
	}
	scan := scan{c: c, p: p, top: top, may: may, work: work}
	if scan.all = of == nil; !scan.all {
		scan.held = p.file.views.docs(p.seg, of)
	}
	with, without := c.filters(p, work)
	for _, m := range with {
		must = append(must, weightedMatcher{m, 0})
	}
	scan.not = without
	for i := range c.excluded {
		scan.not = append(scan.not, matcherOf(p, &c.excluded[i], work))
	}
	if len(must) == 0 && !c.plan.Relaxed || len(c.clauses) == 0 {
		must = append(must, weightedMatcher{every{uint32(p.seg.Len())}, 0})
	}
	slices.SortStableFunc(must,
		func(a, b weightedMatcher) int { return cmp.Compare(a.cost(), b.cost()) })
	scan.must = must
	walk := scan.strict
	if c.plan.Relaxed && len(may) > 0 {
		walk = scan.relaxed
	}
	scan.findCut()
	n, err := walk(ctx)
	if err == nil {
		scan.judgeCut()
	}
	return n, err
}

// filters are the matchers of the conditions: documents have those of with, and none of without.
func (c *compiled) filters(p *part, work *budget) (with, without []matcher) {
	for _, f := range c.query.Filters {
		m := newAnyTerm(p, []weighted{{labelOf(f), 1}}, false, work)
		if f.Not {
			without = append(without, m)
		} else {
			with = append(with, m)
		}
	}
	return with, without
}

func labelOf(f query.Filter) string {
	switch f.Name {
	case "host":
		return labelHost + f.Value
	case "site":
		return labelSite + f.Value
	case "lang":
		return labelLanguage + f.Value
	}
	return labelType + f.Value
}

func (p *part) hasAny(of *partitionSet) bool {
	for partition := range p.partitions {
		if of.has(partition) {
			return true
		}
	}
	return false
}

// scan walks over the matches of one part.
type scan struct {
	c         *compiled
	p         *part
	all       bool        // the documents of all partitions count
	held      segment.Set // or these
	top       *best
	must, may []weightedMatcher
	not       []matcher
	n         int64
	work      *budget

	cut      segment.Set // documents whose text goes on beyond what is in the index
	cutTaken int         // of those that were counted
}

// findCut finds the documents that may have more text than the index knows of.
func (s *scan) findCut() {
	l := s.p.seg.Postings(labelCut)
	if l.Len() == 0 || !s.c.texts && !s.c.withoutTexts {
		return
	}
	var docs []uint32
	for l.Next() {
		docs = append(docs, l.Doc())
	}
	s.cut = segment.Set(nil).With(s.p.seg.Len(), docs...)
}

// judgeCut notes that the answer is not exact if a document whose text was cut may have what was
// looked for, and was not counted, or may have what must not be there, and was.
func (s *scan) judgeCut() {
	if s.cut == nil {
		return
	}
	if s.c.withoutTexts && s.cutTaken > 0 {
		s.work.inexact()
	}
	with, without := s.c.filters(s.p, s.work)
	possible := 0
	for l := s.p.seg.Postings(labelCut); s.c.texts && l.Next(); {
		doc := l.Doc()
		has := func(m matcher) bool { return m.seek(doc) == doc }
		if s.counts(doc) && !slices.ContainsFunc(without, has) &&
			!slices.ContainsFunc(with, func(m matcher) bool { return !has(m) }) {
			possible++
		}
	}
	if possible > s.cutTaken {
		s.work.inexact()
	}
}

// counts reports whether a document is one that the question is asked of.
func (s *scan) counts(doc uint32) bool {
	return (s.all || s.held.Has(doc)) && !s.p.deleted.Has(doc) && s.inTime(doc)
}

// patience is how many documents are looked at between two looks at the context.
const patience = 4096

// strict finds the documents that every matcher of must matches.
func (s *scan) strict(ctx context.Context) (int64, error) {
	doc := uint32(0)
	for turn := 0; ; turn++ {
		if turn%patience == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		for i := 0; i < len(s.must); i++ {
			at := s.must[i].seek(doc)
			if at == end {
				return s.n, nil
			}
			if at > doc {
				doc, i = at, -1
			}
		}
		if !s.work.take(1) {
			return s.n, nil
		}
		score := 0.0
		for _, m := range s.must {
			score += m.weight * m.share()
		}
		s.take(doc, score)
		doc++
	}
}

// relaxed finds the documents that match anything of may, and all of must: conditions and what was
// quoted.
func (s *scan) relaxed(ctx context.Context) (int64, error) {
	doc := uint32(0)
	for turn := 0; ; turn++ {
		if turn%patience == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		next := end
		for _, m := range s.may {
			next = min(next, m.seek(doc))
		}
		if next == end || !s.work.take(1) {
			return s.n, nil
		}
		doc = next
		fits, score := true, 0.0
		for _, m := range s.must {
			if fits = fits && m.seek(doc) == doc; fits {
				score += m.weight * m.share()
			}
		}
		if fits {
			s.take(doc, score)
		}
		doc++
	}
}

// take counts a document if nothing speaks against it, and adds what is not in must to its score.
func (s *scan) take(doc uint32, score float64) {
	if !s.counts(doc) {
		return
	}
	for _, m := range s.not {
		if m.seek(doc) == doc {
			return
		}
	}
	if s.work.spent() {
		return // it may be one that is excluded
	}
	for _, m := range s.may {
		if m.seek(doc) == doc {
			score += m.weight * m.share()
		}
	}
	s.n++
	if s.cut.Has(doc) {
		s.cutTaken++
	}
	if !s.top.wants(score + rank.MostStatic) {
		return // most end here, so their cards are not read
	}
	card := s.p.seg.Card(doc)
	age := time.Duration(0)
	if !card.FetchedAt.IsZero() {
		age = s.c.plan.Now.Sub(card.FetchedAt)
	}
	score += rank.Static(float64(card.Importance), age)
	s.top.add(found{part: s.p, doc: doc, score: rounded(score), key: card.Key})
}

// inTime reports whether a document was fetched in the time that the question is about.
func (s *scan) inTime(doc uint32) bool {
	q := &s.c.query
	if q.Before.IsZero() && q.After.IsZero() {
		return true
	}
	at := s.p.seg.Card(doc).FetchedAt
	return (q.Before.IsZero() || at.Before(q.Before)) && (q.After.IsZero() || !at.Before(q.After))
}

// rounded forgets what the order of additions changes.
func rounded(score float64) float64 { return math.Round(score*1e9) / 1e9 }

// nearness adds the share of nearness to the scores of the candidates.
func (c *compiled) nearness(all []found) {
	var words []*wanted
	for i := range c.clauses {
		if w := &c.clauses[i]; w.clause.Kind == query.Word {
			words = append(words, w)
		}
	}
	if len(words) < 2 {
		return
	}
	byPart := map[*part][]*found{}
	for i := range all {
		byPart[all[i].part] = append(byPart[all[i].part], &all[i])
	}
	positions := make([][]uint32, len(words))
	weights := make([]float64, len(words))
	matchers := make([]*anyTerm, len(words))
	for p, of := range byPart {
		slices.SortFunc(of, func(a, b *found) int { return cmp.Compare(a.doc, b.doc) })
		for i, w := range words {
			matchers[i], weights[i] = newAnyTerm(p, w.terms, false, nil), w.weight
		}
		for _, f := range of {
			for i, m := range matchers {
				positions[i] = positions[i][:0]
				if m.seek(f.doc) == f.doc {
					positions[i] = m.positions(positions[i])
				}
			}
			f.score = rounded(f.score + rank.Near(rank.Closeness(positions, weights)))
		}
	}
}

// Join puts answers of several indexes together: the best depth hits of all.
func Join(depth int, answers ...Answer) Answer {
	out := Answer{Exact: true}
	for _, a := range answers {
		out.Total += a.Total
		out.Exact = out.Exact && a.Exact
		out.Hits = append(out.Hits, a.Hits...)
	}
	slices.SortStableFunc(out.Hits, func(a, b Hit) int {
		if c := cmp.Compare(b.Score, a.Score); c != 0 {
			return c
		}
		x, y := keyOf(a.URL), keyOf(b.URL)
		return bytes.Compare(x[:], y[:])
	})
	out.Hits = out.Hits[:min(depth, len(out.Hits))]
	return out
}
