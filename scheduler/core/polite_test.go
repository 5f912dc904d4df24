package core

import (
	"fmt"
	"testing"
	"time"

	"crawlnode/crawl"
)

// TestAgain: a URL has the tries of the setting, and of 429 and 503 three more whatever it is.
func TestAgain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		attempts, retries int
		kind              crawl.Kind
		want              time.Duration
		again             bool
	}{
		{0, 3, crawl.URLFailed, time.Second, true}, {1, 3, crawl.URLFailed, 10 * time.Second, true}, {2, 3, crawl.URLFailed, time.Minute, true},
		{3, 3, crawl.URLFailed, 0, false}, {0, 0, crawl.URLFailed, 0, false}, {4, 5, crawl.URLFailed, time.Minute, true},
		{0, 0, crawl.RateLimited, time.Second, true}, {2, 9, crawl.RateLimited, time.Minute, true}, {3, 9, crawl.RateLimited, 0, false},
		{0, 3, crawl.Fetched, 0, false}, {0, 3, crawl.HostFailed, 0, false}, {0, 3, crawl.Lost, 0, false}, {0, 3, crawl.Blocked, 0, false},
	} {
		v := crawl.Visit{Lease: crawl.Lease{Item: crawl.Item{Attempts: tc.attempts}}, Retries: tc.retries}
		if got, again := Again(&v, tc.kind); got != tc.want || again != tc.again {
			t.Errorf("%+v: %v, %v", tc, got, again)
		}
	}
}

func TestBackoffBounds(t *testing.T) {
	t.Parallel()
	var b time.Duration
	for range 40 {
		b = raiseBackoff(b, 0)
	}
	if b != MaxBackoff {
		t.Errorf("after 40 refusals the back-off is %v, want %v", b, MaxBackoff)
	}
	n := 0
	for ; b > 0 && n < 100; n++ {
		b = lowerBackoff(b, time.Second)
	}
	if n != 17 {
		t.Errorf("the back-off of a day was gone after %d successes, want 17", n)
	}
	for failures, want := range []time.Duration{1, 1, 4, 16, 64} {
		if got := failureWait(failures); got != want*time.Second {
			t.Errorf("failureWait(%d) = %v, want %v", failures, got, want*time.Second)
		}
	}
	if failureWait(1<<30) > 2*time.Hour {
		t.Error("failureWait overflows")
	}
}

// TestRetryAfterIsKept checks that a longer hold is never cut by a shorter one,
// nor by a success, and that an absurd one does not overflow.
func TestRetryAfterIsKept(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var s crawl.HostState
	k := rules{delay: time.Second, maxFailures: 5, freeze: time.Hour}
	observe(&s, now, crawl.Response{Kind: crawl.RateLimited, Requested: true, RetryAfter: time.Hour},
		k)
	observe(&s, now, crawl.Response{Kind: crawl.HostFailed, Requested: true, RetryAfter: time.Minute},
		k)
	observe(&s, now, crawl.Response{Kind: crawl.Fetched, Requested: true}, k)
	if want := now.Add(time.Hour); !s.HoldUntil.Equal(want) {
		t.Errorf("held until %v, want %v", s.HoldUntil, want)
	}
	observe(&s, now, crawl.Response{Kind: crawl.RateLimited, Requested: true, RetryAfter: 1<<63 - 1},
		k)
	if s.HoldUntil.Year() < 2039 || s.HoldUntil.Year() > 2040 {
		t.Errorf("an absurd Retry-After holds until %v", s.HoldUntil)
	}
}

// TestWalls: a host rests for a day when its first eight answers, or eight of the last ten, were
// bot walls; one more wall after the rest is enough for the next one, and one answer that is none
// says that it lets the crawl in again. Visits without an answer do not count.
func TestWalls(t *testing.T) {
	t.Parallel()
	k := rules{delay: time.Second, maxFailures: 1000, freeze: time.Hour}
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		// w: wall, r: walled robots.txt, p: page, l: 429, f: no answer, a: aborted, after the rest: |
		answers      string
		rests, walls bool
	}{
		{"wwwwwww", false, false}, {"wwwwwwww", true, true}, {"rrrrrrrr", true, true}, {"rwwwrwww", true, true},
		{"pwwwwwwww", true, true}, {"ppwwwwwwww", true, true}, {"wwwwppwwww", true, true}, {"wwwpppwwwwww", false, false},
		{"wwwpppwwwwwww", false, false}, {"wwwpppwwwwwwww", true, true}, {"wwwwwwwlw", true, true}, {"llllllll", false, false},
		{"wwwwffffwwww", true, true}, {"wwwwaaaawwww", true, true},
		{"wwwwwwww|", false, true}, {"wwwwwwww|p", false, false}, {"wwwwwwww|l", false, true}, {"wwwwwwww|w", true, true},
		{"wwwwwwww|pw", true, true}, {"wwwwwwww|ppppw", false, false},
	} {
		var s crawl.HostState
		now := start
		for _, c := range tc.answers {
			now = now.Add(time.Minute)
			r := crawl.Response{Requested: true}
			switch c {
			case 'w':
				r.Kind, r.Wall = crawl.RateLimited, true
			case 'r':
				r.Kind, r.Wall = crawl.HostFailed, true
			case 'l':
				r.Kind = crawl.RateLimited
			case 'f':
				r.Kind = crawl.URLFailed
			case 'a':
				r.Kind, r.Requested = crawl.Aborted, false
			case '|':
				now = now.Add(crawl.WallRest)
				continue
			}
			observe(&s, now, r, k)
		}
		if rests := s.HoldUntil.After(now); rests != tc.rests ||
			rests && !s.HoldUntil.Equal(now.Add(crawl.WallRest)) {
			t.Errorf("%s: held until %v, at %v", tc.answers, s.HoldUntil, now)
		}
		if walls := !s.WalledSince.IsZero(); walls != tc.walls {
			t.Errorf("%s: walled since %v", tc.answers, s.WalledSince)
		}
	}
}

func TestRobotsAreBounded(t *testing.T) {
	t.Parallel()
	start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	var robots []*crawl.Robots
	for i := range 20 {
		robots = keepRobots(robots, &crawl.Robots{
			Origin: fmt.Sprintf("http://a.test:%d", i), Fetched: start.Add(time.Duration(i) * time.Second),
			CrawlDelay: time.Duration(i) * 10 * time.Second,
		})
	}
	if len(robots) != maxOrigins {
		t.Fatalf("%d entries, want %d", len(robots), maxOrigins)
	}
	for _, r := range robots {
		if r.Fetched.Before(start.Add(12 * time.Second)) {
			t.Errorf("%s was kept, though younger entries are there", r.Origin)
		}
	}
	if d := crawlDelay(robots, ""); d != MaxCrawlDelay {
		t.Errorf("crawl-delay %v, want it capped", d)
	}
	again := keepRobots(robots,
		&crawl.Robots{Origin: "http://a.test:15", Fetched: start.Add(time.Hour)})
	if len(again) != maxOrigins || again[maxOrigins-1].Origin != "http://a.test:15" {
		t.Errorf("a new entry of a known origin did not take its place: %d entries", len(again))
	}
	if d := crawlDelay([]*crawl.Robots{{Origin: "a", CrawlDelay: 9},
		{Origin: "b", CrawlDelay: 5}}, "a"); d != 5 {
		t.Errorf("crawl-delay without origin a = %v, want 5", d)
	}
}
