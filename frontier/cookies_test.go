package frontier

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestCookieCheck: a redirect that sets cookies leads back to a page that has answered with a
// redirect itself; the page is then fetched once more, with them. They survive a crash, and end with
// the page. A page that was delivered is not fetched again.
func TestCookieCheck(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		const page = "http://h1.p0.test/"
		r := startHolding(t, kv, 1, commit.Options{})
		r.add(link(page))
		complete := func(status int, own ...crawl.Routed) {
			t.Helper()
			o := fetched
			o.Status = status
			r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: o, Own: own}))
		}
		with := func(url, cookies string) crawl.Routed {
			l := link(url)
			l.Target.Via, l.Target.Hops, l.Target.Cookies = crawl.ViaRedirect, 1, cookies
			return l
		}
		complete(302, with(page, "k=1; Path=/")) // to itself, in the transaction in which it is done
		r = r.crash(reopen, commit.Options{})
		lease := r.lease(0, "h1.p0.test")
		if lease.Item.Cookies != "k=1; Path=/" || lease.Item.Hops != 1 || lease.Item.URL.String() != page {
			t.Fatalf("the page waits as %+v", lease.Item)
		}
		complete(302, with("http://h1.p0.test/check", "k=1; Path=/")) // and over another page
		complete(302, with(page, "k=1; Path=/\nl=2; Path=/"))
		if got := r.lease(0, "h1.p0.test").Item; got.Cookies != "k=1; Path=/\nl=2; Path=/" || got.URL.String() != page {
			t.Fatalf("the page waits as %+v", got)
		}
		complete(200, with(page, "k=3; Path=/"))
		if got := r.Totals(); got.Pages != 4 || got.Queued != [crawl.Bands]int64{} {
			t.Errorf("%d pages, %v queued", got.Pages, got.Queued)
		}
		rec, ok, err := r.Record(0, link(page).Target.URL)
		if err != nil || !ok || rec.Cookies != "" || rec.Status != 200 {
			t.Errorf("record %+v, %v, %v", rec, ok, err)
		}
		r.check()
	})
}
