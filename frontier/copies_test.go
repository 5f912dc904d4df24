package frontier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/filters"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// replicate gives r a copy of partition p of from, and returns the sink that
// has what follows.
func (r *running) replicate(from *running, p crawl.Partition) *caught {
	r.t.Helper()
	tail := &caught{}
	e, err := from.Export(r.t.Context(), p, tail.sink)
	r.must(err)
	defer e.Close()
	i, err := r.BeginImport(r.t.Context(), p)
	r.must(err)
	r.must(e.Snapshot(r.t.Context(), 1<<20,
		func(es []storage.Entry) error { return i.Put(r.t.Context(), es) }))
	r.must(i.CommitCopy(r.t.Context(), e.Epoch()))
	return tail
}

func (r *running) applyAll(ms []CopyMutation) {
	r.t.Helper()
	r.must(errors.Join(r.ApplyCopies(r.t.Context(), ms)...))
}

// TestApplyCopies checks what each mutation of a call is answered.
func TestApplyCopies(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		holder := startHolding(t, storage.NewMemory(), 3, commit.Options{})
		r := start(t, kv, commit.Options{})
		tails := [2]*caught{r.replicate(holder, 0), r.replicate(holder, 1)}
		for n := range 3 {
			holder.add(link(fmt.Sprintf("http://h1.p0.test/%d", n)))
			holder.add(link(fmt.Sprintf("http://h1.p1.test/%d", n)))
		}
		a, b := tails[0].take(), tails[1].take()
		stranger := CopyMutation{Partition: 2, Mutation: a[0].Mutation}
		later := a[0]
		later.Epoch = 2
		lie := a[2]
		lie.Entries = a[1].Entries
		tests := []struct {
			what string
			ms   []CopyMutation
			want []error
		}{
			{"a gap in one, another goes on", []CopyMutation{a[1], b[0], a[2]}, []error{ErrGap, nil, ErrGap}},
			{"no copy, another epoch", []CopyMutation{stranger, later}, []error{ErrNotCopy, ErrNotCopy}},
			{"in order, with a repeat", []CopyMutation{a[0], a[0], a[1]}, []error{nil, nil, nil}},
			{"a false number, and one behind it",
				[]CopyMutation{lie, {Partition: 0, Mutation: Mutation{Epoch: 1, Seq: 4, Entries: nil}}},
				[]error{layout.ErrCorrupt, ErrGap}},
			{"without its books", []CopyMutation{{Partition: 0, Mutation: Mutation{
				Epoch:   1,
				Seq:     3,
				Entries: []storage.Entry{{Key: []byte("u"), Value: []byte{1}}},
			}}}, []error{layout.ErrCorrupt}},
			{"a bad key", []CopyMutation{{Partition: 0, Mutation: Mutation{
				Epoch:   1,
				Seq:     3,
				Entries: append([]storage.Entry{{Key: nil, Value: []byte{1}}}, a[2].Entries...),
			}}}, []error{layout.ErrCorrupt}},
			{"too large", []CopyMutation{{Partition: 0, Mutation: Mutation{
				Epoch: 1,
				Seq:   3,
				Entries: append([]storage.Entry{{Key: []byte("u"), Value: make([]byte, 8<<20)}},
					a[2].Entries...),
			}}}, []error{storage.ErrTooBig}},
			{"the rest", []CopyMutation{b[1], a[2], b[2]}, []error{nil, nil, nil}},
		}
		for _, test := range tests {
			for i, err := range r.ApplyCopies(t.Context(), test.ms) {
				if !errors.Is(err, test.want[i]) {
					t.Errorf("%s: mutation %d: %v, want %v", test.what, i, err, test.want[i])
				}
			}
		}
		for round := range 2 { // the second time after a crash
			for p := range crawl.Partition(2) {
				storagetest.Compare(t, "content", content(t, r, p), content(t, holder, p))
				want, _ := holder.Meta(p)
				if m, _ := r.Meta(p); m.State != layout.Copy || m.Seq != want.Seq ||
					m.Counters != want.Counters {
					t.Errorf("round %d: meta = %+v, want what %+v is", round, m, want)
				}
			}
			r.check()
			r = r.crash(reopen, commit.Options{})
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_ = r.stop()
		for _, err := range r.ApplyCopies(ctx, a) {
			if err == nil {
				t.Error("a mutation was taken after the end")
			}
		}
	})
}

// TestAdoptCopy lets a replica follow the next holder, who was a replica too.
func TestAdoptCopy(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		holder := startHolding(t, storage.NewMemory(), 1, commit.Options{})
		next := start(t, storage.NewMemory(), commit.Options{})
		r := start(t, kv, commit.Options{})
		tail := r.replicate(holder, 0)
		holder.add(link("http://h1.p0.test/1"))
		next.replicate(holder, 0)
		r.applyAll(tail.take())
		before, _ := next.Meta(0)
		next.must(next.promote(0, 4))
		tail = &caught{}
		for _, bad := range []struct {
			after crawl.Seq
			epoch crawl.Epoch
		}{{before.Seq, 1}, {before.Seq + 1, 4}, {before.Seq - 1, 4}} {
			if err := next.Attach(t.Context(), 0, bad.after, bad.epoch, tail.sink); !errors.Is(err, ErrGap) {
				t.Errorf("attached at %+v: %v", bad, err)
			}
		}
		next.must(next.Attach(t.Context(), 0, before.Seq, 4, tail.sink))
		for _, bad := range []struct {
			from crawl.Epoch
			seq  crawl.Seq
			to   crawl.Epoch
		}{{1, before.Seq + 1, 4}, {2, before.Seq, 4}, {1, before.Seq, 0}} {
			err := r.AdoptCopy(t.Context(), 0, bad.from, bad.seq, bad.to)
			if !errors.Is(err, ErrGap) {
				t.Errorf("adopted as %+v: %v", bad, err)
			}
		}
		if err := r.AdoptCopy(t.Context(), 0, 9, 9, 9); !strings.Contains(err.Error(),
			fmt.Sprintf("copy of epoch 1 at mutation %d", before.Seq)) {
			t.Errorf("the error does not say what is here: %v", err)
		}
		for range 2 { // again, as by a repeated call
			r.must(r.AdoptCopy(t.Context(), 0, 1, before.Seq, 4))
		}
		r = r.crash(reopen, commit.Options{})
		holder.add(link("http://h1.p0.test/old"))
		next.add(link("http://h1.p0.test/new"))
		r.applyAll(tail.take())
		storagetest.Compare(t, "content", content(t, r, 0), content(t, next, 0))
		if err := r.AdoptCopy(t.Context(), 0, 1, before.Seq, 4); !errors.Is(err, ErrGap) {
			t.Errorf("adopted behind a mutation: %v", err)
		}
		r.must(r.promote(0, 7))
		if got := r.add(link("http://h1.p0.test/1"), link("http://h1.p0.test/new"),
			link("http://h1.p0.test/old")); got[0] != Known || got[1] != Known || got[2] != Added {
			t.Errorf("admissions = %v", got)
		}
		r.check()
	})
}

// TestYield takes a partition from a holder and gives it another content: of
// what it knew before, nothing may be left in its memory.
func TestYield(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		other := startHolding(t, storage.NewMemory(), 1, commit.Options{})
		other.add(link("http://h1.p0.test/theirs"))
		r := startHolding(t, kv, 1, commit.Options{})
		dropped := &caught{}
		e, err := r.Export(t.Context(), 0, dropped.sink)
		r.must(err)
		e.Close()
		r.add(link("http://h1.p0.test/mine"))
		if n := len(dropped.take()); n != 1 {
			t.Fatalf("the sink got %d mutations behind the Close of its Export, want 1", n)
		}
		r.must(r.Freeze(t.Context(), 0))
		r.become(0, layout.Copy)
		if fl := r.filterOf(0); fl != nil {
			t.Fatal("a copy has a filter, which does not learn what the holder adds")
		}
		if c := r.Totals(); c != (crawl.Counters{}) {
			t.Fatalf("a copy is counted: %+v", c)
		}
		tail := r.replicate(other, 0)
		other.add(link("http://h2.p0.test/tail"))
		r.applyAll(tail.take())
		r.must(r.promote(0, 2))
		for raw, want := range map[string]Admission{
			"http://h1.p0.test/mine":   Added,
			"http://h1.p0.test/theirs": Known,
			"http://h2.p0.test/tail":   Known,
		} {
			if got := r.add(link(raw)); got[0] != want {
				t.Errorf("%s is %v, want %v", raw, got[0], want)
			}
		}
		r.waitFilter(0, func(f *filters.URLs) bool { return f.Count == 3+2 }) // URLs and hosts
		if n := len(dropped.take()); n != 0 {
			t.Errorf("a sink of the time before got %d mutations", n)
		}
		r.check()
	})
}

// TestYieldDuringRebuild makes a copy, and a holder again, of a partition
// whose filter is being made from what it was before.
func TestYieldDuringRebuild(t *testing.T) {
	t.Parallel()
	kv, reopen := storagetest.OpenMemory(t)
	first := startHolding(t, kv, 1, commit.Options{})
	first.add(manyLinks(0, 10)...)
	_ = first.stop()
	g := &gated{KV: reopen(), arrived: make(chan struct{}), gate: make(chan struct{})}
	r := start(t, g, commit.Options{CacheEntries: 4})
	open := storagetest.OnceClose(t, g.gate)
	<-g.arrived
	replica := start(t, storage.NewMemory(), commit.Options{})
	replica.replicate(r, 0)
	replica.must(replica.promote(0, 2))
	tail := &caught{}
	m, _ := replica.Meta(0)
	replica.must(replica.Attach(t.Context(), 0, m.Seq, 2, tail.sink))
	replica.add(manyLinks(10, 10)...)
	r.become(0, layout.Copy)
	r.must(r.AdoptCopy(t.Context(), 0, 1, m.Seq, 2))
	r.applyAll(tail.take())
	r.must(r.promote(0, 3))
	open()
	r.waitFilter(0, func(f *filters.URLs) bool { return f.Count == 20+manyHosts })
	for i, a := range r.add(manyLinks(0, 20)...) {
		if a != Known {
			t.Fatalf("URL %d is %v", i, a)
		}
	}
}

func TestTransitionRefuses(t *testing.T) {
	t.Parallel()
	r := startHolding(t, storage.NewMemory(), 2, commit.Options{})
	r.become(0, layout.Copy)
	for what, err := range map[string]error{
		"a copy is released": r.Transition(t.Context(), 0,
			func(m *layout.Meta) error { m.State = layout.Released; return nil }),
		"a copy becomes absent": r.Transition(t.Context(), 0,
			func(m *layout.Meta) error { m.State = layout.Absent; return nil }),
		"nothing becomes held": r.promote(7, 9),
		"a state that is none": r.Transition(t.Context(), 1,
			func(m *layout.Meta) error { m.State = 9; return nil }),
		"promoted in an old epoch":    r.promote(0, 1),
		"a held partition is deleted": r.Delete(t.Context(), 1),
		"a mutation for a held partition": r.ApplyCopies(t.Context(),
			[]CopyMutation{{Partition: 1, Mutation: Mutation{Epoch: 1, Seq: 1, Entries: nil}}})[0],
	} {
		if err == nil {
			t.Errorf("%s", what)
		}
	}
	r.must(r.Transition(t.Context(), 5, func(*layout.Meta) error { return nil }))
	if m, known := r.Meta(5); known {
		t.Errorf("a transition that changes nothing has left %+v of a partition that was never here", m)
	}
	r.must(r.Delete(t.Context(), 0))
	if m, _ := r.Meta(0); m.State != layout.Absent || m.MaxEpoch != 1 {
		t.Errorf("a deleted copy: %+v", m)
	}
	r.become(1, layout.Released)
	r.must(r.Transition(t.Context(), 1, func(m *layout.Meta) error { m.Sealed = true; return nil }))
	r.become(1, layout.Copy)
	if m, _ := r.Meta(1); m.State != layout.Copy || !m.Sealed {
		t.Errorf("a released partition that became a copy: %+v", m)
	}
}

func TestSets(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := start(t, kv, commit.Options{})
		ids := func(s ...crawl.NodeID) []crawl.NodeID { return s }
		r.must(r.PutSets(t.Context(), []layout.SetRecord{
			{Partition: 3, Epoch: 2, Version: 5, Members: ids("a", "b")},
			{Partition: 3, Epoch: 2, Version: 4, Members: ids("x")},
			{Partition: 3, Epoch: 2, Version: 6, Members: ids("a")},
			{Partition: 4, Epoch: 9, Version: 0, Members: nil},
			{Partition: 3, Epoch: 1, Version: 9, Members: ids("y")},
		}))
		r.must(r.PutSets(t.Context(), []layout.SetRecord{
			{Partition: 3, Epoch: 2, Version: 6, Members: ids("z")},
			{Partition: 4, Epoch: 8, Version: 7, Members: ids("z")},
			{Partition: 1, Epoch: 1, Version: 1, Members: ids("c")},
		}))
		var many []layout.SetRecord
		for p := range crawl.Partition(2*setPiece + 1) {
			many = append(many,
				layout.SetRecord{Partition: p + 100, Epoch: 1, Version: 1, Members: ids("m")})
		}
		r.must(r.PutSets(t.Context(), many))
		for what, bad := range map[string]layout.SetRecord{
			"no partition": {
				Partition: layout.NodePartition,
				Epoch:     9,
				Version:   9,
				Members:   ids("a"),
			},
			"an empty name": {Partition: 3, Epoch: 9, Version: 9, Members: ids("")},
			"too many": {
				Partition: 3,
				Epoch:     9,
				Version:   9,
				Members:   make([]crawl.NodeID, layout.MaxSetMembers+1),
			},
			"a long name": {
				Partition: 3,
				Epoch:     9,
				Version:   9,
				Members:   ids(crawl.NodeID(make([]byte, 256))),
			},
		} {
			if err := r.PutSets(t.Context(), []layout.SetRecord{
				{Partition: 2, Epoch: 1, Version: 1, Members: nil}, bad}); err == nil {
				t.Errorf("%s was recorded", what)
			}
		}
		for round := range 2 { // the second time after a crash
			got := fmt.Sprint(r.Sets()[:3])
			if want := "[{1 1 1 [c]} {3 2 6 [a]} {4 9 0 []}]"; got != want {
				t.Errorf("round %d: sets = %s, want %s", round, got, want)
			}
			if n := len(r.Sets()); n != 3+len(many) {
				t.Errorf("round %d: %d sets", round, n)
			}
			if s, ok := r.Set(3); !ok || s.Version != 6 {
				t.Errorf("round %d: set of 3 = %+v, %v", round, s, ok)
			}
			if _, ok := r.Set(2); ok {
				t.Error("a refused call recorded something")
			}
			r = r.crash(reopen, commit.Options{})
		}
	})
}

// FuzzApplyCopies feeds a copy what another node could send.
func FuzzApplyCopies(f *testing.F) {
	good := layout.EncodeMeta(&layout.PartState{Meta: layout.Meta{Seq: 1, Epoch: 1}}, layout.Stamp{})
	f.Add([]byte("m"), good, []byte("u"), []byte{1}, uint64(1))
	f.Add([]byte("m"), good[:5], []byte{}, []byte{}, uint64(1<<63))
	f.Fuzz(func(t *testing.T, k1, v1, k2, v2 []byte, seq uint64) {
		holder := startHolding(t, storage.NewMemory(), 1, commit.Options{CacheEntries: 8})
		r := startHolding(t, storage.NewMemory(), 0, commit.Options{CacheEntries: 8})
		r.replicate(holder, 0)
		err := r.ApplyCopies(t.Context(), []CopyMutation{{Partition: 0, Mutation: Mutation{
			Epoch:   1,
			Seq:     crawl.Seq(seq),
			Entries: []storage.Entry{{Key: k1, Value: v1}, {Key: k2, Value: v2}},
		}}})[0]
		m, _ := r.Meta(0)
		if took := m.Seq == 1; took != (err == nil && seq == 1) {
			t.Fatalf("seq %d: %v, and the copy is at %d", seq, err, m.Seq)
		}
		if err := errors.Join(r.stop(), holder.stop()); err != nil {
			t.Fatal(err)
		}
	})
}
