package frontier

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/reader"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestMove gives a partition to another node while URLs are being added and
// fetched, and compares both sides.
func TestMove(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		from := startHolding(t, kv, 2, commit.Options{Node: "n1"})
		to := startHolding(t, storage.NewMemory(), 0, commit.Options{Node: "n2"})
		n := 0
		work := func() {
			for range 5 {
				from.add(link(fmt.Sprintf("http://h%d.p1.test/%d", n%7, n)),
					link(fmt.Sprintf("http://h1.p0.test/%d", n)))
				n++
			}
			host := fmt.Sprintf("h%d.p1.test", n%7)
			if q := from.load(1, host, 1); len(q.Items) > 0 {
				from.must(from.Complete(t.Context(), Completion{
					Lease: from.lease(1, host),
					Outcome: crawl.Outcome{
						Kind: crawl.RobotsFetched, Robots: &crawl.Robots{
							Origin: "http://" + host,
							Body:   []byte("x"),
						}},
					Host: crawl.HostState{NotBefore: day},
				}))
				from.must(from.Complete(t.Context(), Completion{Lease: from.lease(1, host), Outcome: fetched,
					Outbox: []crawl.Routed{link(fmt.Sprintf("http://h1.p9.test/%d", n))}}))
			}
		}
		for range 10 {
			work()
		}
		tail := &caught{}
		e, err := from.Export(t.Context(), 1, tail.sink)
		from.must(err)
		defer e.Close()
		i, err := to.BeginImport(t.Context(), 1)
		to.must(err)
		chunks := 0
		from.must(e.Snapshot(t.Context(), 300, func(entries []storage.Entry) error {
			chunks++
			work()
			return i.Put(t.Context(), entries)
		}))
		if chunks < 3 {
			t.Fatalf("the snapshot came in %d pieces", chunks)
		}
		var ms []Mutation
		for _, m := range tail.take() {
			ms = append(ms, m.Mutation)
		}
		if ms[0].Seq != e.Seq()+1 || ms[0].Epoch != 1 || e.Epoch() != 1 {
			t.Fatalf("the sink begins with %d of epoch %d behind a snapshot of %d, %d", ms[0].Seq,
				ms[0].Epoch, e.Seq(), e.Epoch())
		}
		if err := i.Apply(t.Context(), ms[1:2]); !errors.Is(err, ErrGap) {
			t.Fatalf("a gap: %v", err)
		}
		to.must(i.Apply(t.Context(), ms))
		to.must(i.Apply(t.Context(), ms[:1])) // an old one, repeated by a network
		to.must(i.CommitCopy(t.Context(), 1))
		if err := i.CommitCopy(t.Context(), 1); !errors.Is(err, ErrImportOver) {
			t.Fatalf("a second commit: %v", err)
		}
		if c := to.Totals(); c != (crawl.Counters{}) {
			t.Fatalf("a copy is counted: %+v", c)
		}
		work()
		from.must(from.Freeze(t.Context(), 1))
		from.must(from.Transition(t.Context(), 1,
			func(m *layout.Meta) error { m.State, m.To, m.View = layout.Released, "n2", 7; return nil }))
		to.must(errors.Join(to.ApplyCopies(t.Context(), tail.take())...))
		before, _ := from.Meta(1)
		to.must(to.promote(1, 7))
		to.check()
		m, _ := to.Meta(1)
		if m.State != layout.Holder || m.Epoch != 7 || m.MaxEpoch != 7 || m.View != 7 ||
			m.Seq != before.Seq || m.Counters != before.Counters {
			t.Fatalf("meta = %+v, want what %+v was", m, before)
		}
		if to.Totals() != m.Counters {
			t.Fatalf("totals = %+v, want %+v", to.Totals(), m.Counters)
		}
		storagetest.Compare(t, "content", content(t, to, 1), content(t, from, 1))
		// It lives on: what was known is known, and new URLs are admitted.
		if got := to.add(link("http://h0.p1.test/0"), link("http://h0.p1.test/new")); got[0] != Known ||
			got[1] != Added {
			t.Fatalf("admissions = %v", got)
		}
		from.must(from.Delete(t.Context(), 1))
		waitSwept(t, from, 1, 1)
		from.check()
	})
}

// content is all of a partition by relative keys, but for the stamp: a copy's may be
// the later one, of when the copy was made.
func content(t *testing.T, r *running, p crawl.Partition) map[string]string {
	t.Helper()
	m, _ := r.Meta(p)
	out := map[string]string{}
	for k, v := range storagetest.Dump(t, r.w.KV, string(layout.AppendPrefix(nil, p, m.Generation))) {
		out[k[layout.PrefixLen:]] = v
	}
	snap, err := r.w.KV.Snapshot()
	r.must(err)
	defer snap.Close()
	books, err := reader.ReadBooks(snap)
	r.must(err)
	entry, _, err := books.Of(&reader.Partition{
		Snapshot:   snap,
		Generation: layout.Generation{Partition: p, Number: m.Generation},
	})
	r.must(err)
	if entry != nil {
		plain, err := layout.Restamped(entry, layout.Stamp{})
		r.must(err)
		out[layout.MetaKey] = string(plain)
	}
	return out
}

// TestComeBack takes a released partition in again, while its old generation is
// being deleted.
func TestComeBack(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		var links []crawl.Routed
		for i := range 12_000 { // several pieces of a sweep
			links = append(links, link(fmt.Sprintf("http://h1.p0.test/%d", i)))
		}
		r.add(links...)
		copyOf := content(t, r, 0)
		r.become(0, layout.Released)
		dropped, err := r.BeginImport(t.Context(), 0)
		r.must(err)
		r.must(dropped.Put(t.Context(), []storage.Entry{{Key: []byte("uleft"), Value: []byte{1}}}))
		i, err := r.BeginImport(t.Context(), 0)
		r.must(err)
		if err := dropped.Put(t.Context(), []storage.Entry{
			{Key: []byte("u"), Value: []byte{1}}}); !errors.Is(err, ErrImportOver) {
			t.Fatalf("the first import goes on: %v", err)
		}
		var entries []storage.Entry
		for k, v := range copyOf {
			entries = append(entries, storage.Entry{Key: []byte(k), Value: []byte(v)})
		}
		r.must(i.Put(t.Context(), entries))
		r.must(i.CommitCopy(t.Context(), 1))
		if err := r.promote(0, 1); err == nil {
			t.Fatal("promoted in an epoch that was held before")
		}
		r.must(r.promote(0, 2))
		r.must(i.Abort(t.Context()))
		r.check()
		storagetest.Compare(t, "content", content(t, r, 0), copyOf)
		r = r.crash(reopen, commit.Options{})
		for gen := uint32(1); gen <= 2; gen++ {
			waitSwept(t, r, 0, gen)
		}
		storagetest.Compare(t, "content", content(t, r, 0), copyOf)
		if got := r.add(links[17], link("http://h1.p0.test/new")); got[0] != Known || got[1] != Added {
			t.Fatalf("admissions = %v", got)
		}
	})
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	if _, err := r.BeginImport(t.Context(), 0); err == nil {
		t.Fatal("a held partition is being imported")
	}
	if _, err := r.BeginImport(t.Context(), layout.NodePartition); err == nil {
		t.Fatal("the node's own range is being imported")
	}
	i, err := r.BeginImport(t.Context(), 1)
	r.must(err)
	if err := i.CommitCopy(t.Context(), 2); !errors.Is(err, ErrGap) {
		t.Fatalf("commit of nothing: %v", err)
	}
	meta := func(seq crawl.Seq) storage.Entry {
		return storage.Entry{
			Key:   []byte(layout.MetaKey),
			Value: layout.EncodeMeta(&layout.PartState{Meta: layout.Meta{Seq: seq}}, layout.Stamp{}),
		}
	}
	if err := i.Apply(t.Context(), []Mutation{
		{Seq: 1, Entries: []storage.Entry{meta(1)}}}); !errors.Is(err, ErrGap) {
		t.Fatalf("mutation before the snapshot: %v", err)
	}
	for _, bad := range [][]storage.Entry{
		{{Key: nil, Value: []byte{1}}}, {{Key: make([]byte, commit.MaxKeyBytes+1), Value: []byte{1}}},
		{{Key: []byte("u"), Value: make([]byte, 3<<20)}},
		{{Key: []byte(layout.MetaKey), Value: []byte{9, 9}}},
	} {
		if err := i.Put(t.Context(), bad); !errors.Is(err, layout.ErrCorrupt) {
			t.Errorf("Put of a bad entry: %v", err)
		}
	}
	r.must(i.Put(t.Context(), []storage.Entry{meta(5)}))
	if err := i.Apply(t.Context(), []Mutation{
		{Seq: 6, Entries: []storage.Entry{meta(9)}}}); !errors.Is(err, layout.ErrCorrupt) {
		t.Fatalf("a mutation with a false number: %v", err)
	}
	r.must(i.Abort(t.Context()))
	if err := i.CommitCopy(t.Context(), 2); !errors.Is(err, ErrImportOver) {
		t.Fatalf("commit after Abort: %v", err)
	}
	waitSwept(t, r, 1, 1)
}

// FuzzImport feeds an import what another node could send.
func FuzzImport(f *testing.F) {
	good := layout.EncodeMeta(&layout.PartState{Meta: layout.Meta{Seq: 3}}, layout.Stamp{})
	f.Add([]byte("m"), good, []byte("u"), []byte{1}, uint64(4))
	f.Add([]byte("m"), good[:3], []byte("w\x00"), []byte{}, uint64(0))
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 []byte, seq uint64) {
		r := startHolding(t, storage.NewMemory(), 1, commit.Options{CacheEntries: 8})
		i, err := r.BeginImport(t.Context(), 1)
		r.must(err)
		_ = i.Put(t.Context(), []storage.Entry{{Key: k1, Value: v1}})
		_ = i.Apply(t.Context(), []Mutation{
			{Seq: crawl.Seq(seq), Entries: []storage.Entry{{Key: k2, Value: v2}, {Key: k1, Value: v1}}}})
		_ = i.CommitCopy(t.Context(), 5)
		// Whatever it was, the writer goes on and partition 0 is untouched.
		if got := r.add(link("http://h1.p0.test/")); got[0] != Added {
			t.Fatalf("admission = %v", got)
		}
		if m, _ := r.Meta(0); m.Seq != 1 {
			t.Fatalf("meta = %+v", m)
		}
		if err := r.stop(); err != nil {
			t.Fatal(err)
		}
	})
}

// TestModel runs random operations against a map, with crashes and moves.
func TestModel(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		m := newModel(t, rand.New(rand.NewPCG(seed, 1)),
			startHolding(t, kv, 3, commit.Options{CacheEntries: 64}))
		for range 300 {
			m.step(reopen)
		}
		m.compare()
	})
}

// TestModelOfRevisits is TestModel with pages that become due: each one that is planned is due or
// queued, once.
func TestModelOfRevisits(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 1))
		j := &testJudge{
			conditional: true,
			wait:        func(*Page) time.Duration { return time.Duration(rng.Int64N(int64(time.Hour))) },
		}
		m := newModel(t, rand.New(rand.NewPCG(seed, 2)),
			startJudged(t, kv, 3, j, commit.Options{CacheEntries: 64}))
		m.judge = j
		for range 400 {
			m.step(reopen)
		}
		m.compare()
	})
}
