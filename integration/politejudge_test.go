package integration

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// politeFigures is what a politeWeb saw.
type politeFigures struct {
	requests  int
	violating int           // requests that came too early for their host
	crowding  int           // and for their address
	tightest  float64       // the smallest gap at a host as a share of the one that was owed
	ipDelay   time.Duration // that was judged; 0: addresses were not
	tightAddr float64       // the smallest gap at an address
	missing   int           // pages that were never answered with 200
	repeated  int           // pages that were, more than once
}

func (f politeFigures) String() string {
	address := "addresses not judged"
	if f.ipDelay > 0 {
		address = fmt.Sprintf("%d for the address (%.3f)", f.crowding, f.tightAddr)
	}
	return fmt.Sprintf("%d requests, %d too early for the host (smallest gap %.3f of what was "+
		"owed), %s, %d pages missing, %d fetched twice",
		f.requests, f.violating, f.tightest, address, f.missing, f.repeated)
}

// judge looks at all requests. delay is what was configured for a host, ipDelay
// for an address (0: not judged).
func (w *politeWeb) judge(delay, ipDelay time.Duration) politeFigures {
	f := politeFigures{ipDelay: ipDelay, tightest: 99, tightAddr: 99}
	byDoor := map[int][]politeRequest{}
	for _, h := range w.hosts {
		h.mu.Lock()
		seen := slices.Clone(h.seen)
		h.mu.Unlock()
		slices.SortFunc(seen, byStart)
		w.judgeHost(h, seen, delay, &f)
		byDoor[h.door] = append(byDoor[h.door], seen...)
	}
	for _, list := range byDoor {
		slices.SortFunc(list, byStart)
		f.requests += len(list)
		for i := 1; i < len(list) && ipDelay > 0; i++ {
			gap := list[i].start.Sub(list[i-1].end)
			f.tightAddr = min(f.tightAddr, share(gap, ipDelay))
			if gap < ipDelay {
				f.crowding++
				w.complain(f.crowding, list[i-1], list[i], ipDelay, "at one address")
			}
		}
	}
	return f
}

func byStart(a, b politeRequest) int { return a.start.Compare(b.start) }

func share(gap, owed time.Duration) float64 { return gap.Seconds() / owed.Seconds() }

// judgeHost checks the requests of a host against the rules of politeness in their plainest form.
// The gap after an answer is the largest of the configured delay, the Crawl-delay (from the second
// request after robots.txt on), twice the response time, and the doubled delay after 429 and 503; a
// Retry-After applies in addition.
func (w *politeWeb) judgeHost(
	h *politeHost,
	seen []politeRequest,
	delay time.Duration,
	f *politeFigures,
) {
	var crawlDelay, backoff time.Duration
	var hold time.Time
	counts := map[string]int{}
	for i, q := range seen {
		if hold.After(q.start) {
			f.violating++
			w.complain(f.violating, seen[i-1], q, hold.Sub(seen[i-1].end), "in spite of Retry-After")
		}
		if q.hold.After(hold) {
			hold = q.hold
		}
		took := q.end.Sub(q.start)
		usual := max(delay, crawlDelay, 2*took)
		switch {
		case limitedStatus(q.status) && q.hold.IsZero() && q.path != "/robots.txt":
			backoff = 2 * max(backoff, usual)
		case q.status == http.StatusOK:
			backoff /= 2
			counts[q.path]++
		}
		if i+1 < len(seen) {
			owed, gap := max(usual, backoff), seen[i+1].start.Sub(q.end)
			f.tightest = min(f.tightest, share(gap, owed))
			if gap < owed {
				f.violating++
				w.complain(f.violating, q, seen[i+1], owed, "at one host")
			}
		}
		if counts["/robots.txt"] > 0 && q.path != "/robots.txt" {
			crawlDelay = h.temper.crawlDelay
		}
	}
	for _, path := range h.all() {
		switch n := counts[path]; {
		case n == 0:
			f.missing++
			w.t.Logf("%s (%s) was never fetched: %s", h.url(path), h.temper.name, history(seen, path))
		case n > 1:
			f.repeated++
			w.t.Logf("%s (%s) was fetched %d times: %s", h.url(path), h.temper.name, n, history(seen, path))
		}
	}
}

func limitedStatus(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// complain tells of the first violations.
func (w *politeWeb) complain(n int, a, b politeRequest, owed time.Duration, what string) {
	if n <= 10 {
		w.t.Logf("%v %s, %v are owed: %s%s (%d, %s), then %s%s", b.start.Sub(a.end), what, owed,
			a.host.name, a.path, a.status, a.host.temper.name, b.host.name, b.path)
	}
}

// history lists the requests for one path.
func history(seen []politeRequest, path string) string {
	var b strings.Builder
	for _, q := range seen {
		if q.path == path {
			fmt.Fprintf(&b, "%d at %s, ", q.status, q.start.Format("15:04:05.000"))
		}
	}
	return b.String()
}

// want fails the test over violations and missing pages.
func (f politeFigures) want(t *testing.T, took time.Duration) {
	t.Helper()
	t.Logf("%s in %v", f, took.Round(time.Millisecond))
	if f.violating+f.crowding+f.missing+f.repeated > 0 {
		t.Errorf("want no violation, every page once: %s", f)
	}
}
