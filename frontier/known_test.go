package frontier

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestKnownLinksAreCountedAtHome checks that a partition is not written for a link that it
// knows: the page's counts it, or the first of those that are added together.
func TestKnownLinksAreCountedAtHome(t *testing.T) {
	for name, entries := range map[string]int{"cache": 1 << 10, "store": 1} {
		t.Run(name, func(t *testing.T) {
			storagetest.OnStores(t,
				func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
					knownAtHome(t, kv, reopen, entries)
				})
		})
	}
}

func knownAtHome(t *testing.T, kv storage.KV, reopen func() storage.KV, cacheEntries int) {
	r := startHolding(t, kv, 3, commit.Options{CacheEntries: cacheEntries})
	a, b, c := link("http://h1.p0.test/"), link("http://h1.p1.test/"), link("http://h1.p2.test/")
	r.add(a, b, c)
	r.add(manyLinks(0, 40)...) // which a small cache has instead
	was := [3]layout.Meta{}
	for p := range was {
		was[p], _ = r.Meta(crawl.Partition(p))
	}
	changes := func(step string, seqs [3]crawl.Seq, duplicates [3]int64) {
		t.Helper()
		for p := range was {
			m, _ := r.Meta(crawl.Partition(p))
			if got := m.Seq - was[p].Seq; got != seqs[p] {
				t.Errorf("%s: %d mutations of partition %d, want %d", step, got, p, seqs[p])
			}
			if got := m.Counters.Duplicates - was[p].Counters.Duplicates; got != duplicates[p] {
				t.Errorf("%s: %d known links in partition %d, want %d", step, got, p, duplicates[p])
			}
			was[p] = m
		}
	}
	for i, got := range r.add(link("http://h1.p9.test/"), b, c, b) {
		if want := []Admission{NotHolder, Known, Known, Known}[i]; got != want {
			t.Errorf("link %d is %s, want %s", i, got, want)
		}
	}
	changes("links added", [3]crawl.Seq{1: 1}, [3]int64{1: 3})
	own := []crawl.Routed{b, link("http://h2.p1.test/new"), c, link("http://h2.p1.test/new")}
	r.must(r.Complete(t.Context(),
		Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: fetched, Own: own}))
	changes("a page", [3]crawl.Seq{0: 1, 1: 1}, [3]int64{0: 3})
	r.check()
	r = r.crash(reopen, commit.Options{})
	if got := r.Totals().Duplicates; got != 6 {
		t.Errorf("%d known links after a crash, want 6", got)
	}
}
