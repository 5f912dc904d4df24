package scheduler

import (
	"context"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/scheduler/core"
)

// This file has the calls between Release and Completed: queries and reports while a visit's
// outcome is written.

// HostState returns the state of v's host, to be written with v's outcome. It is called between
// Release and Completed, just before the write. It asks the loop only if visits of the host
// overlap, or Release was a moment ago.
func (d *Dispatcher) HostState(v crawl.Visit) crawl.HostState {
	if s, ok := d.newest(v.ID); ok {
		return s
	}
	return d.askState(v.ID)
}

// askState asks the loop for the state of a visit's host.
func (d *Dispatcher) askState(id uint64) crawl.HostState {
	var s crawl.HostState
	known := false
	err := d.call(context.Background(), func(time.Time) { s, known = d.loop.core.HostState(id) })
	if err == nil && known {
		return s
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.flights[id]; f != nil {
		return f.state
	}
	return crawl.HostState{}
}

// newest returns the state of a visit's host as Release left it, if it is still the newest and no
// other is being written.
func (d *Dispatcher) newest(id uint64) (crawl.HostState, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.flights[id]
	if f == nil || !f.newest {
		return crawl.HostState{}, false
	}
	f.taken = true
	return f.state, true
}

// RetryAt returns when v's URL, whose fetch failed with kind, is retried; the zero time gives it
// up. It is called between Release and Completed.
func (d *Dispatcher) RetryAt(v crawl.Visit, kind crawl.Kind) time.Time {
	now := time.Now()
	if wait, again := core.Again(&v, kind); again {
		return now.Add(wait)
	}
	if kind == crawl.RateLimited && d.excused(v.ID) {
		return now
	}
	return time.Time{}
}

// excused asks the loop whether a visit's URL is not to blame for its failure.
func (d *Dispatcher) excused(id uint64) bool {
	excused := false
	err := d.call(context.Background(), func(time.Time) { excused = d.loop.core.Excused(id) })
	return excused || err != nil // the loop has ended: the next start will retry
}

// Unreachable notes why v's host could not be reached, or that it asks for fewer requests. It is
// called before Completed. When the host is given up, its URLs' records contain the reason.
func (d *Dispatcher) Unreachable(v crawl.Visit, why crawl.HostFailure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.flights[v.ID]; f != nil {
		f.why = why
	}
}

// deathReason is the reason in the records of a host's URLs when it is given up: host_dead, and
// why. cause is why it was last unreachable, or "".
func deathReason(now time.Time, s *crawl.HostState, cause string) string {
	wait := crawl.Latest(s.HoldUntil, s.NotBefore)
	switch {
	case !s.LastTry && wait.Sub(now) > core.LongWait:
		if cause != "" {
			cause = " (" + cause + ")"
		}
		return fmt.Sprintf(
			"host_dead: it asks to be left alone until %s, and nothing else is left to fetch%s",
			wait.UTC().Format(time.RFC3339), cause)
	case cause != "":
		return "host_dead: " + cause
	}
	return "host_dead"
}
