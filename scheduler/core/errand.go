package core

import (
	"slices"
	"time"

	"crawlnode/crawl"
)

// Errand takes an item into memory that is in no queue on disk (crawl.Via.Errand): one request
// for another host's robots.txt, which redirects here, or for a part of a page that a browser
// shows. It precedes the host's own URLs, is handed out
// like any item, and is never put back; the caller offers it again. It is lost when the
// host leaves memory. Errand returns false if the host is not in memory.
func (c *Core) Errand(now time.Time, name crawl.Host, it crawl.Item) bool {
	h := c.hosts[name]
	if h == nil {
		return false
	}
	same := func(o crawl.Item) bool { return o.URL == it.URL }
	if i := slices.IndexFunc(h.items, same); i >= 0 && h.items[i].Via.Errand() {
		return true // it waits already
	} else if i >= 0 {
		h.rewind = true // its URL is queued as a page, too, which insert takes out of memory
	}
	it.Band, it.Seq = 0, 0
	h.insert(it)
	c.weigh(h)
	c.place(now, h)
	return true
}
