package links

import (
	"context"
	"fmt"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/peer"
	"crawlnode/pipeline"
)

// ackPatience bounds how long a batch of links waits for the replicas; it is below the sender's
// time limit of the stream.
const ackPatience = 3500 * time.Millisecond

// Receiver stores the links that other members send. Its methods may be called from anywhere.
type Receiver struct {
	router *Router
	ready  func() bool
	warned sync.Map // peers, by id, that sent nonsense; members only, so bounded
}

// NewReceiver makes a Receiver. ready reports whether this node has adopted the crawl's rules;
// until then it accepts no link.
func NewReceiver(
	r *Router,
	ready func() bool,
) *Receiver {
	return &Receiver{router: r, ready: ready}
}

// Store stores a batch of links in the partitions held here. The scope is judged again, so that a
// sender with other rules cannot widen the crawl. But a refusal is final only when both judge by
// the same rules. The sender may know a seed's scope entry a moment earlier, or other nodes may
// know it and neither of the two yet; such links must not be lost. A URL that opens its own scope
// is stored with its entry, if that is unknown.
func (r *Receiver) Store(
	ctx context.Context,
	from string,
	links []*peer.Link,
	stamp *peer.RulesStamp,
) ([]peer.Verdict, error) {
	opts := &r.router.opts
	p := opts.Holdings.Partitions()
	if p == 0 || !r.ready() {
		verdicts := make([]peer.Verdict, len(links))
		for i := range verdicts {
			verdicts[i] = peer.Verdict_VERDICT_NOT_HOLDER
		}
		return verdicts, nil
	}
	b := r.judge(crawl.NodeID(from), links, stamp, p)
	if err := opts.Store.Skip(ctx, b.skipped); err != nil {
		return nil, fmt.Errorf("count refused links: %w", err)
	}
	if len(b.accepted) == 0 {
		return b.verdicts, nil
	}
	if err := opts.Scope.Add(b.opened...); err != nil {
		return nil, err
	}
	t := r.router.newTicket(b.accepted)
	defer t.done()
	admissions, err := opts.Store.Add(ctx, b.accepted)
	if err != nil {
		return nil, fmt.Errorf("store links: %w", err)
	}
	bounded, cancel := context.WithTimeout(ctx, ackPatience)
	defer cancel()
	t.await(bounded)
	for i, a := range admissions {
		b.verdicts[b.places[i]] = promiseOf(a, t.safe(b.accepted[i].Partition))
	}
	return b.verdicts, nil
}

// batch is a judged batch of links from a member.
type batch struct {
	verdicts []peer.Verdict // one for each link; those of accepted are still open
	accepted []crawl.Routed
	places   []int // of the accepted ones in verdicts
	opened   []string
	skipped  map[crawl.Partition]crawl.SkipCounts
}

// judge splits the links into those that may be stored and those that may not.
func (r *Receiver) judge(
	from crawl.NodeID,
	links []*peer.Link,
	stamp *peer.RulesStamp,
	partitions int,
) *batch {
	opts := &r.router.opts
	b := &batch{
		verdicts: make([]peer.Verdict, len(links)),
		skipped:  map[crawl.Partition]crawl.SkipCounts{},
	}
	rules := opts.Rules()
	outOfScope := peer.Verdict_VERDICT_REFUSED
	if !opts.Scope.Agrees(from, stamp) {
		outOfScope = peer.Verdict_VERDICT_NOT_HOLDER // retry, once both know the same
	} else if !opts.Scope.Complete(time.Now()) {
		outOfScope = peer.Verdict_VERDICT_NOT_HOLDER // and all entries
	}
	for i, l := range links {
		link, err := fromWire(l, partitions)
		switch {
		case err != nil: // no correct node sends it; the rest of the batch is not affected
			b.verdicts[i] = peer.Verdict_VERDICT_REFUSED
			r.warnOnce(from, err)
		case !opts.Holdings.Holds(link.Partition):
			b.verdicts[i] = peer.Verdict_VERDICT_NOT_HOLDER
		default:
			v, entry := judge(rules, opts.Seeds, &link.Target)
			if entry != "" {
				b.opened = append(b.opened, entry)
			}
			if v.Admit {
				b.accepted, b.places = append(b.accepted, link), append(b.places, i)
				continue
			}
			if b.verdicts[i] = outOfScope; outOfScope == peer.Verdict_VERDICT_REFUSED {
				counts := b.skipped[link.Partition]
				counts[pipeline.ReasonOf(v)]++
				b.skipped[link.Partition] = counts
			}
		}
	}
	return b
}

// promiseOf is the answer to the sender of a link. A link that is stored here and not yet safe on
// the replicas stays with the sender, which sends it again.
func promiseOf(a frontier.Admission, safe bool) peer.Verdict {
	if !safe {
		return peer.Verdict_VERDICT_NOT_HOLDER
	}
	return verdictOf(a)
}

// warnOnce logs one line for each peer that sends an invalid link.
func (r *Receiver) warnOnce(from crawl.NodeID, err error) {
	if _, known := r.warned.LoadOrStore(from, true); !known {
		r.router.opts.Log.Warn("refused a peer's link; further ones of this peer are not logged", "peer",
			from, "error", err)
	}
}

func verdictOf(a frontier.Admission) peer.Verdict {
	switch a {
	case frontier.Added:
		return peer.Verdict_VERDICT_ADDED
	case frontier.Known:
		return peer.Verdict_VERDICT_KNOWN
	case frontier.NotHolder:
		return peer.Verdict_VERDICT_NOT_HOLDER
	default:
		return peer.Verdict_VERDICT_REFUSED
	}
}
