package core

import (
	"slices"
	"time"

	"crawlnode/crawl"
)

// Delete is Withdraw of a URL that is deleted. A visit of it that is under way goes on, since its
// request is made, but the URL does not come back by it, unless it is put into the queue again.
func (c *Core) Delete(now time.Time, name crawl.Host, url string) {
	if !c.Withdraw(now, name, url) {
		return
	}
	h := c.hosts[name]
	for _, v := range h.incomplete {
		if !v.item.Via.Errand() && v.item.URL.String() == url {
			v.deleted = true
		}
	}
	if h.loading {
		h.ended = append(h.ended, url) // what is being read may have it
	}
}

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
