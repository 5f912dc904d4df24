package frontier

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// Refused links are counted with the partition, durably; what is not held is not.
func TestSkip(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 2, commit.Options{})
		counts := crawl.SkipCounts{crawl.SkipDepth: 2, crawl.SkipNoFollow: 5}
		r.must(r.Skip(t.Context(), nil))
		r.must(r.Skip(t.Context(),
			map[crawl.Partition]crawl.SkipCounts{0: counts, 1: {crawl.SkipDepth: 1}, 7: counts}))
		r.check()
		r = r.crash(reopen, commit.Options{})
		if got := r.Totals().Skipped; got !=
			(crawl.SkipCounts{crawl.SkipDepth: 3, crawl.SkipNoFollow: 5}) {
			t.Errorf("skipped: %v", got)
		}
		r.check()
	})
}
