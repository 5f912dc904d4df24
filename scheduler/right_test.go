package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/scheduler/core"
)

// This file tests how the right to fetch begins and ends: fences, dropped partitions, leases.

// firstRequests records when each host is requested for the first time.
func (r *rig) firstRequests() func(crawl.Host) (time.Time, bool) {
	var mu sync.Mutex
	at := map[crawl.Host]time.Time{}
	r.web.answer = func(_ context.Context, v crawl.Visit) (crawl.Response, bool) {
		mu.Lock()
		defer mu.Unlock()
		if _, ok := at[v.Host]; !ok {
			at[v.Host] = time.Now()
		}
		return crawl.Response{}, false
	}
	return func(h crawl.Host) (time.Time, bool) {
		mu.Lock()
		defer mu.Unlock()
		t, ok := at[h]
		return t, ok
	}
}

// TestFloor checks that after a promotion no host is requested before the floor plus its delay, not
// even for robots.txt, however it came into memory, and none much later.
func TestFloor(t *testing.T) {
	t.Parallel()
	const never = -1
	for name, c := range map[string]struct {
		floor time.Duration // from Hold
		state crawl.HostState
		hold  time.Duration // HoldUntil, from Hold
		late  time.Duration // when the host's first URL is queued, from Hold
		again time.Duration // a second Hold, two seconds later, with this floor
		want  time.Duration
	}{
		"ahead":     {floor: 9 * time.Second, again: never, want: 10 * time.Second},
		"far ahead": {floor: time.Minute, again: never, want: 61 * time.Second},
		"just past": {
			floor: -500 * time.Millisecond,
			again: never,
			want:  500 * time.Millisecond,
		},
		"long past": {floor: -time.Hour, again: never, want: 0},
		"with a Crawl-delay": {
			floor: 9 * time.Second,
			state: crawl.HostState{CrawlDelay: 5 * time.Second},
			again: never,
			want:  14 * time.Second,
		},
		"with a back-off": {
			floor: 9 * time.Second,
			state: crawl.HostState{Backoff: 30 * time.Second},
			again: never,
			want:  39 * time.Second,
		},
		"with a slow server": {
			floor: 9 * time.Second,
			state: crawl.HostState{Latency: 4 * time.Second},
			again: never,
			want:  17 * time.Second,
		},
		"below what the host asks for": {
			floor: 9 * time.Second,
			hold:  20 * time.Second,
			again: never,
			want:  20 * time.Second,
		},
		"a new host": {
			floor: 9 * time.Second,
			late:  3 * time.Second,
			again: never,
			want:  10 * time.Second,
		},
		"a new host, after the floor": {
			floor: 9 * time.Second,
			late:  9500 * time.Millisecond,
			again: never,
			want:  10 * time.Second,
		},
		"raised while in memory": {
			floor: 5 * time.Second,
			again: 9 * time.Second,
			want:  10 * time.Second,
		},
		"never lowered": {floor: 9 * time.Second, again: time.Second, want: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				first := r.firstRequests()
				start := time.Now()
				if c.late == 0 {
					r.disk.add(1, "a.test", 0, 1)
					r.disk.hosts["a.test"].state = c.state
					if c.hold > 0 {
						r.disk.hosts["a.test"].state.HoldUntil = start.Add(c.hold)
					}
				}
				r.start(2)
				defer r.end()
				r.d.Hold(1, 7, start.Add(c.floor))
				if c.late > 0 {
					time.Sleep(c.late)
					r.disk.add(1, "a.test", 0, 1)
				}
				if c.again != never {
					time.Sleep(2 * time.Second)
					r.d.Hold(1, 7, start.Add(c.again))
				}
				r.until("a request", func() bool { _, ok := first("a.test"); return ok })
				at, _ := first("a.test")
				if got := at.Sub(start); got < c.want || got > c.want+100*time.Millisecond {
					t.Errorf("the first request came after %v, want %v", got, c.want)
				}
			})
		})
	}
}

// TestFloorOutlivesMemory checks that hosts that leave memory before the fence is over, for lack of
// room or by an undone freeze, are also held back, and that the wait reaches the store.
func TestFloorOutlivesMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		first := r.firstRequests()
		r.options.Scheduler = core.Config{MaxActive: 4}
		start := time.Now()
		for i := range 20 {
			r.disk.add(1, crawl.Host(fmt.Sprintf("h%d.test", i)), 0, 1)
		}
		r.disk.add(2, "free.test", 0, 3)
		r.start(3)
		defer r.end()
		r.d.Hold(1, 7, start.Add(30*time.Second))
		r.d.Hold(2, 7, start)
		time.Sleep(5 * time.Second)
		if err := r.d.Freeze(context.Background(), 1); err != nil {
			t.Errorf("Freeze: %v", err)
		}
		r.disk.mu.Lock()
		carried := 0
		for _, h := range r.disk.hosts {
			if h.partition == 1 && h.state.NotBefore.Equal(start.Add(31*time.Second)) {
				carried++
			}
		}
		r.disk.mu.Unlock()
		if carried == 0 {
			t.Error("no state in the store tells of the fence")
		}
		r.d.Resume(1)
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
		for i := range 20 {
			if at, _ := first(crawl.Host(fmt.Sprintf("h%d.test", i))); at.Sub(start) < 31*time.Second {
				t.Errorf("h%d.test was asked after %v, the fence is 31 s", i, at.Sub(start))
			}
		}
		if at, _ := first("free.test"); at.Sub(start) > 5*time.Second {
			t.Errorf("a host of another partition waited %v", at.Sub(start))
		}
	})
}

// TestDrop drops a partition with a visit that has not sent its request, and one whose request is
// open.
func TestDrop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for i := range 3 {
			host := crawl.Host(fmt.Sprintf("h%d.test", i))
			r.disk.add(1, host, 0, 2)
			r.disk.hosts[host].state.CrawlDelay = 3 * time.Second
		}
		r.disk.add(2, "other.test", 0, 1)
		r.start(0)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		r.d.Hold(2, 7, time.Time{})
		visits := r.take(4)
		for _, v := range visits {
			if !r.d.MayRequest(v) {
				t.Errorf("%s may not be requested", v.Host)
			}
		}
		r.d.Drop(1)
		for _, v := range visits {
			ended := v.Partition == 1
			visit, _ := r.d.Context(v)
			if cause := context.Cause(visit); errors.Is(cause, errTakenBack) != ended ||
				r.d.MayRequest(v) == ended {
				t.Errorf("%s after Drop(1): cause %v, may request %v", v.Host, cause, r.d.MayRequest(v))
			}
		}
		synctest.Wait()
		if n := r.d.Counts().Active; n != 1 {
			t.Errorf("%d hosts in memory, want that of the other partition", n)
		}
		for _, v := range visits {
			r.d.Release(v, crawl.Response{Kind: crawl.Aborted, Requested: true})
			if v.Partition == 1 && r.d.HostState(v).CrawlDelay != 3*time.Second {
				t.Errorf("%s: its state was forgotten", v.Host)
			}
			r.d.Completed(v)
		}
		r.until("idle", func() bool { return r.d.Busy() == 0 })
		if r.disk.parked != 0 {
			t.Errorf("%d states of a yielded partition were written", r.disk.parked)
		}
		r.disk.add(1, "h0.test", 0, 1)
		r.workers(3)
		time.Sleep(time.Minute)
		if left := r.disk.left(); left != 7 {
			t.Errorf("%d URLs are left, want the 7 of the yielded partition", left)
		}
	})
}

// take takes n visits, as idle workers would.
func (r *rig) take(n int) []crawl.Visit {
	r.t.Helper()
	var out []crawl.Visit
	for range n {
		v, err := r.d.Next(context.Background())
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// TestDropAndHold takes a partition up again while an earlier request is still open. Its host is
// requested when that has ended and its gap has passed.
func TestDropAndHold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		delay     time.Duration
		floor     time.Duration // from Drop; 0: none
		requested bool
		want      time.Duration // from the stray's end
	}{
		"moved back": {delay: 5 * time.Second, requested: true, want: 5 * time.Second},
		"promoted": {
			delay:     5 * time.Second,
			floor:     -time.Second,
			requested: true,
			want:      5 * time.Second,
		},
		// from the Drop, 2 s before
		"no request made": {delay: 5 * time.Second, floor: -time.Second, want: 3 * time.Second},
		"no delay":        {requested: true, want: 0},
		"a fence after all": {
			delay:     5 * time.Second,
			floor:     9 * time.Second,
			requested: true,
			want:      12 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.settings.Delay, r.web.delay = c.delay, c.delay
				first := r.firstRequests()
				r.disk.add(1, "a.test", 0, 2)
				r.start(0)
				defer r.end()
				r.d.Hold(1, 7, time.Time{})
				v := r.take(1)[0]
				var floor time.Time
				if c.floor != 0 {
					floor = time.Now().Add(c.floor)
				}
				r.d.Drop(1)
				r.d.Hold(1, 7, floor)
				r.workers(2)
				time.Sleep(2 * time.Second)
				if _, asked := first("a.test"); asked {
					t.Fatal("the host was asked while its last request was open")
				}
				r.d.Release(v, crawl.Response{Kind: crawl.Aborted, Requested: c.requested})
				released := time.Now()
				r.d.Completed(v)
				r.until("an empty queue", func() bool { return r.disk.left() == 0 })
				at, _ := first("a.test")
				if got := at.Sub(released); got < c.want || got > c.want+100*time.Millisecond {
					t.Errorf("asked again %v after the last request had ended, want %v", got, c.want)
				}
			})
		})
	}
}

// TestDropInTime checks Drops that come while a visit is handed out, and before the loop has seen
// the Hold.
func TestDropInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var drop atomic.Bool
		drop.Store(true)
		r.taken = func() {
			if drop.CompareAndSwap(true, false) {
				r.d.Drop(1)
			}
		}
		r.disk.add(1, "a.test", 0, 3)
		r.start(2)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		time.Sleep(time.Minute)
		lost := manyPermits - r.permits.Load()
		if r.web.robotsFetched() != 1 || r.web.pages() != 0 || lost != 0 {
			t.Errorf("%d robots.txt, %d pages, %d permits are lost; want 1, 0 and 0",
				r.web.robotsFetched(), r.web.pages(), lost)
		}
		r.d.Hold(1, 7, time.Time{})
		r.d.Drop(1)
		r.d.Hold(1, 7, time.Time{})
		r.d.Drop(1)
		r.d.Drop(99) // never held
		time.Sleep(time.Minute)
		if r.web.pages() != 0 {
			t.Error("a page was fetched after the last Drop")
		}
		r.d.Drop(1)
		r.d.Hold(1, 7, time.Time{})
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
	})
}

// TestEndAll ends the lease while fetches are open: they are cancelled at once, nothing starts
// until Wake, and the hosts keep their gaps.
func TestEndAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		over := errors.New("the lease is over")
		var open, aborted atomic.Int64
		var held atomic.Bool
		held.Store(true)
		r.web.answer = func(ctx context.Context, v crawl.Visit) (crawl.Response, bool) {
			if v.Robots == nil || !held.Load() {
				return crawl.Response{}, false
			}
			from := time.Now()
			open.Add(1)
			if sleep(ctx, time.Hour) || !errors.Is(context.Cause(ctx), over) ||
				!errors.Is(context.Cause(ctx), errTakenBack) {
				t.Errorf("the fetch ended with %v", context.Cause(ctx))
			}
			aborted.Add(1)
			return crawl.Response{Kind: crawl.Aborted, Requested: true, Took: time.Since(from)}, true
		}
		r.disk.add(1, "a.test", 0, 3)
		r.disk.add(2, "b.test", 0, 3)
		r.start(4)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		r.d.Hold(2, 7, time.Time{})
		r.until("two fetches", func() bool { return open.Load() == 2 })
		held.Store(false)
		ended := time.Now()
		r.d.EndAll(over)
		synctest.Wait()
		if aborted.Load() != 2 {
			t.Fatalf("%d fetches ended at once, want 2", aborted.Load())
		}
		r.disk.add(1, "new.test", 0, 1)
		time.Sleep(time.Minute)
		if r.d.Busy() != 0 || r.disk.left() != 7 {
			t.Errorf("busy %d, %d URLs left: something was fetched after the lease", r.d.Busy(),
				r.disk.left())
		}
		r.d.Wake()
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
		if time.Since(ended) > 5*time.Minute {
			t.Errorf("the rest took %v", time.Since(ended))
		}
	})
}

// TestLeaseBack ends the lease for a moment only. The hosts' gaps count from the end of the aborted
// requests (fakeWeb checks them), and no fence is added.
func TestLeaseBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.web.took = 300 * time.Millisecond
		r.disk.add(1, "a.test", 0, 20)
		r.start(2)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		start := time.Now()
		for range 5 {
			r.until("a fetch", func() bool { return r.d.Busy() == 1 })
			time.Sleep(100 * time.Millisecond)
			r.d.EndAll(errors.New("the lease is over"))
			r.d.Wake()
			r.until("its end", func() bool { return r.d.Busy() == 0 })
		}
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
		if took := time.Since(start); took > 45*time.Second { // 26 requests, 1.3 s each
			t.Errorf("26 requests took %v", took)
		}
	})
}

// TestMayRequest checks the right of a visit that was handed out.
func TestMayRequest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(r *rig, v crawl.Visit)
		want   bool
	}{
		"open":          {func(*rig, crawl.Visit) {}, true},
		"without lease": {func(r *rig, _ crawl.Visit) { r.lease.Store(false) }, false},
		"lease ended":   {func(r *rig, _ crawl.Visit) { r.d.EndAll(errTakenBack) }, false},
		"ended and back": {
			func(r *rig, _ crawl.Visit) { r.d.EndAll(errTakenBack); r.d.Wake() },
			false,
		},
		"dropped": {func(r *rig, v crawl.Visit) { r.d.Drop(v.Partition) }, false},
		"dropped and back": {func(r *rig, v crawl.Visit) {
			r.d.Drop(v.Partition)
			r.d.Hold(v.Partition, 7, time.Time{})
		}, false},
		"another partition dropped": {func(r *rig, _ crawl.Visit) { r.d.Drop(2) }, true},
		"frozen, within the grace": {func(r *rig, _ crawl.Visit) {
			go r.d.Freeze(context.Background(), 1)
			time.Sleep(freezeGrace - time.Millisecond)
		}, true},
		"frozen": {func(r *rig, _ crawl.Visit) {
			go r.d.Freeze(context.Background(), 1)
			time.Sleep(freezeGrace + time.Millisecond)
		}, false},
		"stopped": {func(r *rig, _ crawl.Visit) { r.stop(); synctest.Wait() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.disk.add(1, "a.test", 0, 1)
				r.start(0)
				defer r.end()
				r.d.Hold(1, 7, time.Time{})
				v := r.take(1)[0]
				c.change(r, v)
				if got := r.d.MayRequest(v); got != c.want {
					t.Errorf("may request: %v, want %v", got, c.want)
				}
				r.d.Release(v, crawl.Response{Kind: crawl.Aborted})
				r.d.Completed(v)
				synctest.Wait()
				if r.d.MayRequest(v) {
					t.Error("a visit that is over may request")
				}
			})
		})
	}
}

// TestFreezeIdle freezes partitions without hosts in memory: each costs
// one message to the loop, no timer and no write.
func TestFreezeIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.make()
		l := &r.d.loop
		for p := range crawl.Partition(3) {
			if p > 0 { // 0 was never held
				r.d.Hold(p, 7, time.Time{})
			}
			done := make(chan error)
			go func() { done <- r.d.Freeze(context.Background(), p) }()
			l.drain(<-r.d.inbox)
			if err := <-done; err != nil {
				t.Errorf("Freeze(%d): %v", p, err)
			}
			if h := l.held[p]; p > 0 && (!h.frozen || !h.dropped) || len(l.diskJobs) != 0 {
				t.Errorf("partition %d is not frozen, or %d writes are under way", p, len(l.diskJobs))
			}
		}
	})
}

// BenchmarkFreezeIdle is the cost of freezing a partition without hosts in memory; a join freezes
// many of them.
func BenchmarkFreezeIdle(b *testing.B) {
	node := newFakeNode(&crawl.Settings{}, nil)
	d := New(Options{
		Store:    newFakeDisk(),
		Resolver: fakeResolver{},
		Rules:    node,
		Node:     node,
	})
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := d.Run(ctx); err != nil {
			b.Error(err)
		}
	})
	for p := range crawl.Partition(256) {
		d.Hold(p, 7, time.Time{})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if err := d.Freeze(ctx, crawl.Partition(i%256)); err != nil {
			b.Fatal(err)
		}
	}
	stop()
	running.Wait()
}
