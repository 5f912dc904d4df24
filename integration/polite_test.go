package integration

import (
	"flag"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// The size of the tests of politeness. CI runs them small; `make soak`, or
//
//	go test ./integration -count=1 -timeout 60m -v -run '^Test(Politeness|HostsThatFail)$' -polite 1000 -outage 60s
//
// runs them in full and appends the figures to docs/results/politeness.md.
var (
	politeSize = flag.Int("polite", 0,
		"run TestPoliteness with this many hosts, on a twentieth as many addresses")
	politeOutage = flag.Duration("outage", 0,
		"how long hosts fail in TestHostsThatFail, and name servers in TestNames")
)

const politeHead = `# Politeness

A node crawls hosts with tempers, several on one address; judged at the web server's side. *too early*: requests that came
before what was owed to their host (the largest of the configured delay, the Crawl-delay, twice the response time and what 429
and 503 have doubled it to; or the Retry-After), and to their address (--ip-delay). *smallest gap*: as a share of what was
owed. *outage*: hosts that refuse connections, answer 503 with Retry-After or 429 without for that long, and one that
resets every tenth connection, then are well. Appended by

    go test ./integration -count=1 -timeout 60m -v -run '^Test(Politeness|HostsThatFail)$' -polite 1000 -outage 60s

| date | commit | what | hosts | addresses | requests | seconds | too early, host | smallest gap | too early, address | smallest gap | pages missing | fetched twice |
|---|---|---|---|---|---|---|---|---|---|---|---|---|
`

// line is a row of that table.
func (f politeFigures) line(what string, w *politeWeb, took time.Duration) string {
	crowding, tightAddr := "-", "-"
	if f.ipDelay > 0 {
		crowding, tightAddr = fmt.Sprint(f.crowding), fmt.Sprintf("%.3f", f.tightAddr)
	}
	return fmt.Sprintf("%s | %d | %d | %d | %.0f | %d | %.3f | %s | %s | %d | %d |", what,
		len(w.hosts), len(w.doors), f.requests, took.Seconds(),
		f.violating, f.tightest, crowding, tightAddr, f.missing, f.repeated)
}

// slowBy is how slow a host gets that was fast.
const slowBy = 300 * time.Millisecond

// politeTempers are ten kinds of host. Their moods are over after a few requests.
func politeTempers() []temper {
	page := func(path string) bool {
		return path != "/robots.txt" && path != "/sitemap.xml" && path != "/map.xml"
	}
	// once makes a mood of an answer to the second and, if twice, third page.
	nth := func(from, to int, change func(a *politeAnswer)) func(string, int, int, *politeAnswer) {
		return func(path string, n, _ int, a *politeAnswer) {
			if page(path) && n >= from && n < to {
				change(a)
			}
		}
	}
	return []temper{
		{name: "plain", pages: 5},
		{name: "Crawl-delay", pages: 3, crawlDelay: 1500 * time.Millisecond},
		{name: "429, Retry-After seconds", pages: 4, moody: nth(2, 3, func(a *politeAnswer) { a.refuse(http.StatusTooManyRequests, 2) })},
		{name: "503, Retry-After date", pages: 4, moody: nth(2, 3,
			func(a *politeAnswer) { a.refuseUntil(http.StatusServiceUnavailable, 3*time.Second) })},
		{name: "503 twice", pages: 4, moody: nth(2, 4, func(a *politeAnswer) { a.refuse(http.StatusServiceUnavailable, 0) })},
		{name: "slowed", pages: 5, moody: nth(3, 99, func(a *politeAnswer) { a.wait = slowBy })},
		{
			name:  "robots.txt 503, Retry-After",
			pages: 3,
			moody: func(path string, n, _ int, a *politeAnswer) {
				if n == 0 {
					a.refuse(http.StatusServiceUnavailable, 3)
				}
			},
		},
		{
			name:    "sitemap 429, Retry-After",
			pages:   3,
			sitemap: true,
			moody: func(path string, _, asked int, a *politeAnswer) {
				if path == "/map.xml" && asked == 0 {
					a.refuse(http.StatusTooManyRequests, 2)
				}
			},
		},
		{
			name:       "Crawl-delay, 429",
			pages:      3,
			crawlDelay: 1200 * time.Millisecond,
			moody:      nth(3, 4, func(a *politeAnswer) { a.refuse(http.StatusTooManyRequests, 0) }),
		},
		{name: "200, Retry-After", pages: 4, moody: nth(2, 3,
			func(a *politeAnswer) { body := a.body; a.refuse(http.StatusOK, 2); a.body = body })},
	}
}

// Hosts of all tempers on a tenth as many addresses: no request comes too early,
// for the host or for the address, robots.txt and sitemaps included, and every
// page comes once.
func TestPoliteness(t *testing.T) {
	needsProcesses(t)
	hosts, addrs, delay, ipDelay := 60, 6, 200*time.Millisecond, 40*time.Millisecond
	if *politeSize > 0 {
		hosts, addrs, delay, ipDelay = *politeSize, max(*politeSize/20, 1), time.Second,
			200*time.Millisecond
	} else {
		t.Parallel()
	}
	w := startPoliteWeb(t, 9, hosts, addrs, politeTempers()...)
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--dns", w.dns, "--delay", delay.String(),
		"--ip-delay", ipDelay.String())
	c.addReady(1)
	start := time.Now()
	c.nodes[0].seed(w.seeds()...)
	c.finished(20 * time.Minute)
	took := time.Since(start)
	c.stop()
	f := w.judge(delay, ipDelay)
	f.want(t, took)
	w.judgeAdaptive(t)
	if *politeSize > 0 {
		appendResult(t, "politeness.md", politeHead, f.line("tempers", w, took))
	}
}

// judgeAdaptive checks that the delay follows a host that gets slow within five
// of its requests.
func (w *politeWeb) judgeAdaptive(t *testing.T) {
	t.Helper()
	slowed := 0
	for _, h := range w.hosts {
		if h.temper.name != "slowed" {
			continue
		}
		since := -1
		for i, q := range h.seen {
			if i > 0 && since >= 0 && q.start.Sub(h.seen[i-1].end) >= 2*slowBy {
				if i-since > 5 {
					t.Errorf("%s got slow with request %d, the delay followed at request %d", h.name, since, i)
				}
				slowed++
				break
			}
			if since < 0 && q.wait >= slowBy {
				since = i
			}
		}
	}
	if slowed == 0 {
		t.Error("the delay of no host followed its slowness")
	}
}

// Hosts that refuse connections, answer 503 or 429, or reset connections for a
// while, each on an address of its own: all of it is fetched when they are back,
// and none is asked earlier than it may be.
func TestHostsThatFail(t *testing.T) {
	needsProcesses(t)
	const delay = 150 * time.Millisecond
	outage := 3 * time.Second
	if *politeOutage > 0 {
		outage = *politeOutage
	} else {
		t.Parallel()
	}
	var began atomic.Int64 // Unix nanoseconds of the outage's start; 0: it has not begun
	sick := func() bool {
		at := began.Load()
		return at > 0 && time.Since(time.Unix(0, at)) < outage
	}
	answer := func(status, seconds int) func(string, int, int, *politeAnswer) {
		return func(_ string, _, _ int, a *politeAnswer) {
			if sick() {
				a.refuse(status, seconds)
			}
		}
	}
	w := startPoliteWeb(t, 10, 5, 5, temper{})
	tempers := []temper{
		{name: "closed", pages: 16},
		{name: "503, Retry-After", pages: 16, moody: answer(http.StatusServiceUnavailable, 2)},
		{name: "429", pages: 16, moody: answer(http.StatusTooManyRequests, 0)},
		{name: "every tenth reset", pages: 16, moody: func(_ string, n, _ int, a *politeAnswer) { a.reset = n%10 == 9 }},
		{name: "well", pages: 16},
	}
	for i, h := range w.hosts {
		h.temper = tempers[i]
	}
	c := newCluster(t, "--allow-net", "127.0.0.0/8", "--dns", w.dns, "--delay", delay.String())
	c.addReady(1)
	start := time.Now()
	c.nodes[0].seed(w.seeds()...)
	until(t, time.Minute, func() string {
		for _, h := range w.hosts {
			h.mu.Lock()
			n := len(h.seen)
			h.mu.Unlock()
			if n < 5 {
				return fmt.Sprintf("%s has had %d requests", h.name, n)
			}
		}
		return ""
	})
	began.Store(time.Now().UnixNano())
	w.doors[0].close()
	for sick() {
		time.Sleep(10 * time.Millisecond)
	}
	w.doors[0].open()
	c.finished(20 * time.Minute)
	took := time.Since(start)
	c.stop()
	f := w.judge(delay, 0)
	f.want(t, took)
	if *politeOutage > 0 {
		appendResult(t, "politeness.md", politeHead, f.line("outage of "+outage.String(), w, took))
	}
}
