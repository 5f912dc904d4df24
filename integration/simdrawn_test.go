package integration

import (
	"maps"
	"slices"
	"testing"
)

// drawnKinds are the faults of a schedule, each once.
func drawnKinds(p schedule) []faultKind {
	had := map[faultKind]bool{}
	for _, f := range p.faults {
		had[f.kind] = true
		if f.as != "" {
			had[replaceNode] = true
		}
		if f.strike != nil {
			had[f.harm] = true
		}
	}
	return slices.Sorted(maps.Keys(had))
}

// Each fault is drawn for many seeds, and what a schedule says of itself can be read.
func TestEveryFaultIsDrawn(t *testing.T) {
	t.Parallel()
	const seeds = 400
	drawn, sizes := map[faultKind]int{}, map[int]int{}
	for seed := range uint64(seeds) {
		p := scheduleOf(t, seed+1, "")
		sizes[p.first]++
		for _, f := range p.faults {
			if f.String() == "" {
				t.Errorf("seed %d: a fault without a name", seed+1)
			}
		}
		for _, kind := range drawnKinds(p) {
			drawn[kind]++
		}
	}
	for _, kind := range append([]faultKind{lateName, wrongJoin}, allKinds...) {
		if n := drawn[kind]; n < seeds/50 {
			t.Errorf("%s is drawn for %d of %d seeds", kind, n, seeds)
		}
	}
	for first := 1; first <= 4; first++ {
		if sizes[first] < seeds/20 {
			t.Errorf("%d of %d seeds begin with %d nodes", sizes[first], seeds, first)
		}
	}
	t.Logf("drawn for %d seeds: %v; nodes at first: %v", seeds, drawn, sizes)
}
