package recrawl

import (
	"math"
	"time"
)

// How many due pages are taken into the queue at a time.
const (
	// ahead is for how long they keep the node's fetchers busy.
	ahead = 2 * time.Second
	// mostAtOnce bounds them; leastAtOnce is for a node that has fetched little so far.
	mostAtOnce, leastAtOnce = 1024, 16
)

// load is what the fetchers of this node do at a moment.
type load struct {
	visits   int64 // completed since the start of the process, of pages
	revisits int64 // of these, of pages that were due
	busy     int   // fetchers
	fetchers int
	fresh    bool // URLs that are no revisits are queued
}

// idle reports whether fetchers are left over: what is queued does not keep them busy.
func (l *load) idle() bool { return 2*l.busy < l.fetchers }

// bucket pays for the due pages that are taken into the queue while new URLs wait. It fills with a
// share of the fetches and holds one turn.
type bucket struct {
	tokens float64
	seen   int64 // visits so far
}

// fill adds the share of the visits since the last call.
func (b *bucket) fill(visits int64, share float64, most int) {
	b.tokens = min(b.tokens+share*float64(max(visits-b.seen, 0)), float64(most))
	b.seen = visits
}

// take pays for one page.
func (b *bucket) take() bool {
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

// measured is what a node's fetchers can do, by what they did: means in which the last minute
// counts most.
type measured struct {
	at     time.Time
	visits int64
	busy   float64 // seconds of fetchers since at
	last   time.Time

	rate  float64 // visits a second
	took  float64 // seconds of a fetcher for a visit; 0: not known
	fresh float64 // share of the time in which new URLs waited
}

// window is how long is measured before the means change; memory is what they remember.
const (
	window = 5 * time.Second
	memory = time.Minute
)

// look takes in what the fetchers do now.
func (m *measured) look(now time.Time, l *load) {
	if m.at.IsZero() {
		m.at, m.last, m.visits = now, now, l.visits
		return
	}
	passed := now.Sub(m.last).Seconds()
	m.last = now
	m.busy += float64(l.busy) * passed
	keep := math.Exp(-passed / memory.Seconds())
	m.fresh *= keep
	if l.fresh {
		m.fresh += 1 - keep
	}
	if now.Sub(m.at) < window {
		return
	}
	span, done := now.Sub(m.at).Seconds(), float64(l.visits-m.visits)
	part := 1 - math.Exp(-span/memory.Seconds())
	if m.rate == 0 {
		part = 1
	}
	m.rate += part * (done/span - m.rate)
	if done >= 1 && m.busy > 0 {
		if m.took == 0 {
			part = 1
		}
		m.took += part * (m.busy/done - m.took)
	}
	m.at, m.visits, m.busy = now, l.visits, 0
}

// guessedTook is the duration of a fetch before one was measured, in seconds.
const guessedTook = 1

// capacity is how many visits a second there are for revisits: all that the fetchers could make,
// less what new URLs get of it while they wait.
func (m *measured) capacity(fetchers int, share float64) float64 {
	took := m.took
	if took <= 0 {
		took = guessedTook
	}
	return float64(max(fetchers, 1)) / took * (1 - m.fresh*(1-share))
}

// turn is how many pages are taken into the queue at a time.
func (m *measured) turn() int {
	return int(min(max(m.rate*ahead.Seconds(), leastAtOnce), mostAtOnce))
}

// recent counts the pages that were taken into the queue within the last moments and not yet
// visited. Pages that wait for longer than that, for their host, do not count: they keep no fetcher
// busy.
type recent struct {
	moved []moved // oldest first, at most one for each turn within `ahead`
	seen  int64   // revisits so far
}

type moved struct {
	at time.Time
	n  int
}

// left returns how many of the pages are still to be visited.
func (r *recent) left(now time.Time, revisits int64) int {
	done := int(revisits - r.seen)
	r.seen = revisits
	sum := 0
	kept := r.moved[:0]
	for _, m := range r.moved {
		less := min(done, m.n)
		done, m.n = done-less, m.n-less
		if m.n > 0 && now.Sub(m.at) < ahead {
			kept = append(kept, m)
			sum += m.n
		}
	}
	r.moved = kept
	return sum
}

// note adds pages.
func (r *recent) note(now time.Time, n int) {
	if n > 0 {
		r.moved = append(r.moved, moved{now, n})
	}
}
