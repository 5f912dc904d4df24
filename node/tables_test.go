package node

import (
	"fmt"
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

func TestSentCache(t *testing.T) {
	t.Parallel()
	c := newSentCache(100)
	url := func(i int) string { return fmt.Sprint("http://a.test/", i) }
	for i := range 1000 {
		if c.Has(url(i)) {
			t.Fatalf("%d was never sent", i)
		}
		c.Add(url(i))
		if !c.Has(url(0)) && i < 49 {
			t.Fatalf("0 is forgotten after %d", i)
		}
		if len(c.young)+len(c.old) > 100 {
			t.Fatalf("%d entries", len(c.young)+len(c.old))
		}
	}
	for i := 951; i < 1000; i++ {
		if !c.Has(url(i)) {
			t.Errorf("%d is forgotten", i)
		}
	}
	if c.Has(url(1)) {
		t.Error("1 is not forgotten")
	}
	// Who is asked for stays.
	c = newSentCache(10)
	c.Add("x")
	for i := range 100 {
		c.Add(url(i))
		if !c.Has("x") {
			t.Fatalf("forgotten after %d, and asked for each time", i)
		}
	}
	c = newSentCache(0)
	c.Add("x")
	if !c.Has("x") {
		t.Error("the smallest cache holds nothing")
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	var r rate
	if got := r.read(); got != (crawl.Rate{}) {
		t.Errorf("of nothing: %+v", got)
	}
	at := noon
	step := func(total int64) { r.sample(total, at); at = at.Add(time.Second) }
	step(1000) // what was there before counts for nothing
	if got := r.read(); got != (crawl.Rate{}) {
		t.Errorf("of one sample: %+v", got)
	}
	for i := range 10 {
		step(1000 + int64(i+1)*50)
	}
	if got := r.read(); got.Now != 50 || got.Avg1m != 50 || got.Peak != 50 {
		t.Errorf("steady: %+v", got)
	}
	for range 5 {
		step(1500)
	}
	if got := r.read(); got.Now != 0 || got.Avg1m < 33 || got.Avg1m > 34 || got.Peak != 50 {
		t.Errorf("after a pause: %+v", got)
	}
	step(100) // nobody speaks for some partitions while they are taken over
	step(130)
	if got := r.read(); got.Now != 0 {
		t.Errorf("after a fall: %+v", got)
	}
	step(1510)
	if got := r.read(); got.Now != 2 || got.Peak != 50 {
		t.Errorf("after a fall and its end: %+v", got)
	}
	// What does not come back in a minute is lost, and what is left counts.
	for i := range 200 {
		step(130 + int64(i+1)*10)
	}
	if got := r.read(); got.Avg1m != 10 || got.Now != 10 || got.Peak != 50 {
		t.Errorf("after more than its memory: %+v", got)
	}
	r.sample(9999, at.Add(-time.Second)) // no time has passed
	if got := r.read(); got.Now < 0 {
		t.Errorf("%+v", got)
	}
	var m meter
	m.sample(noon, totals{})
	m.sample(noon.Add(time.Second), totals{pages: 1, bytes: 2, allPages: 3, allBytes: 4, moved: 5, written: 6, records: 7})
	if written, records := m.archive(); written != 6 || records != 7 {
		t.Errorf("the archive grows by %v bytes and %v records", written, records)
	}
	pages, bytes, moved := m.own()
	if c := m.cluster(); pages != 1 || bytes != 2 || moved != 5 || c.Pages.Now != 3 || c.Bytes.Now != 4 {
		t.Errorf("%v %v %v %+v", pages, bytes, moved, c)
	}
}

// TestRatesAfterARestart: what the other members tell of first, and what is taken over
// from one that does not return, was fetched before and is no speed of now.
func TestRatesAfterARestart(t *testing.T) {
	t.Parallel()
	var m meter
	at := noon
	step := func(pages int64, partial bool) {
		m.sample(at, totals{allPages: pages, allBytes: 1000 * pages, partial: partial})
		at = at.Add(time.Second)
	}
	step(400, true) // this node's own partitions
	step(900, true) // another member has told of its own
	for i := range int64(10) {
		step(1200+i*10, false)
	}
	if c := m.cluster(); c.Pages.Peak != 10 || c.Pages.Now != 10 || c.Bytes.Peak != 10_000 {
		t.Errorf("%+v, want 10 pages a second and never more", c)
	}
	var offline meter // some partitions stay away: after a minute the rest counts
	for i := range int64(rateSpan + 10) {
		offline.sample(noon.Add(time.Duration(i)*time.Second), totals{allPages: 5 * i, partial: true})
	}
	if c := offline.cluster(); c.Pages.Now != 5 {
		t.Errorf("with partitions that stay away: %+v, want 5 pages a second", c)
	}
}

func TestSeedBands(t *testing.T) {
	t.Parallel()
	f := func(x float64) *float64 { return &x }
	for _, c := range []struct {
		priority *float64
		want     crawl.Band
	}{{nil, 0}, {f(1), 0}, {f(0), crawl.Bands - 1}, {f(0.5), (crawl.Bands - 1) / 2}} {
		if got := seedBand(c.priority); got != c.want {
			t.Errorf("%v: band %d, want %d", c.priority, got, c.want)
		}
	}
	var report crawl.SeedReport
	targets := parseSeeds([]crawl.Seed{{URL: "http://a.test"}, {URL: "nonsense"}, {URL: "http://b.test", Priority: f(2)}, {URL: "ftp://c.test", Line: 90}}, &report)
	if len(targets) != 1 || targets[0].URL.String() != "http://a.test/" || len(report.Invalid) != 3 {
		t.Fatalf("%+v, %+v", targets, report)
	}
	for i, line := range []int{2, 3, 90} {
		if e := report.Invalid[i]; e.Line != line || e.Error == "" || e.Input == "" {
			t.Errorf("%+v is not line %d", e, line)
		}
	}
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
