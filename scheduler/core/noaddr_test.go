package core

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// A visit without an address says why the last look-up brought none.
func TestNoAddressSaysWhy(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	u, err := urlnorm.Parse("http://a.test/")
	if err != nil {
		t.Fatal(err)
	}
	core := New(Config{})
	core.Activate(now, Queue{Host: "a.test", Items: []crawl.Item{{URL: u, Seq: 1}}}, time.Time{})
	why := errors.New("no such name")
	for _, want := range []error{why, nil} {
		core.Advance(now)
		addrs := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
		if want != nil {
			addrs = nil
		}
		core.Resolved(now, "a.test", addrs, now.Add(time.Hour), want)
		v, ok := core.Next(now)
		if !ok || v.NoAddr != want || v.Addr.IsValid() != (want == nil) {
			t.Fatalf("visit %+v, %v; want the cause %v", v, ok, want)
		}
		core.Release(now, v.ID, crawl.Response{Kind: crawl.HostFailed})
		core.Completed(now, v.ID)
		now = now.Add(time.Minute)
	}
}
