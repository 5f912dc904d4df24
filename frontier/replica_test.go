package frontier

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// tenure is what a holder did with two partitions: each mutation, and the
// content behind each.
type tenure struct {
	from    [2][]storage.Entry // a snapshot at mutation at
	at      [2]crawl.Seq
	ms      []CopyMutation // behind the snapshots, of both
	content [2]map[crawl.Seq]map[string]string
	urls    [2]map[crawl.Seq][]crawl.Routed // that were new in a mutation
}

// hold runs a holder in epoch 3 and writes down what it does.
func hold(t *testing.T) *tenure {
	t.Helper()
	r := start(t, storage.NewMemory(), commit.Options{})
	r.must(r.Found(t.Context(), []crawl.Partition{0, 1}, 3))
	h := &tenure{}
	tail := &caught{}
	for p := range h.content {
		h.content[p], h.urls[p] = map[crawl.Seq]map[string]string{}, map[crawl.Seq][]crawl.Routed{}
	}
	note := func(added ...crawl.Routed) {
		for p := range crawl.Partition(2) {
			h.content[p][metaOf(t, r, p).Seq] = content(t, r, p)
		}
		for _, l := range added {
			seq := metaOf(t, r, l.Partition).Seq
			h.urls[l.Partition][seq] = append(h.urls[l.Partition][seq], l)
		}
	}
	for n := range 12 {
		if n == 3 {
			for p := range crawl.Partition(2) {
				e, err := r.Export(t.Context(), p, tail.sink)
				r.must(err)
				r.must(e.Snapshot(t.Context(), 1<<20,
					func(es []storage.Entry) error { h.from[p] = append(h.from[p], es...); return nil }))
				h.at[p] = e.Seq()
				e.Close()
			}
		}
		links := []crawl.Routed{link(fmt.Sprintf("http://h%d.p%d.test/%d", n%3, n%2, n)),
			link(fmt.Sprintf("http://h1.p0.test/x%d", n))}
		r.add(links...)
		note(links...)
		if n%3 == 2 {
			host := fmt.Sprintf("h%d.p0.test", n%2)
			own := link(fmt.Sprintf("http://h2.p0.test/own%d", n))
			r.must(r.Complete(t.Context(), Completion{
				Lease:   r.lease(0, host),
				Outcome: fetched,
				Own:     []crawl.Routed{own},
				Outbox:  []crawl.Routed{link("http://h1.p9.test/")},
			}))
			note(own)
		}
	}
	h.ms = tail.take()
	r.must(r.stop())
	return h
}

// had is what a replica acknowledged.
type had struct {
	seq   [2]crawl.Seq
	state [2]layout.State // Absent: not yet anything
	epoch crawl.Epoch
}

// follow is a replica's life until the first error, which the crash makes.
func (h *tenure) follow(ctx context.Context, f *Frontier, rng *rand.Rand) (got had, err error) {
	for p := range crawl.Partition(2) {
		i, err := f.BeginImport(ctx, p)
		if err != nil {
			return got, err
		}
		for piece := range slices.Chunk(h.from[p], 4) {
			if err := i.Put(ctx, piece); err != nil {
				return got, err
			}
		}
		if err := i.CommitCopy(ctx, 3); err != nil {
			return got, err
		}
		got.state[p], got.seq[p] = layout.Copy, h.at[p]
	}
	for from := 0; from < len(h.ms); {
		to := min(len(h.ms), from+1+rng.IntN(4))
		// A batch may begin with what came before, as after a torn stream.
		batch := h.ms[max(0, from-rng.IntN(3)):to]
		for n, err := range f.ApplyCopies(ctx, batch) {
			if err != nil {
				return got, err
			}
			got.seq[batch[n].Partition] = max(got.seq[batch[n].Partition], batch[n].Seq)
		}
		from = to
	}
	if err := f.AdoptCopy(ctx, 0, 3, got.seq[0], 5); err != nil {
		return got, err
	}
	got.epoch = 5
	if err := f.Transition(ctx, 1,
		func(m *layout.Meta) error { m.State, m.Epoch = layout.Holder, 6; return nil }); err != nil {
		return got, err
	}
	got.state[1] = layout.Holder
	return got, nil
}

// verify checks what a replica's next process finds: a prefix of the holder,
// with all that was acknowledged.
func (h *tenure) verify(t *testing.T, r *running, got had) {
	t.Helper()
	for p := range crawl.Partition(2) {
		m := metaOf(t, r, p)
		if m.State == layout.Absent {
			if got.state[p] != layout.Absent {
				t.Fatalf("partition %d: an acknowledged %v is gone", p, got.state[p])
			}
			continue
		}
		if m.Seq < got.seq[p] || got.state[p] == layout.Holder && m.State != layout.Holder ||
			p == 0 && m.Epoch < got.epoch {
			t.Fatalf("partition %d: %+v, acknowledged %+v", p, m, got)
		}
		want, ok := h.content[p][m.Seq]
		if !ok {
			t.Fatalf("partition %d: the holder never was at %d", p, m.Seq)
		}
		storagetest.Compare(t, fmt.Sprintf("partition %d at %d", p, m.Seq), content(t, r, p), want)
		r.must(invariants(r.Frontier))
		if m.State == layout.Copy {
			r.must(r.promote(p, 9))
		}
		for seq, links := range h.urls[p] {
			for _, l := range links {
				if seq <= m.Seq {
					if as := r.add(l); as[0] != Known {
						t.Fatalf("partition %d: %s, of mutation %d, is %v at %d", p, l.Target.URL, seq, as[0], m.Seq)
					}
				}
			}
		}
	}
	r.check()
}

// TestReplicaCrashAtEveryWrite crashes a replica at each of its writes, just
// before and just after the write reached the store.
func TestReplicaCrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	h := hold(t)
	seed := rand.Uint64()
	for _, s := range storagetest.Stores {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d", seed)
			for at, ended := 0, false; !ended; at += crashStep(s.Name) {
				for _, applied := range []bool{false, true} {
					if s.Name == "memory" || applied == (at%2 == 0) { // the disk store costs more
						ended = h.crashAt(t, s.Open, at, applied, rand.New(rand.NewPCG(seed, uint64(at))))
					}
				}
			}
		})
	}
}

func (h *tenure) crashAt(
	t *testing.T,
	open storagetest.Opener,
	at int,
	applied bool,
	rng *rand.Rand,
) (ended bool) {
	t.Helper()
	kv, reopen := open(t)
	if err := kv.Write([]storage.Entry{
		{Key: layout.NodeKey(layout.NodeVersion), Value: []byte{layout.FormatVersion}}}); err != nil {
		t.Fatal(err)
	}
	r := start(t, &storagetest.Faulty{KV: kv, Left: at, Applied: applied}, commit.Options{})
	got, err := h.follow(t.Context(), r.Frontier, rng)
	if runErr := r.stop(); err != nil &&
		(!errors.Is(err, storagetest.ErrInjected) || !errors.Is(runErr, storagetest.ErrInjected)) {
		t.Fatalf("write %d: the replica ended with %v, Run with %v", at, err, runErr)
	}
	next := start(t, reopen(), commit.Options{})
	h.verify(t, next, got)
	_ = next.stop()
	_ = next.w.KV.Close()
	return err == nil
}

// trio is three nodes with one partition: a holder and two replicas.
type trio struct {
	t      *testing.T
	rng    *rand.Rand
	nodes  [3]*running
	reopen [3]func() storage.KV
	tails  [3]*caught // of the replicas; nil: not attached
	holder int
	epoch  crawl.Epoch
	urls   int
	acked  map[string]bool // in the holder and both replicas
}

// TestReplicasModel runs random operations on three nodes, kills them at
// random, and promotes what is left.
func TestReplicasModel(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		g := &trio{t: t, rng: rand.New(rand.NewPCG(seed, 3)), epoch: 1, acked: map[string]bool{}}
		o := commit.Options{CacheEntries: 64}
		g.reopen[0] = reopen
		g.nodes[0] = startHolding(t, kv, 1, o)
		for i := 1; i < 3; i++ {
			kv, reopen := storagetest.OpenMemory(t)
			g.nodes[i], g.reopen[i] = start(t, kv, o), reopen
			g.attach(i)
		}
		for range 150 {
			g.step()
		}
		g.catchUp()
	})
}

func (g *trio) h() *running { return g.nodes[g.holder] }

func (g *trio) replicas(fn func(i int, r *running)) {
	for i, r := range g.nodes {
		if i != g.holder {
			fn(i, r)
		}
	}
}

func (g *trio) step() {
	g.t.Helper()
	switch k := g.rng.IntN(100); {
	case k < 50:
		for range 1 + g.rng.IntN(3) {
			g.urls += g.rng.IntN(2)
			g.h().add(link(fmt.Sprintf("http://h%d.p0.test/%d", g.urls%3, g.urls)))
		}
	case k < 65:
		host := fmt.Sprintf("h%d.p0.test", g.rng.IntN(3))
		if q := g.h().load(0, host, 1); len(q.Items) > 0 {
			g.h().must(g.h().Complete(g.t.Context(),
				Completion{Lease: g.h().lease(0, host), Outcome: fetched}))
		}
	case k < 85:
		g.catchUp()
	case k < 93:
		i := g.rng.IntN(3)
		g.nodes[i] = g.nodes[i].crash(g.reopen[i], commit.Options{CacheEntries: 64})
		g.tails[i] = nil
		if i == g.holder { // its sinks are gone
			g.tails = [3]*caught{}
		}
	default:
		g.takeOver()
	}
}

// attach makes a replica follow the holder, by the cheapest way that is open.
func (g *trio) attach(i int) {
	g.t.Helper()
	r, tail := g.nodes[i], &caught{}
	m := metaOf(g.t, r, 0)
	if m.State == layout.Copy && m.Epoch == g.epoch &&
		g.h().Attach(g.t.Context(), 0, m.Seq, g.epoch, tail.sink) == nil {
		g.tails[i] = tail
		return
	}
	if m.State == layout.Holder || m.State == layout.Released {
		r.become(0, layout.Copy)
	}
	g.tails[i] = r.replicate(g.h(), 0)
}

// catchUp brings both replicas to where the holder is: then all is acknowledged.
func (g *trio) catchUp() {
	g.t.Helper()
	g.replicas(func(i int, r *running) {
		if g.tails[i] == nil {
			g.attach(i)
		}
		r.applyAll(g.tails[i].take())
	})
	want := content(g.t, g.h(), 0)
	for _, r := range g.nodes {
		storagetest.Compare(g.t, "replica", content(g.t, r, 0), want)
		r.must(invariants(r.Frontier))
	}
	for n := range g.urls + 1 {
		raw := fmt.Sprintf("http://h%d.p0.test/%d", n%3, n)
		u := mustURL(raw)
		if _, ok, err := g.h().Record(0, u); err == nil && ok {
			g.acked[raw] = true
		} else if g.acked[raw] {
			g.t.Fatalf("%s was acknowledged and is lost", raw)
		}
	}
}

// takeOver promotes a replica that was in sync, some of whose last mutations
// may be on the way; the other goes on with it when it is at the same place.
func (g *trio) takeOver() {
	g.t.Helper()
	g.replicas(func(i int, r *running) { // a part of what is on the way arrives
		if g.tails[i] != nil {
			ms := g.tails[i].take()
			r.applyAll(ms[:g.rng.IntN(len(ms)+1)])
		}
	})
	next, other := (g.holder+1)%3, (g.holder+2)%3
	a, b := metaOf(g.t, g.nodes[next], 0), metaOf(g.t, g.nodes[other], 0)
	if b.Epoch > a.Epoch || b.Epoch == a.Epoch && b.Seq > a.Seq {
		next, other, a, b = other, next, b, a
	}
	g.epoch++
	g.nodes[next].must(g.nodes[next].promote(0, g.epoch))
	g.tails = [3]*caught{}
	g.holder = next
	err := g.nodes[other].AdoptCopy(g.t.Context(), 0, a.Epoch, a.Seq, g.epoch)
	if same := a.Epoch == b.Epoch && a.Seq == b.Seq; same != (err == nil) {
		g.t.Fatalf("adopting %+v by %+v: %v", a, b, err)
	}
	for raw := range maps.Keys(g.acked) {
		u := mustURL(raw)
		if _, ok, err := g.h().Record(0, u); err != nil || !ok {
			g.t.Fatalf("%s was acknowledged, and is lost with its holder: %v", raw, err)
		}
	}
	if err := invariants(g.h().Frontier); err != nil {
		g.t.Fatal(err)
	}
}
