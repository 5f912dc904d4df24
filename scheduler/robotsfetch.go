package scheduler

import (
	"slices"
	"time"

	"crawlnode/crawl"
)

// RobotsFetch takes an item into memory that is in no queue on disk: one request for another
// host's robots.txt, which redirects here. It precedes the host's own URLs, is handed out
// like any item, and is never put back; the caller offers it again. It is lost when the
// host leaves memory. RobotsFetch returns false if the host is not in memory.
func (c *Core) RobotsFetch(now time.Time, name crawl.Host, it crawl.Item) bool {
	h := c.hosts[name]
	if h == nil {
		return false
	}
	same := func(o crawl.Item) bool { return o.URL == it.URL }
	if i := slices.IndexFunc(h.items, same); i >= 0 && h.items[i].Via == crawl.ViaRobots {
		return true // it waits already
	} else if i >= 0 {
		h.rewind = true // its URL is queued as a page, too, which insert takes out of memory
	}
	it.Via, it.Band, it.Seq = crawl.ViaRobots, 0, 0
	h.insert(it)
	c.weigh(h)
	c.place(now, h)
	return true
}
