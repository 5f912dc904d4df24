package frontier

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestReferrerStays: a URL knows the page on which it was found first, whatever becomes of it.
func TestReferrerStays(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		const page, near, far, inline = "http://h1.p0.test/page?a=1", "http://h1.p0.test/near",
			"http://h2.p0.test/far", "http://h3.p0.test/only"
		r := startHolding(t, kv, 1, commit.Options{})
		from := func(raw, page string) crawl.Routed {
			l := link(raw)
			l.Target.From = page
			return l
		}
		wants := func(when string) {
			t.Helper()
			for _, u := range []string{near, far, inline} {
				rec := r.record(u)
				r.must(r.Refer(0, &rec))
				if rec.Referrer != page {
					t.Errorf("%s: %s was found on %q", when, u, rec.Referrer)
				}
			}
			if got := r.record(page).Referrer; got != "" {
				t.Errorf("%s: the seed was found on %q", when, got)
			}
		}
		r.add(link(page))
		r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: fetched,
			Own: []crawl.Routed{from(near, page), from(far, page), from("http://h2.p0.test/other", page),
				from(inline, page)}}))
		wants("queued")
		r.add(from(near, far), from(far, near), from(inline, near)) // later links change nothing
		r = r.crash(reopen, commit.Options{})
		wants("found again")
		lower := from(inline, near)
		lower.Target.Depth = 0
		r.add(lower) // gets a record and a place of its own
		wants("split")
		for _, h := range []string{"h1.p0.test", "h2.p0.test", "h3.p0.test"} {
			r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, h), Outcome: fetched}))
		}
		wants("done")
		again := from(near, far)
		again.Target.Again = true
		r.add(again)
		wants("queued again")
		r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: fetched}))
		wants("done again")
		r.check()
	})
}
