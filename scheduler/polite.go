package scheduler

import (
	"slices"
	"time"

	"crawlnode/crawl"
)

// This file is the arithmetic of politeness: pure functions of a host's state,
// an answer and the time.

// gap returns the least time from the end of one request to the start of the
// next, given the configured delay.
func gap(s *crawl.HostState, delay, crawlDelay time.Duration) time.Duration {
	return max(delay, crawlDelay, 2*s.Latency, s.Backoff)
}

// failureWait is how long a host rests after its nth failure in a row: 1, 4,
// 16, 64... seconds.
func failureWait(failures int) time.Duration {
	return time.Second << min(2*max(failures-1, 0), 12)
}

// nameWait is how long a host waits after the nth look-up in a row that no name
// server answered: 2, 4, 8, 16, 30, 30... seconds.
func nameWait(lookups int) time.Duration {
	return min(time.Second<<min(lookups, 10), maxNameWait)
}

// raiseBackoff doubles the delay after a 429 or 503 that named no time. owed is
// the gap that the host has without any back-off.
func raiseBackoff(backoff, owed time.Duration) time.Duration {
	base := max(backoff, owed, time.Second)
	return min(2*base, MaxBackoff)
}

// lowerBackoff halves the back-off after a success; what falls to the gap that
// is owed anyway is gone.
func lowerBackoff(backoff, owed time.Duration) time.Duration {
	if backoff /= 2; backoff > max(owed, time.Second) {
		return backoff
	}
	return 0
}

// rules are the configured numbers that observe needs.
type rules struct {
	delay       time.Duration // the configured least gap
	crawlDelay  time.Duration // that binds the next request
	maxFailures int
	freeze      time.Duration
}

// observe changes s by what a visit that ended at now brought. It reports
// whether the host is dead: it failed its last try.
func observe(s *crawl.HostState, now time.Time, r crawl.Response, k rules) (dead bool) {
	if r.Requested {
		s.Requests++
		s.Latency = r.Took
	}
	if r.RetryAfter > 0 {
		// The bound only keeps the sum inside what a time can hold.
		s.HoldUntil = crawl.Latest(s.HoldUntil, now.Add(min(r.RetryAfter, 10*365*24*time.Hour)))
	}
	wait := time.Duration(0)
	owed := max(k.delay, s.CrawlDelay, 2*s.Latency)
	switch r.Kind {
	case crawl.Fetched, crawl.RobotsFetched:
		s.Backoff = lowerBackoff(s.Backoff, owed)
		revive(s)
	case crawl.URLFailed:
		// The host answered the connection: its own record is clean, the
		// URL's is not.
		if s.LastTry {
			revive(s)
		}
	case crawl.RateLimited:
		if r.RetryAfter <= 0 {
			s.Backoff = raiseBackoff(s.Backoff, owed)
		}
		revive(s)
	case crawl.RobotsPending:
		wait = pendingWait
	case crawl.HostFailed:
		dead = fail(s, now, k)
		wait = failureWait(s.Failures)
		if s.FrozenUntil.After(now) {
			wait = time.Second // the freeze is the wait
		}
	}
	if r.Requested || wait > 0 {
		s.NotBefore = crawl.Latest(s.NotBefore, now.Add(max(gap(s, k.delay, k.crawlDelay), wait)))
	}
	return dead
}

// fail counts one failure to reach the host.
func fail(s *crawl.HostState, now time.Time, k rules) (dead bool) {
	s.Failures++
	if s.LastTry || s.Failures >= k.maxFailures {
		s.FrozenUntil = now.Add(k.freeze)
	}
	return s.LastTry
}

// revive forgets the failures of a host that answered.
func revive(s *crawl.HostState) {
	s.Failures = 0
	s.FrozenUntil = time.Time{}
	s.LastTry = false
}

// limits is what a host has said of 429 and 503 since it last said anything
// else. It tells a URL that is refused on its own from a host that refuses all.
type limits struct {
	since time.Time    // of the first; zero when there is none
	items []queuePlace // that were answered so, each once, maxLimited at most
}

// queuePlace is where an item stands in its host's queue; no other stands there.
type queuePlace struct {
	band crawl.Band
	seq  uint64
}

func placeOf(it *crawl.Item) queuePlace { return queuePlace{it.Band, it.Seq} }

// note takes an answer of kind k to a request for it in.
func (l *limits) note(now time.Time, k crawl.Kind, it *crawl.Item) {
	switch k {
	case crawl.Fetched, crawl.RobotsFetched:
		*l = limits{}
	case crawl.RateLimited:
		if l.since.IsZero() {
			l.since = now
		}
		if len(l.items) < maxLimited && !l.has(it) {
			l.items = append(l.items, placeOf(it))
		}
	}
}

func (l *limits) has(it *crawl.Item) bool { return slices.Contains(l.items, placeOf(it)) }

// excuse reports whether a URL that has had its tries is not given up over one
// more 429 or 503: others of its host are answered so as well, and have been for
// no longer than a short outage takes.
func (l *limits) excuse(now time.Time) bool {
	return len(l.items) > 1 && now.Sub(l.since) < shortOutage
}

// stalled reports whether a host waits for so long that a crawl with nothing
// else to do need not sit it out.
func stalled(s *crawl.HostState, now time.Time) bool {
	return s.FrozenUntil.After(now) || s.HoldUntil.After(now.Add(LongWait)) || s.NotBefore.After(now.Add(LongWait))
}

// hopeless reports whether a stalled host gets no last try: it had one, or
// what it asked for is more than an hour away.
func hopeless(s *crawl.HostState, now time.Time) bool {
	late := now.Add(LongWait)
	return s.LastTry || s.HoldUntil.After(late) || s.NotBefore.After(late)
}

// keepRobots returns robots with r in it, in place of the entry of the same
// origin; beyond maxOrigins the oldest goes.
func keepRobots(robots []*crawl.Robots, r *crawl.Robots) []*crawl.Robots {
	kept := make([]*crawl.Robots, 0, len(robots)+1)
	oldest := -1
	for _, old := range robots {
		if old.Origin == r.Origin {
			continue
		}
		if oldest < 0 || old.Fetched.Before(kept[oldest].Fetched) {
			oldest = len(kept)
		}
		kept = append(kept, old)
	}
	if len(kept) >= maxOrigins {
		kept = append(kept[:oldest], kept[oldest+1:]...)
	}
	return append(kept, r)
}

// crawlDelay returns the largest wish of the entries other than origin's.
func crawlDelay(robots []*crawl.Robots, except string) time.Duration {
	var d time.Duration
	for _, r := range robots {
		if r.Origin != except {
			d = max(d, r.CrawlDelay)
		}
	}
	return min(d, MaxCrawlDelay)
}
