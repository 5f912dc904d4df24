package links

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/ticks"
	"crawlnode/web/wall"
)

// ackWait is how long, and at most a tenth longer, a finished page waits for the owners of its
// foreign links; then they go into the outbox with the page's own transaction.
const ackWait = 500 * time.Millisecond

// Completer completes visits. It is the pipeline's Sink; any goroutine may call its methods.
type Completer struct {
	router  *Router
	outbox  *Sender
	visits  Visits
	results Results
	found   sync.Pool // of *foundLinks: memory for the links of a page
	limits  *ticks.Deadlines
}

// foundLinks are the links of a page, by where they go. Pages of a cluster have some of each, and a
// link has two hundred bytes, so the memory is used again.
type foundLinks struct {
	all    []crawl.Routed // then those of the page's own partition, in its front
	beside []crawl.Routed // of other partitions that are held here
	away   []crawl.Routed // of other nodes
}

// maxRouted bounds the links whose memory is kept.
const maxRouted = 256

// NewCompleter makes a Completer. It wakes the sender when a page has links that no node has
// acknowledged.
func NewCompleter(r *Router, s *Sender, v Visits, results Results) *Completer {
	return &Completer{
		router:  r,
		outbox:  s,
		visits:  v,
		results: results,
		limits:  ticks.NewDeadlines(ackWait),
	}
}

// Complete ends a visit: links to other nodes go to their owners, then one transaction marks the
// page as done with all its links (invariant I3). The host was released before.
func (k *Completer) Complete(ctx context.Context, v crawl.Visit, o crawl.Outcome) error {
	opts := &k.router.opts
	defer k.visits.Completed(v)
	if v.Item.Via.Errand() {
		if v.Item.Via == crawl.ViaGuest && o.Kind == crawl.RobotsFetched && len(o.Targets) > 0 {
			k.addSitemaps(ctx, &o)
		}
		k.visits.ErrandCompleted(v, &o)
		return nil
	}
	stored := false
	defer func() { k.results.Payloads.Completed(v.Item.URL, &o, stored) }()
	if o.Kind == crawl.Aborted && o.Category != crawl.ErrProxy { // which is counted in the store
		return nil
	}
	if o.ScopeAlias != "" {
		if err := opts.Scope.AddWhenRoom(ctx, o.ScopeAlias); err != nil {
			return err
		}
	}
	c := frontier.Completion{
		Lease:    v.Lease,
		Outcome:  o,
		RetryAt:  k.visits.RetryAt(v, o.Kind),
		Contents: k.results.Payloads.FirstHere(&v, &o),
	}
	switch o.Kind {
	case crawl.HostFailed:
		k.visits.Unreachable(v, crawl.HostFailure{Category: o.Category.String(), Reason: o.Reason})
	case crawl.RateLimited:
		why := crawl.HostFailure{Category: crawl.FailureRateLimited, Reason: o.Reason}
		if o.Wall != wall.None {
			why.Category = crawl.FailureBlocked
		}
		k.visits.Unreachable(v, why)
	}
	k.results.Outcomes.Observe(&o)
	k.logVisit(ctx, v, &o)
	err := k.results.Failures.Failed(ctx, v, &c)
	if err != nil {
		return err // the item stays queued: it has not failed without its record
	}
	buf, _ := k.found.Get().(*foundLinks)
	if buf == nil {
		buf = &foundLinks{}
	}
	links := k.router.appendRouted(slices.Grow(buf.all[:0], len(o.Targets)), o.Targets)
	if buf.all = links; cap(links) <= maxRouted {
		defer k.found.Put(buf) // neither the store nor a peer keeps links
	}
	if opts.Cites != nil {
		c.Cites = opts.Cites(&v, &o, links)
	}
	c.Own, c.Outbox = k.shareOut(ctx, v, buf)
	c.Outbox = append(c.Outbox, k.router.Route(o.Unjudged)...)
	if opts.Weigh != nil && o.Kind == crawl.Fetched {
		if c.Weight, err = opts.Weigh(v.Partition, v.Item.URL); err != nil {
			return err
		}
	}
	// As late as possible: another visit of the host may have ended meanwhile.
	if c.Host = k.visits.HostState(v); v.Late {
		c.Host = crawl.HostState{Requests: -1} // the host had no turn: its state stays as it is
	}
	err = opts.Store.Complete(ctx, c)
	stored = err == nil
	if errors.Is(err, frontier.ErrStaleLease) {
		opts.Log.Info("the result of a visit is dropped: its URL has left the queue, as a deleted one does",
			"host", v.Host, "partition", v.Partition, "epoch", v.Epoch, "error", err)
		return nil
	}
	if errors.Is(err, frontier.ErrNotHolder) {
		// The freeze of a hand-over waits until every visit is completed, so this cannot happen
		// while the rules of ownership hold.
		opts.Log.Error(
			"page completed under an expired lease; the current holder of its host will fetch it again",
			"host", v.Host, "partition", v.Partition, "epoch", v.Epoch, "error", err)
		return nil
	}
	if err == nil && len(c.Outbox) > 0 {
		k.outbox.Wake()
	}
	return err
}

// addSitemaps adds the sitemaps that a robots.txt names which was fetched for another crawl: the
// cluster's own crawl does not fetch it again. What cannot be stored now is left out, as if the
// file had not named it.
func (k *Completer) addSitemaps(ctx context.Context, o *crawl.Outcome) {
	if _, err := k.router.submitAll(ctx, k.router.Route(o.Targets)); err != nil {
		k.router.opts.Log.Debug("sitemaps of a robots.txt are left out", "error", err)
	}
}

// logVisit logs the result of a visit, at level debug.
func (k *Completer) logVisit(ctx context.Context, v crawl.Visit, o *crawl.Outcome) {
	log := k.router.opts.Log
	if !log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	attrs := []any{"url", v.Item.URL.String(), "kind", o.Kind.String(), "took", o.Took}
	if o.Status != 0 {
		attrs = append(attrs, "status", o.Status, "bytes", o.Bytes, "truncated", o.Truncated, "links",
			len(o.Targets))
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
	log.Debug("visit completed", attrs...)
}

// shareOut splits a page's links into those that go into its transaction and those that no node has
// acknowledged. It writes over the page's links.
func (k *Completer) shareOut(
	ctx context.Context,
	v crawl.Visit,
	buf *foundLinks,
) (own, unacked []crawl.Routed) {
	r := k.router
	// A node without replicas copies nothing. If that changes before the page is written, the
	// frontier notices and uses the outbox.
	copied := r.opts.Holdings.Replicated()
	own = k.divide(buf, copied, v.Partition)
	r.local.Add(int64(len(own) + len(buf.beside)))
	if len(buf.beside)+len(buf.away) == 0 {
		return own, nil
	}
	ctx, cancel := k.limits.Begin(ctx)
	defer cancel()
	return own, append(k.storeAside(ctx, buf.beside), r.forward(ctx, buf.away).Left...)
}

// divide sorts the links of a page of partition p. It returns those for the page's transaction: of
// p, and without copies those of all partitions that are held here. Links that their holders have
// acknowledged recently are left out.
func (k *Completer) divide(buf *foundLinks, copied bool, p crawl.Partition) (own []crawl.Routed) {
	r := k.router
	own, buf.beside, buf.away = buf.all[:0], buf.beside[:0], buf.away[:0]
	for i := range buf.all {
		l := &buf.all[i]
		switch {
		case !r.opts.Holdings.Holds(l.Partition):
			if !l.Target.Again && l.Target.Claimed.IsZero() && r.sent.Has(sentKey(&l.Target)) {
				r.suppressed.Add(1)
				continue
			}
			buf.away = append(buf.away, *l)
		case copied && l.Partition != p:
			buf.beside = append(buf.beside, *l)
		default:
			own = append(own, *l) // no link that was not read yet is written over
		}
	}
	return own
}

// storeAside stores the links to this node's other partitions. Those have other replicas than the
// page. If the links were only in the page's transaction, the page could be copied to its replica
// as done, and this node could fail before the replicas of the links have them (invariant I3).
// Links that are not acknowledged go into the page's outbox.
func (k *Completer) storeAside(
	ctx context.Context,
	others []crawl.Routed,
) (unacked []crawl.Routed) {
	if len(others) == 0 {
		return nil
	}
	s, err := k.router.storeOwn(ctx, others)
	if err != nil {
		// the store has failed, or the time is up: Complete will return the error
		return slices.Clip(others)
	}
	return slices.Clip(s.Left)
}
