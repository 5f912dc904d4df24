package scheduler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
)

// TestHostState checks that the state written with a visit is the host's newest, also when visits
// of one host overlap between Release and Completed.
func TestHostState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.disk.add(1, "a.test", 0, 9)
		r.start(0)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		robots := &crawl.Robots{
			Origin:  "http://a.test",
			Verdict: crawl.RobotsAllowAll,
			Expires: time.Now().Add(time.Hour),
		}
		get := func() crawl.Visit {
			t.Helper()
			v, err := r.d.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			answer := crawl.Response{Kind: crawl.Fetched, Requested: true}
			if v.Robots == nil {
				answer = crawl.Response{Kind: crawl.RobotsFetched, Robots: robots, Requested: true}
			}
			r.d.Release(v, answer)
			return v
		}
		want := func(v crawl.Visit, requests int64) {
			t.Helper()
			if s := r.d.HostState(v); s.Requests != requests {
				t.Errorf("the state has %d requests, want %d", s.Requests, requests)
			}
		}
		one := get()
		want(one, 1) // Release may not have reached the loop yet
		synctest.Wait()
		want(one, 1)
		two := get()
		want(two, 2)
		synctest.Wait()
		want(one, 2)
		want(two, 2)
		r.d.Completed(one)
		three := get()
		synctest.Wait()
		want(two, 3)
		want(three, 3)
		r.d.Completed(two)
		r.d.Completed(three)
		alone := get()
		synctest.Wait()
		want(alone, 4)
		r.d.Completed(alone)
		synctest.Wait()
		want(alone, 0)
	})
}

// TestPagesOfTheState: a page counts in the state that is written from when its own record is
// being written, in whatever order that happens. One that waits for a browser is not lost and not
// counted twice when its node is killed.
func TestPagesOfTheState(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.disk.add(1, "a.test", 0, 9)
		r.start(0)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		get := func() crawl.Visit {
			t.Helper()
			v, err := r.d.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			answer := crawl.Response{Kind: crawl.Fetched, Requested: true}
			if v.Robots == nil {
				answer = crawl.Response{Kind: crawl.RobotsFetched, Requested: true,
					Robots: &crawl.Robots{
						Origin:  "http://a.test",
						Verdict: crawl.RobotsAllowAll,
						Expires: time.Now().Add(time.Hour),
					}}
			}
			r.d.Release(v, answer)
			synctest.Wait()
			return v
		}
		want := func(v crawl.Visit, pages int64) {
			t.Helper()
			if s := r.d.HostState(v); s.Pages != pages {
				t.Errorf("the state has %d pages, want %d", s.Pages, pages)
			}
		}
		r.d.Completed(get()) // robots.txt
		slow, fast := get(), get()
		want(fast, 1) // slow is in the browser
		r.d.Completed(fast)
		third := get()
		want(third, 2)
		r.d.Completed(third)
		want(slow, 3)
		r.d.Completed(slow)

		taken := get()
		want(taken, 4) // its record is being written, without a question to the loop
		last := get()
		want(last, 5)
		r.d.Completed(taken)
		r.d.Completed(last)
	})
}

// TestParksOnlyNews checks that a host whose newest state was written with its last visit leaves
// memory without another write, and that other hosts are written.
func TestParksOnlyNews(t *testing.T) {
	t.Parallel()
	for _, written := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			r.disk.add(1, "a.test", 0, 1)
			r.start(0)
			defer r.end()
			r.d.Hold(1, 7, time.Time{})
			v, err := r.d.Next(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			r.disk.mu.Lock()
			r.disk.hosts["a.test"].items = nil
			r.disk.mu.Unlock()
			r.d.Release(v, crawl.Response{Kind: crawl.Fetched, Requested: true})
			synctest.Wait()
			if written {
				r.d.HostState(v)
			}
			r.d.Completed(v)
			r.until("an empty memory", func() bool { return r.d.Counts().Active == 0 })
			time.Sleep(time.Second)
			r.end()
			r.disk.mu.Lock()
			defer r.disk.mu.Unlock()
			if (r.disk.parked == 0) != written {
				t.Errorf("state written with the visit: %v, written again: %d times", written, r.disk.parked)
			}
		})
	}
}

// TestOutage has a host that answers 429 to everything for eight minutes, and a page of another
// host that does so for ever. The first loses no page, the second that one.
func TestOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.disk.add(1, "down.test", 0, 9)
		r.disk.add(1, "other.test", 0, 9)
		back := time.Now().Add(8 * time.Minute)
		bad := ""
		r.web.answer = func(_ context.Context, v crawl.Visit) (crawl.Response, bool) {
			limited := crawl.Response{Kind: crawl.RateLimited, Requested: true, RetryAfter: 5 * time.Second}
			switch {
			case v.Robots == nil:
				return crawl.Response{}, false
			case v.Host == "down.test":
				return limited, time.Now().Before(back)
			case bad == "":
				bad = v.Item.URL.String()
			}
			return limited, v.Item.URL.String() == bad
		}
		r.start(1)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		r.until("other.test", func() bool { return r.disk.of("other.test") == 0 })
		if since := time.Until(back); since < 5*time.Minute {
			t.Errorf(
				"the bad page was given up %v before the other host came back, want it after its four tries",
				since)
		}
		r.until("the end", func() bool { return r.disk.left() == 0 && r.d.Busy() == 0 })
		if got := r.web.pages(); got != 17 {
			t.Errorf("%d pages were fetched, want 17: all but %s", got, bad)
		}
	})
}

// TestLastFailure tells why a host could not be reached, and nothing of the others.
func TestLastFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.options.Resolver = fakeResolver{unknown: map[string]bool{"nowhere.test": true}}
		r.disk.add(1, "nowhere.test", 0, 1)
		r.disk.add(1, "good.test", 0, 5)
		r.start(2)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		var why *crawl.HostFailure
		r.until("a failure", func() (known bool) {
			var err error
			if why, err = r.d.LastFailure(t.Context(), "nowhere.test"); err != nil {
				t.Fatal(err)
			}
			return why != nil
		})
		if want := (crawl.HostFailure{
			Category: "connect",
			Reason:   "no way to nowhere.test",
		}); *why != want {
			t.Errorf("%+v, want %+v", *why, want)
		}
		if why, err := r.d.LastFailure(t.Context(), "good.test"); why != nil || err != nil {
			t.Errorf("good.test: %+v, %v", why, err)
		}
	})
}
