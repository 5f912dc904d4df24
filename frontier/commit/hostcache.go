package commit

import (
	"strings"

	"crawlnode/crawl"
	"crawlnode/frontier/layout"
)

const (
	// cachedHosts is how many hosts all partitions of a node keep at least, as long as none has more
	// than its share; twice as many at most.
	cachedHosts = 16_384
	// leastCached is a partition's share when there are many.
	leastCached = 16
	// maxCachedHost bounds an entry that is kept.
	maxCachedHost = 512
)

// hostCache has the entries of those hosts of a held partition that were written last, as the store
// has them. The writer reads a host for each lease and each result; it is in the store's table in
// memory then, but among a hundred thousand other keys.
//
// It is good as long as all changes of the partition come from groups of a holder. So it is dropped
// when the partition is restated, or has followed another holder, whose mutations are not looked
// into.
type hostCache struct {
	generation uint32
	young, old map[crawl.Host][]byte // old is what young was, when it was full
}

// get is what the store has of a host; false: look there. Nobody may change it.
func (c *hostCache) get(h crawl.Host) ([]byte, bool) {
	if c == nil {
		return nil, false
	}
	v, ok := c.young[h]
	if !ok {
		v, ok = c.old[h]
	}
	return v, ok
}

// put keeps what was stored; most is the partition's share.
func (c *hostCache) put(h crawl.Host, v []byte, most int) {
	if len(v) > maxCachedHost {
		delete(c.young, h)
		delete(c.old, h)
		return
	}
	if _, known := c.young[h]; !known {
		if len(c.young) >= most {
			c.young, c.old = make(map[crawl.Host][]byte, most), c.young
		}
		h = crawl.Host(strings.Clone(string(h))) // it may be a part of a long URL
	}
	c.young[h] = v
}

// cachedHost is a host's entry, if it is known without the store and the group has written none.
func (pg *Part) cachedHost(rel []byte, h crawl.Host) ([]byte, bool) {
	c := pg.Live.hosts
	if c == nil || c.generation != pg.State.Generation || pg.Restated || pg.Followed ||
		pg.Written(rel) {
		return nil, false
	}
	return c.get(h)
}

// cacheHosts takes over what the group, which is committed, has written of hosts.
func (pg *Part) cacheHosts() {
	live := pg.Live
	if pg.Restated || pg.Followed || live.State != layout.Holder {
		live.hosts = nil
		return
	}
	if len(pg.written) == 0 {
		return
	}
	if live.hosts == nil || live.hosts.generation != live.Generation {
		live.hosts = &hostCache{generation: live.Generation, young: map[crawl.Host][]byte{}}
	}
	most := max(leastCached, cachedHosts/max(len(pg.Group.Writer.parts), 1))
	for _, w := range pg.written {
		live.hosts.put(w.host, w.value, most)
	}
}

// writtenHost is the entry of a host that a group writes.
type writtenHost struct {
	host  crawl.Host
	value []byte
}
