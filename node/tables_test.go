package node

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
)

func bitsOf(ps ...int) []byte {
	b := make([]byte, 2)
	for _, p := range ps {
		crawl.SetBit(b, p)
	}
	return b
}

func heardAt(boot crawl.Boot, second int, ps ...int) peerInfo {
	return peerInfo{block: crawl.NodeBlock{Boot: boot}, held: bitsOf(ps...), heard: noon.Add(time.Duration(second) * time.Second)}
}

func TestPeerTableRoutes(t *testing.T) {
	t.Parallel()
	pt := newPeerTable()
	routes := func(want string) {
		t.Helper()
		got := ""
		for p := range crawl.Partition(6) {
			got += string(pt.holder(p)) + "."
		}
		if got != want {
			t.Errorf("routes %s, want %s", got, want)
		}
	}
	routes("......")
	pt.put("a", heardAt(1, 0, 0, 1), 6)
	pt.put("b", heardAt(1, 1, 2, 9), 6) // 9 does not exist
	routes("a.a.b....")
	pt.put("b", heardAt(1, 2, 1, 2), 6) // who said it last
	routes("a.b.b....")
	pt.put("a", heardAt(1, 3, 0, 1), 6)
	routes("a.a.b....")
	pt.put("a", heardAt(2, 4, 0), 6)
	pt.put("a", heardAt(1, 5, 0, 1, 5), 6) // a late word of the life before
	routes("a.b.b....")
	pt.keep(map[crawl.NodeID]bool{"b": true}, 6)
	routes(".b.b....")
	if all := pt.all(); len(all) != 2 || all["a"].block.Boot != 2 || all["a"].held != nil {
		t.Errorf("the block of who left is not kept: %+v", all)
	}
	pt.put("c", peerInfo{heard: noon}, 6)
	pt.put("b", heardAt(1, 6), 6)
	routes("......")
	if pt.holder(60000) != "" {
		t.Error("a partition that there is not has a holder")
	}
	if n := crawl.CountBits(bitsOf(0, 3, 15)); n != 3 {
		t.Errorf("%d bits", n)
	}
	if crawl.HasBit(nil, 3) || !crawl.HasBit(bitsOf(3), 3) || crawl.HasBit(bitsOf(3), 300) {
		t.Error("hasBit")
	}
}

// TestPeerTableFollows: however the routes are kept, they are those that all
// words together make; and a word that says nothing new makes none.
func TestPeerTableFollows(t *testing.T) {
	t.Parallel()
	const partitions = 13 // of 16 bits
	rnd := rand.New(rand.NewPCG(1, 2))
	members := []crawl.NodeID{"a", "b", "c", "d"}
	pt := newPeerTable()
	for second := range 5000 {
		id := members[rnd.IntN(len(members))]
		info := heardAt(crawl.Boot(second/1000), second)
		if old := pt.infos[id]; old.held != nil {
			copy(info.held, old.held)
		}
		for range rnd.IntN(3) {
			info.held[rnd.IntN(len(info.held))] ^= 1 << rnd.IntN(8)
		}
		before := pt.routes.Load()
		said := slices.Equal(info.held, pt.infos[id].held)
		alone := !slices.ContainsFunc(members, func(m crawl.NodeID) bool { return m != id && overlap(pt.infos[m].held, info.held) })
		pt.put(id, info, partitions)
		if said && alone && pt.routes.Load() != before {
			t.Fatalf("second %d: %s says %b again, and the routes are made anew", second, id, info.held)
		}
		if rnd.IntN(50) == 0 {
			pt.keep(map[crawl.NodeID]bool{"a": true, "b": true}, partitions)
		}
		got := slices.Clone(*pt.routes.Load())
		want := newPeerTable()
		want.infos = pt.infos
		want.rebuildLocked(partitions)
		if !slices.Equal(got, *want.routes.Load()) {
			t.Fatalf("second %d: after %s said %b the routes are %q, want %q", second, id, info.held, got, *want.routes.Load())
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

func TestFetchCounters(t *testing.T) {
	t.Parallel()
	var f fetchCounters
	for kind := crawl.Fetched; kind <= crawl.Aborted; kind++ { // every kind is known
		f.observe(&crawl.Outcome{Kind: kind, Status: 200, Bytes: 10, LinksFound: 2, Skip: crawl.SkipTrap, Category: crawl.ErrTLS})
	}
	f.observe(&crawl.Outcome{Kind: crawl.Fetched, Status: 599, IsSitemap: true})
	f.observe(&crawl.Outcome{Kind: crawl.Fetched, Status: 600})
	f.observe(&crawl.Outcome{Kind: crawl.Fetched, Status: 101})
	c := f.read()
	if c.Pages != 3 || c.Responses[3] != 1 || c.Skipped[crawl.SkipTrap] == 0 || c.Errors[crawl.ErrTLS] == 0 || c.Robots != 1 {
		t.Errorf("%+v", c)
	}
}
