package scheduler

import (
	"slices"
	"time"

	"crawlnode/crawl"
)

// Times that come from disk are clamped to what the rules can explain (ownership rule 14).
// The frontier keeps them on a timeline that no wall clock moves, so this binds only what
// an earlier version wrote, with a clock that was ahead. What a host itself asked for
// (Retry-After) has no bound and is believed.

// believe clamps what was read of h.
func (c *Core) believe(now time.Time, h *host) {
	s := &h.state
	// An hour covers the waits of which the state does not tell: for an address with
	// many hosts, a fence, a longer delay that was configured then.
	explained := max(gap(s, c.cfg.Delay(h.addr()), s.CrawlDelay), failureWait(s.Failures), LongWait)
	s.NotBefore = earlier(s.NotBefore, now.Add(explained))
	s.FrozenUntil = earlier(s.FrozenUntil, now.Add(c.cfg.Freeze))
	for i, r := range h.robots {
		if last := now.Add(robotsLife); r.Expires.After(last) {
			clamped := *r
			clamped.Expires = last
			h.robots = slices.Clone(h.robots)
			h.robots[i] = &clamped
		}
	}
}

// believeItems clamps the next tries of URLs; items is left as it is.
func believeItems(now time.Time, items []crawl.Item) []crawl.Item {
	last := now.Add(retryDelays[len(retryDelays)-1])
	late := func(it crawl.Item) bool { return it.NotBefore.After(last) }
	if !slices.ContainsFunc(items, late) {
		return items
	}
	items = slices.Clone(items)
	for i := range items {
		items[i].NotBefore = earlier(items[i].NotBefore, last)
	}
	return items
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
