package scheduler

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/dnscache"
)

// slowServers answer queries for the names of one domain slowly, and find nothing.
type slowServers struct{ fakeResolver }

func (s slowServers) Lookup(ctx context.Context, host string) (dnscache.Answer, error) {
	if !strings.HasSuffix(host, ".bad.test") {
		return s.fakeResolver.Lookup(ctx, host)
	}
	sleep(ctx, 1800*time.Millisecond)
	return dnscache.Answer{}, &dnscache.Error{
		Host:   host,
		Class:  dnscache.ErrFailed,
		Reason: "SERVFAIL",
	}
}

// TestExcluded excludes a domain whose names cannot be looked up, as the documentation advises: its
// URLs are refused within seconds, also those on disk, without a request or a look-up.
func TestExcluded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		before, after := r.settings, r.settings
		after.Exclude = []string{"host:*.bad.test"}
		r.now.Store(&rules{settings: &before})
		r.options.Resolver = slowServers{}
		r.options.Scheduler.MaxActive, r.options.Scheduler.MaxFailures = 100, 2
		r.disk.add(1, "good.test", 0, 1000)
		const hosts = 300
		for i := range hosts {
			r.disk.add(1, crawl.Host(fmt.Sprintf("n%d.bad.test", i)), 0, 3)
		}
		for i := range hosts / 3 { // some have failed before
			h := r.disk.hosts[crawl.Host(fmt.Sprintf("n%d.bad.test", i))]
			h.state.FrozenUntil = time.Now().Add(time.Hour)
			h.place()
		}
		r.start(20)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		time.Sleep(time.Minute) // more are frozen for an hour by then
		bad := func() int { return r.disk.left() - r.disk.of("good.test") }
		if bad() != 3*hosts {
			t.Fatalf("%d URLs are left before", bad())
		}
		r.now.Store(&rules{settings: &after})
		time.Sleep(20 * time.Second)
		if n := bad(); n > 0 {
			t.Errorf("20 s after their domain was excluded %d of %d URLs are queued", n, 3*hosts)
		}
		if failed, _ := r.disk.givenUp(); len(failed) > 0 || r.web.pages() < 70 {
			t.Errorf("%v given up, %d good pages", failed, r.web.pages())
		}
	})
}

// TestExcludedWhileOpen excludes a host that drips: its open visit is taken back at once, and
// its URLs are refused.
func TestExcludedWhileOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		before, after := r.settings, r.settings
		after.Exclude = []string{"host:drip.test"}
		r.now.Store(&rules{settings: &before})
		r.web.answer = func(ctx context.Context, v crawl.Visit) (crawl.Response, bool) {
			if v.Host != "drip.test" {
				return crawl.Response{}, false
			}
			sleep(ctx, time.Hour)
			return crawl.Response{Kind: crawl.Aborted, Requested: true}, true
		}
		r.disk.add(1, "drip.test", 0, 5)
		r.disk.add(1, "good.test", 0, 1000)
		r.start(5)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		time.Sleep(10 * time.Second)
		if n := r.web.openNow(); n < 1 {
			t.Fatalf("%d requests are open before", n)
		}
		r.now.Store(&rules{settings: &after})
		time.Sleep(5 * time.Second)
		if n := r.disk.of("drip.test"); n > 0 {
			t.Errorf("5 s after the host was excluded %d of its URLs are queued", n)
		}
		if good := r.web.pages(); good < 12 {
			t.Errorf("%d pages of the other host, want 12", good)
		}
	})
}
