package core

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// TestRobotsFetch brings a robots fetch into its host's turn: it goes first, keeps the gap,
// and is gone when it was done, however that ended.
func TestRobotsFetch(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	first := true
	core := New(Config{})
	url := func(path string) urlnorm.URL {
		u, err := urlnorm.Parse("http://a.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	fetch := crawl.Item{URL: url("/moved.txt"), Via: crawl.ViaRobots}
	if core.Errand(now, "a.test", fetch) {
		t.Error("a host that is not in memory has taken a robots fetch")
	}
	var items []crawl.Item
	for i := range 3 {
		items = append(items, crawl.Item{URL: url(fmt.Sprint("/", i)), Seq: uint64(i + 1)})
	}
	core.Activate(now, Queue{Host: "a.test", Items: items}, time.Time{})
	core.Resolved(now, "a.test", []netip.Addr{netip.MustParseAddr("127.0.0.1")}, now.Add(time.Hour),
		nil)
	next := func(want string, kind crawl.Kind) {
		t.Helper()
		if !first {
			if v, ok := core.Next(now.Add(-time.Millisecond)); ok {
				t.Fatalf("%v was handed out before the gap was over", v.Item.URL)
			}
		}
		first = false
		v, ok := core.Next(now)
		if !ok || v.Item.URL.Path() != want || (v.Item.Via == crawl.ViaRobots) != (want == "/moved.txt") {
			t.Fatalf("%v (%v, %v) was handed out, want %s", v.Item.URL, v.Item.Via, ok, want)
		}
		core.Release(now, v.ID, crawl.Response{Kind: kind, Requested: true})
		core.Completed(now, v.ID)
		now = now.Add(time.Second)
	}
	next("/0", crawl.Fetched)
	for _, kind := range []crawl.Kind{crawl.RobotsFetched, crawl.Aborted, crawl.URLFailed} {
		for range 2 { // offered again and again, it is one
			if !core.Errand(now, "a.test", fetch) {
				t.Fatal("the host's robots fetch was refused")
			}
		}
		next("/moved.txt", kind)
	}
	next("/1", crawl.Fetched)

	// A page with the same URL comes back from disk.
	core.Actions()
	core.Errand(now, "a.test", crawl.Item{URL: url("/2"), Via: crawl.ViaRobots})
	v, ok := core.Next(now)
	if !ok || v.Item.Via != crawl.ViaRobots {
		t.Fatalf("%+v, %v", v.Item, ok)
	}
	core.Release(now, v.ID, crawl.Response{Kind: crawl.RobotsFetched, Requested: true})
	core.Completed(now, v.ID)
	if a := core.Actions(); len(a) != 1 || a[0].Kind != Refill || a[0].After != (Cursor{}) {
		t.Errorf("actions %+v, want the page to be read again", a)
	}
}

// TestRobotsPendingWaits visits a host again after a second whose robots.txt is
// fetched elsewhere; nothing is counted against it.
func TestRobotsPendingWaits(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var s crawl.HostState
	k := rules{delay: 10 * time.Millisecond, maxFailures: 1}
	if observe(&s, now, crawl.Response{Kind: crawl.RobotsPending}, k) || s.Failures != 0 ||
		!s.NotBefore.Equal(now.Add(time.Second)) {
		t.Errorf("%+v", s)
	}
	k.delay = 3 * time.Second
	observe(&s, now, crawl.Response{Kind: crawl.RobotsPending, Requested: true}, k)
	if !s.NotBefore.Equal(now.Add(3*time.Second)) || s.Requests != 1 {
		t.Errorf("%+v", s)
	}
}

// TestHoldPages: a host whose pages wait gets errands only, until the time is over, also with
// another visit in between.
func TestHoldPages(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	core := New(Config{})
	url := func(path string) urlnorm.URL {
		u, err := urlnorm.Parse("http://a.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	core.Activate(now, Queue{
		Host:  "a.test",
		Items: []crawl.Item{{URL: url("/1"), Seq: 1}, {URL: url("/2"), Seq: 2}},
	}, time.Time{})
	core.Resolved(now, "a.test", []netip.Addr{netip.MustParseAddr("127.0.0.1")}, now.Add(time.Hour),
		nil)
	end := func(v crawl.Visit, r crawl.Response) {
		core.Release(now, v.ID, r)
		core.Completed(now, v.ID)
	}
	v, ok := core.Next(now)
	if !ok {
		t.Fatal("nothing at all")
	}
	end(v, crawl.Response{Kind: crawl.Aborted, HoldPages: 5 * time.Second})
	over := now.Add(5 * time.Second)
	for range 4 {
		if v, ok := core.Next(now); ok {
			t.Fatalf("%v was handed out", v.Item.URL)
		}
		core.Errand(now, "a.test", crawl.Item{URL: url("/part.js"), Via: crawl.ViaPart})
		if v, ok = core.Next(now); !ok || v.Item.Via != crawl.ViaPart {
			t.Fatalf("the errand waits: %v", v.Item)
		}
		end(v, crawl.Response{Kind: crawl.Fetched, Requested: true})
		now = now.Add(time.Second)
	}
	if v, ok := core.Next(over.Add(-time.Millisecond)); ok {
		t.Fatalf("%v was handed out", v.Item.URL)
	}
	if at := core.NextWake(); at.After(over) {
		t.Errorf("the host wakes at %v, not %v", at, over)
	}
	now = over
	if v, ok = core.Next(now); !ok || v.Item.Via == crawl.ViaPart {
		t.Errorf("%v, %v", v.Item, ok)
	}
}
