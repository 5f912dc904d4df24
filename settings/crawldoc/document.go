package crawldoc

import (
	"fmt"
	"slices"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
)

// Document is the part of the crawl on which all nodes must agree. A node that changes it raises
// Version and sends it to every member. The greater (Version, By) wins everywhere, so that of two
// changes at the same time one wins on all nodes.
type Document struct {
	Version  uint64         `json:"version"`
	By       crawl.NodeID   `json:"by"`
	Settings crawl.Settings `json:"settings"`
	State    string         `json:"state"` // crawl.CrawlIdle...
	Reason   string         `json:"finish_reason,omitempty"`
	// Started is the time of the first seed; RanFor is the sum of the finished runs.
	Started *time.Time    `json:"started_at,omitempty"`
	RanFor  time.Duration `json:"ran_for"`
	// Ended is the last end of the crawl, for people; nil while it has not ended.
	Ended *time.Time `json:"ended_at,omitempty"`
	// RunSince is the start of the current run, as a time of this process (time.go); nil while
	// the crawl does not run. guessed: this process started later, and computed it from the
	// time of day.
	RunSince *time.Time `json:"run_since,omitempty"`
	guessed  bool
	// Rejudge says that the scope was changed after the first URLs were admitted.
	Rejudge bool `json:"rejudge,omitempty"`
	// Revoked are the tokens that were revoked.
	Revoked Revocations `json:"revoked,omitempty"`
}

// NewerThan orders documents the same way on every node.
func (d *Document) NewerThan(o *Document) bool {
	if d.Version != o.Version {
		return d.Version > o.Version
	}
	return d.By > o.By
}

// RunningFor is the total running time of the crawl.
func (d *Document) RunningFor(now time.Time) time.Duration {
	if d.RunSince == nil {
		return d.RanFor
	}
	return d.RanFor + max(now.Sub(*d.RunSince), 0)
}

// Enter returns a copy of d in another state, with the next version.
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

// Report formats a document for people.
func (d *Document) Report() crawl.CrawlReport {
	r := crawl.CrawlReport{
		State:    d.State,
		Version:  d.Name(),
		Settings: config.Report(&d.Settings),
		Untold:   []string{},
	}
	if d.State == crawl.CrawlFinished {
		r.FinishReason = &d.Reason
	}
	return r
}

// Name identifies the document among all versions.
func (d *Document) Name() string { return fmt.Sprintf("%d-%s", d.Version, d.By) }

// With returns the document with other settings and the next version. A crawl that ended because of
// a limit continues when the new limit allows more.
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

// sameScope reports whether both settings admit the same URLs. Other rules for sites may not, when
// either has a field of the scope.
func sameScope(a, b *crawl.Settings) bool {
	if a.Sites != b.Sites {
		for _, s := range []*crawl.Settings{a, b} {
			if table, err := CompileSites(s); err != nil || table.Scopes() {
				return false
			}
		}
	}
	return a.Scope == b.Scope && a.MaxDepth == b.MaxDepth && slices.Equal(a.Include, b.Include) &&
		slices.Equal(a.Exclude, b.Exclude)
}

// lifted reports whether s raises the limit that ended the crawl, or has known pages visited again
// when it ended because nothing was left.
func lifted(d *Document, s *crawl.Settings) bool {
	switch d.Reason {
	case crawl.FinishMaxPages:
		return s.MaxPages == 0 || s.MaxPages > d.Settings.MaxPages
	case crawl.FinishMaxDuration:
		return s.MaxDuration == 0 || s.MaxDuration > d.RanFor
	case crawl.FinishExhausted:
		return s.Revisits() && !d.Settings.Revisits()
	}
	return false
}
