package frontier

import (
	"errors"
	"fmt"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestRemove: a queued URL leaves the queue, whether it is the only one of its host or one of many,
// and whatever brought it there. A link does not bring it back, a seed does. The books are right.
func TestRemove(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		seed := func(url string) crawl.Routed {
			l := link(url)
			l.Target.Via = crawl.ViaSeed
			return l
		}
		for _, hosts := range []struct {
			name string
			n    int
		}{{"h1.p0.test", 1}, {"h2.p0.test", 40}} {
			var links []crawl.Routed
			for i := range hosts.n {
				links = append(links, seed(fmt.Sprintf("http://%s/%d", hosts.name, i)))
			}
			r.add(links...)
			removed := links[hosts.n/2]
			for i, want := range []crawl.RecordState{crawl.Queued, crawl.Queued} {
				if was, err := r.Remove(t.Context(), 0, removed.Target.URL); err != nil || was != want {
					t.Fatalf("removal %d of %s: %v, %v; want %v", i, removed.Target.URL, was, err, want)
				}
			}
			if _, queued, _, _ := r.Host(0, crawl.Host(hosts.name)); queued[removed.Target.Band] !=
				int64(hosts.n-1) {
				t.Errorf("%s has %v queued, want %d", hosts.name, queued, hosts.n-1)
			}
			r.check()
			if got := r.add(link(removed.Target.URL.String())); got[0] != Known {
				t.Errorf("a link to a removed URL: %v", got)
			}
			if got := r.add(seed(removed.Target.URL.String())); got[0] != Added {
				t.Errorf("a seed that was removed: %v", got)
			}
			if got := r.add(seed(removed.Target.URL.String())); got[0] != Known {
				t.Errorf("the same seed again: %v", got)
			}
			r.check()
			for i := range hosts.n { // all of them can be fetched
				lease := r.lease(0, hosts.name)
				if err := r.Complete(t.Context(), Completion{Lease: lease, Outcome: fetched}); err != nil {
					t.Fatalf("page %d: %v", i, err)
				}
			}
			if was, err := r.Remove(t.Context(), 0, removed.Target.URL); err != nil || was != crawl.Done {
				t.Errorf("a fetched URL: %v, %v", was, err)
			}
			r.check()
		}
		if was, err := r.Remove(t.Context(), 0,
			link("http://h1.p0.test/unknown").Target.URL); err != nil ||
			was != 0 {
			t.Errorf("an unknown URL: %v, %v", was, err)
		}
		stale := seed("http://h2.p0.test/stale")
		r.add(stale)
		lease := r.lease(0, "h2.p0.test")
		if _, err := r.Remove(t.Context(), 0, stale.Target.URL); err != nil {
			t.Fatal(err)
		}
		if err := r.Complete(t.Context(), Completion{Lease: lease, Outcome: fetched}); !errors.Is(err,
			ErrStaleLease) {
			t.Errorf("a visit of a removed URL is completed with %v", err)
		}
		r.check()
	})
}
