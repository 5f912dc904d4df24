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
		{crawl.CrawlIdle, crawl.ActionPause, "refused"},
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
		if c.state == crawl.CrawlRunning {
			since := noon.Add(-time.Minute)
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
