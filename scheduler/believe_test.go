package scheduler

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
		"nothing":                    {crawl.HostState{}, 0, 0},
		"a gap that is usual":        {crawl.HostState{NotBefore: now.Add(30 * time.Second)}, 0, 30 * time.Second},
		"a gap of twelve hours":      {crawl.HostState{NotBefore: now.Add(12 * time.Hour)}, 0, LongWait},
		"a back-off of twelve hours": {crawl.HostState{NotBefore: now.Add(12 * time.Hour), Backoff: 12 * time.Hour}, 0, 12 * time.Hour},
		"Retry-After":                {crawl.HostState{HoldUntil: now.Add(12 * time.Hour)}, 0, 12 * time.Hour},
		"frozen":                     {crawl.HostState{FrozenUntil: now.Add(50 * time.Minute)}, 0, 50 * time.Minute},
		"frozen for twelve hours":    {crawl.HostState{FrozenUntil: now.Add(12 * time.Hour)}, 0, time.Hour},
		"a try in a minute":          {crawl.HostState{}, time.Minute, time.Minute},
		"a try in twelve hours":      {crawl.HostState{}, 12 * time.Hour, time.Minute},
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
	core.Activate(now, Queue{Host: "a.test", Robots: []*crawl.Robots{kept}, Items: []crawl.Item{{URL: u, Seq: 1}}}, time.Time{})
	h := core.hosts["a.test"]
	if h.robotsOf("http://a.test", now.Add(23*time.Hour)) == nil || h.robotsOf("http://a.test", now.Add(25*time.Hour)) != nil || kept.Expires != now.Add(36*time.Hour) {
		t.Errorf("robots.txt is used until %v", h.robots[0].Expires)
	}
}
