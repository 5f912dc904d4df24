package frontier

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/storage"
)

// What is patient gathers for one commit; what is not goes at once and takes the
// patient along; and the first after a rest waits for nobody.
//
//race:meets
func TestCommitPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pace = 10 * time.Millisecond
		var commits atomic.Int64
		f := startHolding(t, storage.NewMemory(), 8,
			commit.Options{CommitPace: pace, OnCommit: func(time.Duration) { commits.Add(1) }})
		var wg sync.WaitGroup
		adds := func(n int, before int64) {
			for i := range n {
				wg.Go(func() {
					l := link(fmt.Sprintf("http://h%d.p%d.test/%d", i, i%8, before))
					if _, err := f.Add(t.Context(), []crawl.Routed{l}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		steps := []struct {
			what    string
			rest    time.Duration // before
			adds    int
			urgent  bool
			commits int64
			took    time.Duration
		}{
			{"one after a rest", time.Second, 1, false, 1, 0},
			{"fifty behind it", 0, 50, false, 1, pace},
			{"one soon after", 4 * time.Millisecond, 1, false, 1, pace - 4*time.Millisecond},
			{"something urgent among others", time.Millisecond, 50, true, 2, 0},
			{"more than one group holds", 0, commit.MaxGroup + 1, false, 2, pace},
		}
		for _, s := range steps {
			time.Sleep(s.rest)
			before, began := commits.Load(), time.Now()
			adds(s.adds, before)
			synctest.Wait()
			if s.urgent {
				f.must(f.Found(t.Context(), []crawl.Partition{8}, 1))
			}
			wg.Wait()
			if n, took := commits.Load()-before, time.Since(began); n > s.commits || took > s.took {
				t.Errorf("%s: %d commits after %v, want %d after %v", s.what, n, took, s.commits, s.took)
			}
		}
	})
}
