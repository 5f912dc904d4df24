package frontier

import (
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/filters"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// reads counts the snapshots of a KV, and can end the walks over payloads early.
type reads struct {
	storage.KV
	snapshots atomic.Int64
	short     bool
}

func (k *reads) Snapshot() (storage.Snapshot, error) {
	k.snapshots.Add(1)
	s, err := k.KV.Snapshot()
	if k.short {
		s = shortSnapshot{s}
	}
	return s, err
}

type shortSnapshot struct{ storage.Snapshot }

func (s shortSnapshot) Iterate(prefix []byte) storage.Iterator {
	it := s.Snapshot.Iterate(prefix)
	if len(prefix) == layout.PrefixLen+1 && prefix[layout.PrefixLen] == layout.TableContents {
		return &shortIterator{Iterator: it}
	}
	return it
}

type shortIterator struct {
	storage.Iterator
	steps int
}

func (i *shortIterator) Valid() bool { return i.steps < 3 && i.Iterator.Valid() }
func (i *shortIterator) Next()       { i.steps++; i.Iterator.Next() }

// payloadsOf reads a partition's filters and the room for more between two groups. used
// is -1 where there is none, else how many digests it has; due says that one waits to be
// made, is being made, or cannot be.
func (r *running) payloadsOf(p crawl.Partition) (used, room int64, due bool) {
	r.t.Helper()
	used = -1
	r.must(r.change(r.t.Context(), func(g group) error {
		s := &g.part(p).Live.Payloads
		if s.Used != nil {
			used = s.Used.Count
		}
		room, due = r.w.PayloadRoom, s.Due || s.Making != nil
		return nil
	}))
	return used, room, due
}

// waitPayloads waits until a partition has a filter.
func (r *running) waitPayloads(p crawl.Partition) (count int64) {
	r.t.Helper()
	for deadline := time.Now().Add(15 * time.Minute); ; time.Sleep(2 * time.Millisecond) {
		if n, _, _ := r.payloadsOf(p); n >= 0 {
			return n
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("partition %d gets no filter of its payloads", p)
		}
	}
}

// waitGrown waits until a partition's filter has room for n payloads and has them, and no
// other filter is due.
func (r *running) waitGrown(p crawl.Partition, n int64) {
	r.t.Helper()
	for deadline := time.Now().Add(15 * time.Minute); ; time.Sleep(2 * time.Millisecond) {
		used, room, due := r.payloadsOf(p)
		if used >= n && !due && filters.DefaultPayloadFilters-room >= n*filters.PayloadBits/8 {
			return
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("the filter does not grow: it has %d payloads of %d in %d bytes", used, n,
				filters.DefaultPayloadFilters-room)
		}
	}
}

func payloads(p crawl.Partition, from, n int) (cs []Content) {
	for i := range n {
		cs = append(cs, payload(p, from+i))
	}
	return cs
}

// knows checks that payloads are known, or that none is.
func (r *running) knows(want bool, cs []Content) {
	r.t.Helper()
	for i := range cs {
		if o, known, err := r.Content(cs[i].Partition, cs[i].Digest); err != nil || known != want ||
			known && o != cs[i].Original {
			r.t.Fatalf("payload %d, %x: %+v, known %t, %v; want %t", i, cs[i].Digest, o, known, err, want)
		}
	}
}

// TestPayloadFilterSpares checks that a look-up that finds nothing does not reach the
// store, as the writer's does not.
func TestPayloadFilterSpares(t *testing.T) {
	t.Parallel()
	const n, most = 10_000, 10_000 / 50
	kv := &reads{KV: storage.NewMemory()}
	r := startHolding(t, kv, 1, commit.Options{})
	before := kv.snapshots.Load()
	r.knows(false, payloads(0, 0, n))
	if got := kv.snapshots.Load() - before; got != 0 {
		t.Errorf("%d of %d look-ups reached the store in front of an empty partition", got, n)
	}
	cs := payloads(0, 0, n)
	r.must(r.NoteContents(t.Context(), cs))
	r.waitGrown(0, n)
	before = kv.snapshots.Load()
	r.knows(false, payloads(0, n, n))
	if got := kv.snapshots.Load() - before; got > most {
		t.Errorf("%d of %d look-ups reached the store, want at most %d", got, n, most)
	}
	r.knows(true, cs)
	r.check()
}

// TestPayloadFilterFills checks that a start waits for no filter, and that one in the
// making learns what is added meanwhile.
func TestPayloadFilterFills(t *testing.T) {
	t.Parallel()
	kv, reopen := storagetest.OpenMemory(t)
	r := startHolding(t, kv, 1, commit.Options{})
	r.must(r.NoteContents(t.Context(), payloads(0, 0, 500)))
	_ = r.stop()
	counted := &reads{KV: reopen()}
	g := &gated{
		KV:      counted,
		table:   layout.TableContents,
		arrived: make(chan struct{}),
		gate:    make(chan struct{}),
	}
	r = start(t, g, commit.Options{})
	open := sync.OnceFunc(func() { close(g.gate) })
	t.Cleanup(open)
	<-g.arrived
	r.must(r.NoteContents(t.Context(), payloads(0, 500, 100)))
	before := counted.snapshots.Load()
	r.knows(true, payloads(0, 0, 600))
	r.knows(false, payloads(0, 600, 100))
	if got := counted.snapshots.Load() - before; got != 700 {
		t.Errorf("%d of 700 look-ups asked the store before there was a filter", got)
	}
	open()
	if n := r.waitPayloads(0); n != 600 {
		t.Errorf("the filter has %d payloads, want 600", n)
	}
	before = counted.snapshots.Load()
	r.knows(true, payloads(0, 0, 600))
	r.knows(false, payloads(0, 600, 100))
	if got := counted.snapshots.Load() - before; got > 620 {
		t.Errorf("%d of 700 look-ups asked the store, 600 of them for what is known", got)
	}
	r.check()
}

// TestPayloadFilterOutgrown: a filter that fills up while it is made is made anew, although
// nothing is added any more.
func TestPayloadFilterOutgrown(t *testing.T) {
	t.Parallel()
	kv, reopen := storagetest.OpenMemory(t)
	r := startHolding(t, kv, 1, commit.Options{})
	r.must(r.NoteContents(t.Context(), payloads(0, 0, 500)))
	_ = r.stop()
	g := &gated{
		KV:      reopen(),
		table:   layout.TableContents,
		arrived: make(chan struct{}),
		gate:    make(chan struct{}),
	}
	r = start(t, g, commit.Options{})
	open := sync.OnceFunc(func() { close(g.gate) })
	t.Cleanup(open)
	<-g.arrived
	r.must(r.NoteContents(t.Context(), payloads(0, 500, 1500)))
	open()
	r.waitGrown(0, 2000)
	r.knows(true, payloads(0, 0, 2000))
	r.check()
}

// TestPayloadFilterMoves takes a partition to another node and back: what came while it
// was a copy is known to its holder.
func TestPayloadFilterMoves(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		ctx := t.Context()
		a, b := startHolding(t, kv, 1, commit.Options{}), start(t, storage.NewMemory(), commit.Options{})
		a.must(a.NoteContents(ctx, payloads(0, 0, 300)))
		send := func(from, to *running, epoch crawl.Epoch) *caught {
			tail := &caught{}
			e, err := from.Export(ctx, 0, tail.sink)
			from.must(err)
			defer e.Close()
			i, err := to.BeginImport(ctx, 0)
			to.must(err)
			to.must(e.Snapshot(ctx, 500, func(es []storage.Entry) error { return i.Put(ctx, es) }))
			to.must(i.CommitCopy(ctx, epoch))
			return tail
		}
		hand := func(from, to *running, tail *caught, epoch crawl.Epoch) {
			from.must(from.Freeze(ctx, 0))
			from.become(0, layout.Released)
			to.must(errors.Join(to.ApplyCopies(ctx, tail.take())...))
			to.must(to.promote(0, epoch))
		}
		tail := send(a, b, 1)
		a.must(a.NoteContents(ctx, payloads(0, 300, 50)))
		hand(a, b, tail, 2)
		b.knows(true, payloads(0, 0, 350)) // with a filter or before
		if n := b.waitPayloads(0); n != 350 {
			t.Errorf("the filter has %d payloads, want 350", n)
		}
		b.knows(true, payloads(0, 0, 350))
		a.become(0, layout.Copy)
		if _, room, _ := a.payloadsOf(0); room != filters.DefaultPayloadFilters {
			t.Errorf("a copy keeps a filter: there is room for %d bytes", room)
		}
		b.must(b.NoteContents(ctx, payloads(0, 350, 50)))
		tail = send(b, a, 2)
		b.must(b.NoteContents(ctx, payloads(0, 400, 50)))
		hand(b, a, tail, 3)
		a.knows(true, payloads(0, 0, 450))
		a.waitPayloads(0)
		a.knows(true, payloads(0, 0, 450))
		b.must(b.Delete(ctx, 0))
		if _, room, _ := b.payloadsOf(0); room != filters.DefaultPayloadFilters {
			t.Errorf("a partition that is gone keeps a filter: there is room for %d bytes", room)
		}
		a.check()
	})
}

// TestPayloadFilterIsBounded fills partitions far beyond what their filters may take.
func TestPayloadFilterIsBounded(t *testing.T) {
	t.Parallel()
	const bound = 4 << 10
	r := startHolding(t, storage.NewMemory(), 24,
		commit.Options{PayloadFilterBytes: bound, ContentsPerPartition: 2000})
	held := 0
	for p := range crawl.Partition(24) {
		r.must(r.NoteContents(t.Context(), payloads(p, 0, 1500)))
		used, room, _ := r.payloadsOf(p)
		if room < 0 || room > bound {
			t.Fatalf("room for %d bytes of %d", room, bound)
		}
		if used >= 0 {
			held++
		}
	}
	if want := bound / (filters.PayloadMinBlocks * filters.BlockBytes); held != want {
		t.Errorf("%d partitions have a filter, want %d", held, want)
	}
	for p := range crawl.Partition(24) {
		r.knows(true, payloads(p, 0, 1500))
		r.knows(false, payloads(p, 1500, 100))
	}
	none := startHolding(t, storage.NewMemory(), 1, commit.Options{PayloadFilterBytes: -1})
	none.must(none.NoteContents(t.Context(), payloads(0, 0, 10)))
	none.knows(true, payloads(0, 0, 10))
	if used, room, _ := none.payloadsOf(0); used >= 0 || room != -1 {
		t.Errorf("a filter of %d payloads where there is no room", used)
	}
}

// TestPayloadFilterForgets displaces payloads until the filter is made anew without them.
func TestPayloadFilterForgets(t *testing.T) {
	t.Parallel()
	const most = 100
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{ContentsPerPartition: most})
	for n := 0; ; n += 10 {
		r.must(r.NoteContents(t.Context(), payloads(0, n, 10)))
		r.knows(true, payloads(0, n+9, 1))
		if used, _, _ := r.payloadsOf(0); n > 2*most && used < int64(n) && used <= 2*most {
			break
		}
		if n > 200*most {
			t.Fatal("what was displaced stays in the filter")
		}
	}
	r.check()
}

// TestPayloadFilterNeedsAllKeys leaves a filter out when not all payloads could be read.
func TestPayloadFilterNeedsAllKeys(t *testing.T) {
	t.Parallel()
	kv, reopen := storagetest.OpenMemory(t)
	r := startHolding(t, kv, 1, commit.Options{})
	r.must(r.NoteContents(t.Context(), payloads(0, 0, 50)))
	_ = r.stop()
	log := make(said, 8)
	r = start(t, &reads{KV: reopen(), short: true},
		commit.Options{Logger: slog.New(slog.NewTextHandler(log, nil))})
	select {
	case line := <-log:
		if !strings.Contains(line, "3 payloads were read of 50") {
			t.Error(line)
		}
	case <-time.After(15 * time.Minute):
		t.Error("nobody says that a filter was not made")
	}
	if used, room, due := r.payloadsOf(0); used >= 0 || room != filters.DefaultPayloadFilters || !due {
		t.Errorf("a filter was made of %d payloads of 50; there is room for %d bytes, another try %t",
			used, room, due)
	}
	r.knows(true, payloads(0, 0, 50))
}

// said collects the lines of a log.
type said chan string

func (s said) Write(line []byte) (int, error) {
	s <- string(line)
	return len(line), nil
}

func TestPayloadFilterRate(t *testing.T) {
	t.Parallel()
	fl := filters.NewPayloads(filters.PayloadBytes(20_000), 42)
	n := int(fl.Bytes() * 8 / filters.PayloadBits)
	if n < 30_000 || n > 30_100 {
		t.Fatalf("it is full with %d digests", n)
	}
	for i := range n {
		fl.Add(payload(0, i).Digest)
	}
	maybes := 0
	for i := range 100_000 {
		switch maybe := fl.Maybe(payload(0, i).Digest); {
		case i < n && !maybe:
			t.Fatalf("it forgot %d", i)
		case i >= n && maybe:
			maybes++
		}
	}
	if rate := float64(maybes) / float64(100_000-n); rate > 0.016 {
		t.Errorf("%.3f of new digests are maybe", rate)
	}
}
