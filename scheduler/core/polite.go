package core

import (
	"math/bits"
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

// failureWait is how long a host is not requested after its nth failure in a row: 1, 4, 16,
// 64... seconds.
func failureWait(failures int) time.Duration {
	return time.Second << min(2*max(failures-1, 0), 12)
}

// nameWait is how long a host waits after the nth look-up in a row that no name
// server answered: 2, 4, 8, 16, 30, 30... seconds.
func nameWait(lookups int) time.Duration {
	return min(time.Second<<min(lookups, 10), maxNameWait)
}

// raiseBackoff doubles the delay after a 429 or 503 without a Retry-After. owed is the gap of
// the host without any back-off.
func raiseBackoff(backoff, owed time.Duration) time.Duration {
	base := max(backoff, owed, time.Second)
	return min(2*base, MaxBackoff)
}

// lowerBackoff halves the back-off after a success. At owed or less it ends.
func lowerBackoff(backoff, owed time.Duration) time.Duration {
	if backoff /= 2; backoff > max(owed, time.Second) {
		return backoff
	}
	return 0
}

// rules are the configured values that observe needs.
type rules struct {
	delay       time.Duration // the configured least gap
	pause       time.Duration // that after the URL of the visit, if it has one of its own
	crawlDelay  time.Duration // that applies to the next request
	maxFailures int
	freeze      time.Duration
}

// observe updates s with the answer to a visit that ended at now. It reports whether the host
// is dead: its last try failed.
func observe(s *crawl.HostState, now time.Time, r crawl.Response, k rules) (dead bool) {
	if r.Requested {
		s.Requests++
		s.Latency = r.Took
	}
	if r.RetryAfter > 0 {
		// The bound only keeps the sum inside what a time can hold.
		s.HoldUntil = crawl.Latest(s.HoldUntil, now.Add(min(r.RetryAfter, 10*365*24*time.Hour)))
	}
	noteWall(s, now, &r)
	s.Lease = r.Lease
	wait := time.Duration(0)
	owed := max(k.delay, s.CrawlDelay, 2*s.Latency)
	switch r.Kind {
	case crawl.Fetched, crawl.RobotsFetched:
		s.Backoff = lowerBackoff(s.Backoff, owed)
		revive(s)
	case crawl.URLFailed:
		// The host accepted the connection: the failure is the URL's, not the
		// host's.
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
		rest := max(gap(s, k.delay, k.crawlDelay), k.pause, wait)
		s.NotBefore = crawl.Latest(s.NotBefore, now.Add(rest))
	}
	return dead
}

// noteWall takes in whether an answer was a bot wall. When too many of the last ones were, the host
// rests. The answers stay known meanwhile: one more wall after the rest is enough for the next one.
func noteWall(s *crawl.HostState, now time.Time, r *crawl.Response) {
	const window = 1<<crawl.WallWindow - 1
	switch {
	case r.Wall:
		s.Walls = (s.Walls<<1 | 1) & window
	case !r.Requested ||
		r.Kind != crawl.Fetched && r.Kind != crawl.RobotsFetched && r.Kind != crawl.RateLimited:
		return // nothing was answered that says whether the host lets the crawl in
	default:
		s.Walls = s.Walls << 1 & window
		if r.Kind != crawl.RateLimited {
			s.WalledSince = time.Time{}
		}
		return
	}
	if bits.OnesCount16(s.Walls) >= crawl.WallLimit {
		s.HoldUntil = crawl.Latest(s.HoldUntil, now.Add(crawl.WallRest))
		if s.WalledSince.IsZero() {
			s.WalledSince = now
		}
	}
}

// fail counts one failure to reach the host.
func fail(s *crawl.HostState, now time.Time, k rules) (dead bool) {
	s.Failures++
	if s.LastTry || s.Failures >= k.maxFailures {
		s.FrozenUntil = now.Add(k.freeze)
	}
	return s.LastTry
}

// revive clears the failures of a host that answered.
func revive(s *crawl.HostState) {
	s.Failures = 0
	s.FrozenUntil = time.Time{}
	s.LastTry = false
}

// limits has the 429 and 503 of a host since its last other answer. It distinguishes a single
// refused URL from a host that refuses all.
type limits struct {
	since time.Time    // of the first; zero when there is none
	items []queuePlace // with such an answer, each once, maxLimited at most
}

// queuePlace identifies an item in its host's queue.
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

// excuse reports whether a URL that has had its tries is not given up for one more 429 or
// 503: other URLs of its host get the same answer, and for no longer than a short outage.
func (l *limits) excuse(now time.Time) bool {
	return len(l.items) > 1 && now.Sub(l.since) < shortOutage
}

// stalled reports whether a host's wait is too long for a crawl without other work.
func stalled(s *crawl.HostState, now time.Time) bool {
	return s.FrozenUntil.After(now) || s.HoldUntil.After(now.Add(LongWait)) ||
		s.NotBefore.After(now.Add(LongWait))
}

// hopeless reports whether a stalled host gets no last try: it had one, or its Retry-After
// is more than an hour away.
func hopeless(s *crawl.HostState, now time.Time) bool {
	late := now.Add(LongWait)
	return s.LastTry || s.HoldUntil.After(late) || s.NotBefore.After(late)
}

// keepRobots returns robots with r, which replaces the entry of the same origin; above
// maxOrigins the oldest is dropped.
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

// crawlDelay returns the largest Crawl-delay of the entries other than origin's.
func crawlDelay(robots []*crawl.Robots, except string) time.Duration {
	var d time.Duration
	for _, r := range robots {
		if r.Origin != except {
			d = max(d, r.CrawlDelay)
		}
	}
	return min(d, MaxCrawlDelay)
}
