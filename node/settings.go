package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
)

// CrawlConfig shows the crawl's settings, as this node goes by them.
func (n *Node) CrawlConfig(context.Context) (crawl.CrawlReport, error) {
	return n.doc.Current().doc.report(), nil
}

// report shows a document to people.
func (d *document) report() crawl.CrawlReport {
	r := crawl.CrawlReport{State: d.State, Version: d.name(), Settings: config.Report(&d.Settings), Untold: []string{}}
	if d.State == crawl.CrawlFinished {
		r.FinishReason = &d.Reason
	}
	return r
}

// name names the document among all that there ever were.
func (d *document) name() string { return fmt.Sprintf("%d-%s", d.Version, d.By) }

// ChangeCrawl changes the named settings: here, durably, and on every member that
// answers within controlPatience. Two changes at once both hold, the later one where
// they name the same setting; of two that were made for the same version one is
// refused, unless Untold names the other one's node. The errors:
// *crawl.FieldErrors, crawl.ErrChanged, crawl.ErrForbidden, ErrNotReady, or one of the disk.
func (n *Node) ChangeCrawl(ctx context.Context, change crawl.CrawlChange) (crawl.CrawlReport, error) {
	if !n.synced.Load() {
		return crawl.CrawlReport{}, ErrNotReady
	}
	ctx, cancel := context.WithTimeout(ctx, controlPatience)
	defer cancel()
	for first := true; ; first = false {
		made, err := n.applyChange(ctx, change, first)
		if err != nil {
			return crawl.CrawlReport{}, err
		}
		if made != nil {
			n.log.Info("an operator changed the crawl's settings", "version", made.Version, "state", made.State)
			n.documentChanged()
		}
		left := n.spread.tell(ctx)
		now := n.doc.Current().doc
		if made != nil && now != made {
			// Somebody else's change won. This one is made on top of it, or refused, also
			// when no time is left to tell it: renewals spread it.
			continue
		}
		report := now.report()
		for _, m := range left {
			report.Untold = append(report.Untold, m.Name)
		}
		return report, nil
	}
}

// applyChange makes a document with the change, and stores it; nil when it is so
// already. A change for a version is refused when that is not the newest, and, after
// the first time, when another has won that does not hold it: of two changes for one
// version one is made.
func (n *Node) applyChange(ctx context.Context, change crawl.CrawlChange, first bool) (*document, error) {
	var refused error
	doc, err := n.doc.Change(func(d *document) *document {
		var stale error
		if change.Version != "" && change.Version != d.name() {
			stale = fmt.Errorf("%w: the version is %s, not %s: read them again", crawl.ErrChanged, d.name(), change.Version)
		}
		if first && stale != nil {
			refused = stale
			return nil
		}
		s, err := config.Change(&d.Settings, change.Settings, n.version)
		if err != nil {
			refused = err
			return nil
		}
		if refused = n.mayMean(crawl.AskerOf(ctx), &d.Settings, &s); refused != nil {
			return nil
		}
		if len(differing(&d.Settings, &s)) == 0 {
			return nil // also when what has won was made on top of this change
		}
		if stale != nil { // another change was made for the same version, and has won
			refused = stale
			return nil
		}
		return d.with(s, n.id, time.Now())
	})
	if refused != nil {
		return nil, refused
	}
	return doc, err
}

// mayMean refuses what a token alone must not open, unless this node was started so
// that it may: whoever holds one could otherwise read a private network through the
// crawler.
func (n *Node) mayMean(asker crawl.Asker, before, after *crawl.Settings) error {
	unsafe := config.Unsafe(before, after)
	if len(unsafe) == 0 || !asker.Remote || n.cfg.AllowRemoteUnsafe {
		return nil
	}
	return fmt.Errorf("%w: widening allow-net, ignoring robots.txt and another user agent are refused over the network: %s; "+
		"ask a node that was started with --allow-remote-unsafe", crawl.ErrForbidden, strings.Join(unsafe, ", "))
}

// with returns the document with other settings, one version on. A crawl that has
// ended because of a limit goes on when the limit allows more now.
func (d *document) with(s crawl.Settings, by crawl.NodeID, now time.Time) *document {
	c := *d
	c.Version++
	c.By, c.Settings = by, s
	c.Rejudge = d.Rejudge || !sameScope(&d.Settings, &s)
	if d.State == crawl.CrawlFinished && lifted(d, &s) {
		return c.enter(crawl.CrawlRunning, "", by, now)
	}
	return &c
}

// sameScope reports whether both settings admit the same URLs.
func sameScope(a, b *crawl.Settings) bool {
	return a.Scope == b.Scope && a.MaxDepth == b.MaxDepth && slices.Equal(a.Include, b.Include) && slices.Equal(a.Exclude, b.Exclude)
}

// lifted reports whether the limit that ended the crawl allows more by s.
func lifted(d *document, s *crawl.Settings) bool {
	switch d.Reason {
	case crawl.FinishMaxPages:
		return s.MaxPages == 0 || s.MaxPages > d.Settings.MaxPages
	case crawl.FinishMaxDuration:
		return s.MaxDuration == 0 || s.MaxDuration > d.RanFor
	}
	return false
}

// followLimit takes a changed --max-pages in. One that is set or lowered makes
// all permits void that nobody uses yet; one that is raised or dropped lets those
// go on who have waited for one.
func (n *Node) followLimit(d *document) {
	limit := d.Settings.MaxPages
	before := n.pageLimit.Swap(limit)
	if limit == before {
		return
	}
	if limit != 0 && (before == 0 || limit < before) {
		n.purse.lapse()
		n.granter.follow(d.Version)
	}
	signal(n.purse.look)
	if e := n.engine.Load(); e != nil {
		e.dispatcher.PermitsAgain()
	}
}

// settingNames are the names of settings for people where those in a document are
// others.
var settingNames = map[string]string{"robots_ignore": "robots", "tls_record": "tls_verify", "archive": "store"}

// changedSettings names the settings in which two differ as people know them.
func changedSettings(a, b *crawl.Settings) []string {
	names := differing(a, b)
	for i, name := range names {
		if other, ok := settingNames[name]; ok {
			names[i] = other
		}
	}
	slices.Sort(names)
	return names
}
