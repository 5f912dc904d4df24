package core

import (
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/retry"
)

// Times from the disk are clamped to the largest values that the rules can produce
// (ownership rule 14). The frontier keeps them on a timeline that no wall clock moves, so
// this matters only for data of an earlier version, written with a clock that was ahead.
// Retry-After of a host has no bound and is not clamped.

// believe clamps the times of h's stored state.
func (c *Core) believe(now time.Time, h *host) {
	s := &h.state
	// An hour covers the waits that the state does not contain: for an address with many
	// hosts, a fence, a longer delay that was configured then.
	explained := max(gap(s, c.delay(h), s.CrawlDelay), c.cfg.Dispatcher.LongestPause(h.name),
		failureWait(s.Failures), LongWait)
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

// believeItems clamps the next tries of URLs; it does not change items.
func believeItems(now time.Time, items []crawl.Item) []crawl.Item {
	last := now.Add(retry.MaxDelay)
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

// forgive forgets the failures of h's host that happened before Config.Forgive. What its server
// asked for stays: Retry-After, the back-off after 429 and 503, the gap. The last request ended
// before now, so the gap from now on is enough (invariant I1).
func (c *Core) forgive(now time.Time, h *host) {
	s := &h.state
	if s.Failures == 0 || !c.failedAt(h).Before(c.cfg.Forgive) {
		return
	}
	revive(s)
	s.NotBefore = earlier(s.NotBefore, now.Add(max(c.gap(h), c.cfg.Dispatcher.LongestPause(h.name))))
}

// shorten ends a wait that a longer configured gap has left. Every request to the host has ended
// before now, or the caller knows better (Activate's acquired), so the present gap from now on is
// enough. What else a host may wait for is in its state and is kept: back-off, Crawl-delay, slow
// answers, failures, Retry-After.
func (c *Core) shorten(now time.Time, h *host) {
	s := &h.state
	wait := max(gap(s, c.delay(h), s.CrawlDelay), h.paused)
	if h.requests == 0 { // its last URL is not known
		wait = max(wait, c.cfg.Dispatcher.LongestPause(h.name))
	}
	if s.Failures > 0 {
		wait = max(wait, failureWait(s.Failures))
	}
	if until := now.Add(wait); until.Before(s.NotBefore) {
		s.NotBefore, h.saved = until, false
	}
}

// failedAt is when h's host failed last, computed from the wait that followed.
func (c *Core) failedAt(h *host) time.Time {
	if s := &h.state; s.FrozenUntil.IsZero() {
		return s.NotBefore.Add(-max(c.gap(h), failureWait(s.Failures)))
	}
	return h.state.FrozenUntil.Add(-c.cfg.Freeze)
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
