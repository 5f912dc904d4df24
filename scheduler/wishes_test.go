package scheduler

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// wishing is a table of wishes of a test: one guest of a host at a time.
type wishing struct {
	mu     sync.Mutex // guards the rest
	guests map[crawl.Host]Errand
	begun  map[crawl.Host]uint64
	own    map[crawl.Host]crawl.Partition
	fresh  bool
	ended  []crawl.Kind
}

func (w *wishing) want(host crawl.Host, p crawl.Partition, path string) {
	u, err := urlnorm.Parse("http://" + string(host) + path)
	if err != nil {
		panic(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.guests[host], w.fresh = Errand{Partition: p, Host: host, URL: u}, true
	delete(w.begun, host)
}

func (w *wishing) Waiting(host crawl.Host, _ time.Time) (out []Errand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for h, e := range w.guests {
		if w.begun[h] == 0 && (host == "" || h == host) {
			out = append(out, e)
		}
	}
	return out
}

func (w *wishing) Wants(host crawl.Host) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, guest := w.guests[host]
	_, own := w.own[host]
	return guest || own
}

func (w *wishing) News() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	fresh := w.fresh
	w.fresh = false
	return fresh
}

func (w *wishing) Begin(u urlnorm.URL, visit uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := crawl.Host(u.Host())
	if e, ok := w.guests[h]; !ok || e.URL != u || w.begun[h] != 0 {
		return false
	}
	w.begun[h] = visit
	return true
}

func (w *wishing) Ended(v *crawl.Visit, o *crawl.Outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.begun, v.Host)
	if o != nil {
		w.ended = append(w.ended, o.Kind)
	}
}

func (w *wishing) Wanted() (out []Wish) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for h, e := range w.guests {
		if w.begun[h] == 0 {
			out = append(out, Wish{Partition: e.Partition, Host: h, Guest: true})
		}
	}
	for h, p := range w.own {
		out = append(out, Wish{Partition: p, Host: h})
	}
	return out
}

// TestWishes: who wishes for a host gets a visit of it, and of no other; for a guest also when
// nothing of the host is queued. Guests and the host's own URLs take turns, at the host's gap.
func TestWishes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		w := &wishing{
			guests: map[crawl.Host]Errand{},
			begun:  map[crawl.Host]uint64{},
			own:    map[crawl.Host]crawl.Partition{},
		}
		r.options.Wishes = w
		r.settings.Delay = 2 * time.Second
		r.disk.add(3, "a.test", 0, 5)
		r.disk.add(3, "b.test", 0, 5)
		r.start(0)
		defer r.end()
		r.d.Hold(3, 7, time.Time{})
		answer := crawl.Response{Kind: crawl.Fetched, Requested: true, Took: time.Millisecond}
		var ends time.Time // of the last request of a.test
		wished := func(host crawl.Host, via crawl.Via) {
			t.Helper()
			r.d.Look()
			v, err := r.d.NextWished(r.ctx)
			if err != nil || v.Host != host || v.Item.Via != via {
				t.Fatalf("%v (%v), %v; want %s by %v", v.Item.URL, v.Item.Via, err, host, via)
			}
			if gap := time.Since(ends); host == "a.test" && gap < r.settings.Delay {
				t.Errorf("a.test was visited %v after the visit before", gap)
			}
			if v.Epoch != 7 || v.Gap != r.settings.Delay {
				t.Errorf("the visit has the epoch %d and the gap %v", v.Epoch, v.Gap)
			}
			r.d.Release(v, answer)
			if host == "a.test" {
				ends = time.Now()
			}
			if via == crawl.ViaGuest {
				w.mu.Lock()
				delete(w.guests, host)
				w.mu.Unlock()
				r.d.Completed(v)
			} else if err := r.finish(v, answer); err != nil {
				t.Error(err)
			}
		}
		w.want("nothing.test", 3, "/guest") // nothing of it is queued
		wished("nothing.test", crawl.ViaGuest)
		w.own["b.test"] = 3
		wished("b.test", crawl.ViaLink)
		delete(w.own, "b.test")
		w.want("a.test", 3, "/guest1")
		wished("a.test", crawl.ViaGuest)

		// Somebody waits for any URL as well: the host's own comes next, then a guest again.
		w.want("a.test", 3, "/guest2")
		r.d.Look()
		for {
			v, err := r.d.Next(r.ctx)
			if err != nil {
				t.Fatal(err)
			}
			if v.Item.Via == crawl.ViaGuest {
				t.Fatalf("%v came before the host's own URLs", v.Item.URL)
			}
			r.d.Release(v, answer)
			if err := r.finish(v, answer); err != nil {
				t.Error(err)
			}
			if v.Host == "a.test" {
				ends = time.Now()
				break
			}
		}
		wished("a.test", crawl.ViaGuest)

		// Nobody wants the host's own URLs: guests follow one another.
		for _, path := range []string{"/guest3", "/guest4"} {
			w.want("a.test", 3, path)
			wished("a.test", crawl.ViaGuest)
		}
		// What is not wished for any more is not begun.
		w.want("a.test", 3, "/guest5")
		r.d.Look()
		synctest.Wait()
		w.mu.Lock()
		delete(w.guests, "a.test")
		w.mu.Unlock()
		for range 2 {
			v, err := r.d.Next(r.ctx)
			if err != nil || v.Item.Via == crawl.ViaGuest {
				t.Fatalf("%v (%v), %v", v.Item.URL, v.Item.Via, err)
			}
			r.d.Release(v, answer)
			if err := r.finish(v, answer); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestLate: a result without a visit has its URL opened, unless somebody fetches it, it is done, or
// nobody knows it.
func TestLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.disk.add(1, "a.test", 0, 2)
		r.start(0)
		defer r.end()
		of := func(raw string) urlnorm.URL {
			u, err := urlnorm.Parse(raw)
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		urls := []urlnorm.URL{r.disk.hosts["a.test"].items[0].URL, r.disk.hosts["a.test"].items[1].URL}
		late := func(u urlnorm.URL, want crawl.LateState) crawl.Visit {
			t.Helper()
			v, s, err := r.d.Late(r.ctx, 1, u)
			if err != nil || s != want || v.Late != (want == crawl.LateOpen) {
				t.Errorf("%s: %+v, %d, %v; want %d", u, v, s, err, want)
			}
			return v
		}
		r.d.Hold(1, 7, time.Time{})
		v, err := r.d.Next(r.ctx)
		if err != nil {
			t.Fatal(err)
		}
		taken, other := urls[0], urls[1]
		if v.Item.URL != taken {
			taken, other = other, taken
		}
		late(taken, crawl.LateTaken)
		open := late(other, crawl.LateOpen)
		if open.Item.URL != other || open.Partition != 1 || open.Host != "a.test" || open.ID != 0 {
			t.Errorf("opened %+v", open)
		}
		late(of("http://a.test/unknown"), crawl.LateUnknown)
		answer := crawl.Response{Kind: crawl.Fetched, Requested: true, Took: time.Millisecond}
		r.d.Release(v, answer)
		if err := r.finish(v, answer); err != nil {
			t.Error(err)
		}
	})
}
