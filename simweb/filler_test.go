package simweb

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
)

// Natural words are as frequent as Zipf's law says, and compress better than those that are all as
// frequent.
func TestNaturalText(t *testing.T) {
	t.Parallel()
	natural, even := newFiller(7, true), newFiller(7, false)
	counts, total := map[string]int{}, 0
	for _, block := range natural.text {
		if len(block) != fillerSize {
			t.Fatalf("a block of %d bytes, want %d", len(block), fillerSize)
		}
		text := strings.NewReplacer("<p>", "", "</p>\n", "", `<span class="term" lang="en">`, "",
			"</span>", "").Replace(string(block))
		for w := range strings.FieldsFuncSeq(strings.ToLower(text),
			func(r rune) bool { return strings.ContainsRune(" .,", r) }) {
			counts[w]++
			total++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(counts),
		func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	if share := float64(counts[frequent[0]]) / float64(total); share < 0.02 || share > 0.1 {
		t.Errorf("the most frequent word is %.3f of all, want from 0.02 to 0.1", share)
	}
	if len(frequent) < 5000 || len(frequent[0]) > 4 {
		t.Errorf("%d words, the most frequent %q; want at least 5,000, and a short one", len(frequent),
			frequent[0])
	}
	size := func(f *filler) int { return len(packed(slices.Concat(f.text[:32]...))) }
	if n, e := size(natural), size(even); n > 32*fillerSize*3/10 || n >= e {
		t.Errorf("64 KB compress to %d bytes, want three tenths at most; "+
			"with words that are all as frequent to %d", n, e)
	}
	t.Logf("64 KB compress to %d bytes, with words that are all as frequent to %d", size(natural),
		size(even))
}

// With SizeSpread the median stays, and the deviation of the logarithm is what was asked for.
func TestSizesSpread(t *testing.T) {
	t.Parallel()
	w := newWeb(t,
		Config{Seed: 5, Hosts: 50, PagesPerHost: 40, PageBytes: 50_000, SizeSpread: 1, LinksPerPage: 2})
	var sizes []int
	for u := range w.Reachable() {
		sizes = append(sizes, get(w, u).Body.Len())
	}
	slices.Sort(sizes)
	of := func(quantile float64) float64 { return float64(sizes[int(quantile*float64(len(sizes)))]) }
	if median := of(0.5); median < 45_000 || median > 55_000 {
		t.Errorf("median size %v, want about 50,000", median)
	}
	if spread := math.Log(of(0.841) / of(0.5)); spread < 0.85 || spread > 1.15 {
		t.Errorf("one deviation above the median is %.2f in the logarithm, want about 1", spread)
	}
}
