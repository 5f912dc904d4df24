package core

import (
	"slices"
	"time"

	"crawlnode/crawl"
)

// Claim opens a visit for an item of a host that waits for the end of a lease, because the result
// has come although the visit that was leased is gone with its node. The wait ends with it. It
// reports false unless the host is in memory, held for this very lease, and has no other visit.
func (c *Core) Claim(
	now time.Time,
	name crawl.Host,
	lease crawl.LeaseTag,
	it crawl.Item,
) (crawl.Visit, bool) {
	h := c.hosts[name]
	if h == nil || lease == 0 || h.state.Lease != lease || !now.Before(h.state.HoldUntil) ||
		len(h.incomplete) > 0 || h.dead || c.frozenParts[h.part] {
		return crawl.Visit{}, false
	}
	h.state.Lease, h.state.HoldUntil, h.saved = 0, time.Time{}, false
	h.insert(it) // it may not have been read yet
	return c.open(now, h,
		slices.IndexFunc(h.items, func(o crawl.Item) bool { return o.URL == it.URL })), true
}

// SetDelay has a host requested at least so far apart. It reports false if the host is not in
// memory.
func (c *Core) SetDelay(now time.Time, name crawl.Host, d time.Duration) bool {
	h := c.hosts[name]
	if h == nil {
		return false
	}
	if grew := d > h.state.AskedDelay; grew {
		h.acquired = crawl.Latest(h.acquired, now) // the time of the last request is not known here
		h.state.AskedDelay = d
	} else {
		h.state.AskedDelay = d
		c.shorten(now, h)
	}
	c.place(now, h)
	return true
}

// delay is the configured gap of h at its present address, or what a program outside wants.
func (c *Core) delay(h *host) time.Duration {
	return max(c.cfg.Dispatcher.Delay(h.name, h.addr()), h.state.AskedDelay)
}

// Block has a host wait until then, whatever else it waits for. It reports false if the host is not
// in memory.
func (c *Core) Block(now time.Time, name crawl.Host, until time.Time) bool {
	h := c.hosts[name]
	if h == nil {
		return false
	}
	h.state.BlockedUntil = until
	c.place(now, h)
	return true
}
