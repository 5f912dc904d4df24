package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/scheduler/core"
)

// This file tests what an aborted hand-over leaves behind, and what may be lost between memory and
// disk.

// calledOff freezes partition 1 for d and then resumes it.
func (r *rig) calledOff(d time.Duration) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if err := r.d.Freeze(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		r.t.Errorf("Freeze: %v, want the context's error", err)
	}
}

// TestNotesWhileFrozen queues URLs for a host in memory while its partition is being frozen. The
// freeze is undone before the host was dropped.
func TestNotesWhileFrozen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.disk.uncounted = true
		r.processing = 2 * time.Second
		r.disk.add(1, "a.test", 0, 3)
		r.start(2)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		r.until("a visit", func() bool { return r.d.Busy() == 1 })
		time.AfterFunc(500*time.Millisecond, func() { r.disk.add(1, "a.test", 0, 2) })
		r.calledOff(time.Second)
		r.d.Resume(1)
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
	})
}

// TestResumeDuringSweep resumes while the second piece of a wake index is being read. The content
// of the first piece must not be forgotten.
func TestResumeDuringSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.processing, r.disk.moreDelay = 700*time.Millisecond, 5*time.Second
		r.disk.add(1, "later.test", 0, 1)
		r.disk.hosts["later.test"].state.NotBefore = time.Now().Add(time.Minute)
		for i := range 2 * sweepPiece {
			r.disk.add(1, crawl.Host(fmt.Sprintf("h%d.test", i)), 1, 100) // busy for long
		}
		r.start(10)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		r.until("a visit during a sweep",
			func() bool { return r.d.Busy() > 0 && r.disk.reading.Load() > 0 })
		r.calledOff(300 * time.Millisecond)
		r.d.Resume(1)
		time.Sleep(2 * time.Minute)
		if r.disk.of("later.test") > 0 {
			t.Error("a host whose time has come was not fetched")
		}
	})
}

// TestLateFreeze resumes before the loop sees the freeze.
func TestLateFreeze(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.disk.add(1, "a.test", 0, 3)
		r.make()
		r.d.Hold(1, 7, time.Time{})
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- r.d.Freeze(ctx, 1) }()
		synctest.Wait() // it is in the inbox
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("Freeze: %v, want the context's error", err)
		}
		r.d.Resume(1)
		r.run(2)
		defer r.end()
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
	})
}

// TestLateDrop resumes when all is quiet, before the loop sees that the hosts are to leave memory.
func TestLateDrop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.make()
		r.d.Hold(1, 7, time.Time{})
		now := time.Now()
		l := &r.d.loop
		l.takeNotes(now)
		l.core.Activate(now, core.Queue{Partition: 1, Host: "a.test"}, now)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error)
		l.held[1].visits = 1
		go func() { done <- r.d.Freeze(ctx, 1) }()
		l.drain(<-r.d.inbox) // frozen, and not quiet
		l.held[1].visits = 0
		l.held[1].announceQuiet()
		drop := <-r.d.inbox
		cancel()
		<-done
		r.d.Resume(1)
		l.drain(drop)
		if !l.core.Has("a.test") || l.held[1].frozen {
			t.Error("hosts were dropped after Resume")
		}
	})
}

// TestDropNeedsQuiet checks that no host is dropped while it may be requested: its open visit would
// be forgotten.
func TestDropNeedsQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.make()
		r.d.Hold(1, 7, time.Time{})
		now := time.Now()
		l := &r.d.loop
		l.takeNotes(now)
		l.core.Activate(now, core.Queue{Partition: 1, Host: "a.test"}, now)
		for _, h := range []holding{{}, {frozen: true, visits: 1}, {frozen: true, leaving: 1}} {
			l.held[1].frozen, l.held[1].visits, l.held[1].leaving = h.frozen, h.visits, h.leaving
			done := make(chan error, 1)
			if l.drop(now, 1, done); <-done == nil || !l.core.Has("a.test") {
				t.Errorf("frozen %v, %d visits open, %d hosts leaving: the hosts were dropped", h.frozen,
					h.visits, h.leaving)
			}
		}
	})
}

// TestCalledOffWhileParking resumes while the hosts' states are being written: the gap after an
// aborted request is stored nowhere else.
func TestCalledOffWhileParking(t *testing.T) {
	t.Parallel()
	for _, slow := range []time.Duration{time.Millisecond, time.Second, 20 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.disk.parkDelay = slow
			r.settings.Delay, r.web.delay = 10*time.Second, 10*time.Second
			var asked atomic.Int64
			r.web.answer = func(ctx context.Context, v crawl.Visit) (crawl.Response, bool) {
				if asked.Add(1) != 2 {
					return crawl.Response{}, false
				}
				start := time.Now()
				sleep(ctx, time.Hour)
				return crawl.Response{
					Kind:       crawl.Aborted,
					Requested:  true,
					RetryAfter: 15 * time.Second,
					Took:       time.Since(start),
				}, true
			}
			r.disk.add(1, "a.test", 0, 3)
			r.start(2)
			defer r.end()
			r.d.Hold(1, 7, time.Time{})
			r.until("a fetch that does not end", func() bool { return asked.Load() == 2 })
			ctx, cancel := context.WithTimeout(context.Background(), freezeGrace+100*time.Millisecond)
			defer cancel()
			if err := r.d.Freeze(ctx, 1); (err == nil) != (slow < 100*time.Millisecond) {
				t.Errorf("Freeze, with a store that takes %v: %v", slow, err)
			}
			resumed := time.Now()
			r.d.Resume(1)
			r.until("another request", func() bool { return asked.Load() == 3 })
			if waited := time.Since(resumed); waited < 14*time.Second {
				t.Errorf("the host was asked again after %v, it wanted 15 s", waited)
			}
			r.until("an empty queue", func() bool { return r.disk.left() == 0 })
		})
	}
}

// TestTooManyNotes drops the note of a host in memory for lack of room.
func TestTooManyNotes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.options.Scheduler = core.Config{MaxActive: 5}
		r.disk.add(1, "busy.test", 0, 500)
		r.disk.add(1, "a.test", 0, 1)
		r.start(2)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		r.until("a host that has run dry", func() bool { return r.disk.of("a.test") == 0 })
		r.disk.queued = nil
		r.disk.add(1, "a.test", 0, 1)
		var notes []frontier.QueuedHost
		for i := range 20 {
			notes = append(notes,
				frontier.QueuedHost{Partition: 2, Host: crawl.Host(fmt.Sprintf("h%d.test", i))})
		}
		r.d.NoteQueued(append(notes, frontier.QueuedHost{Partition: 1, Host: "a.test"}))
		time.Sleep(30 * time.Second)
		if r.disk.of("a.test") > 0 {
			t.Error("a host in memory was not told that it has URLs")
		}
	})
}

// TestLostNote queues URLs without a note: the counters show that something is left.
func TestLostNote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.disk.add(1, "a.test", 0, 2)
		r.start(2)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
		r.disk.queued = nil
		r.disk.add(1, "a.test", 0, 2) // in memory still
		r.disk.add(1, "b.test", 0, 2)
		r.d.Hold(2, 7, time.Time{})
		r.disk.queued = r.d.NoteQueued
		r.disk.add(2, "other.test", 0, 2)
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
	})
}

// TestNoteForDyingHost queues a URL for a host that is being given up, too late for FailHost.
func TestNoteForDyingHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.disk.uncounted = true
		r.options.Resolver = fakeResolver{unknown: map[string]bool{"nowhere.test": true}}
		r.disk.add(1, "nowhere.test", 0, 2)
		var late atomic.Bool
		r.disk.failing = func() {
			if late.CompareAndSwap(false, true) {
				r.disk.add(1, "nowhere.test", 0, 1)
				time.Sleep(time.Second)
			}
		}
		r.start(2)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		r.until("an empty queue", func() bool { return late.Load() && r.disk.left() == 0 })
		if r.disk.failed["nowhere.test"] != 3 {
			t.Errorf("%d URLs were given up, want 3", r.disk.failed["nowhere.test"])
		}
	})
}

// TestSweepEnds adds a host of the best band to a partition whose other hosts are too many for
// memory and come and go. The host must not wait for their end.
func TestSweepEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.options.Scheduler = core.Config{MaxActive: 4, Quantum: 2}
		for i := range 20 {
			r.disk.add(1, crawl.Host(fmt.Sprintf("h%d.test", i)), 3, 100)
		}
		r.start(4)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		time.Sleep(30 * time.Second)
		r.disk.add(1, "best.test", 0, 1)
		time.Sleep(2 * time.Minute) // the others take ten
		if r.disk.of("best.test") > 0 {
			t.Error("a host of the best band was not fetched in two minutes")
		}
	})
}
