package frontier

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestCookieCheck: a redirect that sets cookies leads back to a page that has answered with a
// redirect itself; the page is then fetched once more, with them. They survive a crash, and end
// with the page. A page that was delivered is not fetched again.
func TestCookieCheck(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		const page = "http://h1.p0.test/"
		r := startHolding(t, kv, 1, commit.Options{})
		r.add(link(page))
		complete := func(status int, own ...crawl.Routed) {
			t.Helper()
			o := fetched
			o.Status = status
			r.must(r.Complete(t.Context(),
				Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: o, Own: own}))
		}
		with := func(url, cookies string) crawl.Routed {
			l := link(url)
			l.Target.Via, l.Target.Hops, l.Target.Cookies, l.Target.CookieCheck = crawl.ViaRedirect, 1,
				cookies, true
			return l
		}
		complete(302, with(page, "k=1; Path=/")) // to itself, in the transaction in which it is done
		r = r.crash(reopen, commit.Options{})
		lease := r.lease(0, "h1.p0.test")
		if lease.Item.Cookies != "k=1; Path=/" || lease.Item.Hops != 1 ||
			lease.Item.URL.String() != page {
			t.Fatalf("the page waits as %+v", lease.Item)
		}
		complete(302, with("http://h1.p0.test/check", "k=1; Path=/")) // and over another page
		complete(302, with(page, "k=1; Path=/\nl=2; Path=/"))
		if got := r.lease(0, "h1.p0.test").Item; got.Cookies != "k=1; Path=/\nl=2; Path=/" ||
			got.URL.String() != page {
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

// TestHostCookies: a host's jar is written with the outcome of a visit, survives a crash, and ends
// when it is empty. It does not disturb the robots entries beside it.
func TestHostCookies(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		r.add(link("http://h1.p0.test/"), link("http://h1.p0.test/b"), link("http://h2.p0.test/"))
		complete := func(jar *string) {
			t.Helper()
			o := fetched
			o.HostCookies = jar
			r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: o}))
		}
		want := func(host crawl.Host, want string) {
			t.Helper()
			if got, err := r.HostCookies(0, host); err != nil || got != want {
				t.Errorf("cookies of %s: %q, %v; want %q", host, got, err, want)
			}
		}
		want("h1.p0.test", "")
		jar := "k=1; Path=/"
		complete(&jar)
		r = r.crash(reopen, commit.Options{})
		want("h1.p0.test", jar)
		want("h2.p0.test", "")
		if info, ok, err := r.HostInfo(0, "h1.p0.test"); err != nil || !ok || len(info.Robots) != 0 {
			t.Errorf("host: %+v, %v, %v", info, ok, err)
		}
		empty := ""
		complete(&empty)
		want("h1.p0.test", "")
		r.check()
	})
}
