package urlfrontier

import (
	"container/list"
	"sync"
)

// maxCachedLeases bounds the URLs whose lease is remembered: as many as a busy node leases, and
// some that were left behind.
const maxCachedLeases = 200_000

// leaseCache remembers the leases of URLs that were given out here.
type leaseCache struct {
	mu    sync.Mutex // guards the rest
	urls  map[string]*list.Element
	order list.List // of entry, the oldest first
	most  int
}

type entry struct{ url, lease string }

func newLeaseCache() *leaseCache {
	return &leaseCache{urls: map[string]*list.Element{}, most: maxCachedLeases}
}

// put notes that url is part of lease, whatever it was part of before.
func (g *leaseCache) put(url, lease string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.urls[url]; e != nil {
		g.order.Remove(e)
	}
	g.urls[url] = g.order.PushBack(entry{url, lease})
	if g.order.Len() > g.most {
		oldest := g.order.Front()
		g.order.Remove(oldest)
		delete(g.urls, oldest.Value.(entry).url)
	}
}

// take returns the lease of url and forgets it; "": unknown.
func (g *leaseCache) take(url string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	e := g.urls[url]
	if e == nil {
		return ""
	}
	g.order.Remove(e)
	delete(g.urls, url)
	return e.Value.(entry).lease
}
