package scheduler

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/urlnorm"
)

// TestReserve: what was reserved is held on disk until it is completed, and waits for another visit
// of its host that is being written.
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
			kept, err := r.d.Reserve(context.Background(), visits,
				func(*crawl.Visit) crawl.LeaseHold { return crawl.LeaseHold{Until: until, Lease: 5} })
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

// TestAdopt: a process that takes the partition over opens a visit for a leased URL when its result
// comes, wherever the URL stands in its queue, once, and not for another lease. The host is not
// requested before, and afterwards not before its gap.
func TestAdopt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.settings.Delay = 2 * time.Second
		r.disk.add(1, "a.test", 3, 40)
		r.disk.add(1, "b.test", 0, 1)
		const lease = 5
		start := time.Now()
		leased := r.disk.hosts["a.test"].items[30].URL
		for name, until := range map[crawl.Host]time.Time{
			"a.test": start.Add(time.Minute),
			"b.test": start.Add(-time.Second),
		} {
			h := r.disk.hosts[name]
			h.state.HoldUntil, h.state.Lease = until, lease
			h.place()
		}
		parse := func(s string) urlnorm.URL {
			u, err := urlnorm.Parse(s)
			if err != nil {
				t.Fatal(err)
			}
			return u
		}
		claim := func(p crawl.Partition, u urlnorm.URL, tag crawl.LeaseTag) (crawl.Visit, error) {
			visits, err := r.d.Adopt(r.ctx, []crawl.LeaseClaim{{Partition: p, URL: u, Lease: tag}})
			return visits[0], err
		}
		r.start(0)
		defer r.end()
		if _, err := claim(1, leased, lease); !errors.Is(err, crawl.ErrMoving) {
			t.Errorf("before the take-over: %v", err)
		}
		r.d.Hold(1, 7, start.Add(time.Second))
		for name, c := range map[string]struct {
			u   urlnorm.URL
			tag crawl.LeaseTag
		}{
			"another lease":        {leased, lease + 1},
			"no lease":             {leased, 0},
			"a URL that is gone":   {parse("http://a.test/none"), lease},
			"an unknown host":      {parse("http://none.test/"), lease},
			"a lease that is over": {r.disk.hosts["b.test"].items[0].URL, lease},
		} {
			if v, err := claim(1, c.u, c.tag); v.ID != 0 || err != nil {
				t.Errorf("%s: %+v, %v", name, v, err)
			}
		}
		v, err := claim(1, leased, lease)
		if err != nil || v.ID == 0 || v.Item.URL != leased || v.Epoch != 7 || v.Host != "a.test" {
			t.Fatalf("%+v, %v", v, err)
		}
		if again, _ := claim(1, leased, lease); again.ID != 0 {
			t.Error("a URL was adopted twice")
		}
		answer := crawl.Response{Kind: crawl.Fetched, Requested: true, Took: time.Millisecond}
		r.d.Release(v, answer)
		released := time.Now()
		if err := r.finish(v, answer); err != nil {
			t.Error(err)
		}
		if s := r.disk.hosts["a.test"].state; s.Lease != 0 || !s.HoldUntil.IsZero() {
			t.Errorf("it is still held: %+v", s)
		}
		if again, _ := claim(1, leased, lease); again.ID != 0 {
			t.Error("a URL that was settled was adopted")
		}
		for r.disk.left() > 0 {
			v, err := r.d.Next(r.ctx)
			if err != nil {
				t.Fatal(err)
			}
			if v.Item.URL == leased {
				t.Error("a settled URL was handed out")
			}
			if v.Host == "a.test" && time.Since(released) < 2*time.Second {
				t.Errorf("the gap was %v", time.Since(released))
			}
			r.d.Release(v, answer)
			if err := r.finish(v, answer); err != nil {
				t.Error(err)
			}
			if v.Host == "a.test" {
				released = time.Now()
			}
		}
	})
}
