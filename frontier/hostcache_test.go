package frontier

import (
	"testing"

	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestHostsOfAnotherHolder has a partition come back in the generation in which it left. What its
// hosts were then must not count: their next places in the queue are those of the URLs that another
// holder has added.
func TestHostsOfAnotherHolder(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		other := start(t, storage.NewMemory(), commit.Options{})
		r := startHolding(t, kv, 1, commit.Options{})
		r.add(link("http://h1.p0.test/1"), link("http://h1.p0.test/2"))
		tail := other.replicate(r, 0)
		r.add(link("http://h1.p0.test/3"))
		other.applyAll(tail.take())
		before, _ := r.Meta(0)

		r.must(r.Freeze(t.Context(), 0))
		r.become(0, layout.Copy)
		other.must(other.promote(0, 2))
		tail = &caught{}
		other.must(other.Attach(t.Context(), 0, before.Seq, 2, tail.sink))
		r.must(r.AdoptCopy(t.Context(), 0, 1, before.Seq, 2))
		other.add(link("http://h1.p0.test/4"), link("http://h1.p0.test/5"))
		r.applyAll(tail.take())
		r.must(r.promote(0, 3))

		if got := r.add(link("http://h1.p0.test/6"), link("http://h1.p0.test/4")); got[0] != Added ||
			got[1] != Known {
			t.Fatalf("admissions = %v", got)
		}
		q, err := r.Load(0, "h1.p0.test", Cursor{}, 10)
		r.must(err)
		if len(q.Items) != 6 {
			t.Errorf("%d URLs are queued, want 6", len(q.Items))
		}
		r.check()
	})
}
