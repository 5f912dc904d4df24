package core

import (
	"slices"
	"time"

	"crawlnode/crawl"
)

// Withdraw takes a URL out of memory that is about to leave its host's queue, or has just left it.
// It reports whether a visit of it is under way: then nothing is changed.
func (c *Core) Withdraw(now time.Time, name crawl.Host, url string) (underWay bool) {
	h := c.hosts[name]
	if h == nil {
		return false
	}
	is := func(it *crawl.Item) bool { return !it.Via.Errand() && it.URL.String() == url }
	if slices.ContainsFunc(h.incomplete, func(v *visit) bool { return is(&v.item) }) {
		return true
	}
	h.items = slices.DeleteFunc(h.items, func(it crawl.Item) bool { return is(&it) })
	if h.loading {
		h.ended = append(h.ended, url) // what is being read may have it
	}
	c.weigh(h)
	c.place(now, h)
	return false
}
