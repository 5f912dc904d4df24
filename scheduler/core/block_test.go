package core

import (
	"net/netip"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// TestBlock: a blocked host waits until the block ends. Its end does not end a wait that its server
// asked for, and a block does not end with a visit.
func TestBlock(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	core := New(Config{})
	if core.Block(now, "a.test", now.Add(time.Hour)) {
		t.Error("a host that is not in memory was blocked")
	}
	var items []crawl.Item
	for i, path := range []string{"/1", "/2", "/3", "/4"} {
		u, err := urlnorm.Parse("http://a.test" + path)
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, crawl.Item{URL: u, Seq: uint64(i + 1)})
	}
	core.Activate(now, Queue{
		Host:  "a.test",
		Items: items,
		State: crawl.HostState{BlockedUntil: now.Add(time.Minute)},
	}, time.Time{})
	next := func(want bool, why string) crawl.Visit {
		t.Helper()
		core.Resolved(now, "a.test", []netip.Addr{netip.MustParseAddr("127.0.0.1")},
			now.Add(24*time.Hour), nil)
		v, ok := core.Next(now)
		if ok != want {
			t.Fatalf("%s: handed out %v, want %v", why, ok, want)
		}
		return v
	}
	next(false, "blocked when it was loaded")
	now = now.Add(time.Minute)
	v := next(true, "its end has come")
	core.Block(now, "a.test", now.Add(time.Hour))
	core.Release(now, v.ID, crawl.Response{Kind: crawl.Fetched, Requested: true})
	core.Completed(now, v.ID)
	now = now.Add(time.Minute)
	next(false, "blocked during a visit")
	core.Block(now, "a.test", time.Time{})
	v = next(true, "the block was lifted")
	core.Block(now, "a.test", now.Add(time.Minute))
	core.Release(now, v.ID,
		crawl.Response{Kind: crawl.RateLimited, Requested: true, RetryAfter: time.Hour})
	core.Completed(now, v.ID)
	core.Block(now, "a.test", time.Time{})
	now = now.Add(30 * time.Minute)
	next(false, "its server asked for an hour")
	now = now.Add(31 * time.Minute)
	next(true, "the hour is over")
}
