package frontier

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/cash"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/order"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
	"crawlnode/importance/opic"
)

// byScore orders queues by scores with even cuts.
func byScore() *order.Policy {
	return &order.Policy{Weights: opic.DefaultWeights, Cuts: opic.EvenCuts, Scores: &order.Scores{}}
}

// raise lets links say much of some URLs, in queues or not, and then visits one that was loaded
// before.
func (m *model) raise() {
	m.t.Helper()
	p, _ := m.someHost()
	var rises []order.Rise
	for range m.rng.IntN(8) {
		u := mustURL(fmt.Sprintf("http://h%d.p%d.test/%d", m.rng.IntN(4), p, m.rng.IntN(60)))
		rises = append(rises, order.Rise{URL: layout.NumberOf(u), Link: m.rng.Float64() / 2})
	}
	before := map[string]crawl.Record{}
	for raw, u := range m.urls {
		if u.state == crawl.Queued {
			before[raw] = m.r.record(raw)
		}
	}
	n, err := m.r.Raise(m.t.Context(), p, rises)
	m.r.must(err)
	after := map[string]crawl.Record{}
	for raw, old := range before {
		if now := m.r.record(raw); now.Band != old.Band || now.Seq != old.Seq {
			after[raw] = now
		}
	}
	inOrder := slices.SortedFunc(maps.Keys(after),
		func(a, b string) int { return cmp.Compare(after[a].Seq, after[b].Seq) })
	for _, raw := range inOrder { // those of one queue stand in the order of their numbers
		u, old, now := m.urls[raw], before[raw], after[raw]
		n--
		m.clock++
		u.raised++
		m.raised++
		if now.Band >= old.Band || !u.scored || u.raised > layout.MaxMoves ||
			now.Attempts != old.Attempts {
			m.t.Fatalf("%s (%+v) was moved: %+v, before %+v", raw, u, now, old)
		}
		u.band, u.order = now.Band, m.clock
	}
	if n != 0 {
		m.t.Fatalf("%d more URLs were moved than have moved", n)
	}
	m.visitOld()
}

// visitOld ends the visit of an item that was loaded some time ago. It counts exactly when its URL
// has not left the queue since.
func (m *model) visitOld() {
	m.t.Helper()
	if len(m.old) == 0 {
		return
	}
	i := m.rng.IntN(len(m.old))
	o := m.old[i]
	m.old = slices.Delete(m.old, i, i+1)
	it, u := o.it, m.urls[o.it.URL.String()]
	p, host := partitionOf(it.URL), layout.HostOf(it.URL)
	if u.state == crawl.Queued && u.life == o.life {
		m.complete(p, host, it, u)
		return
	}
	l := crawl.Lease{Partition: p, Epoch: m.current[p], Host: host, Item: it}
	if err := m.r.Complete(m.t.Context(), Completion{Lease: l, Outcome: fetched}); !errors.Is(err,
		ErrStaleLease) {
		m.t.Fatalf("%s was completed once more, in another life: %v", it.URL, err)
	}
}

// oldItem is an item as it was loaded in one life of its URL in the queue.
type oldItem struct {
	it   crawl.Item
	life int64
}

// TestModelOfMoves is TestModelOfRevisits with URLs that are moved to better bands: none is lost,
// visited twice or moved too often, and what was loaded before a move stays good.
func TestModelOfMoves(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 1))
		j := &testJudge{
			conditional: true,
			wait:        func(*Page) time.Duration { return time.Duration(rng.Int64N(int64(time.Hour))) },
		}
		r := startJudged(t, kv, 3, j, commit.Options{CacheEntries: 64})
		r.SetOrder(byScore())
		m := newModel(t, rand.New(rand.NewPCG(seed, 2)), r)
		m.judge = j
		for range 600 {
			m.step(reopen)
		}
		m.compare()
		if m.raised < 20 {
			t.Errorf("%d URLs were moved", m.raised)
		}
	})
}

// rise has links say much of URLs.
func (r *running) rise(link float64, urls ...string) int {
	r.t.Helper()
	var rises []order.Rise
	for _, raw := range urls {
		rises = append(rises, order.Rise{URL: layout.NumberOf(mustURL(raw)), Link: link})
	}
	n, err := r.Raise(r.t.Context(), partitionOf(mustURL(urls[0])), rises)
	r.must(err)
	return n
}

// The only URL of a host moves within the host's entry, and a lease from before stays good. Nothing
// moves without scores, or that a person has named.
func TestRaiseTheOnlyURL(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	const raw, seed, before = "http://h1.p0.test/", "http://h2.p0.test/", "http://h3.p0.test/"
	r.add(link(before)) // while queues are not ordered by scores
	r.SetOrder(byScore())
	named := link(seed)
	named.Target.Via, named.Target.Depth, named.Target.Band = crawl.ViaSeed, 0, 3
	r.add(link(raw), named)
	lease := r.lease(0, "h1.p0.test")
	if lease.Item.Band < 4 {
		t.Fatalf("without links it is in band %d", lease.Item.Band)
	}
	if n := r.rise(0.55, raw, seed, before, "http://h4.p0.test/"); n != 1 {
		t.Errorf("%d URLs were moved, want one", n)
	}
	rec := r.record(raw)
	if rec.Band >= lease.Item.Band || r.record(seed).Band != 3 || r.record(before).Band != 1 {
		t.Errorf("bands %d, %d, %d", rec.Band, r.record(seed).Band, r.record(before).Band)
	}
	q := r.load(0, "h1.p0.test", 2)
	if len(q.Items) != 1 || q.Items[0].Band != rec.Band || q.Items[0].URL != mustURL(raw) {
		t.Errorf("loaded %+v", q.Items)
	}
	r.check()
	r.must(r.Complete(t.Context(),
		Completion{Lease: lease, Outcome: crawl.Outcome{Kind: crawl.URLFailed}, RetryAt: day}))
	r.check()
	if rec := r.record(raw); rec.State != crawl.Queued || rec.Attempts != 1 {
		t.Errorf("after a failure: %+v", rec)
	}
	r.must(r.Complete(t.Context(), Completion{Lease: lease, Outcome: fetched}))
	r.check()
	if err := r.Complete(t.Context(), Completion{Lease: lease, Outcome: fetched}); !errors.Is(err,
		ErrStaleLease) {
		t.Errorf("a second completion: %v", err)
	}
}

// A URL is moved three times at most, and only to better bands; failing its host finds it wherever
// it stands.
func TestRaiseIsBounded(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	o := byScore()
	o.Weights = opic.Weights{Importance: 0.8, Depth: 0.1, Freshness: 0.1}
	r.SetOrder(o)
	const raw = "http://h1.p0.test/1"
	r.add(link(raw), link("http://h1.p0.test/2"))
	items := r.load(0, "h1.p0.test", 2).Items
	bands := []crawl.Band{r.record(raw).Band}
	for step := range 80 {
		if r.rise(float64(step)/100, raw) == 1 {
			bands = append(bands, r.record(raw).Band)
		}
	}
	if len(bands) != 1+layout.MaxMoves ||
		!slices.IsSortedFunc(bands, func(a, b crawl.Band) int { return int(b) - int(a) }) {
		t.Errorf("bands %v", bands)
	}
	at := r.record(raw)
	once := order.Raise{
		Host: "h1.p0.test",
		URL:  mustURL(raw),
		From: layout.QueueSlot{Band: at.Band, Seq: at.Seq},
		To:   at.Band - 1,
	}
	r.must(r.do(t.Context(),
		&commit.Request{Entries: dueEntries, Bytes: dueBytes, Apply: r.in(func(g group) error {
			pg, err := g.leased(&crawl.Lease{Partition: 0, Epoch: 1})
			if err == nil && pg.raise(&once) { // whatever who found it believes
				t.Error("a URL was moved once more")
			}
			return err
		})}))
	r.check()
	for _, it := range items { // as they were loaded before
		l := crawl.Lease{Partition: 0, Epoch: 1, Host: "h1.p0.test", Item: it}
		r.must(r.Complete(t.Context(),
			Completion{Lease: l, Outcome: crawl.Outcome{Kind: crawl.HostFailed}}))
	}
	if n, err := r.FailHost(t.Context(), 0, "h1.p0.test", "dead"); n != 2 || err != nil {
		t.Errorf("%d failed, %v", n, err)
	}
	r.check()
}

// What links say is folded, and moves the URL that many sites link to ahead of the others; the
// store finds it by its number.
func TestFoldsRaise(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	o := byScore()
	r.SetOrder(o)
	star := link("http://h0.p0.test/star")
	moved, before := 0, crawl.Band(0)
	for page := range 40 {
		l := link(fmt.Sprintf("http://h%d.p0.test/", page+1))
		other := link(fmt.Sprintf("http://h%d.p0.test/other", page+1))
		r.add(l)
		r.must(r.Complete(t.Context(), Completion{
			Lease:   r.lease(0, l.Target.URL.Host()),
			Outcome: fetched,
			Own:     []crawl.Routed{star, other},
			Cites: cash.CitesOf(l.Target.URL, l.Target.URL.Host(),
				[]opic.Target{cash.CiteOf(&star), cash.CiteOf(&other)}),
		}))
		if page == 0 {
			before = r.record(star.Target.URL.String()).Band
		}
		if page%10 < 9 {
			continue
		}
		d, err := r.Fold(t.Context(), 0)
		r.must(err)
		n, err := r.Raise(t.Context(), 0, d.Rises)
		r.must(err)
		moved += n
		var h opic.Histogram
		r.must(r.AddRanks(&h, 0))
		next := *o
		next.Ranks = h.Ranks()
		r.SetOrder(&next)
	}
	r.check()
	after, other := r.record(star.Target.URL.String()).Band, r.record("http://h5.p0.test/other").Band
	if moved == 0 || after >= before || after >= other {
		t.Errorf("%d moved; the star went from band %d to %d, another URL is in %d", moved, before, after,
			other)
	}
	if o.Scores.Histogram().Total() == 0 {
		t.Error("no scores were counted")
	}
}
