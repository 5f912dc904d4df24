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
		case crawl.CrawlRunning:
			return d.Enter(crawl.CrawlPaused, "", by, now), nil
		case crawl.CrawlPaused:
			return nil, nil
		}
	case crawl.ActionResume:
		switch d.State {
		case crawl.CrawlPaused:
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
	}
	return []string{"add_seeds"}
}
