package crawldoc

import (
	"errors"
	"testing"
	"time"

	"crawlnode/crawl"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestActions is the table of operators' actions on a crawl.
func TestActions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		state, action string
		want          string // the state afterwards; "" stays; "refused"
	}{
		{crawl.CrawlIdle, crawl.ActionPause, crawl.CrawlPaused},
		{crawl.CrawlIdle, crawl.ActionResume, "refused"},
		{crawl.CrawlIdle, crawl.ActionStop, "refused"},
		{crawl.CrawlRunning, crawl.ActionPause, crawl.CrawlPaused},
		{crawl.CrawlRunning, crawl.ActionResume, ""},
		{crawl.CrawlRunning, crawl.ActionStop, crawl.CrawlFinished},
		{crawl.CrawlPaused, crawl.ActionPause, ""},
		{crawl.CrawlPaused, crawl.ActionResume, crawl.CrawlRunning},
		{crawl.CrawlPaused, crawl.ActionStop, crawl.CrawlFinished},
		{crawl.CrawlFinished, crawl.ActionPause, "refused"},
		{crawl.CrawlFinished, crawl.ActionResume, "refused"},
		{crawl.CrawlFinished, crawl.ActionStop, ""},
		{crawl.CrawlRunning, "explode", "refused"},
	} {
		d := &Document{Version: 7, By: "a", State: c.state}
		since := noon.Add(-time.Minute)
		if c.state != crawl.CrawlIdle {
			d.Started = &since
		}
		if c.state == crawl.CrawlRunning {
			d.RunSince = &since
		}
		next, err := d.Act(c.action, "b", noon)
		switch {
		case (c.want == "refused") != errors.Is(err, crawl.ErrRefused):
			t.Errorf("%s %s: %v", c.action, c.state, err)
		case c.want == "" || c.want == "refused":
			if next != nil {
				t.Errorf("%s %s: %+v", c.action, c.state, next)
			}
		case next == nil || next.State != c.want || !next.NewerThan(d) || next.By != "b":
			t.Errorf("%s %s: %+v", c.action, c.state, next)
		case c.state == crawl.CrawlRunning && next.RanFor != time.Minute:
			t.Errorf("%s %s: ran for %v", c.action, c.state, next.RanFor)
		case next.State == crawl.CrawlFinished && next.Reason != crawl.FinishStopped:
			t.Errorf("%s %s: reason %q", c.action, c.state, next.Reason)
		}
		for _, a := range AllowedActions(c.state) { // every listed action is possible
			if a == c.action && err != nil {
				t.Errorf("%s is offered when %s", a, c.state)
			}
		}
	}
}

// TestPausedBeforeFirstSeed pauses a crawl that has no seed yet, in each order of what can come
// next.
func TestPausedBeforeFirstSeed(t *testing.T) {
	t.Parallel()
	const seeds = "seeds"
	for _, c := range []struct{ steps, states []string }{
		{[]string{crawl.ActionPause, seeds, crawl.ActionResume}, []string{crawl.CrawlPaused, crawl.CrawlPaused, crawl.CrawlRunning}},
		{[]string{crawl.ActionPause, crawl.ActionResume, seeds}, []string{crawl.CrawlPaused, crawl.CrawlIdle, crawl.CrawlRunning}},
		{[]string{crawl.ActionPause, crawl.ActionResume, crawl.ActionPause, seeds},
			[]string{crawl.CrawlPaused, crawl.CrawlIdle, crawl.CrawlPaused, crawl.CrawlPaused}},
		{[]string{crawl.ActionPause, crawl.ActionPause, seeds, seeds, crawl.ActionResume}, []string{
			crawl.CrawlPaused, crawl.CrawlPaused, crawl.CrawlPaused, crawl.CrawlPaused, crawl.CrawlRunning}},
		{[]string{crawl.ActionPause, crawl.ActionStop, seeds}, []string{crawl.CrawlPaused, crawl.CrawlFinished, crawl.CrawlRunning}},
		{[]string{seeds, crawl.ActionPause, seeds, crawl.ActionResume},
			[]string{crawl.CrawlRunning, crawl.CrawlPaused, crawl.CrawlPaused, crawl.CrawlRunning}},
	} {
		d := &Document{State: crawl.CrawlIdle}
		for i, step := range c.steps {
			var next *Document
			var err error
			if step == seeds {
				next = d.Seeded("b", noon)
			} else {
				next, err = d.Act(step, "b", noon)
			}
			if next != nil {
				if !next.NewerThan(d) {
					t.Errorf("%v: step %d is not newer", c.steps, i)
				}
				d = next
			}
			if d.State != c.states[i] || err != nil {
				t.Errorf("%v: after step %d %s, %v; want %s", c.steps, i, d.State, err, c.states[i])
			}
			if started := d.Started != nil; d.State == crawl.CrawlRunning && !started ||
				d.State == crawl.CrawlIdle && started {
				t.Errorf("%v: after step %d %s, started %v", c.steps, i, d.State, started)
			}
		}
	}
}
