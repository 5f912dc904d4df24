package core

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// TestWithdraw: what is withdrawn is not handed out, also when a read from the disk that began
// before brings it again; of what is under way that is said, and it stays.
func TestWithdraw(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	c := New(Config{Dispatcher: &fakeRules{}})
	const host = crawl.Host("a.test")
	var items []crawl.Item
	for i := range 4 {
		u, err := urlnorm.Parse(fmt.Sprintf("http://a.test/%d", i))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, crawl.Item{URL: u, Seq: uint64(i + 1)})
	}
	url := func(i int) string { return items[i].URL.String() }
	if c.Withdraw(now, host, url(0)) {
		t.Error("a host that is not in memory has a visit under way")
	}
	c.Activate(now, Queue{Host: host, Items: items[:2], More: true}, time.Time{})
	loading := false
	look := func() {
		for _, a := range c.Actions() {
			loading = loading || a.Kind == Refill
		}
	}
	look() // it asks for an address, and perhaps for more items
	if c.Withdraw(now, host, url(0)) {
		t.Error("an item in memory is told as under way")
	}
	c.Resolved(now, host, []netip.Addr{netip.MustParseAddr("192.0.2.1")}, now.Add(time.Hour), nil)
	v, ok := c.Next(now)
	if !ok || v.Item.URL != items[1].URL {
		t.Fatalf("handed out: %v %v, want %s", v.Item.URL, ok, url(1))
	}
	if !c.Withdraw(now, host, url(1)) {
		t.Error("the visit under way is not told")
	}
	c.Release(now, v.ID, crawl.Response{Kind: crawl.Fetched, Requested: true})
	if !c.Withdraw(now, host, url(1)) {
		t.Error("a visit that is not completed is not told")
	}
	c.Completed(now, v.ID)
	if c.Withdraw(now, host, url(1)) {
		t.Error("a completed visit is told as under way")
	}
	for range 10 {
		look()
		now = now.Add(time.Second)
		c.Advance(now)
	}
	if !loading {
		t.Fatal("no more items were asked for")
	}
	c.Withdraw(now, host, url(2)) // the read has begun, and brings it
	c.Offer(now, host, items[2:], Cursor{}, false)
	v, ok = c.Next(now)
	if !ok || v.Item.URL != items[3].URL {
		t.Errorf("after the read: %v %v, want %s", v.Item.URL, ok, url(3))
	}
}

// TestDelete: a URL that is deleted while it is visited does not come back, whatever the visit ends
// with; one that is put into the queue again does.
func TestDelete(t *testing.T) {
	t.Parallel()
	const host = crawl.Host("h.test")
	for name, c := range map[string]struct {
		ends    crawl.Kind
		loading bool // the queue was being read when the URL was deleted
		again   bool // it is put again before the visit ends
		back    bool
	}{
		"failed":               {ends: crawl.URLFailed},
		"lost":                 {ends: crawl.Lost},
		"taken back":           {ends: crawl.Aborted},
		"its host failed":      {ends: crawl.HostFailed},
		"while it is read":     {ends: crawl.Lost, loading: true},
		"put again, lost":      {ends: crawl.Lost, again: true, back: true},
		"put again, failed":    {ends: crawl.URLFailed, again: true, back: true},
		"fetched":              {ends: crawl.Fetched},
		"put again, then read": {ends: crawl.Lost, loading: true, again: true, back: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Unix(1_000_000, 0)
			core := New(Config{Dispatcher: &fakeRules{}})
			u, err := urlnorm.Parse("http://h.test/a")
			if err != nil {
				t.Fatal(err)
			}
			it := crawl.Item{URL: u, Band: 1, Seq: 1}
			core.Activate(now, Queue{Host: host, Items: []crawl.Item{it}}, time.Time{})
			core.Actions()
			core.Resolved(now, host, []netip.Addr{netip.MustParseAddr("192.0.2.1")},
				now.Add(time.Hour), nil)
			v, ok := core.Next(now)
			if !ok {
				t.Fatal("nothing is handed out")
			}
			if h := core.hosts[host]; c.loading {
				h.loading = true
			}
			core.Delete(now, host, u.String())
			if c.loading {
				core.Offer(now, host, []crawl.Item{it}, Cursor{}, false) // read before the deletion
			}
			if c.again {
				it.Seq = 2
				core.hosts[host].loading = true
				core.Offer(now, host, []crawl.Item{it}, Cursor{}, false)
			}
			core.Release(now, v.ID, crawl.Response{Kind: c.ends, Requested: true})
			core.Completed(now, v.ID)
			h := core.hosts[host]
			back := h != nil && slices.ContainsFunc(h.items,
				func(it crawl.Item) bool { return it.URL == u })
			if back != c.back {
				t.Errorf("it is in the queue: %v, want %v", back, c.back)
			}
		})
	}
}
