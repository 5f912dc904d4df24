package index

import (
	"context"
	"math/bits"
	"slices"
	"strings"

	"crawlnode/search/query"
)

const (
	// perHost is how many results of a host a page has, as long as another host has a result that is
	// worth worthwhile of what waits.
	perHost    = 2
	worthwhile = 0.6
	// nearBits is the number of bits in which the fingerprints of near-duplicates differ.
	nearBits = 3
	// shallow is the depth that is asked for while pages reach half of it. So that pages do not
	// overlap, whatever the depth, no more hits are looked at to mix hosts.
	shallow = 200
	// maxAlsoAt bounds the near-duplicates that a result names.
	maxAlsoAt = 10
)

// Search answers a request: the three steps, a second round with corrected or fewer words when
// there was no hit, near-duplicates as one result, at most two results of a host on a page as long
// as others are worth it.
func Search(ctx context.Context, s Source, r Request) (Page, error) {
	r.Size = min(max(r.Size, 1), MaxSize)
	r.Page = max(r.Page, 1)
	q := query.Parse(r.Text)
	page := Page{Interpreted: q.String(), TotalExact: true, Results: []Result{}}
	if q.Empty() {
		return page, nil
	}
	plan := Plan{
		Question: Question{Text: q.Text, Now: r.Now, Partitions: r.Partitions},
		Depth:    shallow,
	}
	behind := r.Page > (MaxResults+r.Size-1)/r.Size // the last page: it has no results
	if !behind && r.Page*r.Size > shallow/2 {
		plan.Depth = MaxResults + shallow
	}
	answer, err := ask(ctx, s, &plan, &q)
	if err != nil {
		return Page{}, err
	}
	page.Total, page.TotalExact = answer.Total, answer.Exact && !q.Cut
	if plan.Relaxed {
		page.Interpreted += " (no page has all of it: pages with some of the words)"
	}
	page.DidYouMean = didYouMean(&q, plan.Corrections)
	if page.DidYouMean != "" {
		page.Interpreted += " (shown for: " + page.DidYouMean + ")"
	}
	groups := collapse(answer.Hits, !q.Exact())
	page.Total -= int64(len(answer.Hits) - len(groups))
	if len(groups) < len(answer.Hits) && int64(len(answer.Hits)) < answer.Total {
		page.TotalExact = false // there may be more near-duplicates among those that were not asked for
	}
	if behind {
		return page, nil
	}
	return page, show(ctx, s, &plan, r, groups, &page)
}

// ask asks until there is an answer: as it is written, with words that no page has corrected; with
// other words corrected; for pages that have some of the words.
func ask(ctx context.Context, s Source, plan *Plan, q *query.Query) (Answer, error) {
	var err error
	if plan.Statistics, err = s.Statistics(ctx, plan.Question); err != nil {
		return Answer{}, err
	}
	plan.Corrections = corrections(&plan.Statistics, q, false)
	answer, err := s.Ask(ctx, *plan)
	if err != nil || answer.Total > 0 {
		return answer, err
	}
	words := q.Words(query.Word)
	if len(words) == 0 {
		return answer, nil
	}
	next := *plan
	next.Suggest = true
	if next.Statistics, err = s.Statistics(ctx, next.Question); err != nil {
		return Answer{}, err
	}
	next.Corrections = corrections(&next.Statistics, q, true)
	if len(next.Corrections) > len(plan.Corrections) {
		if answer, err = s.Ask(ctx, next); err != nil || answer.Total > 0 {
			*plan = next
			return answer, err
		}
	}
	if len(words) == 1 {
		return answer, nil
	}
	plan.Relaxed = true
	return s.Ask(ctx, *plan)
}

// didYouMean is the text with its words corrected, "" when there is nothing to correct.
func didYouMean(q *query.Query, corrections map[string][]string) string {
	var out strings.Builder
	at, changed := 0, false
	for _, c := range q.Clauses {
		if c.Kind != query.Word || c.Not || c.From < at || len(corrections[c.Words[0]]) == 0 {
			continue
		}
		out.WriteString(q.Text[at:c.From])
		out.WriteString(corrections[c.Words[0]][0])
		at, changed = c.To, true
	}
	if !changed {
		return ""
	}
	out.WriteString(q.Text[at:])
	return out.String()
}

// show puts the results of the page together.
func show(ctx context.Context, s Source, plan *Plan, r Request, groups []group, page *Page) error {
	chosen := choose(groups, r.Page, r.Size)
	if len(chosen) == 0 {
		return nil
	}
	urls := make([]string, len(chosen))
	for i, g := range chosen {
		urls[i] = g.URL
	}
	results, err := s.Show(ctx, *plan, urls)
	if err != nil {
		return err
	}
	for _, g := range chosen {
		i := slices.IndexFunc(results, func(r Result) bool { return r.URL == g.URL })
		if i < 0 {
			continue // removed since
		}
		result := results[i]
		result.Score, result.AlsoAt, result.MoreFromHost = g.Score, g.alsoAt, g.more
		page.Results = append(page.Results, result)
	}
	return nil
}

// group is a hit with its near-duplicates.
type group struct {
	Hit
	at     int // among the hits
	alsoAt []string
	more   int
}

// collapse makes one group of hits with nearly the same text if near: the best stands for all. A
// URL counts once, even if two nodes have it during a move.
func collapse(hits []Hit, near bool) []group {
	var out []group
	seen := map[string]bool{}
	for at, h := range hits {
		if seen[h.URL] {
			continue
		}
		seen[h.URL] = true
		i := -1
		if near && h.Fingerprint != 0 {
			i = slices.IndexFunc(out, func(g group) bool {
				return g.Fingerprint != 0 && bits.OnesCount64(g.Fingerprint^h.Fingerprint) <= nearBits
			})
		}
		switch {
		case i < 0:
			out = append(out, group{Hit: h, at: at})
		case len(out[i].alsoAt) < maxAlsoAt:
			out[i].alsoAt = append(out[i].alsoAt, h.URL)
		}
	}
	return out
}

// choose returns the groups of a page. Each page takes the best that are left, but no more than
// perHost of one host while another host has one that is nearly as good; so nothing is left out,
// and the pages of one answer do not overlap.
func choose(groups []group, page, size int) []group {
	left := slices.Clone(groups)
	for ; page > 1 && len(left) > 0; page-- {
		_, left = split(left, size)
	}
	chosen, rest := split(left, size)
	more := map[string]int{}
	for _, g := range rest {
		more[g.Host]++
	}
	last := map[string]int{}
	for i, g := range chosen {
		last[g.Host] = i
	}
	for host, i := range last {
		chosen[i].more = more[host]
	}
	return chosen
}

// split takes a page of groups, and returns what is left, in order.
func split(groups []group, size int) (chosen, left []group) {
	taken := make([]bool, len(groups))
	count := map[string]int{}
	for len(chosen) < size {
		i := slices.Index(taken, false)
		if i < 0 {
			break
		}
		if count[groups[i].Host] >= perHost {
			for j := i + 1; j < len(groups) && groups[j].at < shallow &&
				groups[j].Score >= worthwhile*groups[i].Score; j++ {
				if !taken[j] && count[groups[j].Host] < perHost {
					i = j
					break
				}
			}
		}
		taken[i] = true
		count[groups[i].Host]++
		chosen = append(chosen, groups[i])
	}
	for i, g := range groups {
		if !taken[i] {
			left = append(left, g)
		}
	}
	return chosen, left
}
