package frontier

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestBooksInSlots changes partitions in commits of few and of many until each slot of books was
// written more than once, with restarts, crashes, copies and a change of hands between. After each
// of these, all must be as before.
func TestBooksInSlots(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		const partitions = 16
		rng := rand.New(rand.NewPCG(1, 2)) // #nosec G404 -- a test repeats itself
		r := startHolding(t, kv, partitions, commit.Options{})
		added := 0
		for round := range 8 * layout.BooksSlots {
			var links []crawl.Routed
			some := 1 + rng.IntN(6)
			if rng.IntN(60) == 0 {
				some = partitions
			}
			// The last partitions change so seldom that their books must move.
			for _, p := range rng.Perm(partitions - min(3, round%40))[:min(some, partitions-3)] {
				links = append(links, link(fmt.Sprintf("http://h%d.p%d.test/%d", round, p, round)))
			}
			for _, a := range r.add(links...) {
				if a == Added {
					added++
				}
			}
			before := r.Metas()
			if rng.IntN(20) == 0 {
				exportsItsBooks(t, r, crawl.Partition(rng.IntN(partitions)))
			}
			if rng.IntN(200) != 0 {
				continue
			}
			r = r.crash(reopen, commit.Options{})
			for _, m := range before {
				if got := metaOf(t, r, m.Partition); got.Seq != m.Seq || got.Counters != m.Counters ||
					got.Suspect {
					t.Fatalf("round %d: partition %d is %+v, was %+v", round, m.Partition, got, m)
				}
			}
		}
		if n := len(storagetest.Dump(t, r.w.KV, string(layout.NodeKey(layout.NodeBooks)))); n !=
			layout.BooksSlots {
			t.Errorf("%d slots were used of %d", n, layout.BooksSlots)
		}
		if got := r.Totals().Seen; got != int64(added) {
			t.Errorf("%d URLs are counted of %d", got, added)
		}
		r.check()
	})
}

// exportsItsBooks checks that a snapshot has the books of its mutation.
func exportsItsBooks(t *testing.T, r *running, p crawl.Partition) {
	t.Helper()
	e, err := r.Export(t.Context(), p, nil)
	r.must(err)
	defer e.Close()
	found := 0
	r.must(e.Snapshot(t.Context(), 1<<20, func(entries []storage.Entry) error {
		for _, entry := range entries {
			if !layout.IsMeta(entry.Key) {
				continue
			}
			found++
			m, err := layout.DecodeMeta(entry.Value)
			if want := metaOf(t, r, p); err != nil || m.Seq != e.Seq() || m.Counters != want.Counters {
				t.Errorf("partition %d: books %+v, %v; want %+v", p, m, err, want)
			}
		}
		return nil
	}))
	if found != 1 {
		t.Errorf("partition %d: its books are there %d times", p, found)
	}
}
