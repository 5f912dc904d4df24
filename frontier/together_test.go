package frontier

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/cash"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/storage"
	"crawlnode/importance/opic"
)

// Credits for another partition go into its log at once where this node is alone, and wait in the
// outbox while anybody copies one of the two, or when the other is not here.
func TestCreditsWaitForCopies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		alone       bool
		copied      crawl.Partition // 9: none
		target      string
		posts, logs int
	}{
		{"alone", true, 9, "http://h1.p1.test/", 0, 1},
		{"not alone", false, 9, "http://h1.p1.test/", 1, 0},
		{"the page is copied", true, 0, "http://h1.p1.test/", 1, 0},
		{"the target is copied", true, 1, "http://h1.p1.test/", 1, 0},
		{"another one is copied", true, 2, "http://h1.p1.test/", 0, 1},
		{"the target is elsewhere", true, 9, "http://h1.p7.test/", 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := startHolding(t, storage.NewMemory(), 3, commit.Options{})
			page, target := link("http://h1.p0.test/"), link(c.target)
			r.add(page)
			it := r.lease(0, "h1.p0.test")
			r.must(r.Complete(t.Context(), Completion{
				Lease:   it,
				Outcome: fetched,
				Cites:   cash.CitesOf(page.Target.URL, "p0.test", []opic.Target{cash.CiteOf(&target)}),
			}))
			if c.copied != 9 {
				e, err := r.Export(t.Context(), c.copied, (&caught{}).sink)
				r.must(err)
				e.Close()
			}
			done, errs, err := r.FoldAll(t.Context(), []crawl.Partition{0}, c.alone)
			r.must(err)
			r.must(errs[0])
			other, err := countCash(r.Frontier, 1)
			r.must(err)
			own, err := countCash(r.Frontier, 0)
			r.must(err)
			if done[0].Posts != c.posts || len(own.outbox) != c.posts || other.log != c.logs ||
				done[0].Entries != 1 {
				t.Errorf("%+v; %d entries wait, %d are in the other log", done[0], len(own.outbox), other.log)
			}
			if sent := own.totals.Ledger.Sent; sent == 0 ||
				c.logs == 1 && other.totals.Ledger.Received != sent {
				t.Errorf("%d were sent, %d received", sent, other.totals.Ledger.Received)
			}
		})
	}
}
