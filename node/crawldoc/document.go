package crawldoc

import (
	"fmt"
	"slices"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
)

// Document is what all nodes must agree on about the crawl. A node that changes
// it raises Version and sends it to every member; the greater (Version, By)
// wins everywhere, so that two changes at once end in one of them on all nodes.
type Document struct {
	Version  uint64         `json:"version"`
	By       crawl.NodeID   `json:"by"`
	Settings crawl.Settings `json:"settings"`
	State    string         `json:"state"` // crawl.CrawlIdle...
	Reason   string         `json:"finish_reason,omitempty"`
	// Started is when the first seed came; RanFor adds up the finished runs.
	Started *time.Time    `json:"started_at,omitempty"`
	RanFor  time.Duration `json:"ran_for"`
	// Ended is when the crawl ended the last time, for people; nil while it has not.
	Ended *time.Time `json:"ended_at,omitempty"`
	// RunSince begins the current run, as a time of this process (doctime.go); nil while
	// none runs. guessed: this process began later, and the time of day told of it.
	RunSince *time.Time `json:"run_since,omitempty"`
	guessed  bool
	// Rejudge says that the scope was changed after the first URLs were admitted.
	Rejudge bool `json:"rejudge,omitempty"`
	// Revoked are the tokens that were ended before their time.
	Revoked Revocations `json:"revoked,omitempty"`
}

// NewerThan orders documents the same way on every node.
func (d *Document) NewerThan(o *Document) bool {
	if d.Version != o.Version {
		return d.Version > o.Version
	}
	return d.By > o.By
}

// RunningFor is how long the crawl has run in all.
func (d *Document) RunningFor(now time.Time) time.Duration {
	if d.RunSince == nil {
		return d.RanFor
	}
	return d.RanFor + max(now.Sub(*d.RunSince), 0)
}

// Enter returns a copy of d in another state, one version on.
func (d *Document) Enter(state, reason string, by crawl.NodeID, now time.Time) *Document {
	c := *d
	c.Version++
	c.By, c.State, c.Reason, c.Ended = by, state, reason, nil
	if state == crawl.CrawlFinished {
		c.Ended = &now
	}
	if state == crawl.CrawlRunning {
		if c.Started == nil {
			c.Started = &now
		}
		if c.RunSince == nil {
			c.RunSince, c.guessed = &now, false
		}
		return &c
	}
	c.RanFor, c.RunSince = d.RunningFor(now), nil
	return &c
}

// Report shows a document to people.
func (d *Document) Report() crawl.CrawlReport {
	r := crawl.CrawlReport{State: d.State, Version: d.Name(), Settings: config.Report(&d.Settings), Untold: []string{}}
	if d.State == crawl.CrawlFinished {
		r.FinishReason = &d.Reason
	}
	return r
}

// Name names the document among all that there ever were.
func (d *Document) Name() string { return fmt.Sprintf("%d-%s", d.Version, d.By) }

// With returns the document with other settings, one version on. A crawl that has
// ended because of a limit goes on when the limit allows more now.
func (d *Document) With(s crawl.Settings, by crawl.NodeID, now time.Time) *Document {
	c := *d
	c.Version++
	c.By, c.Settings = by, s
	c.Rejudge = d.Rejudge || !sameScope(&d.Settings, &s)
	if d.State == crawl.CrawlFinished && lifted(d, &s) {
		return c.Enter(crawl.CrawlRunning, "", by, now)
	}
	return &c
}

// sameScope reports whether both settings admit the same URLs.
func sameScope(a, b *crawl.Settings) bool {
	return a.Scope == b.Scope && a.MaxDepth == b.MaxDepth && slices.Equal(a.Include, b.Include) && slices.Equal(a.Exclude, b.Exclude)
}

// lifted reports whether the limit that ended the crawl allows more by s.
func lifted(d *Document, s *crawl.Settings) bool {
	switch d.Reason {
	case crawl.FinishMaxPages:
		return s.MaxPages == 0 || s.MaxPages > d.Settings.MaxPages
	case crawl.FinishMaxDuration:
		return s.MaxDuration == 0 || s.MaxDuration > d.RanFor
	}
	return false
}
