package core

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"crawlnode/crawl"
)

// TopHost is a host in memory, in a list for people.
type TopHost struct {
	HostSnapshot
	Partition crawl.Partition
	Host      crawl.Host
	State     crawl.HostState
	Errors    int64 // visits that failed since Activate, with 429 and 503
	// Backoff is how long it is not requested because of its failures or its Retry-After.
	Backoff time.Duration
}

// Top returns the first n hosts in memory in the order of sort (crawl.SortQueued...),
// the largest first. It reads every host once, up to half a microsecond each, so it is for
// requests of people and not for every page. SortQueued uses the counts of the last read
// from disk.
func (c *Core) Top(now time.Time, sort string, n int) []TopHost {
	best := make(topHeap, 0, n+1)
	for _, h := range c.hosts {
		value, ok := c.rank(now, h, sort)
		if !ok || n <= 0 || len(best) == n && !best[0].behind(ranked{h, value}) {
			continue
		}
		heap.Push(&best, ranked{h, value})
		if len(best) > n {
			heap.Pop(&best)
		}
	}
	slices.SortFunc(best, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.value, a.value),
			strings.Compare(string(a.host.name), string(b.host.name)))
	})
	out := make([]TopHost, len(best))
	for i, r := range best {
		s, _ := c.Snapshot(r.host.name)
		out[i] = TopHost{
			HostSnapshot: s,
			Partition:    r.host.part,
			Host:         r.host.name,
			State:        r.host.state,
			Errors:       r.host.errors,
			Backoff:      c.heldBack(now, r.host),
		}
	}
	return out
}

// rank is the sort key of h; ok is false if h is not part of the list.
func (c *Core) rank(now time.Time, h *host, sort string) (value int64, ok bool) {
	switch sort {
	case crawl.SortFetched:
		return h.state.Pages, true
	case crawl.SortErrors:
		return h.errors, h.errors > 0
	case crawl.SortBackoff:
		wait := c.heldBack(now, h)
		return int64(wait), wait > 0
	case crawl.SortLatency:
		return int64(h.state.Latency), true
	}
	return h.queued, true
}

// heldBack is how long h is not requested beyond its usual gap, or 0.
func (c *Core) heldBack(now time.Time, h *host) time.Duration {
	if h.class != classBackoff && h.class != classFrozen {
		return 0
	}
	return max(c.start(h).Sub(now), 0)
}

// ranked is a host with its sort key.
type ranked struct {
	host  *host
	value int64
}

// behind reports whether r comes after o in the list.
func (r ranked) behind(o ranked) bool {
	return r.value < o.value || r.value == o.value && r.host.name > o.host.name
}

// topHeap keeps the best so far, the last of them on top.
type topHeap []ranked

func (t topHeap) Len() int           { return len(t) }
func (t topHeap) Less(i, j int) bool { return t[i].behind(t[j]) }
func (t topHeap) Swap(i, j int)      { t[i], t[j] = t[j], t[i] }
func (t *topHeap) Push(x any)        { *t = append(*t, x.(ranked)) }
func (t *topHeap) Pop() any {
	old := *t
	last := old[len(old)-1]
	*t = old[:len(old)-1]
	return last
}
