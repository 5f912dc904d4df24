package core

import (
	"time"

	"crawlnode/crawl"
	fairshare "crawlnode/scheduler/shares"
)

// Lend hands out a visit of one host, as Next would if the host were the next: of its guest
// (crawl.ViaGuest), or of the best of its own URLs. False: it is not the host's time, or it has no
// such URL. Next and Lend take turns: after a visit for a guest the host's own URLs come first,
// unless twice is set.
func (c *Core) Lend(now time.Time, name crawl.Host, guest, twice bool) (crawl.Visit, bool) {
	h := c.hosts[name]
	if h == nil || h.status != Ready || h.excluded || c.start(h).After(now) {
		return crawl.Visit{}, false
	}
	i := h.dueOf(now, guest)
	if i < 0 || guest && h.lent && !twice && h.dueOf(now, false) >= 0 {
		return crawl.Visit{}, false
	}
	if !c.admits(h) || !c.claim(now, h) {
		return crawl.Visit{}, false
	}
	return c.open(now, h, i), true
}

// admits reports whether the shares of h have room for a visit.
func (c *Core) admits(h *host) bool {
	var block *fairshare.Claimant
	if h.block != nil {
		block = h.block.Claimant
	}
	ok, _ := c.shares.book.Admits(h.domain.Claimant, block, fairshare.Fetchers)
	return ok
}

// dueOf returns the index of the best item whose time has come, among guests or the others; -1:
// there is none.
func (h *host) dueOf(now time.Time, guest bool) int {
	for i := range h.items {
		it := &h.items[i]
		if (it.Via == crawl.ViaGuest) == guest && !it.NotBefore.After(now) &&
			(it.Via.Errand() && !guest || !h.pagesAfter.After(now)) {
			return i
		}
	}
	return -1
}
