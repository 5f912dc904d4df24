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
)

// ackWait is how long a finished page waits for the owners of its foreign
// links; then they go into the outbox with the page's own transaction.
const ackWait = 500 * time.Millisecond

// Completer completes visits. It is the pipeline's Sink; any goroutine may call its methods.
type Completer struct {
	router  *Router
	outbox  *Sender
	visits  Visits
	results Results
	routed  sync.Pool // of *[]crawl.Routed: memory for the links of a page
}

// maxRouted bounds the links whose memory is kept.
const maxRouted = 256

// NewCompleter makes a Completer. It wakes the sender when a page has links that no node has acknowledged.
func NewCompleter(r *Router, s *Sender, v Visits, results Results) *Completer {
	return &Completer{router: r, outbox: s, visits: v, results: results}
}

// Complete ends a visit: links to other nodes go to their owners, then one transaction marks the
// page as done with all its links (invariant I3). The host was released before.
func (k *Completer) Complete(ctx context.Context, v crawl.Visit, o crawl.Outcome) error {
	opts := &k.router.opts
	defer k.visits.Completed(v)
	if v.Item.Via.Errand() {
		k.visits.ErrandCompleted(v, &o)
		return nil
	}
	defer k.results.Payloads.Completed(v.Item.URL, &o)
	if o.Kind == crawl.Aborted {
		return nil
	}
	if o.ScopeAlias != "" {
		if err := opts.Scope.AddWhenRoom(ctx, o.ScopeAlias); err != nil {
			return err
		}
	}
	c := frontier.Completion{Lease: v.Lease, Outcome: o, RetryAt: k.visits.RetryAt(v, o.Kind), Contents: k.results.Payloads.FirstHere(&v, &o)}
	if o.Kind == crawl.HostFailed {
		k.visits.Unreachable(v, crawl.HostFailure{Category: o.Category.String(), Reason: o.Reason})
	}
	k.results.Outcomes.Observe(&o)
	k.logVisit(ctx, v, &o)
	err := k.results.Failures.Failed(ctx, v, &c)
	if err != nil {
		return err // the item stays queued: it has not failed without its record
	}
	buf, _ := k.routed.Get().(*[]crawl.Routed)
	if buf == nil {
		buf = new([]crawl.Routed)
	}
	links := k.router.appendRouted(slices.Grow((*buf)[:0], len(o.Targets)), o.Targets)
	if *buf = links; cap(links) <= maxRouted {
		defer k.routed.Put(buf) // neither the store nor a peer keeps links
	}
	if opts.Cites != nil {
		c.Cites = opts.Cites(&v, &o, links)
	}
	c.Own, c.Outbox = k.shareOut(ctx, v, links)
	c.Outbox = append(c.Outbox, k.router.Route(o.Unjudged)...)
	if opts.Weigh != nil && o.Kind == crawl.Fetched {
		if c.Weight, err = opts.Weigh(v.Partition, v.Item.URL); err != nil {
			return err
		}
	}
	// As late as possible: another visit of the host may have ended meanwhile.
	c.Host = k.visits.HostState(v)
	err = opts.Store.Complete(ctx, c)
	if errors.Is(err, frontier.ErrNotHolder) || errors.Is(err, frontier.ErrStaleLease) {
		// The freeze of a hand-over waits until every visit is completed, so this cannot happen
		// while the rules of ownership hold.
		opts.Log.Error("page completed under an expired lease; the current holder of its host will fetch it again",
			"host", v.Host, "partition", v.Partition, "epoch", v.Epoch, "error", err)
		return nil
	}
	if err == nil && len(c.Outbox) > 0 {
		k.outbox.Wake()
	}
	return err
}

// logVisit logs the result of a visit, at level debug.
func (k *Completer) logVisit(ctx context.Context, v crawl.Visit, o *crawl.Outcome) {
	log := k.router.opts.Log
	if !log.Enabled(ctx, slog.LevelDebug) {
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
	log.Debug("visit completed", attrs...)
}

// shareOut splits a page's links into those that go into its transaction and those that no node has
// acknowledged.
func (k *Completer) shareOut(ctx context.Context, v crawl.Visit, links []crawl.Routed) (own, unacked []crawl.Routed) {
	r := k.router
	own, foreign := r.split(links)
	r.local.Add(int64(len(own)))
	fresh := foreign[:0]
	for _, l := range foreign {
		if !l.Target.Again && l.Target.Claimed.IsZero() && r.sent.Has(sentKey(&l.Target)) {
			r.suppressed.Add(1)
			continue
		}
		fresh = append(fresh, l)
	}
	// A node without replicas copies nothing. If that changes before the page is written, the
	// frontier notices and uses the outbox.
	copied := r.opts.Holdings.Replicated()
	if !copied && len(fresh) == 0 {
		return own, nil
	}
	ctx, cancel := context.WithTimeout(ctx, ackWait)
	defer cancel()
	var aside []crawl.Routed
	if copied {
		own, aside = k.storeAside(ctx, v, own)
	}
	return own, append(aside, r.forward(ctx, fresh).Left...)
}

// storeAside stores the links to this node's other partitions. Those have other replicas than the
// page. If the links were only in the page's transaction, the page could be copied to its replica
// as done, and this node could fail before the replicas of the links have them (invariant I3).
// Links that are not acknowledged go into the page's outbox.
func (k *Completer) storeAside(ctx context.Context, v crawl.Visit, own []crawl.Routed) (same, unacked []crawl.Routed) {
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
	s, err := k.router.storeOwn(ctx, others)
	if err != nil {
		return same, others // the store has failed, or the time is up: Complete will return the error
	}
	return same, s.Left
}
