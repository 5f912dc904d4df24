package core

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"crawlnode/crawl"
	fairshare "crawlnode/scheduler/shares"
)

// slow is a host that answers well after 12 s, at the address that it is named after or
// at one for all.
func slow(h crawl.Host) temperament {
	k := temperament{
		name:   10 * time.Millisecond,
		answer: 12 * time.Second,
		bytes:  200_000,
		addr:   netip.MustParseAddr("192.0.2.7"),
	}
	if addr, err := netip.ParseAddr(string(h)); err == nil {
		k.addr = addr
	}
	return k
}

// completedVisits is how many visits have come to their end.
func (r *rush) completedVisits() (n int) {
	for _, v := range r.visits {
		n += v
	}
	return n
}

// TestSlowAndAlone: hosts of one block that answer after 12 s lose nothing while nobody
// else is about, whether they have names or are literals, and however their visits begin.
func TestSlowAndAlone(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"s%d.slow.test", "192.0.2.%d"} {
		for _, fetchers := range []int{4, 32} {
			r := newRush(t, Config{Fetchers: fetchers, Lookups: 64}, slow)
			for i := range min(4*fetchers, 120) {
				r.add(crawl.Host(fmt.Sprintf(format, i+1)))
				r.pass(time.Duration(100+i%7*50) * time.Millisecond)
			}
			r.pass(time.Minute)
			before := r.completedVisits()
			r.pass(5 * time.Minute)
			if n, want := r.completedVisits()-before, 25*fetchers*9/10; r.taken > 0 || n < want {
				t.Errorf("%s, %d fetchers: %d were taken back, %d answers in five minutes, want %d", format,
					fetchers, r.taken, n, want)
			}
		}
	}
}

// TestSlowBesideOthers: hosts that answer after 12 s still finish all pages beside a
// host that often wants a fetcher.
func TestSlowBesideOthers(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"s%d.slow.test", "192.0.2.%d"} {
		r := newRush(t, Config{Fetchers: 4, Lookups: 64}, func(h crawl.Host) temperament {
			if h == "good.other.test" {
				return quick(h)
			}
			return slow(h)
		})
		for i := range 16 {
			r.add(crawl.Host(fmt.Sprintf(format, i+1)))
			r.pass(300 * time.Millisecond)
		}
		r.pass(30 * time.Second)
		r.add("good.other.test")
		before := r.completedVisits()
		good := r.of([]crawl.Host{"good.other.test"}, 10*time.Minute)
		if good < 1000 {
			t.Errorf("%s: the good host had %d visits in ten minutes", format, good)
		}
		unvisited := 0
		for i := range 16 {
			if r.visits[crawl.Host(fmt.Sprintf(format, i+1))] == 0 {
				unvisited++
			}
		}
		t.Logf("%s: %d slow answers, %d taken back, the good host %d", format,
			r.completedVisits()-before-good, r.taken, good)
		if unvisited > 0 {
			t.Errorf("%s: %d of 16 slow hosts never came to an end", format, unvisited)
		}
	}
}

// besideSlow fills fetchers with visits of a slow domain that begin 100 ms apart, lets
// them be late, and returns the visits in the order of their beginnings.
func besideSlow(t *testing.T, fetchers int) (*rush, []crawl.Visit) {
	t.Helper()
	r := newRush(t, Config{Fetchers: fetchers, Lookups: 64}, slow)
	var open []crawl.Visit
	for i := range 2 * fetchers {
		h := crawl.Host(fmt.Sprintf("s%d.slow.test", i))
		r.add(h)
		r.core.Actions()
		r.core.Resolved(r.now, h, []netip.Addr{netip.AddrFrom4([4]byte{198, 18, byte(i), 1})},
			r.now.Add(time.Hour), nil)
		if i < fetchers {
			if v, ok := r.core.Next(r.now); ok {
				open = append(open, v)
			}
		}
		r.now = r.now.Add(100 * time.Millisecond)
	}
	if len(open) != fetchers {
		t.Fatalf("%d visits of a domain that is alone, want %d", len(open), fetchers)
	}
	r.now = r.now.Add(overdue)
	r.core.Advance(r.now)
	return r, open
}

// takenBack are the visits that the Core wants back now.
func (r *rush) takenBack() (ids []uint64) {
	for _, a := range r.core.Actions() {
		if a.Kind == TakeBack {
			ids = append(ids, a.Visit)
		}
	}
	return ids
}

// waiter adds hosts of domains of their own, whose names are known.
func (r *rush) waiters(n int) {
	for i := range n {
		h := crawl.Host(fmt.Sprintf("w%d.test", i))
		r.add(h)
		r.core.Actions()
		r.core.Resolved(r.now, h, []netip.Addr{netip.AddrFrom4([4]byte{198, 19, byte(i), 1})},
			r.now.Add(time.Hour), nil)
	}
}

// TestTakesTheNewest: the failing domain's own hosts that are ready take nothing back; as
// many others as wait get a fetcher, once, and it is the newest that go.
func TestTakesTheNewest(t *testing.T) {
	t.Parallel()
	r, open := besideSlow(t, 16)
	if ids := r.takenBack(); len(ids) > 0 {
		t.Fatalf("%v were taken back while only the domain's own hosts wait", ids)
	}
	r.waiters(3)
	for range 5 {
		r.now = r.now.Add(relook)
		r.core.Advance(r.now)
	}
	ids := r.takenBack()
	if len(ids) != 3 {
		t.Fatalf("%v were taken back for three hosts that wait", ids)
	}
	for i, id := range ids {
		if want := open[len(open)-1-i].ID; id != want {
			t.Errorf("visit %d was taken back, want %d of %d to %d: the newest", id, want, open[0].ID,
				open[len(open)-1].ID)
		}
	}
}

// TestLetFinish: a URL that was taken back twice is not taken back again.
func TestLetFinish(t *testing.T) {
	t.Parallel()
	r, open := besideSlow(t, 16)
	for _, v := range open[12:] {
		for range enoughCuts {
			r.core.shares.cuts.completed(&v.Item, true)
		}
		r.core.visits[v.ID].cuts = r.core.shares.cuts.of(&v.Item)
	}
	r.waiters(16)
	// Beside a second domain that fails, its share is two, and not the four that are let finish.
	r.add("x.bad.test")
	for range 40 {
		r.core.shares.book.Note(r.now, r.core.hosts["x.bad.test"].domain.Claimant, fairshare.Lookups,
			fairshare.Bad)
	}
	r.now = r.now.Add(relook)
	r.core.Advance(r.now)
	ids := r.takenBack()
	if len(ids) != 12 {
		t.Errorf("%v were taken back, want the twelve that were not before", ids)
	}
	for _, id := range ids {
		if v := r.core.visits[id]; v.cuts >= enoughCuts {
			t.Errorf("visit %d is taken back for the third time", id)
		}
	}
	r.core.shares.cuts.completed(&open[15].Item, false)
	if n := r.core.shares.cuts.of(&open[15].Item); n != 0 {
		t.Errorf("a URL that was answered counts %d times taken back", n)
	}
}

// TestCutsAreBounded: of more URLs than maxCuts the oldest are forgotten.
func TestCutsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRush(t, Config{}, slow)
	c := newCuts()
	items := r.items("a.test", maxCuts+100)
	for i := range items {
		c.completed(&items[i], true)
	}
	if len(c.n) > maxCuts || len(c.order) > maxCuts || c.of(&items[0]) != 0 ||
		c.of(&items[len(items)-1]) != 1 {
		t.Errorf("%d URLs are remembered in a ring of %d, at most %d are allowed", len(c.n), len(c.order),
			maxCuts)
	}
}

// TestNamesInLineLeave: hosts that leave memory while they stand in line for a look-up
// are in no line any more.
func TestNamesInLineLeave(t *testing.T) {
	t.Parallel()
	r := newRush(t, Config{MaxActive: 2000, Fetchers: 256, Lookups: 8}, func(crawl.Host) temperament {
		return temperament{name: 5 * time.Second, nameless: true}
	})
	n := 0
	for range 60 {
		for range 3000 {
			n++
			if h := crawl.Host(fmt.Sprintf("h%d.d%d.test", n, n%500)); r.core.Places() > 0 &&
				r.core.Fits(h) {
				r.core.Activate(r.now, Queue{Host: h, Items: r.items(h, 1), More: true}, time.Time{})
			}
		}
		if r.core.Places() < 200 {
			r.core.Evict(r.now, 200)
		}
		r.pass(time.Second)
	}
	s, inLine := &r.core.shares, 0
	for e := s.names.Front(); e != nil; e = e.Next() {
		d := e.Value.(*domain)
		if inLine += d.names.Len(); d.names.Len() == 0 || s.domains[d.Name()] != d {
			t.Fatalf("%s stands in line with %d names", d.Name(), d.names.Len())
		}
	}
	if inLine += s.known.Len(); inLine != s.waiting || inLine > len(r.core.hosts) {
		t.Errorf("%d names stand in line, %d are counted, %d hosts are in memory", inLine, s.waiting,
			len(r.core.hosts))
	}
}

// TestWhoWaitsLongKeepsNothing: beside a host that waits for an hour, a slow domain has
// all fetchers; the host has its own at once when its time comes.
func TestWhoWaitsLongKeepsNothing(t *testing.T) {
	t.Parallel()
	r := newRush(t, Config{Fetchers: 64}, func(h crawl.Host) temperament {
		if h == "good.other.test" {
			return quick(h)
		}
		return slow(h)
	})
	good := Queue{Host: "good.other.test", Items: r.items("good.other.test", 4), More: true}
	good.State.NotBefore = r.now.Add(time.Hour)
	r.core.Activate(r.now, good, time.Time{})
	r.add(hostNames(1000, "s%d.slow.test")...)
	r.pass(30 * time.Minute)
	if r.fetchers > 2 || r.taken > 0 {
		t.Errorf("%d of 64 fetchers are idle, %d requests were taken back, "+
			"while the only other host waits for an hour", r.fetchers, r.taken)
	}
	r.pass(30*time.Minute + overdue)
	if r.visits["good.other.test"] == 0 {
		t.Error("its time has come, and it has no fetcher")
	}
}

// newSlowRush has 64 fetchers, a host that answers quickly, and 300 of one domain that take a
// minute.
func newSlowRush(t *testing.T) *rush {
	t.Helper()
	r := newRush(t, Config{Fetchers: 64}, func(h crawl.Host) temperament {
		if h == "good.other.test" {
			return quick(h)
		}
		return temperament{name: 10 * time.Millisecond, answer: time.Minute, addr: slow(h).addr}
	})
	r.add("good.other.test")
	r.add(hostNames(300, "s%d.slow.test")...)
	return r
}

// TestOverShareIsNotReady: hosts that their domain's share holds back are counted and
// shown as such.
func TestOverShareIsNotReady(t *testing.T) {
	t.Parallel()
	r := newSlowRush(t)
	r.pass(20 * time.Second)
	n := r.core.Counts()
	if n.Ready > 0 || n.OverShare < 200 || r.fetchers < 40 {
		t.Errorf("%d of 64 fetchers are free: %+v", r.fetchers, n)
	}
	shown := 0
	for _, h := range hostNames(300, "s%d.slow.test") {
		if s, _ := r.core.Snapshot(h); s.Status == OverShare {
			shown++
		}
	}
	if shown != n.OverShare {
		t.Errorf("%d hosts show as held back, %d are counted", shown, n.OverShare)
	}
}

// TestSmallSlowPage: a small page that took long is no failure of its domain, unless
// others waited for its fetcher.
func TestSmallSlowPage(t *testing.T) {
	t.Parallel()
	for _, others := range []int{0, 20} {
		r, open := besideSlow(t, 16)
		r.waiters(others)
		r.now = r.now.Add(relook)
		r.core.Advance(r.now)
		d := r.core.shares.domains["slow.test"]
		for _, v := range open {
			kind := crawl.Fetched
			if r.core.visits[v.ID].over {
				kind = crawl.Aborted
			}
			r.core.Release(r.now, v.ID,
				crawl.Response{Kind: kind, Requested: true, Took: 8 * time.Second, Bytes: 1000})
			r.core.Completed(r.now, v.ID)
		}
		if poor := d.Class() == fairshare.Poor; poor != (others > 0) {
			t.Errorf("16 small pages took 8 s each while %d others waited: the domain is %v", others,
				d.Class())
		}
	}
}

// TestMoreFetchers: a domain's share grows with the number of fetchers, for the hosts that it holds
// back too.
func TestMoreFetchers(t *testing.T) {
	t.Parallel()
	r := newSlowRush(t)
	r.pass(3 * time.Second)
	before := len(r.core.visits)
	r.core.LimitFetchers(256)
	r.fetchers += 192
	r.pass(3 * time.Second)
	if after := len(r.core.visits); after < 3*before {
		t.Errorf("%d visits with 64 fetchers, %d with 256", before, after)
	}
}
