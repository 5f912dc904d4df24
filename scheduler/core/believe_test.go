package core

import (
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// A host that was stored by a node whose clock was hours ahead waits for no longer than
// the rules explain, and is not given up. What is explained, or was asked for by the host,
// is waited in full.
func TestStoredTimesAreBelievedWithinReason(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	u, err := urlnorm.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		state crawl.HostState
		item  time.Duration
		want  time.Duration // until the first visit may start
	}{
		"nothing": {crawl.HostState{}, 0, 0},
		"a gap that is usual": {crawl.HostState{NotBefore: now.Add(30 * time.Second)}, 0,
			30 * time.Second},
		"a gap of twelve hours": {crawl.HostState{NotBefore: now.Add(12 * time.Hour)}, 0, LongWait},
		"a back-off of twelve hours": {
			crawl.HostState{NotBefore: now.Add(12 * time.Hour), Backoff: 12 * time.Hour}, 0, 12 * time.Hour},
		"Retry-After": {crawl.HostState{HoldUntil: now.Add(12 * time.Hour)}, 0,
			12 * time.Hour},
		"frozen": {crawl.HostState{FrozenUntil: now.Add(50 * time.Minute)}, 0,
			50 * time.Minute},
		"frozen for twelve hours": {crawl.HostState{FrozenUntil: now.Add(12 * time.Hour)}, 0, time.Hour},
		"a try in a minute":       {crawl.HostState{}, time.Minute, time.Minute},
		"a try in twelve hours":   {crawl.HostState{}, 12 * time.Hour, time.Minute},
	} {
		core := New(Config{})
		item := crawl.Item{URL: u, Seq: 1}
		if c.item > 0 {
			item.NotBefore = now.Add(c.item)
		}
		core.Activate(now, Queue{Host: "a.test", State: c.state, Items: []crawl.Item{item}}, time.Time{})
		if c.want == LongWait && c.state.FrozenUntil.IsZero() && core.LastTries(now) != 0 {
			t.Errorf("%s: it counts as a host that waits for too long", name)
		}
		h := core.hosts["a.test"]
		start := core.start(h)
		if _, at := h.due(now); at.After(start) {
			start = at
		}
		if got := max(start.Sub(now), 0); got != c.want {
			t.Errorf("%s: it waits for %v, want %v", name, got, c.want)
		}
		if c.item > 0 && item.NotBefore != now.Add(c.item) {
			t.Errorf("%s: the caller's item has changed", name)
		}
	}
	kept := &crawl.Robots{Origin: "http://a.test", Fetched: now, Expires: now.Add(36 * time.Hour)}
	core := New(Config{})
	core.Activate(now, Queue{
		Host:   "a.test",
		Robots: []*crawl.Robots{kept},
		Items:  []crawl.Item{{URL: u, Seq: 1}},
	}, time.Time{})
	h := core.hosts["a.test"]
	if h.robotsOf("http://a.test", now.Add(23*time.Hour)) == nil ||
		h.robotsOf("http://a.test", now.Add(25*time.Hour)) != nil ||
		kept.Expires != now.Add(36*time.Hour) {
		t.Errorf("robots.txt is used until %v", h.robots[0].Expires)
	}
}

// TestForgive forgets failures of before a time, and shortens no wait that a server asked for or
// that is owed to it.
func TestForgive(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	u, err := urlnorm.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	in := now.Add
	for name, c := range map[string]struct {
		state    crawl.HostState
		want     time.Duration
		failures int
	}{
		"failed three times": {crawl.HostState{Failures: 3, NotBefore: in(15 * time.Second)},
			time.Second, 0},
		"about to be tried": {crawl.HostState{Failures: 3, NotBefore: in(300 * time.Millisecond)},
			300 * time.Millisecond, 0},
		"frozen": {crawl.HostState{
			Failures:    5,
			NotBefore:   in(-50 * time.Minute),
			FrozenUntil: in(10 * time.Minute),
		}, 0, 0},
		"had its last try": {
			crawl.HostState{Failures: 6, LastTry: true, FrozenUntil: in(10 * time.Minute)},
			0,
			0,
		},
		"failed since": {crawl.HostState{Failures: 3, NotBefore: in(16*time.Second + 1)},
			16 * time.Second, 3},
		"frozen since": {crawl.HostState{Failures: 5, FrozenUntil: in(time.Hour + 1)},
			time.Hour, 5},
		"failed, and asked with a header": {
			crawl.HostState{Failures: 3, NotBefore: in(15 * time.Second), HoldUntil: in(2 * time.Hour)},
			2 * time.Hour,
			0,
		},
		"only asked": {crawl.HostState{HoldUntil: in(2 * time.Hour)}, 2 * time.Hour,
			0},
		"failed after 429": {
			crawl.HostState{Failures: 1, NotBefore: in(31 * time.Second), Backoff: 32 * time.Second},
			31 * time.Second,
			0,
		},
		"failed, with a Crawl-delay": {
			crawl.HostState{Failures: 4, NotBefore: in(60 * time.Second), CrawlDelay: 20 * time.Second},
			20 * time.Second,
			0,
		},
		"soon": {crawl.HostState{NotBefore: in(9 * time.Second)},
			9 * time.Second, 0},
		"an hour, by an earlier --delay": {crawl.HostState{NotBefore: in(time.Hour)}, time.Second, 0},
		"429": {crawl.HostState{NotBefore: in(15 * time.Second), Backoff: 16 * time.Second},
			15 * time.Second, 0},
	} {
		core := New(Config{Forgive: now})
		core.Activate(now, Queue{Host: "a.test", State: c.state, Items: []crawl.Item{{URL: u, Seq: 1}}},
			time.Time{})
		h := core.hosts["a.test"]
		if got := max(core.start(h).Sub(now), 0); got != c.want || h.state.Failures != c.failures {
			t.Errorf("%s: it waits for %v with %d failures, want %v and %d", name, got, h.state.Failures,
				c.want, c.failures)
		}
	}
}
