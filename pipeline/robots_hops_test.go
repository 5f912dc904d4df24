package pipeline

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/web/fetcher"
	"crawlnode/web/scope"
)

// untilRobots visits the page's host as a scheduler does, until its robots.txt was read or has
// failed. The host's gap lies between two visits.
func untilRobots(
	t *testing.T,
	b *bench,
	delay time.Duration,
	change ...func(*crawl.Visit),
) (crawl.Response, crawl.Outcome) {
	t.Helper()
	for range 20 {
		b.visit("http://a.test/page", append(change, noRobots)...)
		gap := b.visits[len(b.visits)-1].Gap
		if err := b.run(); err != nil {
			t.Fatal(err)
		}
		r, o := b.releases[len(b.releases)-1], b.outcomes[len(b.outcomes)-1]
		if r.Kind != crawl.RobotsPending {
			return r, o
		}
		if r.Robots != nil || o.Robots != nil || o.Reason == "" {
			t.Errorf("a visit that is not done: %+v, %+v", r, o)
		}
		time.Sleep(max(time.Second, gap, delay, 2*r.Took, r.RetryAfter))
	}
	t.Fatal("robots.txt was not read in 20 visits")
	return crawl.Response{}, crawl.Outcome{}
}

// TestRobotsRedirectGap checks that the gap between hops is the largest of the host's gap, the
// configured delay, twice the response time and Retry-After, and that no visit waits for long, as
// it occupies a worker.
func TestRobotsRedirectGap(t *testing.T) {
	for _, c := range []struct {
		gap, delay, took, want time.Duration
		header                 string
		visits                 int
	}{
		{gap: time.Second, want: time.Second, visits: 1}, // no delay inside --allow-net, a second outside
		{gap: 40 * time.Second, delay: time.Second, want: 40 * time.Second, visits: 2},
		{gap: 24 * time.Hour, delay: time.Second, want: 24 * time.Hour, visits: 2},
		{gap: time.Second, delay: 2 * time.Second, want: 2 * time.Second, visits: 1}, // raised since
		{gap: time.Second, delay: time.Second, took: 3 * time.Second, want: 6 * time.Second, visits: 2},
		{gap: time.Second, delay: time.Second, header: "\nRetry-After: 2", want: 2 * time.Second, visits: 1},
		{gap: time.Second, delay: time.Second, header: "\nRetry-After: 7200", want: 2 * time.Hour, visits: 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, scope.Options{})
			b.rules.Settings.Delay = c.delay
			from := time.Now()
			b.web["http://a.test/robots.txt"] = func(fetcher.Request) (*fetcher.Response, error) {
				r := answer(301, "Location: /other.txt"+c.header, "")
				r.Took = c.took
				return r, nil
			}
			var waited time.Duration
			b.web["http://a.test/other.txt"] = func(fetcher.Request) (*fetcher.Response, error) {
				waited = time.Since(from)
				return answer(200, "Content-Type: text/plain", ""), nil
			}
			_, o := untilRobots(t, b, c.delay, func(v *crawl.Visit) { v.Gap = c.gap })
			if o.Kind != crawl.RobotsFetched || waited != c.want || len(b.releases) != c.visits ||
				len(b.asked) != 2 {
				t.Errorf("%+v: %v passed between the hops; %d visits, %d requests", c, waited, len(b.releases),
					len(b.asked))
			}
			if len(b.p.robotsChains.byOrigin) != 0 {
				t.Error("the trail is still there")
			}
		})
	}
}

// TestRobotsRetryAfterOnTheWay checks that a Retry-After of any hop delays the host, however the
// other hops end: those on other hosts, and those that fail.
func TestRobotsRetryAfterOnTheWay(t *testing.T) {
	for name, c := range map[string]struct {
		location, header string
		fails            bool
		kinds            []crawl.Kind
		holds            []time.Duration
	}{
		"elsewhere": {location: "http://b.test/x", header: "Retry-After: 90",
			kinds: []crawl.Kind{crawl.RobotsFetched}, holds: []time.Duration{90 * time.Second}},
		"and back": {location: "http://b.test/back", header: "Retry-After: 90",
			kinds: []crawl.Kind{crawl.RobotsPending, crawl.RobotsFetched},
			holds: []time.Duration{90 * time.Second, 0}},
		"a failure": {location: "/broken", header: "Retry-After: 2", fails: true,
			kinds: []crawl.Kind{crawl.HostFailed}, holds: []time.Duration{2 * time.Second}},
		"a failure later": {location: "/broken", header: "Retry-After: 9", fails: true,
			kinds: []crawl.Kind{crawl.RobotsPending, crawl.HostFailed},
			holds: []time.Duration{9 * time.Second, 0}},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, scope.Options{})
			b.serve("http://a.test/robots.txt", 307, "Location: "+c.location+"\n"+c.header, "")
			b.fail("http://a.test/broken",
				&fetcher.Error{Category: fetcher.Timeout, Contacted: true, Err: context.DeadlineExceeded})
			b.elsewhere = map[string]crawl.RobotsAnswer{
				"http://b.test/x":    {At: time.Now(), Status: 200},
				"http://b.test/back": {At: time.Now(), Status: 302, Location: "http://a.test/file"},
			}
			untilRobots(t, b, time.Second)
			var kinds []crawl.Kind
			var holds []time.Duration
			for _, r := range b.releases {
				kinds, holds = append(kinds, r.Kind), append(holds, r.RetryAfter)
			}
			if !slices.Equal(kinds, c.kinds) || !slices.Equal(holds, c.holds) {
				t.Errorf("%s: kinds %v, holds %v; want %v, %v", name, kinds, holds, c.kinds, c.holds)
			}
		})
	}
}

// TestRobotsHopTime checks that the pause between two hops does not count as response time.
// Otherwise twice the pause would become the host's gap.
func TestRobotsHopTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, scope.Options{})
		b.rules.Settings.Delay = 2 * time.Second
		b.serve("http://a.test/robots.txt", 301, "Location: /other.txt", "")
		b.fail("http://a.test/other.txt",
			&fetcher.Error{Category: fetcher.Protocol, Contacted: true, Err: context.DeadlineExceeded})
		b.visit("http://a.test/page", noRobots)
		if r, _ := b.one(); r.Took >= time.Second || !r.Requested {
			t.Errorf("%+v", r)
		}
	})
}

// TestRobotsPauseTakenBack cancels a visit between two hops.
func TestRobotsPauseTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, scope.Options{})
		b.rules.Settings.Delay = 2 * time.Second
		b.serve("http://a.test/robots.txt", 301, "Location: /other.txt", "")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		b.visit("http://a.test/page", noRobots)
		b.contexts[1] = ctx
		if r, o := b.one(); r.Kind != crawl.Aborted || o.Kind != crawl.Aborted || !r.Requested ||
			len(b.asked) != 1 {
			t.Errorf("%+v, %+v", r, o)
		}
	})
}
