package scheduler

import (
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
)

// fakeTurns gives the turn of the only address for a while, then takes it away for as long.
type fakeTurns struct {
	t    *testing.T
	came func([]netip.Addr)

	mu     sync.Mutex // guards the rest
	mine   bool
	wanted bool
	open   int
	writes int
	ended  int
}

func (f *fakeTurns) Turn(netip.Addr) (time.Duration, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted = true
	return 0, f.mine
}

func (f *fakeTurns) Idle(netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted = false
}

func (f *fakeTurns) Begin(netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open++
}

func (f *fakeTurns) End(netip.Addr, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open--
	f.ended++
}

func (f *fakeTurns) MayWrite(netip.Addr) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == 0 {
		f.t.Error("a request is written in a visit that was not announced")
	}
	if f.mine {
		f.writes++
	}
	return f.mine
}

func (f *fakeTurns) Silent(time.Duration) (int, time.Duration) { return 2, time.Minute }

func (f *fakeTurns) set(mine bool) {
	f.mu.Lock()
	f.mine = mine
	f.mu.Unlock()
	if mine {
		f.came([]netip.Addr{netip.MustParseAddr("127.0.0.1")})
	}
}

// Hosts of one address are asked only in this node's turns. All of them are, in the end, and each
// visit is told to whom keeps the turns.
func TestTurnsOfAnAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		delay := 50 * time.Millisecond
		r.settings.IPDelay = &delay
		turns := &fakeTurns{t: t}
		r.options.Turns = turns
		for _, host := range []crawl.Host{"a.test", "b.test", "c.test"} {
			r.disk.add(1, host, 0, 10)
		}
		r.make()
		turns.came = r.d.TurnsCame
		r.run(4)
		r.d.Hold(1, 7, time.Time{})
		time.Sleep(10 * time.Second)
		if n := r.web.pages(); n > 0 {
			t.Errorf("%d pages were fetched while it was another node's turn", n)
		}
		for mine := true; r.disk.left() > 0; mine = !mine {
			turns.set(mine)
			before := r.web.pages()
			time.Sleep(700 * time.Millisecond)
			if n := r.web.pages() - before; !mine && n > 1 { // one was open
				t.Errorf("%d pages were fetched in another node's turn", n)
			}
		}
		if n, longest := r.d.SilentKeepers(time.Second); n != 2 || longest != time.Minute {
			t.Errorf("silent keepers: %d, %v", n, longest)
		}
		r.end()
		if turns.open != 0 || turns.ended < 30 || turns.writes < 30 {
			t.Errorf("%d visits are open, %d have ended, %d requests were made", turns.open, turns.ended,
				turns.writes)
		}
	})
}

// A turn that ended while no fetcher was free is asked for again when one is.
func TestTurnEndsBeforeTheVisit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		delay := 50 * time.Millisecond
		r.settings.IPDelay = &delay
		turns := &fakeTurns{t: t, mine: true}
		r.options.Turns = turns
		r.disk.add(1, "a.test", 0, 1)
		r.disk.add(1, "b.test", 0, 1)
		r.make()
		turns.came = r.d.TurnsCame
		r.run(0)
		r.d.Hold(1, 7, time.Time{})
		time.Sleep(5 * time.Second)
		turns.mu.Lock()
		if !turns.wanted {
			t.Error("no host has asked for the turn")
		}
		turns.mine, turns.wanted = false, false
		turns.mu.Unlock()
		time.Sleep(5 * time.Second)
		given := make(chan crawl.Visit, 1)
		go func() {
			v, err := r.d.Next(r.ctx)
			if err != nil {
				t.Errorf("no visit: %v", err)
			}
			given <- v
		}()
		synctest.Wait()
		turns.mu.Lock()
		wanted := turns.wanted
		turns.mu.Unlock()
		if !wanted || len(given) > 0 {
			t.Errorf("a free fetcher: the turn is asked for: %t, visits handed out: %d", wanted, len(given))
		}
		turns.set(true)
		v := <-given
		r.d.Release(v, crawl.Response{Kind: crawl.Aborted})
		r.d.Completed(v)
		r.end()
	})
}

// A visit that was handed out in this node's turn makes no request when the turn has ended.
func TestTurnEndsBeforeTheWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		delay := 50 * time.Millisecond
		r.settings.IPDelay = &delay
		turns := &fakeTurns{t: t, mine: true}
		r.options.Turns = turns
		r.disk.add(1, "a.test", 0, 1)
		r.make()
		turns.came = r.d.TurnsCame
		r.run(0)
		r.d.Hold(1, 7, time.Time{})
		v, err := r.d.Next(r.ctx)
		if err != nil || !r.d.MayRequest(v) {
			t.Fatalf("no visit in the node's own turn: %v", err)
		}
		turns.set(false)
		if r.d.MayRequest(v) {
			t.Error("a request may be written in another node's turn")
		}
		r.d.Release(v, crawl.Response{Kind: crawl.Aborted})
		r.d.Completed(v)
		r.end()
		if turns.open != 0 {
			t.Errorf("%d visits are open", turns.open)
		}
	})
}
