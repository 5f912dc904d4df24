package heartbeat

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func bitsOf(ps ...int) []byte {
	b := make([]byte, 2)
	for _, p := range ps {
		crawl.SetBit(b, p)
	}
	return b
}

func heardAt(boot crawl.Boot, second int, ps ...int) Report {
	return Report{Block: crawl.NodeBlock{Boot: boot}, Held: bitsOf(ps...), Heard: noon.Add(time.Duration(second) * time.Second)}
}

func TestTableRoutes(t *testing.T) {
	t.Parallel()
	pt := NewTable()
	routes := func(want string) {
		t.Helper()
		got := ""
		for p := range crawl.Partition(6) {
			got += string(pt.Holder(p)) + "."
		}
		if got != want {
			t.Errorf("routes %s, want %s", got, want)
		}
	}
	routes("......")
	pt.Put("a", heardAt(1, 0, 0, 1), 6)
	pt.Put("b", heardAt(1, 1, 2, 9), 6) // 9 does not exist
	routes("a.a.b....")
	pt.Put("b", heardAt(1, 2, 1, 2), 6) // who said it last
	routes("a.b.b....")
	pt.Put("a", heardAt(1, 3, 0, 1), 6)
	routes("a.a.b....")
	pt.Put("a", heardAt(2, 4, 0), 6)
	pt.Put("a", heardAt(1, 5, 0, 1, 5), 6) // a late word of the life before
	routes("a.b.b....")
	pt.Keep(map[crawl.NodeID]bool{"b": true}, 6)
	routes(".b.b....")
	if all := pt.All(); len(all) != 2 || all["a"].Block.Boot != 2 || all["a"].Held != nil {
		t.Errorf("the block of who left is not kept: %+v", all)
	}
	pt.Put("c", Report{Heard: noon}, 6)
	pt.Put("b", heardAt(1, 6), 6)
	routes("......")
	if pt.Holder(60000) != "" {
		t.Error("a partition that there is not has a holder")
	}
	if n := crawl.CountBits(bitsOf(0, 3, 15)); n != 3 {
		t.Errorf("%d bits", n)
	}
	if crawl.HasBit(nil, 3) || !crawl.HasBit(bitsOf(3), 3) || crawl.HasBit(bitsOf(3), 300) {
		t.Error("hasBit")
	}
}

// TestTableFollows: however the routes are kept, they are those that all
// words together make; and a word that says nothing new makes none.
func TestTableFollows(t *testing.T) {
	t.Parallel()
	const partitions = 13 // of 16 bits
	rnd := rand.New(rand.NewPCG(1, 2))
	members := []crawl.NodeID{"a", "b", "c", "d"}
	pt := NewTable()
	for second := range 5000 {
		id := members[rnd.IntN(len(members))]
		info := heardAt(crawl.Boot(second/1000), second)
		if old := pt.reports[id]; old.Held != nil {
			copy(info.Held, old.Held)
		}
		for range rnd.IntN(3) {
			info.Held[rnd.IntN(len(info.Held))] ^= 1 << rnd.IntN(8)
		}
		before := pt.routes.Load()
		said := slices.Equal(info.Held, pt.reports[id].Held)
		alone := !slices.ContainsFunc(members, func(m crawl.NodeID) bool { return m != id && overlap(pt.reports[m].Held, info.Held) })
		pt.Put(id, info, partitions)
		if said && alone && pt.routes.Load() != before {
			t.Fatalf("second %d: %s says %b again, and the routes are made anew", second, id, info.Held)
		}
		if rnd.IntN(50) == 0 {
			pt.Keep(map[crawl.NodeID]bool{"a": true, "b": true}, partitions)
		}
		got := slices.Clone(*pt.routes.Load())
		want := NewTable()
		want.reports = pt.reports
		want.rebuildLocked(partitions)
		if !slices.Equal(got, *want.routes.Load()) {
			t.Fatalf("second %d: after %s said %b the routes are %q, want %q", second, id, info.Held, got, *want.routes.Load())
		}
	}
}

func overlap(a, b []byte) bool {
	for i := range min(len(a), len(b)) {
		if a[i]&b[i] != 0 {
			return true
		}
	}
	return false
}

// TestTextsOfOwners: a node that owns nothing any more still says what it had; the new owners count it.
func TestTextsOfOwners(t *testing.T) {
	t.Parallel()
	pt := NewTable()
	for i, id := range []crawl.NodeID{"a", "b", "stalled"} {
		r := heardAt(1, 0, i)
		r.Block.Counters.Texts = int64(100 + i)
		pt.Put(id, r, 6)
	}
	owned := func(id crawl.NodeID) []crawl.Partition {
		if id == "stalled" {
			return nil
		}
		return []crawl.Partition{0}
	}
	if got := pt.Texts(owned); got != 201 {
		t.Errorf("%d documents, want 201", got)
	}
}
