package node

import (
	"context"
	"encoding/json"
	"fmt"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/store/archive"
)

// archiveInfo is what an archive file that is begun now says of the crawl. No From
// header is sent, so the contact stands as the operator alone.
func (n *Node) archiveInfo() archive.Info {
	s := n.doc.Current().Doc.Settings
	text, err := json.Marshal(&s)
	if err != nil {
		panic("BUG: settings cannot be written as JSON: " + err.Error())
	}
	i := archive.Info{Operator: s.Contact, Robots: "classic", UserAgent: s.UserAgent, Settings: string(text)}
	if s.RobotsIgnore { // which counts inside allow_net only, as the settings tell
		i.Robots = "ignore"
	}
	return i
}

// archiveFailure archives why a visit's URL, or its whole host, is given up, when c
// does that. It comes before the completion, as a capture does.
func (n *Node) archiveFailure(ctx context.Context, v crawl.Visit, c *frontier.Completion) error {
	if !n.doc.Current().Doc.Settings.Archive {
		return nil
	}
	o := &c.Outcome
	f := crawl.Failure{URL: v.Item.URL, At: o.FetchedAt, Addr: v.Addr, Error: o.Category.String(), Status: o.Status, Reason: o.Reason,
		Attempts: v.Item.Attempts + 1, Took: o.Took}
	switch o.Kind {
	case crawl.URLFailed, crawl.RateLimited:
		if !c.RetryAt.IsZero() {
			return nil
		}
		if o.Kind == crawl.RateLimited {
			f.Error = crawl.FailureRateLimited
		}
	case crawl.Blocked:
	case crawl.HostFailed:
		s := n.engine.Load().dispatcher.HostState(v)
		if !s.LastTry {
			return nil
		}
		// Failed tries of a host are not counted with the URL.
		f.Host, f.Attempts = true, s.Failures
	default:
		return nil
	}
	if err := n.archive.PutFailure(ctx, f); err != nil {
		return fmt.Errorf("archive why %s was given up: %w", v.Item.URL, err)
	}
	return nil
}
