package integration

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"crawlnode/simweb"
)

// trail keeps every request as the web server saw it. Its note is the
// Config.OnRequest of a synthetic web.
type trail struct {
	mu   sync.Mutex // guards seen
	seen []simweb.Request
}

func (tr *trail) note(r simweb.Request) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.seen = append(tr.seen, r)
}

// requests returns all requests so far, by their start.
func (tr *trail) requests() []simweb.Request {
	tr.mu.Lock()
	all := slices.Clone(tr.seen)
	tr.mu.Unlock()
	slices.SortFunc(all, func(a, b simweb.Request) int { return a.Start.Compare(b.Start) })
	return all
}

// firstSince returns when the first request after an instant began; zero: none
// has ended yet.
func (tr *trail) firstSince(at time.Time) time.Time {
	for _, r := range tr.requests() {
		if r.Start.After(at) {
			return r.Start
		}
	}
	return time.Time{}
}

// disturbance is a time around which pages may be fetched twice: those that were
// in flight when it began, or whose completion had not been copied.
type disturbance struct {
	what     string
	from, to time.Time // the pages answered in this time are excused
}

// commitWindow is how long before a crash a page may have been answered whose
// completion is lost. A second is promised; the rest is for slow disks.
const commitWindow = 2 * time.Second

// raceCommitWindow is the same under the race detector, where a page costs some
// twenty times as much and so waits longer between its answer and its commit.
const raceCommitWindow = 6 * time.Second

// mostWindow bounds what a slow machine is given.
const mostWindow = 6 * time.Second

// widened is a disturbance as the crawl's pace asks: where that is slow, commits come later too. A
// crawl of less than 24 seconds until then has the window of at.
func (d disturbance) widened(first time.Time) disturbance {
	if from := d.to.Add(-min(d.to.Sub(first)/8, mostWindow)); from.Before(d.from) {
		d.from = from
	}
	return d
}

// at makes the disturbance of a crash.
func at(what string, when time.Time) disturbance {
	window := commitWindow
	if raceDetector {
		window = raceCommitWindow
	}
	return disturbance{what, when.Add(-window), when.Add(time.Second)}
}

// repeated is a page that was answered more than once.
type repeated struct {
	url     string
	answers []simweb.Request // by their start
}

func (r repeated) String() string {
	text := r.url + ":"
	for _, a := range r.answers {
		text += fmt.Sprintf(" by %d at %s", a.Door+1, a.End.Format("15:04:05.000"))
	}
	return text
}

// repeats finds the pages that were answered more than once.
func repeats(requests []simweb.Request) []repeated {
	answers := map[string][]simweb.Request{}
	for _, r := range requests {
		if r.Answered {
			answers[r.URL] = append(answers[r.URL], r)
		}
	}
	var found []repeated
	for url, list := range answers {
		if len(list) > 1 {
			found = append(found, repeated{url, list})
		}
	}
	slices.SortFunc(found, func(a, b repeated) int { return cmp.Compare(a.url, b.url) })
	return found
}

// unexcused returns the repeats that have an answer, other than the last, outside of all
// disturbances: pages that were done and fetched again.
func unexcused(found []repeated, excuses []disturbance) []repeated {
	var bad []repeated
	for _, r := range found {
		for _, a := range r.answers[:len(r.answers)-1] {
			if !slices.ContainsFunc(excuses,
				func(d disturbance) bool { return !a.End.Before(d.from) && !a.End.After(d.to) }) {
				bad = append(bad, r)
				break
			}
		}
	}
	return bad
}

// judgeRepeats checks that what was fetched again after crashes had been in
// flight or just answered. A disk that stalls may hold completions up for longer
// than the window: one page in a hundred is forgiven.
func judgeRepeats(t *testing.T, requests []simweb.Request, pages int, excuses ...disturbance) {
	t.Helper()
	first := slices.MinFunc(requests,
		func(a, b simweb.Request) int { return a.Start.Compare(b.Start) }).Start
	for i, d := range excuses {
		excuses[i] = d.widened(first)
	}
	found := repeats(requests)
	bad := unexcused(found, excuses)
	if len(bad) > pages/100 {
		t.Errorf(
			"%d of %d pages were answered long before the crash and fetched again, more than 1 %%:\n%s",
			len(bad), pages, listed(bad))
	}
	for _, r := range found {
		if len(r.answers) > 1+len(excuses) {
			t.Errorf("more answers than crashes: %s", r)
		}
	}
}

// listed writes the first few of a list, one a line.
func listed[T fmt.Stringer](list []T) string {
	text := ""
	for i, item := range list {
		if i == 10 {
			return text + fmt.Sprintf("  and %d more\n", len(list)-i)
		}
		text += "  " + item.String() + "\n"
	}
	return text
}

// longestPause returns the longest time between two requests, to any host, that
// overlaps a span.
func longestPause(
	requests []simweb.Request,
	from, to time.Time,
) (pause time.Duration, at time.Time) {
	for i := 1; i < len(requests); i++ {
		a, b := requests[i-1].Start, requests[i].Start
		if b.Before(from) || a.After(to) {
			continue
		}
		if b.Sub(a) > pause {
			pause, at = b.Sub(a), a
		}
	}
	return pause, at
}

// takeover is how long the hosts of a lost node waited for another.
type takeover struct {
	hosts       int           // that the node was crawling when it was lost
	first, last time.Duration // until one of them, and all of them, were asked by others
}

// takeoverOf finds the hosts that a door's node was working on when it was lost, and when another
// node came to each. Hosts that were finished just then do not count: no node visits them any more.
func takeoverOf(
	requests []simweb.Request,
	door int,
	lost time.Time,
	delay time.Duration,
) (o takeover) {
	mine := map[string]bool{}
	for _, r := range requests {
		if r.Start.Before(lost) {
			mine[r.Host] = r.Door == door && r.Start.After(lost.Add(-2*delay-time.Second))
		}
	}
	came := map[string]bool{}
	for _, r := range requests {
		if !mine[r.Host] || came[r.Host] || !r.Start.After(lost) || r.Door == door {
			continue
		}
		came[r.Host] = true
		wait := r.Start.Sub(lost)
		if o.hosts++; o.hosts == 1 {
			o.first = wait
		}
		o.last = wait
	}
	return o
}
