package scheduler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/frontiertest"
	"crawlnode/frontier/storage"
	"crawlnode/scheduler/core"
	"crawlnode/web/urlnorm"
)

// TestWithFrontier runs the dispatcher over the real store, with more hosts than fit in memory,
// URLs that fail, links found on the way, and a partition that is frozen and resumed repeatedly.
func TestWithFrontier(t *testing.T) {
	t.Parallel()
	withFrontier(t, false)
}

// TestWithMoves is TestWithFrontier with URLs that are moved to better bands all the time, also
// those that are in memory or being visited: each is fetched as often as without that.
func TestWithMoves(t *testing.T) {
	t.Parallel()
	withFrontier(t, true)
}

func withFrontier(t *testing.T, moves bool) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(context.Background())
		r := newRig(t)
		w := &frontierWorld{rig: r, attempts: map[string]int{}}
		front, err := frontier.New(storage.NewMemory(),
			frontier.Options{Node: "n1", OnQueued: func(q []frontier.QueuedHost) { r.d.NoteQueued(q) }})
		if err != nil {
			t.Fatal(err)
		}
		w.front = front
		r.options.Store = front
		r.options.Scheduler = core.Config{MaxActive: 8, ItemsPerHost: 4, Quantum: 10}
		r.d = New(r.options)
		var store, rest sync.WaitGroup
		storeCtx, stopStore := context.WithCancel(context.Background())
		store.Go(func() { _ = front.Run(storeCtx) })
		if err := front.Found(ctx, []crawl.Partition{0, 1, 2}, 7); err != nil {
			t.Fatal(err)
		}
		if moves {
			frontiertest.ByScore(front)
			rest.Go(func() { w.raise(ctx) })
		}
		pages := w.seed(ctx)
		rest.Go(func() {
			if err := r.d.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
		for range 6 {
			rest.Go(func() { w.work(ctx) })
		}
		for p := range crawl.Partition(3) {
			r.d.Hold(p, 7, time.Time{})
		}
		rest.Go(func() { w.freezeNowAndThen(ctx) })
		r.until("an empty queue", func() bool {
			totals := front.Totals()
			return totals.QueuedTotal() == 0 && r.d.Busy() == 0
		})
		if got := r.web.pages(); got != pages {
			t.Errorf("%d pages were fetched, want %d", got, pages)
		}
		stop()
		rest.Wait()
		if w.raised > pages/4 != moves {
			t.Errorf("%d URLs were moved", w.raised)
		}
		stopStore()
		store.Wait()
		if err := front.Close(); err != nil {
			t.Error(err)
		}
	})
}

// frontierWorld completes visits in a real frontier.
type frontierWorld struct {
	rig   *rig
	front *frontier.Frontier

	mu       sync.Mutex // guards attempts
	attempts map[string]int
	raised   int
}

// raise moves URLs to better bands until ctx ends.
func (w *frontierWorld) raise(ctx context.Context) {
	rng := rand.New(rand.NewPCG(1, 1))
	for sleep(ctx, 100*time.Millisecond) {
		p := crawl.Partition(rng.IntN(3))
		said := map[urlnorm.URL]float64{}
		for range 40 {
			t := w.target(fmt.Sprintf("h%d.test", 3*rng.IntN(14)+int(p)), rng.IntN(6), rng.IntN(2))
			said[t.URL] = rng.Float64() / 2
		}
		n, err := frontiertest.Raise(ctx, w.front, p, said)
		if err != nil && ctx.Err() == nil {
			w.rig.t.Errorf("Raise: %v", err)
		}
		w.raised += n
	}
}

func (w *frontierWorld) target(host string, n, depth int) crawl.Target {
	u, err := urlnorm.Parse(fmt.Sprintf("http://%s/%d/%d", host, depth, n))
	if err != nil {
		panic(err)
	}
	return crawl.Target{URL: u, Band: crawl.Band(n % crawl.Bands), Depth: depth}
}

// seed queues three pages on each of 40 hosts; each has two links of its own.
func (w *frontierWorld) seed(ctx context.Context) (pages int) {
	var urls []crawl.Routed
	for h := range 40 {
		for n := range 3 {
			urls = append(urls, crawl.Routed{
				Partition: crawl.Partition(h % 3),
				Target:    w.target(fmt.Sprintf("h%d.test", h), n, 0),
			})
		}
	}
	if _, err := w.front.Add(ctx, urls); err != nil {
		panic(err)
	}
	return 3 * len(urls)
}

func (w *frontierWorld) work(ctx context.Context) {
	r := w.rig
	for {
		v, err := r.d.Next(ctx)
		if err != nil {
			return
		}
		visit, _ := r.d.Context(v)
		answer := w.fetch(visit, v)
		r.d.Release(v, answer)
		if answer.Kind != crawl.Aborted {
			c := frontier.Completion{
				Lease:   v.Lease,
				Host:    r.d.HostState(v),
				Outcome: crawl.Outcome{Kind: answer.Kind, Robots: answer.Robots, FetchedAt: time.Now()},
			}
			if wait, again := core.Again(&v, crawl.URLFailed); again && answer.Kind == crawl.URLFailed {
				c.RetryAt = time.Now().Add(wait)
			}
			if answer.Kind == crawl.Fetched && v.Item.Depth == 0 {
				for i := range 2 {
					n := int(v.Item.URL.Path()[len("/0/")]-'0')*2 + i
					c.Own = append(c.Own,
						crawl.Routed{Partition: v.Partition, Target: w.target(string(v.Host), n, 1)})
				}
			}
			if err := w.front.Complete(context.WithoutCancel(ctx), c); err != nil {
				r.t.Errorf("Complete of %v: %v", v.Item.URL, err)
			}
		}
		r.d.Completed(v)
	}
}

// fetch lets some pages fail on their first try.
func (w *frontierWorld) fetch(ctx context.Context, v crawl.Visit) crawl.Response {
	if v.Robots != nil && strings.HasSuffix(v.Item.URL.Path(), "1") {
		w.mu.Lock()
		w.attempts[v.Item.URL.String()]++
		first := w.attempts[v.Item.URL.String()] == 1
		w.mu.Unlock()
		if first {
			return crawl.Response{Kind: crawl.URLFailed}
		}
	}
	return w.rig.web.get(ctx, v)
}

func (w *frontierWorld) freezeNowAndThen(ctx context.Context) {
	for p := crawl.Partition(0); ; p = (p + 1) % 3 {
		if !sleep(ctx, 2*time.Second) {
			return
		}
		if err := w.rig.d.Freeze(ctx, p); err != nil {
			if ctx.Err() == nil {
				w.rig.t.Errorf("Freeze: %v", err)
			}
			return
		}
		if !sleep(ctx, time.Second) {
			return
		}
		w.rig.d.Resume(p)
	}
}
