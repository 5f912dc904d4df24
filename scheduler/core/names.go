package core

import (
	"net/netip"
	"slices"
	"time"

	"crawlnode/crawl"
	fairshare "crawlnode/scheduler/shares"
)

// Unanswered answers a Resolve when no name server has answered any query since that time:
// no failure is counted, and the host is looked up again after a while. In an outage
// longer than OutagePatience it is like Resolved with an error.
func (c *Core) Unanswered(now time.Time, name crawl.Host, since time.Time, err error) {
	h := c.hosts[name]
	if h == nil || now.Sub(since) >= OutagePatience {
		c.Resolved(now, name, nil, time.Time{}, err)
		return
	}
	h.resolving, h.resolved = false, now
	c.named(now, h)
	if h.status == Resolving { // a look-up ahead of time is done again when the time has come
		h.unnamed++
		h.nameAt = now.Add(nameWait(h.unnamed))
	}
	c.place(now, h)
}

// LimitLookups bounds the look-ups under way to what the name servers answer, if Config does
// not bound them more.
func (c *Core) LimitLookups(now time.Time, most int) {
	most = min(max(most, 1), c.cfg.Lookups)
	grew := most > c.shares.most
	c.shares.most = most
	c.shares.book.Resize(fairshare.Lookups, most)
	if grew {
		c.askNames(now)
	}
}

// LimitFetchers sets how many visits there can be at a time.
func (c *Core) LimitFetchers(n int) {
	c.cfg.Fetchers = n
	c.shares.book.Resize(fairshare.Fetchers, n)
}

// Resolved answers a Resolve. After an error, or an answer without addresses, the host's
// next visit has no address: its receiver reports that the host failed, so that there is
// one way for a host to fail.
func (c *Core) Resolved(
	now time.Time,
	name crawl.Host,
	addrs []netip.Addr,
	expires time.Time,
	err error,
) {
	h := c.hosts[name]
	if h == nil {
		return
	}
	h.resolving, h.resolved = false, now
	c.shares.book.Note(now, h.domain.Claimant, fairshare.Lookups,
		lookupOutcome(now.Sub(h.askedAt), addrs, err))
	c.named(now, h)
	h.unnamed, h.nameAt = 0, time.Time{}
	if err != nil || len(addrs) == 0 {
		// A look-up ahead of time is simply done again when the time has come.
		h.addrs, h.nameless, h.noAddr = nil, h.status == Resolving, err
		c.place(now, h)
		return
	}
	h.nameless = false
	if h.turn != nil && !slices.Contains(addrs, h.turn.ip) {
		c.unclaim(now, h)
	}
	// An answer that has expired when it arrives is used for one visit.
	h.addrs, h.expires = addrs, crawl.Latest(expires, now.Add(time.Second))
	c.moveBlock(now, h)
	c.place(now, h)
}
