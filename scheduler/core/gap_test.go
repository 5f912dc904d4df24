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
		"the delay of the address":         {delay: time.Second, want: time.Second},
		"twice the response time":          {delay: time.Second, state: crawl.HostState{Latency: 3 * time.Second}, want: 6 * time.Second},
		"the back-off":                     {delay: time.Second, state: crawl.HostState{Backoff: 9 * time.Second}, want: 9 * time.Second},
		"another origin's Crawl-delay":     {delay: time.Second, robots: []*crawl.Robots{robots}, want: 7 * time.Second},
		"what the address needs by itself": {ipDelay: 2 * time.Second, want: 2 * time.Second},
		"none":                             {},
	} {
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		addr := netip.MustParseAddr("127.0.0.1")
		core := New(Config{
			Delay: func(a netip.Addr) time.Duration {
				if a != addr {
					return 0
				}
				return c.delay
			},
			IPDelay: func(netip.Addr) time.Duration { return c.ipDelay },
		})
		u, err := urlnorm.Parse("http://a.test/")
		if err != nil {
			t.Fatal(err)
		}
		core.Activate(now, Queue{Host: "a.test", State: c.state, Robots: c.robots, Items: []crawl.Item{{URL: u}}}, time.Time{})
		core.Resolved(now, "a.test", []netip.Addr{addr}, now.Add(time.Hour), nil)
		if v, ok := core.Next(now); !ok || v.Gap != c.want {
			t.Errorf("%s: %v, want %v", name, v.Gap, c.want)
		}
	}
}

// TestCrawlDelayAfterTDM: the Crawl-delay does not hold for the request after robots.txt, and does after tdmrep.json.
func TestCrawlDelayAfterTDM(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	core := New(Config{Delay: func(netip.Addr) time.Duration { return time.Second }, IPDelay: func(netip.Addr) time.Duration { return 0 }})
	u, err := urlnorm.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	core.Activate(now, Queue{Host: "a.test", Items: []crawl.Item{{URL: u}}}, time.Time{})
	core.Resolved(now, "a.test", []netip.Addr{netip.MustParseAddr("127.0.0.1")}, now.Add(time.Hour), nil)
	entry := crawl.Robots{Origin: "http://a.test", CrawlDelay: 30 * time.Second, Fetched: now, Expires: now.Add(time.Hour)}
	for i, want := range []time.Duration{time.Second, 30 * time.Second} {
		v, ok := core.Next(now)
		if !ok {
			t.Fatalf("no visit %d", i)
		}
		answer := entry
		answer.TDMAsked = i > 0
		core.Release(now, v.ID, crawl.Response{Kind: crawl.RobotsFetched, Requested: true, Robots: &answer})
		s, _ := core.HostState(v.ID)
		if got := s.NotBefore.Sub(now); got != want {
			t.Errorf("after request %d the host waits %v, want %v", i, got, want)
		}
		core.Completed(now, v.ID)
		now = now.Add(want)
	}
}
