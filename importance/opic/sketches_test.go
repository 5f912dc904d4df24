package opic

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"crawlnode/crawl"
)

func TestSitesCount(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 5))
	for _, n := range []int{0, 1, 2, 5, 20, 100, 1000, 10_000, 100_000} {
		var squareURL, squareHost float64
		const draws = 60
		for range draws {
			var s Sites
			var h HostSites
			for range n {
				site := SiteOf(r.Uint64())
				for range 2 { // a repeat does nothing
					s.Add(site)
					h.Add(site)
				}
			}
			if n == 0 && (s.Count() != 0 || h.Count() != 0) {
				t.Error("an empty sketch counts something")
			}
			relative := func(got float64) float64 { d := got/float64(max(n, 1)) - 1; return d * d }
			if n > 0 {
				squareURL += relative(s.Count())
				squareHost += relative(h.Count())
			}
		}
		url, host := math.Sqrt(squareURL/draws), math.Sqrt(squareHost/draws)
		t.Logf("%d sites: error %.0f %% of a URL's, %.0f %% of a host's", n, 100*url, 100*host)
		if url > 0.40 || host > 0.20 {
			t.Errorf("%d sites: error %.2f of a URL's, %.2f of a host's", n, url, host)
		}
	}
}

// A farm of host names that are one site is one site.
func TestSitesMergeInAnyOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 7))
	for range 200 {
		var a, b, both Sites
		var ha, hb, hboth HostSites
		for range r.IntN(60) {
			site := SiteOf(r.Uint64())
			if r.IntN(2) == 0 {
				a.Add(site)
				ha.Add(site)
			} else {
				b.Add(site)
				hb.Add(site)
			}
			both.Add(site)
			hboth.Add(site)
		}
		ab, ba := a, b
		ab.Merge(&b)
		ba.Merge(&a)
		ha.Merge(&hb)
		if ab != both || ba != both || ha != hboth {
			t.Fatalf("%x and %x merge to %x and %x, want %x", a, b, ab, ba, both)
		}
	}
}

func TestHistogramRanks(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 9))
	var values []Cash
	parts := [3]Histogram{}
	for range 20_000 {
		v := Cash(math.Exp(r.NormFloat64()*2+14)) + Cash(r.IntN(3))
		values = append(values, v)
		p := &parts[r.IntN(3)]
		p.Add(v/2, 1)
		p.Move(v/2, v)
	}
	slices.Sort(values)
	var one, other Histogram
	for i := range parts {
		one.Plus(&parts[i])
		other.Plus(&parts[2-i])
	}
	if one != other || one.Total() != int64(len(values)) {
		t.Fatalf("the sum depends on the order, or counts %d", one.Total())
	}
	fast := one.Ranks()
	for i, v := range values {
		want := float64(i) / float64(len(values))
		if got := one.Rank(v); math.Abs(got-want) > 0.01 || math.Abs(fast.Rank(v)-got) > 1e-9 {
			t.Fatalf("rank of %d is %v and %v, want %v", v, got, fast.Rank(v), want)
		}
	}
	for _, q := range []float64{0.001, 0.25, 0.5, 0.98} {
		v := fast.Quantile(q)
		if got := fast.Rank(v); math.Abs(got-q) > 0.005 {
			t.Errorf("quantile %v is %d, whose rank is %v", q, v, got)
		}
	}
	if (&Histogram{}).Rank(5) != 0 || one.Rank(-3) != 0 || one.Rank(math.MaxInt64) != 1 {
		t.Error("the ends of the scale")
	}
}

func TestBucketsAreInOrder(t *testing.T) {
	t.Parallel()
	last := -1
	for shift := range 53 { // beyond, a float has not all bits
		for _, v := range []Cash{1<<shift - 1, 1 << shift, 1<<shift + 1<<shift/3} {
			b := bucketOf(v)
			from, to := bounds(b)
			if b < last || float64(v) < from || float64(v) >= to || b >= buckets {
				t.Errorf("%d is in bucket %d, from %v to %v, behind %d", v, b, from, to, last)
			}
			last = b
		}
	}
	if bucketOf(math.MaxInt64) >= buckets || bucketOf(math.MinInt64) != 0 {
		t.Error("the ends have no bucket")
	}
}

func TestWeights(t *testing.T) {
	t.Parallel()
	w, err := ParseWeights(DefaultWeights.String())
	if err != nil || w != DefaultWeights ||
		w.String() != "importance=0.3,authority=0.25,change=0.2,depth=0.15,freshness=0.1" {
		t.Errorf("%+v, %v", w, err)
	}
	if w, err = ParseWeights("depth=1, importance=0"); err != nil || w != (Weights{Depth: 1}) ||
		w.String() != "depth=1" {
		t.Errorf("%+v, %v", w, err)
	}
	for text, says := range map[string]string{
		"": "is no weight", "depht=1": `"depht" is no weight; there are importance, authority`,
		"depth=2": "depth=2: the weight must be", "depth": "must be a number",
		"depth=NaN": "must be a number", "depth=0": "all weights are 0",
		"depth=0.1,depth=0.2": "given twice", "depth=-1,x=3": "is no weight",
	} {
		if _, err := ParseWeights(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	best, worst := Signals{1, 1, 1, 1, 1}, Signals{}
	if hi, lo := w.Score(best), w.Score(worst); hi != 1 || lo != 0 {
		t.Errorf("scores %v and %v", hi, lo)
	}
	if got := DefaultWeights.Score(Signals{Importance: 1, Depth: 1}); math.Abs(got-0.45) > 1e-12 {
		t.Errorf("score %v, want 0.45", got)
	}
	if Authority(0) != 0 || Authority(1e9) != 1 || Authority(63) != 0.5 || Depth(0) != 1 ||
		Depth(3) != 0.25 {
		t.Error("signals")
	}
}

func TestBands(t *testing.T) {
	t.Parallel()
	even := CutsOf(&Histogram{})
	if even != EvenCuts || even.Band(1) != 0 || even.Band(0.5) != 3 || even.Band(0) != crawl.Bands-1 {
		t.Errorf("%v", even)
	}
	r := rand.New(rand.NewPCG(1, 1))
	var h Histogram
	var scores []float64
	for range 20_000 {
		s := 0.3 + 0.4*r.Float64()*r.Float64()
		scores = append(scores, s)
		CountScore(&h, s, 1)
	}
	cuts := CutsOf(&h)
	var in [crawl.Bands]int
	for _, s := range scores {
		in[cuts.Band(s)]++
	}
	sum := 0
	for i, want := range bandShares {
		sum += in[i]
		if got := float64(sum) / float64(len(scores)); math.Abs(got-want) > 0.02 {
			t.Errorf("bands up to %d hold %.3f of the URLs, want %.2f: %v", i, got, want, cuts)
		}
	}
	// A URL moves at most MaxMoves times, and the last time by two bands at least.
	band, moves := crawl.Band(crawl.Bands-1), uint8(0)
	for score := 0.0; score < 1; score += 0.01 {
		if b, ok := EvenCuts.Better(band, score, moves); ok {
			if b >= band || moves == MaxMoves-1 && band-b < 2 {
				t.Errorf("it moves from %d to %d, move %d", band, b, moves)
			}
			band, moves = b, moves+1
		}
	}
	if moves != MaxMoves || band > 4 {
		t.Errorf("%d moves, to band %d", moves, band)
	}
	if _, ok := EvenCuts.Better(2, 0.1, 0); ok {
		t.Error("a URL moves to a worse band")
	}
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 3))
	for range 300 {
		a := Account{Pending: Cash(r.Int64()>>r.IntN(60)) - Unit, Level: uint8(r.IntN(crawl.Bands))}
		if r.IntN(2) == 0 {
			a.Fetched, a.Settled, a.Links = true, Cash(r.Int64()>>r.IntN(60)), r.IntN(50_000)
		}
		if r.IntN(2) == 0 {
			a.Sites.Add(SiteOf(r.Uint64()))
		}
		if r.IntN(2) == 0 {
			a.At = 1 + r.Uint64()>>r.IntN(64)
		}
		if got, err := decodeAccount(appendAccount(nil, &a)); err != nil || got != a {
			t.Fatalf("%+v became %+v, %v", a, got, err)
		}
	}
	one := Account{Pending: Unit / 20}
	one.Sites.Add(77)
	if n := 8 + len(appendAccount(nil, &one)); n != 20 {
		t.Errorf("an account with one link takes %d bytes, the comment says 20", n)
	}
	w := newWorld(r, 40, 300)
	for range 200 {
		b := NewBook(0)
		b.Visit(1, 5, w.drawLinks())
		links := b.links[1]
		got, err := DecodeLinks(AppendLinks(nil, links))
		if err != nil || !slices.Equal(got, links) {
			t.Fatalf("%v became %v, %v", links, got, err)
		}
	}
	var h Histogram
	for range 500 {
		h.Add(Cash(r.Int64()>>r.IntN(60)), 1)
	}
	raw := AppendHistogram(nil, &h)
	if got, err := DecodeHistogram(raw); err != nil || *got != h {
		t.Errorf("histogram: %v", err)
	}
	for i := range raw { // what is cut off is noticed, or is a shorter histogram
		if got, err := DecodeHistogram(raw[:i]); err == nil && got.total >= h.total {
			t.Errorf("%d of %d bytes are a whole histogram", i, len(raw))
		}
	}
}

// decodeAccount reads one account and nothing else.
func decodeAccount(b []byte) (Account, error) {
	r := reader{b: b}
	a := r.account()
	return a, r.end("account")
}

// FuzzDecode: bytes of another node, or of a damaged disk. What is read is written to the same.
func FuzzDecode(f *testing.F) {
	p := Parcel{From: 1, To: 2, After: 3, Entries: []Entry{
		{Seq: 5, Site: 9, Credits: []Credit{{1, Unit, 1}, {2, Unit, 1}, {3, -1, -2}}}, {Seq: 6}}}
	var h Histogram
	h.Add(Unit, 3)
	for _, b := range [][]byte{
		AppendParcel(nil, &p), appendAccount(nil,
			&Account{Fetched: true, Settled: 5, Links: 2, Level: 1, In: 3, Sites: Sites{1}}),
		AppendLinks(nil, []Target{{1, 2}, {1, 3}, {9, 1}}), AppendHistogram(nil, &h),
		AppendDeltas(nil, []Delta{{URL: 3, Amount: -1, Links: 1}, {URL: 9, Sites: Sites{2}}}), nil,
		{formatVersion}, {9},
	} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := DecodeParcel(b); err == nil {
			again, err := DecodeParcel(AppendParcel(nil, &p))
			if err != nil || !bytes.Equal(AppendParcel(nil, &again), AppendParcel(nil, &p)) {
				t.Fatalf("parcel %+v became %+v, %v", p, again, err)
			}
		}
		if a, err := decodeAccount(b); err == nil {
			if again, err := decodeAccount(appendAccount(nil, &a)); err != nil || again != a {
				t.Fatalf("account %+v became %+v, %v", a, again, err)
			}
		}
		if l, err := DecodeLinks(b); err == nil {
			if again, err := DecodeLinks(AppendLinks(nil, l)); err != nil || !slices.Equal(again, l) {
				t.Fatalf("links %+v became %+v, %v", l, again, err)
			}
		}
		if ds, err := DecodeDeltas(b); err == nil {
			if again, err := DecodeDeltas(AppendDeltas(nil, ds)); err != nil || !slices.Equal(again, ds) {
				t.Fatalf("deltas %+v became %+v, %v", ds, again, err)
			}
		}
		block := Block{Bytes: b}
		if blocks, err := block.Fold(nil, nil); err == nil && len(blocks) > 0 {
			var whole []byte
			for _, part := range blocks {
				whole = append(whole, part.Bytes[min(1, len(whole)):]...)
			}
			if !bytes.Equal(whole, b) {
				t.Fatalf("%x was folded with nothing to %x", b, whole)
			}
		}
		if _, ok, err := block.Find(3); ok && err != nil {
			t.Fatalf("an account is found in a damaged block: %v", err)
		}
		if h, err := DecodeHistogram(b); err == nil {
			if again, err := DecodeHistogram(AppendHistogram(nil, h)); err != nil || *again != *h {
				t.Fatalf("histogram: %v", err)
			}
		}
	})
}

func BenchmarkScore(b *testing.B) {
	var h Histogram
	for i := range Cash(10_000) {
		h.Add(i*i, 1)
	}
	ranks := h.Ranks()
	var sites HostSites
	for i := range uint64(50) {
		sites.Add(SiteOf(i * 0x9e3779b97f4a7c15))
	}
	i, moved := Cash(0), 0
	for b.Loop() {
		i++
		score := DefaultWeights.Score(Signals{
			Importance: ranks.Rank(i & 0xffff),
			Authority:  Authority(sites.Count()),
			Depth:      Depth(int(i & 7)),
		})
		if _, ok := EvenCuts.Better(7, score, 1); ok {
			moved++
		}
	}
}
