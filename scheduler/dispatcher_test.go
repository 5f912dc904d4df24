package scheduler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/scheduler/core"
)

// TestFetchesEverythingOnce crawls thirty hosts in three partitions, some from disk and some noted
// while it runs, politely and completely.
func TestFetchesEverythingOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		pages := 0
		for i := range 20 {
			r.disk.add(crawl.Partition(i%3), crawl.Host(fmt.Sprintf("h%d.test", i)), crawl.Band(i%8), 1+3*i)
			pages += 1 + 3*i
		}
		r.start(8)
		defer r.end()
		for p := range crawl.Partition(3) {
			r.d.Hold(p, 7, time.Time{})
		}
		time.Sleep(3 * time.Second)
		for i := range 10 {
			r.disk.add(crawl.Partition(i%3), crawl.Host(fmt.Sprintf("late%d.test", i)), 3, 20)
			r.disk.add(crawl.Partition(i%3), crawl.Host(fmt.Sprintf("h%d.test", i)), 0, 5)
			pages += 25
		}
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
		if got := r.web.pages(); got != pages {
			t.Errorf("%d pages were fetched, want %d", got, pages)
		}
		if r.web.robotsFetched() != 30 {
			t.Errorf("robots.txt was fetched %d times, want once for each of 30 hosts",
				r.web.robotsFetched())
		}
		r.until("idle", func() bool { return r.d.Busy() == 0 })
		if r.d.Activity() < uint64(pages) {
			t.Errorf("activity %d is less than the %d visits", r.d.Activity(), pages)
		}
	})
}

// TestMemoryIsBounded crawls ten times the hosts that fit in memory.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.options.Scheduler = core.Config{MaxActive: 20, ItemsPerHost: 4, Quantum: 8}
		pages := 0
		for i := range 200 {
			n := 1 + i%30
			if i == 0 {
				n = 300
			}
			r.disk.add(crawl.Partition(i%5), crawl.Host(fmt.Sprintf("h%d.test", i)), crawl.Band(i%8), n)
			pages += n
		}
		r.start(16)
		defer r.end()
		for p := range crawl.Partition(5) {
			r.d.Hold(p, 7, time.Time{})
		}
		most := 0
		r.until("an empty queue", func() bool {
			most = max(most, r.d.Counts().Active)
			return r.disk.left() == 0
		})
		if most > 20 {
			t.Errorf("%d hosts were in memory, the bound is 20", most)
		}
		if got := r.web.pages(); got != pages {
			t.Errorf("%d pages were fetched, want %d", got, pages)
		}
		r.disk.mu.Lock()
		defer r.disk.mu.Unlock()
		if r.disk.parked == 0 {
			t.Error("no host was parked, though most had to wait on disk")
		}
	})
}

// TestFreeze freezes a partition while a fast and a slow fetch are open. The fast one ends, the
// slow one is cancelled after 300 ms, no visit of the partition is handed out any more, and
// everything continues after Resume.
func TestFreeze(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.disk.add(1, "fast.test", 0, 3)
		r.disk.add(1, "slow.test", 0, 1)
		r.disk.add(2, "other.test", 0, 50)
		r.web.took = 200 * time.Millisecond
		var aborted, open atomic.Int64
		frozen := atomic.Bool{}
		r.web.answer = func(ctx context.Context, v crawl.Visit) (crawl.Response, bool) {
			if frozen.Load() && v.Partition == 1 {
				t.Errorf("%v was handed out of a frozen partition", v.Item.URL)
			}
			if v.Host != "slow.test" || v.Robots == nil || aborted.Load() > 0 {
				return crawl.Response{}, false
			}
			start := time.Now()
			open.Add(1)
			sleep(ctx, time.Minute)
			if !errors.Is(context.Cause(ctx), errTakenBack) {
				t.Errorf("the fetch ended with %v", context.Cause(ctx))
			}
			aborted.Add(1)
			return crawl.Response{Kind: crawl.Aborted, Requested: true, Took: time.Since(start)}, true
		}
		r.start(4)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		r.d.Hold(2, 7, time.Time{})
		r.until("the slow fetch is open", func() bool { return open.Load() == 1 })

		start := time.Now()
		ctx := context.Background()
		freeze(ctx, t, r.d, &frozen)
		if took := time.Since(start); took < freezeGrace || took > freezeGrace+50*time.Millisecond {
			t.Errorf("Freeze took %v, want 300 ms and little more", took)
		}
		if aborted.Load() != 1 {
			t.Errorf("%d fetches were taken back, want 1", aborted.Load())
		}
		r.disk.mu.Lock()
		if at := r.disk.hosts["slow.test"].state.NotBefore; at.Before(time.Now()) {
			t.Errorf("the aborted host's politeness did not reach the store: not before %v", at)
		}
		r.disk.mu.Unlock()
		time.Sleep(5 * time.Second)
		r.disk.add(1, "fast.test", 0, 2) // noted for a frozen partition
		time.Sleep(5 * time.Second)
		if r.disk.left() < 3 {
			t.Errorf("%d URLs are left, want those of the frozen partition", r.disk.left())
		}
		frozen.Store(false)
		r.d.Resume(1)
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
		if got := r.web.pages(); got != 56 {
			t.Errorf("%d pages were fetched, want 56", got)
		}
	})
}

func freeze(ctx context.Context, t *testing.T, d *Dispatcher, frozen *atomic.Bool) {
	t.Helper()
	if err := d.Freeze(ctx, 99); err != nil {
		t.Errorf("Freeze of a partition that is not held: %v", err)
	}
	if err := d.Freeze(ctx, 1); err != nil {
		t.Errorf("Freeze: %v", err)
	}
	frozen.Store(true)
}

// TestFreezeGivesUp checks that a Freeze whose context ends leaves the partition frozen, and that
// Resume undoes it.
func TestFreezeGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.processing = 2 * time.Second // longer than the context below
		r.disk.add(1, "a.test", 0, 3)
		r.start(2)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		r.until("a visit", func() bool { return r.d.Busy() == 1 })
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := r.d.Freeze(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Freeze: %v, want the context's error", err)
		}
		time.Sleep(10 * time.Second)
		if r.d.Busy() != 0 || r.disk.left() != 3 {
			t.Errorf("busy %d, left %d: visits were handed out of a frozen partition", r.d.Busy(),
				r.disk.left())
		}
		r.d.Resume(1)
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
	})
}

// TestAcquired checks that nothing is requested before the gap has passed since Hold: another node
// may have made a request just before.
func TestAcquired(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.disk.add(1, "a.test", 0, 1)
		r.disk.hosts["a.test"].state.CrawlDelay = 5 * time.Second
		r.start(1)
		defer r.end()
		held := time.Now()
		r.d.Hold(1, 7, time.Time{})
		r.until("a visit", func() bool { return r.d.Busy() == 1 })
		if since := time.Since(held); since < 5*time.Second || since > 5100*time.Millisecond {
			t.Errorf("the first request came %v after the acquisition, want 5 s", since)
		}
	})
}

// TestLastTries has one host that fails for good, one that recovers in its last try, and one that
// asks for a long wait, in a crawl that ends.
func TestLastTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.options.Scheduler = core.Config{MaxActive: 2}
		r.options.Resolver = fakeResolver{unknown: map[string]bool{"nowhere.test": true}}
		r.lastTry.Store(false)
		r.disk.add(1, "nowhere.test", 0, 4)
		r.disk.add(1, "shaky.test", 0, 2)
		r.disk.add(1, "busy.test", 0, 2)
		r.disk.add(1, "good.test", 0, 5)
		failures := 0
		r.web.answer = func(_ context.Context, v crawl.Visit) (crawl.Response, bool) {
			switch {
			case v.Host == "shaky.test" && failures < 5:
				failures++
				return crawl.Response{Kind: crawl.HostFailed, Requested: true}, true
			case v.Host == "busy.test":
				return crawl.Response{Kind: crawl.RateLimited, Requested: true, RetryAfter: 2 * time.Hour}, true
			}
			return crawl.Response{}, false
		}
		start := time.Now()
		r.start(2)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		r.until("only frozen hosts", r.d.Stalled)
		if r.disk.left() != 8 {
			t.Errorf("%d URLs are left, want the 8 of the three bad hosts", r.disk.left())
		}
		time.Sleep(time.Minute)
		if r.disk.left() != 8 {
			t.Error("frozen hosts had their last try while others had work")
		}
		r.lastTry.Store(true)
		r.until("the end", func() bool { return r.disk.left() == 0 && r.d.Busy() == 0 })
		if took := time.Since(start); took > 10*time.Minute {
			t.Errorf("the end took %v", took)
		}
		if r.disk.failed["nowhere.test"] != 4 || r.disk.failed["busy.test"] != 2 ||
			r.disk.failed["shaky.test"] != 0 {
			t.Errorf("URLs given up: %v, want 4 of nowhere.test and 2 of busy.test", r.disk.failed)
		}
		if got := r.disk.reasons["nowhere.test"]; got != "host_dead: no way to nowhere.test" {
			t.Errorf("why nowhere.test was given up: %q", got)
		}
		if got := r.disk.reasons["busy.test"]; !strings.HasPrefix(got,
			"host_dead: it asks to be left alone until 2000-01-01T02:0") {
			t.Errorf("why busy.test was given up: %q", got)
		}
		if got := r.web.pages(); got != 7 {
			t.Errorf("%d pages were fetched, want 7", got)
		}
	})
}

// TestPermits checks that no page is handed out without a permit, that
// robots.txt needs none, and that unused ones come back.
func TestPermits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.permits.Store(0)
		failed := map[string]bool{}
		r.web.answer = func(_ context.Context, v crawl.Visit) (crawl.Response, bool) {
			if v.Robots == nil || failed[v.Item.URL.String()] {
				return crawl.Response{}, false
			}
			failed[v.Item.URL.String()] = true
			return crawl.Response{Kind: crawl.URLFailed, Requested: true}, true
		}
		r.disk.add(1, "a.test", 0, 8)
		r.start(3)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		time.Sleep(time.Minute)
		if r.web.robotsFetched() != 1 || r.web.pages() != 0 {
			t.Errorf("without a permit: %d robots.txt, %d pages, want 1 and 0", r.web.robotsFetched(),
				r.web.pages())
		}
		r.permits.Store(5)
		r.d.Wake()
		time.Sleep(5 * time.Minute)
		if r.web.pages() != 5 || r.used.Load() != 5 || r.permits.Load() != 0 {
			t.Errorf("with 5 permits: %d pages, %d used, %d unused", r.web.pages(), r.used.Load(),
				r.permits.Load())
		}
		r.permits.Store(10)
		r.d.Wake()
		r.until("an empty queue", func() bool { return r.disk.left() == 0 && r.d.Busy() == 0 })
		if r.used.Load() != 8 || r.permits.Load() != 7 {
			t.Errorf("at the end: %d used, %d unused, want 8 and 7", r.used.Load(),
				r.permits.Load())
		}
	})
}

// TestHostBudget checks --max-pages-per-host: the rest is refused without a request.
func TestHostBudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.settings.MaxPagesPerHost = 3
		r.disk.add(1, "a.test", 0, 100)
		r.disk.add(1, "b.test", 0, 2)
		r.start(4)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
		if got := r.web.pages(); got != 5 {
			t.Errorf("%d pages were fetched, want 3 and 2", got)
		}
	})
}

// TestOverBudget tells what a host may have under --max-pages-per-host.
func TestOverBudget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		via             crawl.Via
		pages, requests int64
		limit           int64
		want            bool
	}{
		{crawl.ViaLink, 1e9, 2e9, 0, false},
		{crawl.ViaSitemapFile, 0, 1e9, 0, false},
		{crawl.ViaLink, 9, 5000, 10, false},
		{crawl.ViaLink, 10, 11, 10, true},
		{crawl.ViaSitemapFile, 10, 11, 10, true},
		{crawl.ViaRobots, 10, 1e9, 10, false},
		{crawl.ViaSitemapFile, 9, 9 + 10 + otherRequests - 1, 10, false},
		{crawl.ViaSitemapFile, 9, 9 + 10 + otherRequests, 10, true},
		{crawl.ViaSeed, 9, 9 + 10 + otherRequests, 10, false},
	} {
		if got := overBudget(c.via, &crawl.HostState{
			Pages:    c.pages,
			Requests: c.requests,
		}, c.limit); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// TestPauseAndLease checks that nothing starts while the node is paused
// or may not fetch.
func TestPauseAndLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.lease.Store(false)
		r.disk.add(1, "a.test", 0, 10)
		r.start(4)
		defer r.end()
		r.d.Pause(true)
		r.d.Hold(1, 7, time.Time{})
		time.Sleep(time.Minute)
		r.d.Pause(false)
		time.Sleep(time.Minute)
		if r.web.robotsFetched() != 0 {
			t.Error("a request was made without the right to fetch")
		}
		r.lease.Store(true)
		time.Sleep(3 * time.Second)
		if r.web.pages() == 0 {
			t.Error("nothing was fetched after the lease was back")
		}
		r.d.Pause(true)
		r.until("idle", func() bool { return r.d.Busy() == 0 })
		n := r.web.pages()
		time.Sleep(time.Minute)
		if r.web.pages() != n {
			t.Error("a page was fetched while paused")
		}
		r.d.Pause(false)
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
	})
}

// TestStops checks that Run cancels open fetches, that callers get io.EOF, and that the hosts'
// politeness is written.
func TestStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.web.took = time.Hour
		r.disk.add(1, "a.test", 0, 2)
		r.disk.add(1, "b.test", 0, 2)
		r.start(5)
		r.d.Hold(1, 7, time.Time{})
		r.until("two fetches", func() bool { return r.web.openNow() == 2 })
		start := time.Now()
		r.end()
		if took := time.Since(start); took > time.Second {
			t.Errorf("the stop took %v", took)
		}
		if _, err := r.d.Next(context.Background()); !errors.Is(err, io.EOF) {
			t.Errorf("Next after the end: %v, want io.EOF", err)
		}
		for name, h := range r.disk.hosts {
			if h.state.NotBefore.Before(start) {
				t.Errorf("%s: the aborted request is not in its politeness", name)
			}
		}
		over, _ := r.d.Context(crawl.Visit{ID: 1})
		if err := context.Cause(over); !errors.Is(err, errTakenBack) {
			t.Errorf("the context of a visit that is over: %v", err)
		}
	})
}

// TestStopsInTime checks that Run ends although a visit is never completed.
func TestStopsInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.disk.add(1, "a.test", 0, 2)
		r.start(0)
		r.d.Hold(1, 7, time.Time{})
		v, err := r.d.Next(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		r.end()
		if took := time.Since(start); took > 2*StopGrace {
			t.Errorf("the stop took %v", took)
		}
		r.d.Release(v, crawl.Response{Kind: crawl.Aborted})
		r.d.Completed(v)
	})
}

// TestWaiterGoesAway checks that no visit is lost when a worker gives up.
func TestWaiterGoesAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start(0)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := r.d.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Next: %v, want the context's error", err)
		}
		r.disk.add(1, "a.test", 0, 1)
		time.Sleep(3 * time.Second)
		if r.d.Busy() != 0 {
			t.Fatal("a visit was handed out to nobody")
		}
		v, err := r.d.Next(context.Background())
		if err != nil || v.Host != "a.test" {
			t.Fatalf("Next: %v, %v", v.Host, err)
		}
		r.d.Release(v, crawl.Response{Kind: crawl.Aborted})
		r.d.Completed(v)
	})
}
