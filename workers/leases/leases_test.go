//race:none

package leases

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var t0 = time.Unix(1_000, 0)

func at(seconds int) time.Time { return t0.Add(time.Duration(seconds) * time.Second) }

var limits = Limits{Open: 10, PerWorker: 6, Settled: 2}

// tagOf is any hash.
func tagOf(id, url string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id + "|" + url))
	return h.Sum64()
}

func settle(b *Book, now time.Time, id, url string) (uint64, Answer) {
	return b.Settle(now, id, url, tagOf(id, url))
}

// TestScript follows one lease through everything that can become of its URLs.
func TestScript(t *testing.T) {
	t.Parallel()
	b := NewBook(limits)
	if !b.Grant("l1", "w", at(10), []Item{{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}}) {
		t.Fatal("a new lease was refused")
	}
	if got, want := b.Counts(), (Counts{Workers: 1, Leases: 1, Open: 4}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if b.Room("w") != 2 || b.Room("other") != 6 {
		t.Errorf("room %d and %d, want 2 and 6", b.Room("w"), b.Room("other"))
	}
	if left, ok := b.Withdraw(at(4), 2); !ok || left != 6*time.Second {
		t.Errorf("withdrawn with %v, %v; want 6s", left, ok)
	}
	if _, ok := b.Withdraw(at(4), 2); ok {
		t.Error("a visit was withdrawn twice")
	}
	for _, step := range []struct {
		id, url string
		visit   uint64
		want    Answer
	}{
		{"l1", "a", 1, Yours},
		{"l1", "a", 0, Repeated},
		{"l1", "b", 0, Unknown},
		{"l1", "x", 0, Unknown},
		{"l2", "a", 0, Unknown},
		{"l1", "c", 3, Yours},
	} {
		if visit, a := settle(b, at(5), step.id, step.url); visit != step.visit || a != step.want {
			t.Errorf("%s of %s: visit %d, %v; want %d, %v", step.url, step.id, visit, a, step.visit,
				step.want)
		}
	}
	if got := b.Expire(at(9)); len(got) != 0 || !b.NextEnd().Equal(at(10)) {
		t.Errorf("expired early: %v; next end %v", got, b.NextEnd())
	}
	if _, a := settle(b, at(10), "l1", "d"); a != Unknown {
		t.Errorf("a result at the deadline is %v, want unknown", a)
	}
	if got := b.Expire(at(10)); !slices.Equal(got, []uint64{4}) {
		t.Errorf("expired %v, want visit 4", got)
	}
	if got, want := b.Counts(), (Counts{Expired: 1, Settled: 2}); got != want {
		t.Errorf("counts at the end %+v, want %+v", got, want)
	}
	if !b.NextEnd().IsZero() || len(b.leases)+len(b.visits)+len(b.workers) != 0 {
		t.Error("something is left")
	}
}

// TestSettledAreRemembered: a result sent again is known, for as many URLs as the limit says and
// beyond the lease's end. Nothing else of the lease is: not its other URLs, and not the URL in
// another lease.
func TestSettledAreRemembered(t *testing.T) {
	t.Parallel()
	b := NewBook(limits)
	for i := range 3 {
		id := fmt.Sprint("l", i)
		b.Grant(id, "w", at(10+i), []Item{{"a", uint64(i + 1)}})
		settle(b, at(i), id, "a")
	}
	for _, c := range []struct {
		id, url string
		want    Answer
	}{{"l0", "a", Unknown}, {"l1", "a", Repeated}, {"l2", "a", Repeated}, {"l1", "b", Unknown},
		{"l3", "a", Unknown}} {
		for _, now := range []time.Time{at(5), at(500)} {
			if _, a := settle(b, now, c.id, c.url); a != c.want {
				t.Errorf("%s of %s: %v, want %v", c.url, c.id, a, c.want)
			}
		}
	}
	b.Settled(tagOf("elsewhere", "a"))
	if _, a := settle(b, at(5), "elsewhere", "a"); a != Repeated ||
		!b.WasSettled(tagOf("elsewhere", "a")) || b.Counts().Settled != 4 {
		t.Errorf("a URL that was settled without a lease here: %v, %+v", a, b.Counts())
	}
	if len(b.leases) != 0 || !b.NextEnd().IsZero() {
		t.Errorf("%d leases without an open URL are left", len(b.leases))
	}
	b.Grant("l9", "w", at(20), []Item{{"a", 9}})
	if b.Grant("l9", "other", at(20), []Item{{"b", 10}}) {
		t.Error("a lease of another worker was extended")
	}
	if n := len(b.settled.order); n != limits.Settled || len(b.settled.set) != n {
		t.Errorf("%d and %d are remembered, want %d", n, len(b.settled.set), limits.Settled)
	}
}

// TestLeaseGrows: URLs of two rounds are one lease, with the later end.
func TestLeaseGrows(t *testing.T) {
	t.Parallel()
	b := NewBook(limits)
	b.Grant("l", "w", at(10), []Item{{"a", 1}})
	b.Grant("l", "w", at(12), []Item{{"b", 2}})
	b.Withdraw(at(1), 1)
	b.Grant("l", "w", at(11), []Item{{"a", 3}})
	if visit, a := settle(b, at(11), "l", "a"); visit != 3 || a != Yours {
		t.Errorf("visit %d, %v; want 3, yours", visit, a)
	}
	if got := b.Expire(at(12)); !slices.Equal(got, []uint64{2}) {
		t.Errorf("expired %v, want 2", got)
	}
}

// TestEachVisitEndsOnce drives a book at random. Every visit that was granted must end exactly
// once: by a result, taken back, or at its lease's end.
func TestEachVisitEndsOnce(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := NewBook(Limits{Open: 30, PerWorker: 15, Settled: 1 + r.IntN(4)})
		now, last, ended := t0, uint64(0), map[uint64]int{}
		granted := map[string][]Item{}
		end := func(visits ...uint64) {
			for _, v := range visits {
				ended[v]++
			}
		}
		for range 300 {
			now = now.Add(time.Duration(r.IntN(1000)) * time.Millisecond)
			end(b.Expire(now)...)
			id := fmt.Sprint("l", r.IntN(8))
			switch r.IntN(4) {
			case 0:
				worker := "w" + id
				var items []Item
				for range min(r.IntN(6), b.Room(worker)) {
					last++
					items = append(items, Item{fmt.Sprint("u", last), last})
				}
				if b.Grant(id, worker, now.Add(5*time.Second), items) {
					granted[id] = append(granted[id], items...)
				} else {
					last -= uint64(len(items))
				}
			case 1:
				if last > 0 {
					v := 1 + r.Uint64N(last)
					if _, ok := b.Withdraw(now, v); ok {
						end(v)
					}
				}
			default:
				if list := granted[id]; len(list) > 0 {
					it := list[r.IntN(len(list))]
					if v, a := settle(b, now, id, it.URL); a == Yours {
						end(v)
					}
				}
			}
			if c := b.Counts(); c.Open != int(last)-len(ended) || c.Open > 30 {
				t.Fatalf("seed %d: %d open, of %d granted %d have ended", seed, c.Open, last, len(ended))
			}
		}
		end(b.Expire(now.Add(time.Hour))...)
		for v := uint64(1); v <= last; v++ {
			if ended[v] != 1 {
				t.Fatalf("seed %d: visit %d ended %d times", seed, v, ended[v])
			}
		}
	}
}

func TestLine(t *testing.T) {
	t.Parallel()
	var l Line
	if _, ok := l.Give(t0, 1); ok || l.Wanted() != 0 || !l.NextDue().IsZero() {
		t.Error("an empty line took a visit")
	}
	first, second := l.Join(2, at(5)), l.Join(3, at(2))
	if l.Wanted() != 5 || !l.NextDue().Equal(at(2)) {
		t.Errorf("wanted %d, due %v", l.Wanted(), l.NextDue())
	}
	if full, ok := l.Give(t0, 1); full != nil || !ok {
		t.Error("a batch of one of two is full")
	}
	if full, ok := l.Give(t0, 2); full != first || !ok || !slices.Equal(first.Got(), []uint64{1, 2}) {
		t.Errorf("full %v, got %v", full, first.Got())
	}
	l.Give(at(1), 3)
	if got := l.Due(at(1)); len(got) != 0 || !l.NextDue().Equal(at(1).Add(Linger)) {
		t.Errorf("due %v, next %v", got, l.NextDue())
	}
	if got := l.Due(at(1).Add(Linger)); !slices.Equal(got, []*Waiter{second}) || l.Wanted() != 0 ||
		l.Len() != 0 {
		t.Errorf("due %v, still wanted %d", got, l.Wanted())
	}
	third := l.Join(4, at(9))
	l.Give(at(8), 5)
	if !l.Leave(third) || l.Leave(third) || l.Wanted() != 0 {
		t.Error("a waiter that left is still in the line")
	}
}
