package frontier

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/guests"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// guestModel is what the table should have, by crawl and URL.
type guestModel map[[2]string]*modelGuest

type modelGuest struct {
	known, active bool
	due           time.Time
	metadata      crawl.Metadata
}

func (m guestModel) sums(id string) (s crawl.GuestSums) {
	queues := map[crawl.Host]bool{}
	for key, g := range m {
		if key[0] != id {
			continue
		}
		h := layout.HostOf(mustURL(key[1]))
		s.URLs++
		queues[h] = queues[h] || g.active
		if g.active {
			s.Active++
		}
	}
	for _, active := range queues {
		s.Queues++
		if active {
			s.ActiveQueues++
		}
	}
	return s
}

// checkGuests compares the table with the model.
func (r *running) checkGuests(m guestModel) {
	r.t.Helper()
	sums := map[string]crawl.GuestSums{}
	listed := map[[2]string]bool{}
	for p := range crawl.Partition(2) {
		r.must(r.GuestSums(p, sums))
		for _, id := range []string{"a", "b", "ab"} {
			for after := guests.Position(nil); ; {
				gs, next, err := r.ListGuests(p, id, "", after, 3, 100, func(string) bool { return true })
				r.must(err)
				for _, g := range gs {
					key := [2]string{id, g.URL}
					want := m[key]
					if want == nil || listed[key] || g.Known != want.known || g.Active != want.active ||
						!reflect.DeepEqual(g.Metadata, want.metadata) || g.Created == 0 {
						r.t.Fatalf("listed %+v, want %+v", g, want)
					}
					listed[key] = true
				}
				if after = next; next == nil {
					break
				}
			}
		}
		v, err := r.w.Read(p)
		r.must(err)
		counted, err := v.Recount()
		v.Close()
		r.must(err)
		meta, _ := r.Meta(p)
		have := meta.Counters
		if a, b := counted.Counters, have; a.Guests != b.Guests || a.GuestsActive != b.GuestsActive ||
			a.NoteBytes != b.NoteBytes || a.NoteDates != b.NoteDates {
			r.t.Fatalf(
				"partition %d counts %d guests, %d active, %d bytes, %d dates; there are %d, %d, %d, %d",
				p, b.Guests, b.GuestsActive, b.NoteBytes, b.NoteDates, a.Guests, a.GuestsActive, a.NoteBytes,
				a.NoteDates)
		}
	}
	if len(listed) != len(m) {
		r.t.Fatalf("%d guests are listed, want %d", len(listed), len(m))
	}
	for _, id := range []string{"a", "b", "ab"} {
		if sums[id] != m.sums(id) {
			r.t.Fatalf("crawl %s: %+v, want %+v", id, sums[id], m.sums(id))
		}
	}
}

// dueNow are the guests that may be given out, with their queues.
func (m guestModel) dueNow(id string, now time.Time) map[crawl.Host]bool {
	out := map[crawl.Host]bool{}
	for key, g := range m {
		if key[0] == id && g.active && !g.due.After(now) {
			out[layout.HostOf(mustURL(key[1]))] = true
		}
	}
	return out
}

// TestGuestsModel does what clients may do, in any order, and compares the table with a model, also
// after a crash.
func TestGuestsModel(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		rng := rand.New(rand.NewPCG(1, 2))
		r := startHolding(t, kv, 2, commit.Options{})
		m := guestModel{}
		ids := []string{"a", "b", "ab"}
		for step := range 300 {
			id := ids[rng.IntN(3)]
			url := fmt.Sprintf("http://h%d.p%d.test/%d", rng.IntN(3), rng.IntN(2), rng.IntN(4))
			p := link(url).Partition
			key := [2]string{id, url}
			switch rng.IntN(9) {
			case 0, 1, 2:
				md := crawl.Metadata{"n": {fmt.Sprint(step), ""}}
				refused, err := r.PutGuests(t.Context(),
					[]guests.Put{{Partition: p, Crawl: id, URL: mustURL(url), Metadata: md}})
				r.must(err)
				if refused[0] != nil {
					t.Fatal(refused[0])
				}
				if m[key] == nil {
					m[key] = &modelGuest{active: true, metadata: md}
				}
			case 3, 4:
				g := &modelGuest{known: true, metadata: crawl.Metadata{"r": {fmt.Sprint(step)}}}
				put := guests.Put{Partition: p, Crawl: id, URL: mustURL(url), Metadata: g.metadata, Known: true}
				switch rng.IntN(3) {
				case 0:
					g.active, g.due = true, time.Now().Add(time.Hour)
					put.Refetch = g.due.Unix()
				case 1:
					g.active, put.Refetch = true, 1 // long ago
				}
				_, err := r.PutGuests(t.Context(), []guests.Put{put})
				r.must(err)
				m[key] = g
			case 5, 6:
				found, err := r.DueGuests(p, id, "", time.Now().Add(time.Second), 100, nil)
				r.must(err)
				want := m.dueNow(id, time.Now())
				for _, d := range found.Guests {
					g := m[[2]string{id, d.URL.String()}]
					if g == nil || !g.active || g.due.After(time.Now()) || !want[d.Host] ||
						!reflect.DeepEqual(d.Metadata, g.metadata) {
						t.Fatalf("step %d: %s of %s is given out: %+v", step, d.URL, id, g)
					}
					delete(want, d.Host)
				}
				for h := range want {
					if partitionOf(mustURL("http://"+string(h)+"/")) == p {
						t.Fatalf("step %d: nothing of %s is found for %s", step, h, id)
					}
				}
				r.must(r.Settle(t.Context(), found.Early))
				taken, err := r.Take(t.Context(), found.Guests, time.Hour)
				r.must(err)
				for i, d := range found.Guests {
					if !taken[i] {
						t.Fatalf("%s was not taken", d.URL)
					}
					g := m[[2]string{id, d.URL.String()}]
					if g.due = time.Now().Add(time.Hour); rng.IntN(2) == 0 {
						g.due = time.Time{}
						r.must(r.Return(t.Context(), &d, 0))
					}
				}
				again, err := r.Take(t.Context(), found.Guests, time.Hour)
				r.must(err)
				for i, d := range found.Guests { // who has found them before does not take them again
					if again[i] && !m[[2]string{id, d.URL.String()}].due.IsZero() {
						t.Fatalf("%s was taken twice", d.URL)
					} else if again[i] { // it was returned at the very time at which it was due
						m[[2]string{id, d.URL.String()}].due = time.Now().Add(time.Hour)
					}
				}
			case 7:
				c := guests.Choice{Crawl: id, Host: layout.HostOf(mustURL(url))}
				if rng.IntN(4) == 0 {
					c.Host = ""
				}
				n, err := r.DeleteGuests(t.Context(), p, c)
				r.must(err)
				for k := range m {
					if h := mustURL(k[1]); k[0] == id && partitionOf(h) == p &&
						(c.Host == "" || layout.HostOf(h) == c.Host) {
						delete(m, k)
						n--
					}
				}
				if n != 0 {
					t.Fatalf("step %d: %d too many were deleted", step, n)
				}
			case 8:
				if step%50 == 8 {
					r = r.crash(reopen, commit.Options{})
				}
			}
			r.checkGuests(m)
		}
	})
}

// TestGuestRules: blocks, delays and limits are of one queue of one crawl.
func TestGuestRules(t *testing.T) {
	r := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	var puts []guests.Put
	for _, id := range []string{"a", "b"} {
		for i := range 3 {
			puts = append(puts, guests.Put{Crawl: id, URL: mustURL(fmt.Sprintf("http://h1.p0.test/%d", i))})
		}
	}
	_, err := r.PutGuests(t.Context(), puts)
	r.must(err)
	at := time.Now()
	due := func(id string, host crawl.Host) int {
		t.Helper()
		f, err := r.DueGuests(0, id, host, at, 10, nil)
		r.must(err)
		r.must(r.Settle(t.Context(), f.Early))
		return len(f.Guests)
	}
	rule := func(id string, host crawl.Host, rule guests.Rule) {
		t.Helper()
		if known, err := r.SetRule(t.Context(), 0, id, host, rule); err != nil || !known {
			t.Fatal(known, err)
		}
	}
	at = time.Now().Add(time.Second)
	later, never, second, none := time.Now().Add(time.Hour), time.Time{}, time.Minute, time.Duration(0)
	rule("a", "h1.p0.test", guests.Rule{Block: &later})
	if a, b := due("a", ""), due("b", ""); a != 0 || b != 1 {
		t.Errorf("blocked: %d of a and %d of b", a, b)
	}
	rule("a", "h1.p0.test", guests.Rule{Block: &never})
	if due("a", "") != 1 || due("", "") != 2 || due("", "h1.p0.test") != 2 {
		t.Error("the block does not end")
	}
	rule("a", "", guests.Rule{Delay: &second})
	f, err := r.DueGuests(0, "a", "", at, 10, nil)
	r.must(err)
	_, err = r.Take(t.Context(), f.Guests, time.Hour)
	r.must(err)
	if due("a", "") != 0 || due("b", "") != 1 {
		t.Error("the delay does not count")
	}
	at = time.Now().Add(time.Second + second)
	if due("a", "") != 1 {
		t.Error("the delay does not end")
	}
	rule("a", "h1.p0.test", guests.Rule{Delay: &none})
	// A client learns a host's delay with its first URL: it counts from that one.
	if f, err = r.DueGuests(0, "a", "", at, 1, nil); err != nil || len(f.Guests) != 1 {
		t.Fatal(f, err)
	}
	_, err = r.Take(t.Context(), f.Guests, time.Millisecond)
	r.must(err)
	rule("a", "h1.p0.test", guests.Rule{Delay: &second})
	at = time.Now().Add(time.Second)
	if due("a", "h1.p0.test") != 0 {
		t.Error("a delay that is set after a URL was given out does not count from it")
	}
	at = time.Now().Add(time.Second + second)
	if due("a", "h1.p0.test") != 1 {
		t.Error("that delay does not end")
	}
	rule("a", "h1.p0.test", guests.Rule{Delay: &none})
	one, all := int64(1), int64(0)
	rule("b", "h1.p0.test", guests.Rule{Limit: &one})
	if due("b", "") != 1 {
		t.Error("the limit counts too early")
	}
	_, err = r.PutGuests(t.Context(), []guests.Put{{Crawl: "b", URL: puts[3].URL, Known: true}})
	r.must(err)
	if due("b", "") != 0 || due("b", "h1.p0.test") != 1 {
		t.Error("the limit does not count, or counts for who names the queue")
	}
	rule("b", "h1.p0.test", guests.Rule{Limit: &all})
	if due("b", "") != 1 {
		t.Error("the limit does not end")
	}
	if known, err := r.SetRule(t.Context(), 0, "a", "nobody.p0.test", guests.Rule{
		Block: &later,
	}); err != nil || known {
		t.Errorf("a rule for a queue without guests: %v, %v", known, err)
	}
}

// TestGuestsMove: a copy has the guests of its holder, and goes on with them.
func TestGuestsMove(t *testing.T) {
	from := startHolding(t, storage.NewMemory(), 1, commit.Options{})
	to := start(t, storage.NewMemory(), commit.Options{})
	tail := &caught{}
	u := mustURL("http://h1.p0.test/")
	_, err := from.PutGuests(t.Context(),
		[]guests.Put{{Crawl: "a", URL: u, Metadata: crawl.Metadata{"k": {"v"}}}})
	from.must(err)
	e, err := from.Export(t.Context(), 0, tail.sink)
	from.must(err)
	in, err := to.BeginImport(t.Context(), 0)
	to.must(err)
	to.must(e.Snapshot(t.Context(), 1<<20,
		func(es []storage.Entry) error { return in.Put(t.Context(), es) }))
	e.Close()
	to.must(in.CommitCopy(t.Context(), 1))
	_, err = from.PutGuests(t.Context(), []guests.Put{{Crawl: "b", URL: u}})
	from.must(err)
	for _, err := range to.ApplyCopies(t.Context(), tail.take()) {
		to.must(err)
	}
	to.must(to.promote(0, 2))
	for _, id := range []string{"a", "b"} {
		f, err := to.DueGuests(0, id, "", time.Now().Add(time.Second), 10, nil)
		to.must(err)
		if len(f.Guests) != 1 || f.Guests[0].URL != u ||
			len(f.Guests[0].Metadata) != map[string]int{"a": 1, "b": 0}[id] {
			t.Errorf("crawl %s has %+v at the next holder", id, f.Guests)
		}
	}
}

// TestNotes: a note is written before its URL, and not for one that is known; a result takes its
// place, and its date brings the URL back.
func TestNotes(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, _ func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		l := link("http://h1.p0.test/a")
		u := l.Target.URL
		put := func(n NotePut) {
			t.Helper()
			n.URL = u
			r.must(r.PutNotes(t.Context(), []NotePut{n}))
		}
		note := func() crawl.Note {
			t.Helper()
			n, ok, err := r.NoteOf(0, u)
			r.must(err)
			if !ok {
				return crawl.Note{}
			}
			return n
		}
		put(NotePut{Metadata: crawl.Metadata{"a": {"1"}}})
		r.must(r.DropNotes(t.Context(), []NotePut{{URL: u}}))
		if n := note(); n.Created != 0 {
			t.Errorf("a dropped note: %+v", n)
		}
		put(NotePut{Metadata: crawl.Metadata{"a": {"2"}}})
		r.add(l)
		r.must(r.DropNotes(t.Context(), []NotePut{{URL: u}}))
		put(NotePut{Metadata: crawl.Metadata{"a": {"3"}}})
		created := note().Created
		if n := note(); !slices.Equal(n.Metadata["a"], []string{"2"}) || created == 0 {
			t.Errorf("a known URL got a note: %+v", n)
		}
		r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: fetched}))
		put(NotePut{
			Known:    true,
			Metadata: crawl.Metadata{"b": {"4"}},
			Refetch:  time.Now().Add(time.Hour).Unix(),
		})
		if n := note(); n.Metadata["a"] != nil || n.Created != created || n.Refetch == 0 {
			t.Errorf("after a result: %+v", n)
		}
		if n, err := r.MoveDates(t.Context(), 0, time.Now(), 10); n != 0 || err != nil {
			t.Errorf("%d dates have come, %v", n, err)
		}
		r.check()
		if n, err := r.MoveDates(t.Context(), 0, time.Now().Add(2*time.Hour), 10); n != 1 || err != nil {
			t.Errorf("%d dates have come, %v", n, err)
		}
		if rec, _, err := r.Record(0, u); err != nil || rec.State != crawl.Queued {
			t.Errorf("after its date the URL is %v, %v", rec.State, err)
		}
		r.check()
		if m := metaOf(t, r, 0); m.Counters.NoteDates != 0 {
			t.Errorf("%d dates are left", m.Counters.NoteDates)
		}
		r.must(r.Complete(t.Context(), Completion{Lease: r.lease(0, "h1.p0.test"), Outcome: fetched}))
		put(NotePut{Known: true})
		if n := note(); n.Refetch != 0 || n.Created != created {
			t.Errorf("after a result without a date: %+v", n)
		}
	})
}
