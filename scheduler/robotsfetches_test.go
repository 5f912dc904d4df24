package scheduler

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"crawlnode/crawl"
	"crawlnode/scheduler/core"
	"crawlnode/web/urlnorm"
)

func robotsURL(t *testing.T, s string) urlnorm.URL {
	t.Helper()
	u, err := urlnorm.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// robotsRig is a rig whose web answers robots fetches with the time.
func robotsRig(t *testing.T) *rig {
	r := newRig(t)
	r.web.answer = func(ctx context.Context, v crawl.Visit) (crawl.Response, bool) {
		if v.Item.Via != crawl.ViaRobots {
			return crawl.Response{}, false
		}
		if !sleep(ctx, r.web.took) {
			return crawl.Response{Kind: crawl.Aborted, Requested: true}, true
		}
		return crawl.Response{Kind: crawl.RobotsFetched, Requested: true}, true
	}
	r.robots = func(_ crawl.Visit, a crawl.Response) *crawl.RobotsAnswer {
		if a.Kind == crawl.Aborted {
			return nil
		}
		return &crawl.RobotsAnswer{At: time.Now(), Status: 200, Body: []byte("user-agent: *")}
	}
	return r
}

// TestRobotsFetchesWaitTheirTurn fetches files of a busy host, of one that is on disk, and of an
// unknown one, with one of two places in memory. The rig's web checks the gaps.
func TestRobotsFetchesWaitTheirTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := robotsRig(t)
		r.options.Scheduler = core.Config{MaxActive: 2, ItemsPerHost: 4, Quantum: 4}
		for i := range 5 {
			r.disk.add(1, crawl.Host(fmt.Sprintf("busy%d.test", i)), 0, 30)
		}
		r.disk.add(1, "unknown.test", 0, 0)
		r.start(4)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		time.Sleep(5 * time.Second)
		urls := []urlnorm.URL{robotsURL(t, "http://busy0.test/a.txt"),
			robotsURL(t, "http://busy0.test/b.txt"),
			robotsURL(t, "http://busy4.test/a.txt"), robotsURL(t, "https://unknown.test/robots.txt")}
		start := time.Now()
		for _, u := range urls {
			r.until(u.String(), func() bool {
				_, ok := r.d.RobotsFile(1, u)
				return ok
			})
		}
		if took := time.Since(start); took > 2*time.Minute {
			t.Errorf("the robots fetches took %v", took)
		}
		first, _ := r.d.RobotsFile(1, urls[0])
		time.Sleep(robotsLife - 3*time.Minute)
		if a, ok := r.d.RobotsFile(1, urls[0]); !ok || !a.At.Equal(first.At) {
			t.Error("the answer was not shared")
		}
		time.Sleep(4 * time.Minute)
		r.until("a new answer", func() bool {
			a, ok := r.d.RobotsFile(1, urls[0])
			return ok && a.At.After(first.At)
		})
		r.until("an empty queue", func() bool { return r.disk.left() == 0 })
		if got := r.web.pages(); got != 150 {
			t.Errorf("%d pages were fetched, want 150", got)
		}
	})
}

// TestRobotsFetchesOutliveAHandOver cancels the visit during the request: the next visit brings the
// file.
func TestRobotsFetchesOutliveAHandOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := robotsRig(t)
		r.web.took = 10 * time.Second
		r.disk.add(1, "a.test", 0, 0)
		r.start(1)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		u := robotsURL(t, "http://a.test/x.txt")
		if _, ok := r.d.RobotsFile(1, u); ok {
			t.Error("an answer before anything was asked")
		}
		r.until("a request", func() bool { return r.web.openNow() == 1 })
		r.d.Drop(1)
		r.until("its end", func() bool { return r.web.openNow() == 0 && r.d.Busy() == 0 })
		time.Sleep(5 * time.Second)
		if _, ok := r.d.RobotsFile(1, u); ok || r.web.openNow() != 0 {
			t.Error("something was fetched of a partition that is not held")
		}
		r.d.Hold(1, 7, time.Time{})
		r.until("the answer", func() bool { _, ok := r.d.RobotsFile(1, u); return ok })
	})
}

// TestRobotsFetchesAreBounded requests too many files, and too large ones.
func TestRobotsFetchesAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	url := func(i int) urlnorm.URL {
		return robotsURL(t, fmt.Sprintf("http://h%d.test/robots.txt", i))
	}
	var e robotsFetches
	for i := range 2 * maxRobotsFetches {
		if a, begun := e.ask(1, url(i), now); a != nil || begun != (i < maxRobotsFetches) {
			t.Fatalf("question %d: %v, %v", i, a, begun)
		}
	}
	if n := len(e.Waiting("", now)); n != maxRobotsFetches {
		t.Errorf("%d wait", n)
	}
	if got := e.Waiting("h7.test", now); len(got) != 1 || got[0].URL != url(7) {
		t.Errorf("%+v waits for one host", got)
	}
	if e.Begin(url(2*maxRobotsFetches), 1) || !e.Begin(url(0), 1) || e.Begin(url(0), 2) {
		t.Error("a visit for what nobody wants, or a second one")
	}
	now = now.Add(robotsPatience + time.Second)
	if _, begun := e.ask(1, url(2*maxRobotsFetches), now); !begun || len(e.byURL) != 2 {
		t.Errorf("%d are kept that nobody has asked for in a while", len(e.byURL))
	}
	// The first one's visit ends; then large answers.
	e.end(1, url(0), nil, now)
	for i := range 2 * maxRobotsFetches {
		e.ask(1, url(i), now)
		if !e.Begin(url(i), uint64(i+1)) {
			t.Fatalf("%d cannot begin", i)
		}
		e.end(uint64(i+1), url(i), &crawl.RobotsAnswer{Status: 200, Body: make([]byte, 500<<10)},
			now.Add(time.Duration(i)))
		if a, _ := e.ask(1, url(i), now); a == nil {
			t.Fatalf("answer %d is not there", i)
		}
	}
	sum := 0
	for _, r := range e.byURL {
		if r.answer != nil {
			sum += len(r.answer.Body)
		}
	}
	if sum != e.bytes || sum > maxRobotsBytes || sum < maxRobotsBytes/2 {
		t.Errorf("%d bytes of answers, %d counted", sum, e.bytes)
	}
}

// TestRobotsFetchesOfOneHostAreBounded has one host take a few places only.
func TestRobotsFetchesOfOneHostAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	url := func(i int) urlnorm.URL { return robotsURL(t, fmt.Sprintf("http://slow.test/%d", i)) }
	var e robotsFetches
	for i := range 2 * maxRobotsFetches {
		if _, begun := e.ask(1, url(i), now); begun != (i < maxHostFetches) {
			t.Fatalf("question %d begun: %v", i, begun)
		}
	}
	if _, begun := e.ask(1, robotsURL(t, "http://a.test/"), now); !begun || !e.Wants("a.test") {
		t.Error("another host has no place")
	}
	// An answer that was used makes room, and so does an unwanted file.
	e.Begin(url(3), 1)
	e.end(1, url(3), &crawl.RobotsAnswer{Status: 200, Body: []byte("x")}, now)
	if _, begun := e.ask(1, url(100), now); !begun || e.bytes != 0 {
		t.Error("the answer is in the way")
	}
	now = now.Add(robotsPatience + time.Second)
	if _, begun := e.ask(1, url(101), now); !begun || len(e.byURL) != 2 ||
		e.byHost["slow.test"] != 1 || e.byHost["a.test"] != 1 {
		t.Errorf("%d fetches, %v", len(e.byURL), e.byHost)
	}
	// A check for one host does not hide the files of others.
	e.Waiting("slow.test", now)
	if !e.News() {
		t.Error("the loop would not look")
	}
	e.Waiting("", now.Add(robotsPatience+time.Second))
	if len(e.byURL)+len(e.byHost) != 0 || e.Wants("slow.test") {
		t.Errorf("%d fetches, %v", len(e.byURL), e.byHost)
	}
}

// TestRobotsFetchOfAWaiterWhoLeft cancels a waiter at the moment when it gets a robots fetch: the
// next waiter gets it.
func TestRobotsFetchOfAWaiterWhoLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := robotsRig(t)
		r.disk.add(1, "a.test", 0, 0)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		r.asked = leave
		r.start(0)
		defer r.end()
		r.d.Hold(1, 7, time.Time{})
		u := robotsURL(t, "http://a.test/x.txt")
		r.d.RobotsFile(1, u)
		if v, err := r.d.Next(ctx); err == nil {
			t.Fatalf("%+v was handed out", v)
		}
		r.workers(1)
		r.until("the answer", func() bool { _, ok := r.d.RobotsFile(1, u); return ok })
	})
}

// TestRobotsFetchAnswersAge keeps failures only briefly.
func TestRobotsFetchAnswersAge(t *testing.T) {
	t.Parallel()
	for status, life := range map[int]time.Duration{
		200: robotsLife,
		404: robotsLife,
		301: robotsLife,
		0:   robotsFailedLife,
		503: robotsFailedLife,
		429: robotsFailedLife,
	} {
		now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		var e robotsFetches
		u := robotsURL(t, "http://a.test/robots.txt")
		e.ask(1, u, now)
		e.Begin(u, 1)
		e.end(1, u, &crawl.RobotsAnswer{Status: status, Failure: strings.Repeat("x", 1)}, now)
		if a, _ := e.ask(1, u, now.Add(life)); a == nil {
			t.Errorf("status %d is forgotten at once", status)
		}
		if a, begun := e.ask(1, u, now.Add(life+time.Millisecond)); a != nil || !begun {
			t.Errorf("status %d is remembered for too long", status)
		}
	}
}

// A domain with many hosts leaves half of the places to others.
func TestRobotsFetchesOfOneDomain(t *testing.T) {
	t.Parallel()
	var e robotsFetches
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	ask := func(host string) bool {
		u, err := urlnorm.Parse("http://" + host + "/robots.txt")
		if err != nil {
			t.Fatal(err)
		}
		_, begun := e.ask(1, u, now)
		return begun
	}
	n := 0
	for i := range 2 * maxRobotsFetches {
		if ask(fmt.Sprintf("h%d.many.test", i)) {
			n++
		}
	}
	if n != maxRobotsFetches/2 {
		t.Errorf("one domain has %d of %d places, want half", n, maxRobotsFetches)
	}
	for i := range maxRobotsFetches / 2 {
		if !ask(fmt.Sprintf("other%d.test", i)) {
			t.Fatalf("domain %d finds no place", i)
		}
	}
}
