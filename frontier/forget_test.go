package frontier

import (
	"fmt"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestForget: URLs of one host, of all, or that were put long ago are gone, in whatever state;
// others stay, the books are right, and a forgotten URL is added as if it were new.
func TestForget(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		urls := map[string]int{"h1.p0.test": 1, "h2.p0.test": 500, "h3.p0.test": 40, "h4.p0.test": 1}
		link1 := func(host string, i int) crawl.Routed {
			return link(fmt.Sprintf("http://%s/%d", host, i))
		}
		fill := func() {
			for host, n := range urls {
				var links []crawl.Routed
				for i := range n {
					links = append(links, link1(host, i))
				}
				for i, a := range r.add(links...) {
					if a != Added {
						t.Fatalf("%s: %v", links[i].Target.URL, a)
					}
				}
			}
		}
		forget := func(c Forgotten, want int) {
			t.Helper()
			if n, err := r.Forget(t.Context(), 0, c); err != nil || n != want {
				t.Fatalf("%+v: %d forgotten, %v; want %d", c, n, err, want)
			}
			r.check()
		}
		fill()
		for range 3 {
			r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, "h3.p0.test"), Outcome: fetched}))
		}
		r.must(r.Complete(t.Context(),
			Completion{Lease: r.lease(0, "h2.p0.test"), Outcome: crawl.Outcome{Kind: crawl.URLFailed}}))
		withdrawn := 0
		forget(Forgotten{Host: "h2.p0.test", Delete: func(crawl.Host, string) { withdrawn++ }}, 500)
		forget(Forgotten{Host: "h2.p0.test"}, 0)
		if withdrawn != 2*499 { // before they leave the queue and after it
			t.Errorf("%d URLs were taken out of memory, want those that were queued", withdrawn)
		}
		forget(Forgotten{Host: "h4.p0.test"}, 1)
		lease := r.lease(0, "h3.p0.test")
		forget(Forgotten{}, 41)
		if err := r.Complete(t.Context(), Completion{Lease: lease, Outcome: fetched}); err == nil {
			t.Error("a forgotten URL was completed")
		}
		fill()
		r.check()
		n := NotePut{URL: link1("h5.p0.test", 0).Target.URL}
		r.must(r.PutNotes(t.Context(), []NotePut{n}))
		r.add(link1("h5.p0.test", 0))
		forget(Forgotten{Before: time.Now().Add(-time.Hour).Unix()}, 0)
		forget(Forgotten{Before: time.Now().Add(time.Hour).Unix()}, 1)
		if _, ok, err := r.NoteOf(0, n.URL); ok || err != nil {
			t.Errorf("the note of a forgotten URL: %v, %v", ok, err)
		}
	})
}
