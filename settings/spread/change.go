package spread

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/settings/crawldoc"
)

// orderPatience is how long an order waits for members that do not answer; renewals
// bring the document to them later.
const orderPatience = 3 * time.Second

// ChangeSettings changes the named settings: here, durably, and on every member that
// answers within orderPatience. Of two changes at once both hold, or the later one where
// they name the same setting; of two that were made for the same version one is
// refused, unless Untold names the other one's node. The errors:
// *crawl.FieldErrors, crawl.ErrChanged, crawl.ErrForbidden, that of Options.Ready, or one of the
// disk.
func (s *Spreader) ChangeSettings(
	ctx context.Context,
	change crawl.CrawlChange,
) (crawl.CrawlReport, error) {
	if err := s.o.Cluster.Ready(); err != nil {
		return crawl.CrawlReport{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, orderPatience)
	defer cancel()
	for first := true; ; first = false {
		made, err := s.applyChange(ctx, change, first)
		if err != nil {
			return crawl.CrawlReport{}, err
		}
		if made != nil {
			s.o.Logger.Info("an operator changed the crawl's settings", "version", made.Version, "state",
				made.State)
			s.o.Cluster.Changed()
		}
		left := s.awaitAll(ctx)
		now := s.o.document()
		if made != nil && now != made {
			// Another change won. This one is made on top of it, or refused, also
			// when no time is left to send it: renewals spread it.
			continue
		}
		report := now.Report()
		report.Untold = append(report.Untold, left...)
		return report, nil
	}
}

// applyChange makes a document with the change, and stores it; nil when nothing is left to
// change. A change for a version is refused when that is not the newest, and, after
// the first time, when another change has won that does not hold it: of two changes for one
// version one is made.
func (s *Spreader) applyChange(
	ctx context.Context,
	change crawl.CrawlChange,
	first bool,
) (*crawldoc.Document, error) {
	var refused error
	doc, err := s.o.Document.Change(func(d *crawldoc.Document) *crawldoc.Document {
		var stale error
		if change.Version != "" && change.Version != d.Name() {
			stale = fmt.Errorf("%w: the version is %s, not %s: read them again", crawl.ErrChanged, d.Name(),
				change.Version)
		}
		if first && stale != nil {
			refused = stale
			return nil
		}
		if first {
			if refused = sameState(d, &change); refused != nil {
				return nil
			}
		}
		next, err := config.Change(&d.Settings, change.Settings, s.o.Version)
		if err != nil {
			refused = err
			return nil
		}
		if refused = mayWiden(crawl.CallerOf(ctx), &d.Settings, &next, s.o.AllowRemoteUnsafe); refused !=
			nil {
			return nil
		}
		if len(crawldoc.Differing(&d.Settings, &next)) == 0 {
			return nil // also when what has won was made on top of this change
		}
		if stale != nil { // another change was made for the same version, and has won
			refused = stale
			return nil
		}
		return d.With(next, s.o.Self, time.Now())
	})
	if refused != nil {
		return nil, refused
	}
	return doc, err
}

// sameState refuses a change that says another state than the crawl's: it has been edited, since a
// report of this version says this state, and a change of settings is no order to pause or stop.
func sameState(d *crawldoc.Document, change *crawl.CrawlChange) error {
	now, wrong := d.Report(), &crawl.FieldErrors{}
	said := change.State
	if said == crawl.CrawlWaiting { // what reports call running while nothing is due
		said = crawl.CrawlRunning
	}
	if said != "" && said != now.State {
		wrong.Fields = append(wrong.Fields, crawl.FieldError{Field: "state",
			Detail: fmt.Sprintf(
				"is %s and no setting: leave it out, and use POST /api/v1/crawl/pause, resume or stop",
				now.State)})
	}
	if r := change.FinishReason; r != nil && (now.FinishReason == nil || *now.FinishReason != *r) {
		wrong.Fields = append(wrong.Fields, crawl.FieldError{
			Field:  "finish_reason",
			Detail: "is no setting, and not what ended the crawl: leave it out",
		})
	}
	if len(wrong.Fields) > 0 {
		return wrong
	}
	return nil
}

// mayWiden refuses what a token alone must not open, unless allowed is set: otherwise
// anyone with a token could read a private network through the crawler.
func mayWiden(asker crawl.Caller, before, after *crawl.Settings, allowed bool) error {
	unsafe := config.Unsafe(before, after)
	if len(unsafe) == 0 || !asker.Remote || allowed {
		return nil
	}
	return fmt.Errorf(
		"%w: widening allow-net, ignoring robots.txt, another user agent, proxies and secrets for sites "+
			"are refused over the network: %s; ask a node that was started with "+
			"--allow-remote-unsafe", crawl.ErrForbidden, strings.Join(unsafe, ", "))
}

// Control pauses, resumes or stops the crawl: here, durably, and on every
// member that answers within orderPatience.
func (s *Spreader) Control(ctx context.Context, action string) (crawl.ActionReport, error) {
	if err := s.o.Cluster.Ready(); err != nil {
		return crawl.ActionReport{}, err
	}
	var refused error
	doc, err := s.o.Document.Change(func(d *crawldoc.Document) *crawldoc.Document {
		var next *crawldoc.Document
		next, refused = d.Act(action, s.o.Self, time.Now())
		return next
	})
	if err = errors.Join(refused, err); err != nil {
		return crawl.ActionReport{}, err
	}
	report := crawl.ActionReport{State: s.o.document().State, Untold: []string{}}
	if doc == nil { // it is so already
		return report, nil
	}
	s.o.Logger.Info("an operator changed the crawl", "action", action, "state", doc.State)
	s.o.Cluster.Changed()
	report.Untold = append(report.Untold, s.untold(ctx)...)
	return report, nil
}

// Revoke ends a token: here, durably, and on every member that answers within
// orderPatience.
func (s *Spreader) Revoke(ctx context.Context, token string) (crawl.RevokeReport, error) {
	report := crawl.RevokeReport{ID: token, Untold: []string{}}
	if err := s.o.Cluster.Ready(); err != nil {
		return report, err
	}
	full := false
	doc, err := s.o.Document.Change(func(d *crawldoc.Document) *crawldoc.Document {
		next := d.Revoke(token, s.o.Self, time.Now())
		if full = next != nil && len(next.Revoked) > crawldoc.MaxRevoked; full {
			return nil
		}
		return next
	})
	if err != nil {
		return report, err
	}
	if full {
		return report, fmt.Errorf("%w: %d tokens are revoked already: a new key ends them all: "+
			"crawlnode nodes rotate-key (see its --help)", crawl.ErrRefused, crawldoc.MaxRevoked)
	}
	if doc != nil {
		s.o.Logger.Info("a token was revoked", "token", token)
		s.o.Cluster.Changed()
	}
	report.Untold = append(report.Untold, s.untold(ctx)...)
	return report, nil
}

// untold waits, no longer than orderPatience, until every member has the document, and
// names those that do not.
func (s *Spreader) untold(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, orderPatience)
	defer cancel()
	return s.awaitAll(ctx)
}

// Start takes into the document, here, that seeds were added: an idle or finished crawl runs. Run
// sends that to the members.
func (s *Spreader) Start() (changed bool, err error) {
	doc, err := s.o.Document.Change(func(d *crawldoc.Document) *crawldoc.Document {
		return d.Seeded(s.o.Self, time.Now())
	})
	if err != nil || doc == nil {
		return false, err
	}
	if doc.State == crawl.CrawlPaused {
		s.o.Logger.Info("seeds were added; the crawl is paused")
	} else {
		s.o.Logger.Info("the crawl runs")
	}
	s.o.Cluster.Changed()
	return true, nil
}

// StartEverywhere is Start, and waits until more than half of the members have the document.
func (s *Spreader) StartEverywhere(ctx context.Context) error {
	changed, err := s.Start()
	if err != nil || !changed {
		return err
	}
	return s.AwaitMajority(ctx)
}
