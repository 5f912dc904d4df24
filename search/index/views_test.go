package index

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// TestViews: an answer of some partitions is what the answer of all has of them, in its order,
// though most documents end before their cards are read, and more sets of partitions are asked for
// than are remembered.
//
//race:meets
func TestViews(t *testing.T) {
	t.Parallel()
	x := open(t, t.TempDir())
	r := rand.New(rand.NewPCG(3, 4))
	partition := map[string]uint32{}
	for batch := range 3 {
		var b Batch
		for i := range 500 {
			d := Document{
				URL:        fmt.Sprintf("http://a.test/%d", 500*batch+i),
				Host:       "a.test",
				Title:      "a page",
				Text:       "apple",
				Language:   "en",
				FetchedAt:  noon.AddDate(0, 0, -r.IntN(900)),
				Importance: 50 * r.ExpFloat64(),
				Partition:  uint32(r.IntN(70)),
			}
			partition[d.URL] = d.Partition
			b.Put = append(b.Put, d)
		}
		for i := range 20 { // of the batches before
			b.Remove = append(b.Remove, Removal{URL: fmt.Sprintf("http://a.test/%d", 500*batch-20+i)})
		}
		apply(t, x, b)
	}
	plan := Plan{Question: Question{Text: "apple", Now: noon}, Depth: 2 * MaxResults}
	var err error
	if plan.Statistics, err = x.Statistics(t.Context(), plan.Question); err != nil {
		t.Fatal(err)
	}
	all, err := x.Ask(t.Context(), plan)
	if err != nil || len(all.Hits) != 1460 {
		t.Fatalf("%d hits, %v", len(all.Hits), err)
	}
	plan.Depth = 100
	for range 3 * mostViews {
		plan.Partitions = []uint32{1 << 20, 1 << 31} // nobody has them
		for p := range uint32(70) {
			if r.IntN(2) == 0 {
				plan.Partitions = append(plan.Partitions, p)
			}
		}
		var want []string
		for _, h := range all.Hits {
			if slices.Contains(plan.Partitions, partition[h.URL]) {
				want = append(want, h.URL)
			}
		}
		for range 2 {
			some, err := x.Ask(t.Context(), plan)
			if err != nil || some.Total != int64(len(want)) {
				t.Fatalf("%d hits of %d, %v", some.Total, len(want), err)
			}
			var found []string
			for _, h := range some.Hits {
				found = append(found, h.URL)
			}
			if !slices.Equal(found, want[:100]) {
				t.Fatalf("found %v, not %v", found, want[:100])
			}
		}
	}
	plan.Partitions, plan.Text = nil, fmt.Sprint("apple before:",
		noon.AddDate(0, 0, -400).Format(time.DateOnly))
	if early, err := x.Ask(t.Context(), plan); err != nil || early.Total == 0 ||
		early.Total >= all.Total {
		t.Errorf("%d of %d are early, %v", early.Total, all.Total, err)
	}
}
