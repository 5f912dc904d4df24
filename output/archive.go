package output

import (
	"context"
	"encoding/json"
	"fmt"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/output/archive"
	"crawlnode/web/wall"
)

// info is what an archive file that is begun now says of the crawl. No From header is
// sent, so the contact is recorded as the operator only.
func (o *Outputs) info() archive.Info {
	s := *o.o.Settings()
	// Archives are given to others, and rules for sites name hosts and proxies of private networks.
	s.Sites, s.Proxies = config.SitesName(s.Sites), nil
	text, err := json.Marshal(&s)
	if err != nil {
		panic("BUG: settings cannot be written as JSON: " + err.Error())
	}
	i := archive.Info{
		Operator:  s.Contact,
		Robots:    "classic",
		UserAgent: s.UserAgent,
		Settings:  string(text),
	}
	if s.RobotsIgnore { // inside allow_net only, as the settings say
		i.Robots = "ignore"
	}
	return i
}

// Failed archives why a visit's URL, or its whole host, is given up, when c does that. It
// is called before the completion, as captures are archived before it.
func (o *Outputs) Failed(ctx context.Context, v crawl.Visit, c *frontier.Completion) error {
	if !o.o.Settings().Archive {
		return nil
	}
	out := &c.Outcome
	f := crawl.Failure{
		URL:      v.Item.URL,
		At:       out.FetchedAt,
		Addr:     v.Addr,
		Error:    out.Category.String(),
		Status:   out.Status,
		Reason:   out.Reason,
		Attempts: v.Item.Attempts + 1,
		Took:     out.Took,
	}
	switch out.Kind {
	case crawl.URLFailed, crawl.RateLimited:
		if !c.RetryAt.IsZero() {
			return nil
		}
		switch {
		case out.Wall != wall.None:
			f.Error = crawl.FailureBlocked
		case out.Kind == crawl.RateLimited:
			f.Error = crawl.FailureRateLimited
		}
	case crawl.Blocked:
	case crawl.HostFailed:
		failures, last := o.o.LastTry(v)
		if !last {
			return nil
		}
		f.Host, f.Attempts = true, failures // the URL does not count its host's failures
	default:
		return nil
	}
	if err := o.archive.PutFailure(ctx, f); err != nil {
		return fmt.Errorf("archive why %s was given up: %w", v.Item.URL, err)
	}
	return nil
}
