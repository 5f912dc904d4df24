package node

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
)

// ackWait is how long a finished page waits for the owners of its foreign
// links; then they go into the outbox with the page's own transaction.
const ackWait = 500 * time.Millisecond

// Settle ends a visit: foreign links go to their owners, then one transaction
// makes the page done with all its links (invariant I3). It is the pipeline's
// Sink; the host was released before.
func (n *Node) Settle(ctx context.Context, v crawl.Visit, o crawl.Outcome) error {
	eng := n.engine.Load()
	defer eng.dispatcher.Settled(v)
	if v.Item.Via == crawl.ViaRobots {
		n.errandSettled(v, &o)
		return nil
	}
	defer n.contents.Completed(v.Item.URL, &o)
	if o.Kind == crawl.Aborted {
		return nil
	}
	if o.ScopeAlias != "" {
		if err := n.joinScopeInTime(ctx, o.ScopeAlias); err != nil {
			return err
		}
	}
	c := frontier.Completion{Lease: v.Lease, Outcome: o, RetryAt: eng.dispatcher.RetryAt(v, o.Kind), Contents: n.contents.FirstHere(&v, &o)}
	if o.Kind == crawl.HostFailed {
		eng.dispatcher.Unreachable(v, o.Reason)
	}
	n.fetched.observe(&o)
	n.logVisit(ctx, v, &o)
	if err := n.archiveFailure(ctx, v, &c); err != nil {
		return err // the item stays queued: it has not failed without its record
	}
	c.Own, c.Outbox = n.shareOut(ctx, v, o.Targets)
	c.Outbox = append(c.Outbox, n.routed(o.Unjudged)...)
	// As late as can be: another visit of the host may have ended meanwhile.
	c.Host = eng.dispatcher.HostState(v)
	err := n.front.Complete(ctx, c)
	if errors.Is(err, frontier.ErrNotHolder) || errors.Is(err, frontier.ErrStaleLease) {
		// The freeze of a hand-over waits for every visit to be settled, so this
		// cannot happen while the rules of ownership hold.
		n.log.Error("a page was finished under a lease that counts no more; whoever holds its host fetches it again",
			"host", v.Host, "partition", v.Partition, "epoch", v.Epoch, "error", err)
		return nil
	}
	if err == nil && len(c.Outbox) > 0 {
		n.outbox.wake()
	}
	return err
}

// logVisit tells those who want to know everything what became of a visit.
func (n *Node) logVisit(ctx context.Context, v crawl.Visit, o *crawl.Outcome) {
	if !n.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []any{"url", v.Item.URL.String(), "kind", o.Kind.String(), "took", o.Took}
	if o.Status != 0 {
		attrs = append(attrs, "status", o.Status, "bytes", o.Bytes, "truncated", o.Truncated, "links", len(o.Targets))
	}
	switch o.Kind {
	case crawl.URLFailed, crawl.HostFailed, crawl.Blocked:
		attrs = append(attrs, "category", o.Category.String())
	case crawl.Refused:
		attrs = append(attrs, "skip", o.Skip.String())
	}
	if o.Reason != "" {
		attrs = append(attrs, "reason", o.Reason)
	}
	n.log.Debug("a visit ended", attrs...)
}

// shareOut parts a page's links into those that go into its transaction and
// those that nobody has acknowledged.
func (n *Node) shareOut(ctx context.Context, v crawl.Visit, targets []crawl.Target) (own, unacked []crawl.Routed) {
	own, foreign := n.split(n.routed(targets))
	n.links.local.Add(int64(len(own)))
	fresh := foreign[:0]
	for _, l := range foreign {
		if !l.Target.Again && n.sent.Has(l.Target.URL.String()) {
			n.links.suppressed.Add(1)
			continue
		}
		fresh = append(fresh, l)
	}
	// A node that is alone copies nothing; should that change before the page is
	// written, the frontier sees it and uses the outbox.
	copied := n.engine.Load().replication > 1 && !n.alone()
	if !copied && len(fresh) == 0 {
		return own, nil
	}
	ctx, cancel := context.WithTimeout(ctx, ackWait)
	defer cancel()
	var aside []crawl.Routed
	if copied {
		own, aside = n.storeAside(ctx, v, own)
	}
	return own, append(aside, n.forward(ctx, fresh).left...)
}

// storeAside stores the links to this node's other partitions. They have other
// replicas than the page: were they only in its transaction, the page could be
// copied as done to its replica, and this node die, before theirs have the links
// (invariant I3). What they have not acknowledged goes into the page's outbox.
func (n *Node) storeAside(ctx context.Context, v crawl.Visit, own []crawl.Routed) (same, unacked []crawl.Routed) {
	var others []crawl.Routed
	for _, l := range own {
		if l.Partition == v.Partition {
			same = append(same, l)
		} else {
			others = append(others, l)
		}
	}
	if len(others) == 0 {
		return same, nil
	}
	s, err := n.storeOwn(ctx, others)
	if err != nil {
		return same, others // the store has failed, or the time is up: Complete will tell
	}
	return same, s.left
}
