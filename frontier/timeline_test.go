package frontier

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/layout"
	"crawlnode/frontier/storage"
)

// wrongClock is a machine's clock whose time of day is wrong.
type wrongClock struct {
	off    time.Duration
	booted time.Time
}

func (c wrongClock) Wall() time.Time         { return time.Now().Add(c.off).Round(0) }
func (c wrongClock) BootTime() time.Duration { return time.Since(c.booted) }

// However wrong and different the times of day of writer and reader are, a wait that
// was written is never cut short by more than what has passed, nor is more left of it
// than was left when it was written.
func TestTimelineKeepsWaits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	upTo := func(d time.Duration) time.Duration { return time.Duration(rng.Int64N(int64(d) + 1)) }
	now := time.Now()
	at := func(t time.Time) layout.Moment {
		return layout.Moment{Now: t, Wall: t.Add(upTo(24*time.Hour) - 12*time.Hour), Boot: t.Sub(now)}
	}
	for n := range 20_000 {
		written := at(now)
		line := layout.Stamp{}.Begin(written)
		wait := upTo(time.Hour)
		stored := line.Write(written.Now.Add(wait))
		s := line.Stamp(1, written)
		passed := time.Duration(0)
		// From hand to hand, sometimes with nobody counting in between.
		for range rng.IntN(4) {
			idle, counted := upTo(10*time.Minute), upTo(10*time.Minute)
			m := at(now.Add(passed + idle))
			line = s.Resume(uint64(2+rng.IntN(2)), m)
			passed += idle + counted
			s = line.Stamp(uint64(2+rng.IntN(2)), at(now.Add(passed)))
		}
		left := line.Read(stored).Sub(now.Add(passed))
		if left < wait-passed || left > wait {
			t.Fatalf("round %d: %v are left of a wait of %v after %v", n, left, wait, passed)
		}
	}
}

// On one run of a machine the time between two processes is known, whatever the time of
// day says; on another it counts for nothing.
func TestTimelineResumes(t *testing.T) {
	now := time.Now()
	m := layout.Moment{Now: now, Wall: now, Boot: time.Hour}
	line := layout.Stamp{}.Begin(m)
	stored, s := line.Write(now.Add(10*time.Minute)), line.Stamp(7, m)
	later := layout.Moment{
		Now:  now.Add(4 * time.Minute),
		Wall: now.Add(3 * time.Hour),
		Boot: time.Hour + 4*time.Minute,
	}
	for run, want := range map[uint64]time.Duration{
		7: 6 * time.Minute,
		8: 10 * time.Minute,
		0: 10 * time.Minute,
	} {
		line := s.Resume(run, later)
		if left := line.Read(stored).Sub(later.Now); left != want {
			t.Errorf("run %d: %v are left, want %v", run, left, want)
		}
	}
	s.Run = 0 // it had no name there either
	line = s.Resume(0, later)
	if left := line.Read(stored).Sub(later.Now); left != 10*time.Minute {
		t.Errorf("runs without a name: %v are left", left)
	}
	s.Run = 7
	line = s.Resume(7, layout.Moment{Now: later.Now, Wall: later.Wall, Boot: time.Minute})
	if left := line.Read(stored).Sub(later.Now); left != 10*time.Minute {
		t.Errorf("a boot time that went back: %v are left", left)
	}
	if line.Read(time.Time{}) != (time.Time{}) || line.Write(time.Time{}) != (time.Time{}) {
		t.Error("the zero time moved")
	}
}

// Rules of robots.txt may be too old by all the time that may have passed while nobody
// counted; by none where it is known how much did.
func TestTimelineRobots(t *testing.T) {
	now := time.Now()
	m := layout.Moment{Now: now, Wall: now, Boot: time.Hour}
	line := layout.Stamp{}.Begin(m)
	stored, s := line.WriteRobots(&crawl.Robots{Fetched: now, Expires: now.Add(24 * time.Hour)}),
		line.Stamp(7, m)
	later := layout.Moment{
		Now:  now.Add(time.Minute),
		Wall: now.Add(5 * time.Hour),
		Boot: time.Hour + time.Minute,
	}
	for run, want := range map[uint64]time.Duration{7: 24*time.Hour - time.Minute, 8: 19 * time.Hour} {
		line, r := s.Resume(run, later), *stored
		line.ReadRobots(&r)
		if left := r.Expires.Sub(later.Now); left != want {
			t.Errorf("run %d: they hold for %v, want %v", run, left, want)
		}
		if age := later.Now.Sub(r.Fetched); age != 24*time.Hour-want {
			t.Errorf("run %d: they are %v old, want %v", run, age, 24*time.Hour-want)
		}
	}
}

// A partition goes from a node whose time of day is hours off to one that is right and
// back; its waits, its wake index and its robots.txt stay what they are.
func TestWrongClocksMeet(t *testing.T) {
	for name, off := range map[string]time.Duration{
		"12 h ahead":  12 * time.Hour,
		"2 h ahead":   2 * time.Hour,
		"2 h behind":  -2 * time.Hour,
		"12 h behind": -12 * time.Hour,
	} {
		t.Run(name,
			func(t *testing.T) { synctest.Test(t, func(t *testing.T) { wrongClocksMeet(t, off) }) })
	}
}

func wrongClocksMeet(t *testing.T, off time.Duration) {
	booted := time.Now().Add(-time.Hour)
	a := startHolding(t, storage.NewMemory(), 1,
		commit.Options{Clock: wrongClock{off, booted}, Machine: "a"})
	b := start(t, storage.NewMemory(), commit.Options{Clock: wrongClock{0, booted}, Machine: "b"})
	first, second := crawl.Host("h1.p0.test"), crawl.Host("h2.p0.test")
	a.add(link("http://h1.p0.test/"), link("http://h2.p0.test/"), link("http://h1.p0.test/again"))
	begun := time.Now()
	robots := &crawl.Robots{
		Origin:  "http://h1.p0.test",
		Fetched: begun,
		Expires: begun.Add(24 * time.Hour),
	}
	a.must(a.Complete(t.Context(), Completion{
		Lease:   a.lease(0, string(first)),
		Outcome: crawl.Outcome{Kind: crawl.RobotsFetched, Robots: robots},
	}))
	a.must(a.Complete(t.Context(), Completion{
		Lease:   a.lease(0, string(first)),
		Outcome: crawl.Outcome{Kind: crawl.URLFailed, Reason: "reset"},
		RetryAt: begun.Add(5 * time.Minute),
	}))
	waits := func(d time.Duration) crawl.HostState {
		return crawl.HostState{
			Requests:    1,
			NotBefore:   begun.Add(2 * time.Second),
			HoldUntil:   begun.Add(d),
			FrozenUntil: begun.Add(d / 2),
		}
	}
	a.must(a.Park(t.Context(), []Parked{{Partition: 0, Host: first, State: waits(time.Hour)},
		{Partition: 0, Host: second, State: waits(10 * time.Minute)}}))

	holder, copier := a, b
	epoch := crawl.Epoch(1)
	for hop := range 4 {
		time.Sleep(2 * time.Minute) // the bubble's
		follow(t, holder, copier, epoch)
		time.Sleep(time.Minute)
		epoch++
		holder.must(holder.Freeze(t.Context(), 0))
		holder.become(0, layout.Released)
		copier.must(copier.promote(0, epoch))
		holder.must(holder.Delete(t.Context(), 0))
		holder, copier = copier, holder

		left, passed := time.Until(begun.Add(time.Hour)), time.Since(begun)
		q := holder.load(0, string(first), 4)
		const slack = time.Second // nothing is lost while somebody counts
		check := func(what string, got time.Time, least time.Duration) {
			t.Helper()
			if wait := time.Until(got); wait < least || wait > least+slack {
				t.Errorf("hop %d, after %v: %s is %v ahead, %v to %v are right", hop, passed, what, wait, least,
					least+slack)
			}
		}
		check("Retry-After", q.State.HoldUntil, left)
		check("the freeze", q.State.FrozenUntil, left-30*time.Minute)
		check("the gap", q.State.NotBefore, 2*time.Second-passed)
		for _, it := range q.Items {
			if !it.NotBefore.IsZero() {
				check("the next try", it.NotBefore, 5*time.Minute-passed)
			}
		}
		if r := q.Robots[0]; time.Until(r.Expires) > 24*time.Hour-passed+slack {
			t.Errorf("hop %d: robots.txt of %v ago is good for %v", hop, passed, time.Until(r.Expires))
		}
		wakes, _, err := holder.Waiting(0, "", 4)
		if err != nil || len(wakes) != 2 || wakes[0].Host != second || wakes[1].Host != first {
			t.Fatalf("hop %d: the wake index is %+v, %v", hop, wakes, err)
		}
		check("the wake-up", wakes[1].NotBefore, left)
	}
}

// follow makes copier a replica of holder's partition 0.
func follow(t *testing.T, holder, copier *running, epoch crawl.Epoch) {
	t.Helper()
	var tail caught
	e, err := holder.Export(t.Context(), 0, tail.sink)
	holder.must(err)
	defer e.Close()
	i, err := copier.BeginImport(t.Context(), 0)
	copier.must(err)
	holder.must(e.Snapshot(t.Context(), 1<<20,
		func(entries []storage.Entry) error { return i.Put(context.Background(), entries) }))
	copier.must(i.CommitCopy(t.Context(), epoch))
}
