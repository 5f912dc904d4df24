package frontier

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/recovery"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// rollback is a store that can be set back to an earlier moment, as a store
// that cuts its log is.
type rollback struct {
	*storage.Memory
	kept atomic.Bool // no Sync moves the moment any more
}

// keep makes now the moment to which the store is set back.
func (b *rollback) keep() {
	_ = b.Memory.Sync() // it fails on a bad disk only, and this one is good
	b.kept.Store(true)
}

func (b *rollback) Sync() error {
	if b.kept.Load() {
		return nil
	}
	return b.Memory.Sync()
}

// cut ends the store and returns the one of the moment of keep, which does not know that
// it has lost anything.
func (b *rollback) cut() *storage.Memory {
	m := b.PowerLoss()
	_ = m.NotePowerLoss()
	return m
}

func metaOf(t *testing.T, r *running, p crawl.Partition) layout.Meta {
	t.Helper()
	m, _ := r.Meta(p)
	return m
}

// TestStoreBehindItsMarks sets a store back, and checks that those partitions
// which lost something are suspect, for as long as nothing is done about it.
func TestStoreBehindItsMarks(t *testing.T) {
	t.Parallel()
	o := commit.Options{HighWater: filepath.Join(t.TempDir(), "marks")}
	kv := &rollback{Memory: storage.NewMemory()}
	r := startHolding(t, kv, 6, o)
	r.add(link("http://h1.p0.test/1"), link("http://h1.p1.test/1"))
	r.become(5, layout.Copy)
	kv.keep()
	r.add(link("http://h1.p1.test/2")) // loses a mutation
	r.must(r.Freeze(t.Context(), 2))   // loses its release
	r.must(r.Transition(t.Context(), 2,
		func(m *layout.Meta) error { m.State, m.Sealed = layout.Released, true; return nil }))
	r.become(3, layout.Released) // loses its deletion
	r.must(r.Delete(t.Context(), 3))
	replica := start(t, storage.NewMemory(), commit.Options{})
	replica.replicate(r, 0)
	replica.must(replica.promote(0, 2))
	r.must(r.Found(t.Context(), []crawl.Partition{7}, 3)) // is lost wholly
	_ = r.stop()
	m := kv.cut()
	for round := range 2 { // the second start must still know
		r = start(t, m, o)
		for p, want := range map[crawl.Partition]struct {
			state   layout.State
			suspect bool
		}{
			0: {layout.Holder, false},
			1: {layout.Holder, true},
			2: {layout.Released, true},
			3: {layout.Absent, false},
			4: {layout.Holder, false},
			5: {layout.Copy, false},
			7: {layout.Holder, true},
		} {
			if m := metaOf(t, r, p); m.State != want.state || m.Suspect != want.suspect {
				t.Errorf("round %d: partition %d is %v, suspect %v; want %+v", round, p, m.State, m.Suspect,
					want)
			}
		}
		if m := metaOf(t, r, 7); m.Epoch != 3 || m.MaxEpoch != 3 || m.Generation != 1 {
			t.Errorf("round %d: what is known of partition 7: %+v", round, m)
		}
		if m := metaOf(t, r, 2); !m.Sealed {
			t.Error("a released partition is not sealed any more")
		}
		if got := r.add(link("http://h1.p1.test/3"), link("http://h1.p0.test/3")); got[0] != NotHolder ||
			got[1] != Added && round == 0 {
			t.Errorf("round %d: admissions %v", round, got)
		}
		if round == 0 {
			_ = r.stop()
			r.must(r.Close())
			m = m.Crash()
		}
	}
	waitSwept(t, r, 3, 1)
	// For want of a better copy it goes on, with numbers that nobody has seen.
	r.must(r.Transition(t.Context(), 1, func(m *layout.Meta) error { m.Suspect = false; return nil }))
	if got := r.add(link("http://h1.p1.test/2")); got[0] != Added {
		t.Errorf("admission %v", got)
	}
	if m := metaOf(t, r, 1); m.Seq != 3 {
		t.Errorf("the next mutation has number %d, and 2 was given before", m.Seq)
	}
	// A replaced copy is no longer suspect; nor is it at the next start.
	r.become(7, layout.Copy)
	if err := r.promote(7, 9); err == nil {
		t.Error("a suspect copy was promoted")
	}
	m7 := metaOf(t, r, 7)
	if err := r.AdoptCopy(t.Context(), 7, m7.Epoch, m7.Seq, 9); !errors.Is(err, ErrGap) {
		t.Errorf("a suspect copy was adopted: %v", err)
	}
	other := startHolding(t, storage.NewMemory(), 8, commit.Options{})
	r.replicate(other, 7)
	_ = r.stop()
	r = start(t, m.Crash(), o)
	for p, want := range map[crawl.Partition]bool{1: false, 2: true, 7: false} {
		if m := metaOf(t, r, p); m.Suspect != want {
			t.Errorf("partition %d: suspect %v, want %v", p, m.Suspect, want)
		}
	}
	r.check()
}

// TestMarksAreNotInTheWay checks that a crash at any moment makes nobody
// suspect: the marks are never ahead of the store.
func TestMarksAreNotInTheWay(t *testing.T) {
	t.Parallel()
	for at, ended := 0, false; !ended; at++ {
		for _, applied := range []bool{false, true} {
			o := commit.Options{HighWater: filepath.Join(t.TempDir(), "marks")}
			m := storage.NewMemory()
			if err := m.Write([]storage.Entry{
				{Key: layout.NodeKey(layout.NodeVersion), Value: []byte{layout.FormatVersion}}}); err != nil {
				t.Fatal(err)
			}
			f := start(t, &storagetest.Faulty{KV: m, Left: at, Applied: applied}, o)
			_, err := story(t.Context(), f.Frontier)
			ended = err == nil
			_ = f.stop()
			next := start(t, m.Crash(), o)
			for _, m := range next.Metas() {
				if m.Suspect {
					t.Fatalf("crash at write %d, applied %v: %+v", at, applied, m)
				}
			}
			_ = next.stop()
		}
	}
}

// TestLostStates starts on an empty store beside old marks, and TestLostBooks
// on one without the books of a partition.
func TestLostStates(t *testing.T) {
	t.Parallel()
	o := commit.Options{HighWater: filepath.Join(t.TempDir(), "marks")}
	r := startHolding(t, storage.NewMemory(), 3, o)
	r.must(r.Transition(t.Context(), 2,
		func(m *layout.Meta) error { m.State = layout.Released; return nil }))
	r.must(r.Delete(t.Context(), 2))
	_ = r.stop()
	r = start(t, storage.NewMemory(), o)
	for p, want := range map[crawl.Partition]layout.State{
		0: layout.Holder,
		1: layout.Holder,
		2: layout.Absent,
	} {
		if m := metaOf(t, r, p); m.State != want || m.Suspect != (want == layout.Holder) ||
			m.MaxEpoch != 1 {
			t.Errorf("partition %d: %+v", p, m)
		}
	}
	if err := r.Found(t.Context(), []crawl.Partition{2}, 1); err == nil {
		t.Error("founded in an epoch in which it was held")
	}
}

func TestLostBooks(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 2, commit.Options{})
		r.add(link("http://h1.p0.test/1"), link("http://h1.p0.test/2"), link("http://h2.p0.test/1"),
			link("http://h1.p1.test/1"))
		for range 2 {
			r.must(r.Complete(t.Context(), Completion{
				Lease:   r.lease(0, "h1.p0.test"),
				Outcome: fetched,
				Outbox:  []crawl.Routed{link("http://h1.p9.test/")},
			}))
		}
		want := metaOf(t, r, 0).Counters
		_ = r.stop()
		kv = reopen()
		if err := kv.Write([]storage.Entry{
			{Key: append(layout.AppendPrefix(nil, 0, 1), layout.MetaKey...), Value: nil}}); err != nil {
			t.Fatal(err)
		}
		r = start(t, kv, commit.Options{})
		m := metaOf(t, r, 0)
		if !m.Suspect || metaOf(t, r, 1).Suspect {
			t.Errorf("suspect: %v, %v; want the first", m.Suspect, metaOf(t, r, 1).Suspect)
		}
		if got := m.Counters; got.Seen != want.Seen || got.Queued != want.Queued ||
			got.Hosts != want.Hosts || got.Outbox != want.Outbox || got.Pages != want.Pages {
			t.Errorf("recounted %+v, want %+v", got, want)
		}
		r.must(r.Transition(t.Context(), 0, func(m *layout.Meta) error { m.Suspect = false; return nil }))
		r.check()
		r.must(r.Complete(t.Context(), Completion{
			Lease:   r.lease(0, "h2.p0.test"),
			Outcome: fetched,
			Outbox:  []crawl.Routed{link("http://h2.p9.test/")},
		}))
		if out, err := r.Outbox(0, layout.OutboxKey{}, 9); err != nil || len(out) != 3 {
			t.Errorf("outbox %v, %v: an entry was overwritten", out, err)
		}
		r.check()
		r = r.crash(reopen, commit.Options{})
		if metaOf(t, r, 0).Suspect {
			t.Error("suspect again")
		}
	})
}

func TestDamagedMark(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "marks")
	o := commit.Options{HighWater: path}
	kv := &rollback{Memory: storage.NewMemory()}
	r := startHolding(t, kv, 200, o)
	kv.keep()
	r.add(link("http://h1.p1.test/1"), link("http://h1.p150.test/1"))
	_ = r.stop()
	b, err := os.ReadFile(path)
	r.must(err)
	b[recovery.MarkBytes+40] ^= 4
	r.must(os.WriteFile(path, b, 0o600))
	r = start(t, kv.cut(), o)
	if metaOf(t, r, 1).Suspect || !metaOf(t, r, 150).Suspect {
		t.Errorf("suspect: %v, %v; the first has no mark that can be read", metaOf(t, r, 1).Suspect,
			metaOf(t, r, 150).Suspect)
	}
}
