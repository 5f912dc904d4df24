package core

import (
	"net/netip"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// TestVisitGap checks that a visit tells the host's whole gap: whoever makes a
// second request in it must leave that much time.
func TestVisitGap(t *testing.T) {
	t.Parallel()
	robots := &crawl.Robots{Origin: "https://a.test", CrawlDelay: 7 * time.Second}
	for name, c := range map[string]struct {
		delay, ipDelay time.Duration
		state          crawl.HostState
		robots         []*crawl.Robots
		want           time.Duration
	}{
		"the delay of the address": {delay: time.Second, want: time.Second},
		"twice the response time": {
			delay: time.Second,
			state: crawl.HostState{Latency: 3 * time.Second},
			want:  6 * time.Second,
		},
		"the back-off": {
			delay: time.Second,
			state: crawl.HostState{Backoff: 9 * time.Second},
			want:  9 * time.Second,
		},
		"another origin's Crawl-delay": {
			delay:  time.Second,
			robots: []*crawl.Robots{robots},
			want:   7 * time.Second,
		},
		"what the address needs by itself": {ipDelay: 2 * time.Second, want: 2 * time.Second},
		"none":                             {},
	} {
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		addr := netip.MustParseAddr("127.0.0.1")
		core := New(Config{Dispatcher: &fakeRules{delay: c.delay, at: addr, ipDelay: c.ipDelay}})
		u, err := urlnorm.Parse("http://a.test/")
		if err != nil {
			t.Fatal(err)
		}
		core.Activate(now,
			Queue{Host: "a.test", State: c.state, Robots: c.robots, Items: []crawl.Item{{URL: u}}},
			time.Time{})
		core.Resolved(now, "a.test", []netip.Addr{addr}, now.Add(time.Hour), nil)
		if v, ok := core.Next(now); !ok || v.Gap != c.want {
			t.Errorf("%s: %v, want %v", name, v.Gap, c.want)
		}
	}
}

// TestCrawlDelayAfterTDM: the Crawl-delay does not hold for the request after robots.txt, and does
// after tdmrep.json.
func TestCrawlDelayAfterTDM(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	core := New(Config{})
	u, err := urlnorm.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	core.Activate(now, Queue{Host: "a.test", Items: []crawl.Item{{URL: u}}}, time.Time{})
	core.Resolved(now, "a.test", []netip.Addr{netip.MustParseAddr("127.0.0.1")}, now.Add(time.Hour),
		nil)
	entry := crawl.Robots{
		Origin:     "http://a.test",
		CrawlDelay: 30 * time.Second,
		Fetched:    now,
		Expires:    now.Add(time.Hour),
	}
	for i, want := range []time.Duration{time.Second, 30 * time.Second} {
		v, ok := core.Next(now)
		if !ok {
			t.Fatalf("no visit %d", i)
		}
		answer := entry
		answer.TDMAsked = i > 0
		core.Release(now, v.ID,
			crawl.Response{Kind: crawl.RobotsFetched, Requested: true, Robots: &answer})
		s, _ := core.HostState(v.ID)
		if got := s.NotBefore.Sub(now); got != want {
			t.Errorf("after request %d the host waits %v, want %v", i, got, want)
		}
		core.Completed(now, v.ID)
		now = now.Add(want)
	}
}

// TestPauseOfURL checks the gap around a URL that has a pause of its own: its visit tells it, it
// holds after the request whatever the answer, also for a holder that takes the host over, and it
// ends with the next request.
func TestPauseOfURL(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	rules := &fakeRules{delay: time.Second, pause: 20 * time.Second}
	core := New(Config{Dispatcher: rules})
	var items []crawl.Item
	for i, path := range []string{"/slow", "/"} {
		u, err := urlnorm.Parse("http://a.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, crawl.Item{URL: u, Seq: uint64(i)})
	}
	core.Activate(now, Queue{Host: "a.test", Items: items}, time.Time{})
	core.Resolved(now, "a.test", []netip.Addr{netip.MustParseAddr("127.0.0.1")}, now.Add(time.Hour),
		nil)
	for _, want := range []time.Duration{20 * time.Second, time.Second} {
		v, ok := core.Next(now)
		if !ok || v.Gap != want {
			t.Fatalf("the gap is %v, want %v; visit %v", v.Gap, want, ok)
		}
		core.Release(now, v.ID, crawl.Response{Kind: crawl.Fetched, Requested: true})
		if s, _ := core.HostState(v.ID); s.NotBefore.Sub(now) != want {
			t.Errorf("the host waits %v, want %v", s.NotBefore.Sub(now), want)
		}
		if want == rules.pause { // a partition that is taken over again counts from then
			core.Acquired(now, 0, now.Add(time.Second))
			now = now.Add(time.Second)
		}
		core.Completed(now, v.ID)
		if now = now.Add(want - 1); core.hosts["a.test"] != nil {
			if v, ok := core.Next(now); ok {
				t.Errorf("%v is visited too early", v.Item.URL)
			}
		}
		now = now.Add(1)
	}
	// A stored wait is believed as far as a pause of a URL explains it, and so a longer one of 2 h.
	rules.pause = 2 * time.Hour
	core.Activate(now,
		Queue{Host: "b.test", State: crawl.HostState{NotBefore: now.Add(3 * time.Hour)}}, time.Time{})
	if wait := core.hosts["b.test"].state.NotBefore.Sub(now); wait != rules.pause {
		t.Errorf("b.test waits %v", wait)
	}
}

// TestTakenOver: a host that somebody else may have asked a moment ago waits for the longest pause
// that one of its queued URLs has, and one whose gap alone has grown for that.
func TestTakenOver(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	u, err := urlnorm.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	slow, err := urlnorm.Parse("http://a.test/slow")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		taken bool
		url   urlnorm.URL
		want  time.Duration
	}{{true, slow, 20 * time.Second}, {true, u, 5 * time.Second}, {false, slow, 5 * time.Second}} {
		core := New(Config{Dispatcher: &fakeRules{delay: 5 * time.Second, pause: 20 * time.Second}})
		q := Queue{Host: "a.test", Items: []crawl.Item{{URL: c.url}}}
		if c.taken {
			q.Taken = now
		}
		core.Activate(now, q, now)
		core.Resolved(now, "a.test", []netip.Addr{netip.MustParseAddr("127.0.0.1")}, now.Add(time.Hour),
			nil)
		if _, ok := core.Next(now.Add(c.want - time.Millisecond)); ok {
			t.Errorf("taken over %v: visited before %v", c.taken, c.want)
		}
		if _, ok := core.Next(now.Add(c.want)); !ok {
			t.Errorf("taken over %v: not visited after %v", c.taken, c.want)
		}
	}
}
