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
	"crawlnode/scheduler/core"
)

// silentServers is a resolver whose servers do not answer, or limit us, until some time.
type silentServers struct {
	fakeResolver
	class        error
	since, until time.Time
}

func (s silentServers) Lookup(ctx context.Context, host string) (dnscache.Answer, error) {
	if time.Now().Before(s.until) {
		return dnscache.Answer{}, &dnscache.Error{
			Host:   host,
			Class:  s.class,
			Reason: "silence",
			Since:  s.since,
		}
	}
	return s.fakeResolver.Lookup(ctx, host)
}

// TestWithoutNameServers crawls to the end through an outage of the name servers, in which no host
// may be blamed. After a day of outage it gives up.
func TestWithoutNameServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		class  error
		outage time.Duration
		lost   int
		within time.Duration // of the end of the outage, or of a day
	}{
		"minutes":  {dnscache.ErrOutage, 10 * time.Minute, 0, 5 * time.Minute},
		"limited":  {dnscache.ErrLimited, 10 * time.Minute, 0, 5 * time.Minute},
		"hours":    {dnscache.ErrOutage, 20 * time.Hour, 0, 5 * time.Minute},
		"for ever": {dnscache.ErrOutage, 1000 * time.Hour, 12, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				start := time.Now()
				r.options.Resolver = silentServers{class: c.class, since: start, until: start.Add(c.outage)}
				r.options.Scheduler.MaxActive = 3
				for _, host := range []string{"a.test", "b.test", "c.test", "d.test"} {
					r.disk.add(1, crawl.Host(host), 0, 3)
				}
				r.start(2)
				defer r.end()
				r.d.Hold(1, 7, time.Time{})
				time.Sleep(min(c.outage, 24*time.Hour) - time.Second)
				if failed, _ := r.disk.givenUp(); r.disk.left() != 12 || len(failed) != 0 || r.d.Stalled() {
					t.Errorf("in the outage %d URLs are left, %v given up, stalled %v", r.disk.left(), failed,
						r.d.Stalled())
				}
				time.Sleep(time.Second + c.within)
				lost := 0
				failed, reasons := r.disk.givenUp()
				for host, n := range failed {
					lost += n
					if why := reasons[host]; !strings.HasPrefix(why, "host_dead") {
						t.Errorf("%s was given up: %q", host, why)
					}
				}
				if r.disk.left() != 0 || lost != c.lost || r.web.pages() != 12-c.lost {
					t.Errorf("%d URLs are left, %d lost, %d pages fetched", r.disk.left(), lost, r.web.pages())
				}
			})
		})
	}
}

// TestPauseKeepsHosts checks that no host has to leave memory for another one while the node is
// paused, and that hosts do afterwards.
func TestPauseKeepsHosts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.options.Scheduler = core.Config{MaxActive: 20}
		start := time.Now() // without addresses they wait, and would have to go for those on disk
		r.options.Resolver = silentServers{
			class: dnscache.ErrOutage,
			since: start,
			until: start.Add(5 * time.Minute),
		}
		for i := range 60 {
			r.disk.add(1, crawl.Host(fmt.Sprintf("h%d.test", i)), 0, 3)
		}
		r.start(4)
		defer r.end()
		parked := func() int {
			r.disk.mu.Lock()
			defer r.disk.mu.Unlock()
			return r.disk.parked
		}
		r.d.Pause(true)
		r.d.Hold(1, 7, time.Time{})
		time.Sleep(5 * time.Minute)
		if n := parked(); n > 0 {
			t.Errorf("%d hosts left memory in a pause", n)
		}
		r.d.Pause(false)
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
	})
}
