package node

import (
	"context"
	"fmt"
	"strings"
	"time"

	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/node/crawldoc"
)

// CrawlConfig shows the crawl's settings, as this node goes by them.
func (n *Node) CrawlConfig(context.Context) (crawl.CrawlReport, error) {
	return n.doc.Current().Doc.Report(), nil
}

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
		now := n.doc.Current().Doc
		if made != nil && now != made {
			// Somebody else's change won. This one is made on top of it, or refused, also
			// when no time is left to tell it: renewals spread it.
			continue
		}
		report := now.Report()
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
func (n *Node) applyChange(ctx context.Context, change crawl.CrawlChange, first bool) (*crawldoc.Document, error) {
	var refused error
	doc, err := n.doc.Change(func(d *crawldoc.Document) *crawldoc.Document {
		var stale error
		if change.Version != "" && change.Version != d.Name() {
			stale = fmt.Errorf("%w: the version is %s, not %s: read them again", crawl.ErrChanged, d.Name(), change.Version)
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
		if len(crawldoc.Differing(&d.Settings, &s)) == 0 {
			return nil // also when what has won was made on top of this change
		}
		if stale != nil { // another change was made for the same version, and has won
			refused = stale
			return nil
		}
		return d.With(s, n.id, time.Now())
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

// checkContact refuses seeds while nothing at all could be fetched.
func (n *Node) checkContact() error {
	s := &n.doc.Current().Doc.Settings
	if s.Contact == "" && len(s.AllowNet) == 0 {
		return usageError(fmt.Errorf("%w: a contact is required before anything is fetched: start the founding node with --contact MAIL|URL, or with --allow-net for a private network", crawl.ErrRefused))
	}
	return nil
}
