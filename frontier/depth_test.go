package frontier

import (
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/storage"
)

// A queued URL that is found again with fewer links from a seed takes the smaller depth and keeps
// its place; a seed always does, whatever was seen a moment ago.
func TestLowerDepth(t *testing.T) {
	t.Parallel()
	const url = "http://h1.p0.test/x"
	at := func(depth int, via crawl.Via) crawl.Routed {
		l := link(url)
		l.Target.Depth, l.Target.Via, l.Target.Band = depth, via, 5
		return l
	}
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{CacheEntries: 64})
	r.add(link("http://h1.p0.test/first"), at(5, crawl.ViaLink))
	for _, tt := range []struct {
		depth int
		via   crawl.Via
		want  int
		kind  crawl.Via
	}{
		{7, crawl.ViaSeed, 5, crawl.ViaLink}, // no lower
		{0, crawl.ViaSeed, 0, crawl.ViaSeed},
		{0, crawl.ViaLink, 0, crawl.ViaSeed},
	} {
		if got := r.add(at(tt.depth, tt.via)); got[0] != Known {
			t.Fatalf("depth %d is %v", tt.depth, got)
		}
		rec := r.record(url)
		if rec.Depth != tt.want || rec.Via != tt.kind || rec.Band != 5 || rec.State != crawl.Queued {
			t.Errorf("found at depth %d as %v: %+v, want depth %d as %v", tt.depth, tt.via, rec, tt.want,
				tt.kind)
		}
		items := r.load(0, "h1.p0.test", 10).Items
		if len(items) != 2 || items[1].Depth != tt.want || items[1].Via != tt.kind ||
			items[1].URL.String() != url {
			t.Errorf("found at depth %d as %v: the queue is %+v", tt.depth, tt.via, items)
		}
		r.check()
	}
	// A second copy in one request, and a record that the same group has written.
	r.add(link("http://h2.p0.test/"), link("http://h2.p0.test/"))
	deep, near := link("http://h3.p0.test/"), link("http://h3.p0.test/")
	deep.Target.Depth, near.Target.Depth = 9, 2
	if got := r.add(deep, near); got[0] != Added || got[1] != Known ||
		r.record("http://h3.p0.test/").Depth != 2 {
		t.Errorf("%v, %+v", got, r.record("http://h3.p0.test/"))
	}
	r.check()
}

// A page whose links were cut by the depth limit is asked for whole when it is
// asked for again: an answer that it has not changed brings no links.
func TestCutPageAgain(t *testing.T) {
	t.Parallel()
	for cut, want := range map[int64]string{0: `"e1"`, 3: ""} {
		r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
		l := link("http://h1.p0.test/")
		l.Target.Depth = 4
		r.add(l)
		o := fetched
		o.Skipped[crawl.SkipDepth] = cut
		r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: o}))
		l.Target.Again, l.Target.Depth = true, 0
		if got := r.add(l); got[0] != Added {
			t.Fatal(got)
		}
		if it := r.lease(0, "h1.p0.test").Item; it.ETag != want || it.Depth != 0 {
			t.Errorf("%d links cut: %+v", cut, it)
		}
	}
}
