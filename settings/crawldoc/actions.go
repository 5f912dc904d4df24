package crawldoc

import (
	"fmt"
	"time"

	"crawlnode/crawl"
)

// Act returns the document after an operator's action; nil without an error when nothing changes.
func (d *Document) Act(action string, by crawl.NodeID, now time.Time) (*Document, error) {
	switch action {
	case crawl.ActionPause:
		switch d.State {
		case crawl.CrawlRunning, crawl.CrawlIdle: // what is idle rests when seeds come
			return d.Enter(crawl.CrawlPaused, "", by, now), nil
		case crawl.CrawlPaused:
			return nil, nil
		}
	case crawl.ActionResume:
		switch d.State {
		case crawl.CrawlPaused:
			if d.Started == nil { // nothing to run yet: it would be finished at once
				return d.Enter(crawl.CrawlIdle, "", by, now), nil
			}
			return d.Enter(crawl.CrawlRunning, "", by, now), nil
		case crawl.CrawlRunning:
			return nil, nil
		}
	case crawl.ActionStop:
		switch d.State {
		case crawl.CrawlRunning, crawl.CrawlPaused:
			return d.Enter(crawl.CrawlFinished, crawl.FinishStopped, by, now), nil
		case crawl.CrawlFinished:
			return nil, nil
		}
	default:
		return nil, fmt.Errorf("%w: %q must be pause, resume or stop", crawl.ErrRefused, action)
	}
	return nil, fmt.Errorf("%w: the crawl is %s; it %s", crawl.ErrRefused, d.State, whatRuns(d.State))
}

// Seeded returns the document after seeds were added: an idle or finished crawl runs, and one that
// was paused before its first seed has something to resume. Nil when nothing changes.
func (d *Document) Seeded(by crawl.NodeID, now time.Time) *Document {
	switch {
	case d.State == crawl.CrawlIdle, d.State == crawl.CrawlFinished:
		return d.Enter(crawl.CrawlRunning, "", by, now)
	case d.State == crawl.CrawlPaused && d.Started == nil:
		next := d.Enter(crawl.CrawlPaused, "", by, now)
		next.Started = &now
		return next
	}
	return nil
}

// whatRuns is what starts a crawl when no action can.
func whatRuns(state string) string {
	if state == crawl.CrawlFinished {
		return "continues when seeds are added"
	}
	return "starts when seeds are added"
}

// AllowedActions lists the possible actions in a state.
func AllowedActions(state string) []string {
	switch state {
	case crawl.CrawlRunning, crawl.CrawlWaiting:
		return []string{"add_seeds", crawl.ActionPause, crawl.ActionStop}
	case crawl.CrawlPaused:
		return []string{"add_seeds", crawl.ActionResume, crawl.ActionStop}
	case crawl.CrawlIdle:
		return []string{"add_seeds", crawl.ActionPause}
	}
	return []string{"add_seeds"}
}
