package scheduler

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/scheduler/core"
)

// TestDelayLowered lowers a delay of an hour, set by mistake, while most hosts wait for it on disk.
// All of them go on at once, with the new delay.
func TestDelayLowered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		before, after := r.settings, r.settings
		before.Delay = time.Hour
		r.now.Store(&rules{settings: &before})
		r.options.Scheduler = core.Config{MaxActive: 10, ItemsPerHost: 4, Quantum: 8}
		const hosts = 60
		for i := range hosts {
			r.disk.add(crawl.Partition(i%2), crawl.Host(fmt.Sprintf("h%d.test", i)), 0, 5)
		}
		r.disk.add(0, "busy.test", 0, 1000) // so the crawl is never without other work
		r.start(16)
		defer r.end()
		r.d.Hold(0, 7, time.Time{})
		r.d.Hold(1, 7, time.Time{})
		time.Sleep(5 * time.Minute)
		if n := r.web.pages(); n > hosts {
			t.Fatalf("%d pages of %d hosts were fetched before, and their robots.txt counts as a request", n,
				hosts)
		}
		r.now.Store(&rules{settings: &after})
		time.Sleep(2 * time.Minute) // ten hosts at a time, six requests of each
		if n := r.disk.left() - r.disk.of("busy.test"); n > 0 {
			t.Errorf("two minutes after the delay was lowered %d of %d URLs are queued", n, 5*hosts)
		}
	})
}

// TestDue asks when a host has its turn while it waits for its delay, and when none waits.
func TestDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.settings.Delay = time.Minute
		r.disk.add(0, "h.test", 0, 3)
		r.start(1)
		defer r.end()
		time.Sleep(time.Second)
		if r.d.Due(time.Now().Add(time.Hour)) {
			t.Error("a host has its turn within an hour, and none is held")
		}
		r.d.Hold(0, 7, time.Time{})
		time.Sleep(90 * time.Second) // robots.txt, and a page after a minute
		if r.d.Due(time.Now().Add(20 * time.Second)) {
			t.Error("the host has its turn within 20 s, and its delay has 30 to go")
		}
		if !r.d.Due(time.Now().Add(31 * time.Second)) {
			t.Error("the host has no turn within 31 s, and its delay has 30 to go")
		}
	})
}
