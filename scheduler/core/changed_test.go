package core

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// TestGapsThatGrow raises the gaps of hosts that wait, that are open and that lie on
// disk, and of an address that was not spaced before.
func TestGapsThatGrow(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	addr := netip.MustParseAddr("127.0.0.1")
	rules := &fakeRules{delay: time.Second}
	core := New(Config{Dispatcher: rules})
	activate := func(host crawl.Host, state crawl.HostState, acquired time.Time) {
		t.Helper()
		robots := &crawl.Robots{Origin: "http://" + string(host), Expires: now.Add(time.Hour)}
		var items []crawl.Item
		for i := range 3 {
			u, err := urlnorm.Parse(fmt.Sprintf("http://%s/%d", host, i))
			if err != nil {
				t.Fatal(err)
			}
			items = append(items, crawl.Item{URL: u, Seq: uint64(i)})
		}
		core.Activate(now, Queue{Host: host, State: state, Robots: []*crawl.Robots{robots}, Items: items},
			acquired)
		core.Resolved(now, host, []netip.Addr{addr}, now.Add(time.Hour), nil)
	}
	next := func(want crawl.Host) (v crawl.Visit) {
		t.Helper()
		v, ok := core.Next(now)
		if v.Host != want || ok != (want != "") {
			t.Fatalf("%v: %q may be visited, want %q", now.Sub(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)),
				v.Host, want)
		}
		return v
	}
	end := func(v crawl.Visit) {
		core.Release(now, v.ID, crawl.Response{Kind: crawl.Fetched, Requested: true})
		core.Completed(now, v.ID)
	}
	activate("waits.test", crawl.HostState{}, time.Time{})
	end(next("waits.test")) // at 0 s: it may be asked at 1 s again
	activate("open.test", crawl.HostState{}, time.Time{})
	open := next("open.test")

	now = now.Add(500 * time.Millisecond)
	rules.delay, rules.ipDelay = 3*time.Second, 2*time.Second
	core.GapsChanged(now, true)
	activate("disk.test", crawl.HostState{NotBefore: now}, now) // its last request ended a moment ago
	now = now.Add(2900 * time.Millisecond)                      // 3.4 s
	next("")
	end(open) // which holds its address up as well
	now = now.Add(200 * time.Millisecond)
	next("")
	now = now.Add(1800 * time.Millisecond) // 5.4 s: 2 s later
	first, ok := core.Next(now)
	if !ok || first.Host == "open.test" {
		t.Fatalf("%v %v", first.Host, ok)
	}
	next("") // the other one waits for the address
	end(first)
	now = now.Add(2 * time.Second)
	second, ok := core.Next(now)
	if !ok || second.Host == first.Host {
		t.Fatalf("%v %v", second.Host, ok)
	}
	end(second)

	// Smaller gaps apply from now on: the hosts that were asked wait for one second more, not for
	// three after their ends. The address has no wait any more, so the third, which stands in line for
	// it, goes at once.
	now = now.Add(500 * time.Millisecond)
	rules.delay, rules.ipDelay = time.Second, 0
	core.GapsChanged(now, false)
	third, ok := core.Next(now)
	if !ok || third.Host == first.Host || third.Host == second.Host {
		t.Fatalf("%v %v", third.Host, ok)
	}
	now = now.Add(500 * time.Millisecond)
	next(first.Host) // its own wait ended before
	now = now.Add(499 * time.Millisecond)
	next("")
	now = now.Add(time.Millisecond)
	next(second.Host)
}

// TestDelayShrinks lowers the delay of a host that waits in memory, and of one that lies on disk.
// Each keeps what else it waits for.
func TestDelayShrinks(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	in := now.Add
	u, err := urlnorm.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		state crawl.HostState
		want  time.Duration
	}{
		"a long delay":   {crawl.HostState{NotBefore: in(time.Hour)}, time.Second},
		"the end of one": {crawl.HostState{NotBefore: in(20 * time.Millisecond)}, 20 * time.Millisecond},
		"a Crawl-delay": {crawl.HostState{NotBefore: in(time.Hour), CrawlDelay: 30 * time.Second},
			30 * time.Second},
		"a back-off": {crawl.HostState{NotBefore: in(time.Hour), Backoff: 5 * time.Minute},
			5 * time.Minute},
		"a slow answer": {crawl.HostState{NotBefore: in(time.Hour), Latency: 8 * time.Second},
			16 * time.Second},
		"three failures": {crawl.HostState{NotBefore: in(time.Hour), Failures: 3}, 16 * time.Second},
		"Retry-After": {crawl.HostState{NotBefore: in(time.Hour), HoldUntil: in(2 * time.Hour)},
			2 * time.Hour},
		"frozen": {
			crawl.HostState{NotBefore: in(time.Hour), Failures: 5, FrozenUntil: in(50 * time.Minute)},
			50 * time.Minute,
		},
		"nothing": {crawl.HostState{}, 0},
	} {
		for _, disk := range []bool{false, true} {
			rules := &fakeRules{delay: time.Hour}
			core := New(Config{Dispatcher: rules})
			activate := func() {
				q := Queue{Host: "a.test", State: c.state, Items: []crawl.Item{{URL: u}}}
				if c.state.CrawlDelay > 0 {
					q.Robots = []*crawl.Robots{
						{Origin: "http://a.test", Expires: now.Add(time.Hour), CrawlDelay: c.state.CrawlDelay}}
				}
				core.Activate(now, q, time.Time{})
			}
			if !disk {
				activate()
			}
			rules.delay = time.Second
			core.GapsChanged(now, false)
			if disk {
				activate()
			}
			h := core.hosts["a.test"]
			if got := max(core.start(h).Sub(now), 0); got != c.want {
				t.Errorf("%s, on disk %v: it waits for %v, want %v", name, disk, got, c.want)
			}
			if want := c.state.NotBefore.Sub(now) > time.Second; h.saved == want {
				t.Errorf("%s, on disk %v: its state counts as saved: %v", name, disk, h.saved)
			}
		}
	}
}

// A smaller gap of addresses applies from now on, not after the wait that the larger one left.
func TestAddressGapShrinks(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	rules := &fakeRules{ipDelay: time.Hour}
	core := New(Config{Dispatcher: rules})
	for _, host := range []crawl.Host{"a.test", "b.test"} {
		u, err := urlnorm.Parse("http://" + string(host) + "/")
		if err != nil {
			t.Fatal(err)
		}
		core.Activate(now, Queue{
			Host:   host,
			Robots: []*crawl.Robots{{Origin: "http://" + string(host), Expires: now.Add(time.Hour)}},
			Items:  []crawl.Item{{URL: u}},
		}, time.Time{})
		core.Resolved(now, host, []netip.Addr{netip.MustParseAddr("127.0.0.1")}, now.Add(time.Hour), nil)
	}
	v, ok := core.Next(now)
	if !ok {
		t.Fatal("no host may be visited")
	}
	core.Release(now, v.ID, crawl.Response{Kind: crawl.Fetched, Requested: true})
	core.Completed(now, v.ID)
	now = now.Add(time.Minute)
	rules.ipDelay = time.Second
	core.GapsChanged(now, false)
	for _, wait := range []time.Duration{999 * time.Millisecond, time.Second} {
		if _, ok := core.Next(now.Add(wait)); ok != (wait == time.Second) {
			t.Errorf("%v after the change a host may be visited: %v", wait, ok)
		}
	}
}
