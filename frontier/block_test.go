package frontier

import (
	"errors"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier/commit"
	"crawlnode/frontier/storage"
	"crawlnode/frontier/storage/storagetest"
)

// TestBlock: a block outlives crashes and what is written of its host otherwise, and moves the host
// in the wake index.
func TestBlock(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		const host = "h1.p0.test"
		r.add(link("http://h1.p0.test/"), link("http://h1.p0.test/second"))
		if err := r.Block(t.Context(), 0, "h2.p0.test", day); !errors.Is(err, crawl.ErrUnknownHost) {
			t.Errorf("an unknown host: %v", err)
		}
		if err := r.Block(t.Context(), 9, "h2.p9.test", day); !errors.Is(err, ErrNotHolder) {
			t.Errorf("a foreign host: %v", err)
		}
		r.must(r.Block(t.Context(), 0, host, day.Add(time.Hour)))
		r.must(r.Park(t.Context(), []Parked{
			{Partition: 0, Host: host, State: crawl.HostState{Requests: 1, Lease: 7, NotBefore: day}}}))
		r.check()
		r = r.crash(reopen, commit.Options{})
		at := func() (blocked, wake time.Time) {
			s, _, ok, err := r.Host(0, host)
			waits, _, werr := r.Waiting(0, "", 4)
			if err != nil || werr != nil || !ok || s.Lease != 7 || s.Requests != 1 || len(waits) != 1 {
				t.Fatalf("%+v, %v, %v; %+v, %v", s, ok, err, waits, werr)
			}
			return s.BlockedUntil, waits[0].NotBefore
		}
		if blocked, wake := at(); blocked.Sub(day.Add(time.Hour)).Abs() > time.Minute ||
			wake.Sub(blocked).Abs() > time.Second {
			t.Errorf("blocked until %v, in the wake index at %v", blocked, wake)
		}
		r.must(r.Block(t.Context(), 0, host, time.Time{}))
		r.check()
		if blocked, wake := at(); !blocked.IsZero() || wake.Sub(day).Abs() > time.Minute {
			t.Errorf("lifted: blocked until %v, in the wake index at %v", blocked, wake)
		}
	})
}
