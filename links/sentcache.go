package links

import (
	"sync"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
)

// sentCache remembers links that their owners on other nodes have acknowledged, so that a link
// found on every page of a site is sent once. It has two generations: when the young set is full it
// becomes the old one. Fingerprints have 128 bits, so that no link is taken for another.
type sentCache struct {
	mu         sync.Mutex // guards young and old
	young, old map[xxh3.Uint128]struct{}
	limit      int
}

func newSentCache(entries int) *sentCache {
	return &sentCache{limit: max(entries/2, 1), young: map[xxh3.Uint128]struct{}{}}
}

// Has reports whether url was acknowledged recently.
func (c *sentCache) Has(url string) bool {
	k := xxh3.HashString128(url)
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.young[k]; ok {
		return true
	}
	_, ok := c.old[k]
	if ok {
		c.addLocked(k)
	}
	return ok
}

// Add remembers an acknowledged URL.
func (c *sentCache) Add(url string) {
	k := xxh3.HashString128(url)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addLocked(k)
}

// Clear forgets everything.
func (c *sentCache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.young, c.old = map[xxh3.Uint128]struct{}{}, nil
}

// sentKey is by what a link is remembered: its URL; with a text for the index also the host that it
// comes from, whose first text counts.
func sentKey(t *crawl.Target) string {
	if t.Anchor == "" {
		return t.URL.String()
	}
	return t.URL.String() + " " + t.Source()
}

func (c *sentCache) addLocked(k xxh3.Uint128) {
	if len(c.young) >= c.limit {
		c.old, c.young = c.young, make(map[xxh3.Uint128]struct{}, c.limit)
	}
	c.young[k] = struct{}{}
}
