package core

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
)

// Top agrees with sorting everything, in every order and at every length.
func TestTopIsTheHeadOfTheSortedList(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := New(Config{})
	const hosts = 60
	for i := range hosts {
		s := crawl.HostState{Pages: int64(rng.IntN(9)), Latency: time.Duration(rng.IntN(9))}
		if i%3 == 0 {
			s.Failures, s.NotBefore = 1, now.Add(time.Duration(20+rng.IntN(50))*time.Second)
		}
		c.Activate(now, Queue{
			Partition: crawl.Partition(i),
			Host:      crawl.Host(fmt.Sprintf("h%02d.test", i)),
			State:     s,
			More:      true,
			Queued:    int64(rng.IntN(9)),
		}, time.Time{})
		c.hosts[crawl.Host(fmt.Sprintf("h%02d.test", i))].errors = int64(i % 4)
	}
	for _, sort := range crawl.HostSorts {
		all := c.Top(now, sort, hosts)
		if want := map[string]int{crawl.SortErrors: 45, crawl.SortBackoff: 20}[sort]; want > 0 &&
			len(all) != want || want == 0 && len(all) != hosts {
			t.Errorf("%s: %d hosts in the whole list", sort, len(all))
		}
		if !slices.IsSortedFunc(all, func(a, b TopHost) int {
			x, _ := c.rank(now, c.hosts[a.Host], sort)
			y, _ := c.rank(now, c.hosts[b.Host], sort)
			if x != y {
				return int(y - x)
			}
			return slices.Compare([]byte(a.Host), []byte(b.Host))
		}) {
			t.Errorf("%s: not in order", sort)
		}
		for _, n := range []int{0, 1, 7, 59} {
			got := c.Top(now, sort, n)
			if !slices.Equal(got, all[:min(n, len(all))]) {
				t.Errorf("%s: the first %d are not the head of the list", sort, n)
			}
		}
	}
}

// Failed visits are counted for as long as the host is in memory.
func TestErrorsOfAHostAreCounted(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := New(Config{})
	c.Activate(now, Queue{Host: "a.test", Queued: 3}, time.Time{})
	c.Counted("a.test", 5)
	c.Counted("unknown.test", 5)
	h := c.hosts["a.test"]
	for i, kind := range []crawl.Kind{crawl.Fetched, crawl.URLFailed, crawl.HostFailed,
		crawl.RateLimited, crawl.RobotsFetched, crawl.Aborted} {
		v := &visit{id: uint64(i + 1), host: h, open: true}
		c.visits[v.id], h.open, h.incomplete = v, true, append(h.incomplete, v)
		c.Release(now, v.id, crawl.Response{Kind: kind, Requested: true})
		c.Completed(now, v.id)
	}
	top := c.Top(now, crawl.SortErrors, 9)
	if len(top) != 1 || top[0].Errors != 3 || h.queued != 5 {
		t.Errorf("%+v, %d queued; want 3 errors and 5 queued", top, h.queued)
	}
}

func BenchmarkTop(b *testing.B) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	c := New(Config{})
	for i := range 20_000 {
		c.Activate(now, Queue{
			Partition: crawl.Partition(i % 1024),
			Host:      crawl.Host(fmt.Sprint("h", i, ".test")),
			More:      true,
			Queued:    int64(i * 7919 % 20_000),
		}, time.Time{})
	}
	for b.Loop() {
		c.Top(now, crawl.SortQueued, 2*crawl.MaxHostLines)
	}
}
