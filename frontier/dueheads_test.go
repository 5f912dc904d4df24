package frontier

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
)

// dueTable is what a store has, as one reader or writer after the other sees it.
type dueTable map[layout.DueSlot]bool

func (t dueTable) firstFrom(from []byte) (first []byte) {
	for d := range t {
		key := layout.AppendDueKey(nil, &d)
		if bytes.Compare(key, from) >= 0 && (first == nil || bytes.Compare(key, first) < 0) {
			first = key
		}
	}
	return first
}

// TestDueHeads: writes that are noted after they can be seen, and reads of older snapshots, in any
// order: once all is noted, nothing live is below where a reader begins, and a head that is called
// known is the first.
func TestDueHeads(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	gen := layout.Generation{Partition: 3, Number: 1}
	type read struct {
		look dueLook
		seen dueTable
	}
	for range 300 {
		var h dueHeads
		store := dueTable{}
		var notes []func()
		var reads []read
		for range 60 {
			switch k := rng.IntN(10); {
			case k < 3:
				d := layout.DueAt(time.Unix(int64(rng.IntN(50)), 0), "h", layout.Fingerprint{byte(rng.IntN(3))})
				store[d] = true
				notes = append(notes, func() { h.put(gen, layout.AppendDueKey(nil, &d)) })
			case k < 5 && len(store) > 0:
				d := slices.Collect(maps.Keys(store))[0]
				delete(store, d)
				notes = append(notes, func() { h.del(gen, d) })
			case k < 7 && len(notes) > 0: // the writer notes in the order of its commits
				notes[0]()
				notes = notes[1:]
			case k < 8:
				look := h.begin(gen)
				reads = append(reads, read{look, maps.Clone(store)})
			case len(reads) > 0:
				i := rng.IntN(len(reads))
				r := reads[i]
				reads = slices.Delete(reads, i, i+1)
				r.look.end(r.seen.firstFrom(r.look.from), rng.IntN(5) > 0)
			}
			if len(notes) == 0 {
				h.check(t, gen, store)
			}
		}
	}
}

func (h *dueHeads) check(t *testing.T, gen layout.Generation, store dueTable) {
	t.Helper()
	want := store.firstFrom(nil)
	if first, ok := h.known(gen); ok && !bytes.Equal(first, want) {
		t.Fatalf("the head is %x, want %x", first, want)
	}
	look := h.begin(gen)
	if got := store.firstFrom(look.from); !bytes.Equal(got, want) {
		t.Fatalf("a read from %x finds %x, want %x", look.from, got, want)
	}
	look.end(nil, false)
}

// TestDueHeadsOfAnotherCopy: what was known of one generation says nothing of the next one.
func TestDueHeadsOfAnotherCopy(t *testing.T) {
	var h dueHeads
	gen := layout.Generation{Partition: 3, Number: 1}
	look := h.begin(gen)
	look.end(nil, true)
	if first, ok := h.known(gen); !ok || first != nil {
		t.Fatalf("an empty table: %x, %v", first, ok)
	}
	if _, ok := h.known(layout.Generation{Partition: 3, Number: 2}); ok {
		t.Fatal("the head of another copy is known")
	}
	look = h.begin(gen)
	h.forget(3)
	look.end(nil, true)
	if _, ok := h.known(gen); ok {
		t.Fatal("a read that began before has said what is forgotten")
	}
}

func TestCountOverdue(t *testing.T) {
	for _, tc := range []struct {
		late time.Duration
		want int
	}{
		{-time.Hour, 0}, {0, 0}, {time.Second, 0}, {time.Second + 1, 1}, {time.Minute, 5},
		{1 << 62, crawl.NumOverdueBuckets - 1},
	} {
		var c crawl.Counters
		if countOverdue(&c, tc.late); c.Overdue[tc.want] != 1 {
			t.Errorf("%v: %v", tc.late, c.Overdue)
		}
	}
}
