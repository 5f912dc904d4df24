package dispatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
)

// TestReserve: what was reserved is held on disk until it is completed, and waits for another visit of its host that is being written.
func TestReserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.settings.Delay = 0
		r.disk.add(3, "a.test", 0, 2)
		r.disk.add(3, "b.test", 0, 1)
		r.start(0)
		defer r.end()
		r.d.Hold(3, 7, time.Time{})
		next := func() crawl.Visit {
			t.Helper()
			v, err := r.d.Next(r.ctx)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		first := next()
		other := next()
		until := time.Now().Add(5 * time.Minute)
		reserve := func(visits ...crawl.Visit) []bool {
			t.Helper()
			kept, err := r.d.Reserve(context.Background(), visits, func(crawl.Visit) time.Time { return until })
			if err != nil {
				t.Fatal(err)
			}
			return kept
		}
		held := func(h crawl.Host) time.Time {
			r.disk.mu.Lock()
			defer r.disk.mu.Unlock()
			return r.disk.hosts[h].state.HoldUntil
		}
		if kept := reserve(first, other); !kept[0] || !kept[1] || !held(first.Host).Equal(until) {
			t.Errorf("%v, held until %v", kept, held(first.Host))
		}
		answer := crawl.Response{Kind: crawl.Fetched, Requested: true, Took: time.Millisecond}
		if first.Host != "a.test" {
			first, other = other, first
		}
		r.d.Release(first, answer)
		again := next() // the next URL of a.test, while the first is being written
		if again.Host != "a.test" {
			t.Fatalf("got %v", again.Item.URL)
		}
		if kept := reserve(again); kept[0] {
			t.Error("a host was reserved while another state of it was being written")
		}
		go func() {
			time.Sleep(20 * time.Millisecond)
			if err := r.finish(first, answer); err != nil {
				t.Error(err)
			}
		}()
		if kept := reserve(again); !kept[0] || !held("a.test").Equal(until) {
			t.Errorf("%v, held until %v", kept, held("a.test"))
		}
		for _, v := range []crawl.Visit{again, other} {
			r.d.Release(v, answer)
			if err := r.finish(v, answer); err != nil {
				t.Error(err)
			}
		}
		if !held("a.test").IsZero() {
			t.Errorf("it is still held until %v", held("a.test"))
		}
		if kept := reserve(again); kept[0] {
			t.Error("a visit that has ended was reserved")
		}
	})
}
