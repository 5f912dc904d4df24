package linkrank

import (
	"cmp"
	"math"
	"slices"

	"crawlnode/importance/pagerank"
)

// reversed are the in-links of a graph, as pagerank.Graph.
type reversed [][]uint32

func (r reversed) Nodes() int { return len(r) }

func (r reversed) InLinks(f func(node uint32, sources []uint32) error) error {
	for node, sources := range r {
		if len(sources) == 0 {
			continue
		}
		if err := f(uint32(node), sources); err != nil {
			return err
		}
	}
	return nil
}

// PageRank computes the exact ranks of the graph of the links of some pages; the others have none.
func PageRank(g *Graph, fetched func(page uint32) bool) ([]float64, error) {
	in := make(reversed, len(g.Links))
	for s, targets := range g.Links {
		if !fetched(uint32(s)) {
			continue
		}
		for _, t := range targets {
			in[t] = append(in[t], uint32(s))
		}
	}
	r, err := pagerank.Compute(in,
		pagerank.Options{Damping: 0.85, Tolerance: 1e-7, MaxIterations: 300})
	if err != nil {
		return nil, err
	}
	return r.Ranks, nil
}

// Spearman is the rank correlation of two lists; equal values share their mean rank.
func Spearman(a, b []float64) float64 {
	ra, rb := meanRanks(a), meanRanks(b)
	mean := float64(len(a)-1) / 2
	var ab, aa, bb float64
	for i := range ra {
		x, y := ra[i]-mean, rb[i]-mean
		ab, aa, bb = ab+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

// meanRanks gives each value its place in order. Values that differ by less than what an iteration
// leaves undone are equal.
func meanRanks(v []float64) []float64 {
	const equal = 1e-6
	order := make([]int, len(v))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(v[a], v[b]) })
	ranks := make([]float64, len(v))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && v[order[to]]-v[order[from]] <= equal*math.Abs(v[order[from]]) {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return ranks
}

// shareOfBest is the share of all rank that the best pages have, so many of them.
func shareOfBest(ranks []float64, pages int) (sum float64) {
	sorted := slices.Clone(ranks)
	slices.SortFunc(sorted, func(a, b float64) int { return cmp.Compare(b, a) })
	for _, r := range sorted[:pages] {
		sum += r
	}
	return sum
}
