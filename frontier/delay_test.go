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

// TestSetDelay: the gap that a program outside wants of a host outlives the process and what the
// scheduler writes of the host, and counts from now.
func TestSetDelay(t *testing.T) {
	storagetest.OnStores(t, func(t *testing.T, kv storage.KV, reopen func() storage.KV) {
		r := startHolding(t, kv, 1, commit.Options{})
		const host = "h1.p0.test"
		r.add(link("http://h1.p0.test/"), link("http://h1.p0.test/second"))
		if err := r.SetDelay(t.Context(), 0, "h2.p0.test", time.Minute); !errors.Is(err,
			crawl.ErrUnknownHost) {
			t.Errorf("an unknown host: %v", err)
		}
		if err := r.SetDelay(t.Context(), 9, "h2.p9.test", time.Minute); !errors.Is(err, ErrNotHolder) {
			t.Errorf("a foreign host: %v", err)
		}
		is := func(want time.Duration) crawl.HostState {
			t.Helper()
			r.check()
			s, _, ok, err := r.Host(0, host)
			if err != nil || !ok || s.AskedDelay != want {
				t.Errorf("%+v, %v, %v; want a delay of %v", s, ok, err, want)
			}
			return s
		}
		r.must(r.SetDelay(t.Context(), 0, host, time.Hour))
		if s := is(time.Hour); time.Until(s.NotBefore) < 59*time.Minute {
			t.Errorf("it may be requested at %v", s.NotBefore)
		}
		r.must(r.Park(t.Context(),
			[]Parked{{Partition: 0, Host: host, State: crawl.HostState{Requests: 1}}}))
		r = r.crash(reopen, commit.Options{})
		is(time.Hour)
		r.must(r.SetDelay(t.Context(), 0, host, 0))
		is(0)
	})
}
