package links

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/peer"
	"crawlnode/ring"
)

// sentEntries bounds the sent cache.
const sentEntries = 1 << 18

// Router stores links on the nodes that hold their partitions. Its methods may be called from
// anywhere.
type Router struct {
	opts                         Options
	sent                         *sentCache
	tickets                      sync.Pool    // of *ticket
	local, forwarded, suppressed atomic.Int64 // as in Counts
}

// NewRouter makes a Router.
func NewRouter(o Options) *Router {
	return &Router{opts: o, sent: newSentCache(sentEntries)}
}

// Counts are numbers of links since the start.
type Counts struct {
	Local      int64 // found here, in partitions held here
	Forwarded  int64 // acknowledged by other nodes
	Suppressed int64 // not sent, because their holder acknowledged them recently
}

// Counts returns the current counts.
func (r *Router) Counts() Counts {
	return Counts{
		Local:      r.local.Load(),
		Forwarded:  r.forwarded.Load(),
		Suppressed: r.suppressed.Load(),
	}
}

// ForgetSent clears the sent cache, so that acknowledged links are sent again: the node that
// acknowledged them may be gone for good.
func (r *Router) ForgetSent() { r.sent.Clear() }

// Route adds the partition of each target.
func (r *Router) Route(ts []crawl.Target) []crawl.Routed {
	return r.appendRouted(make([]crawl.Routed, 0, len(ts)), ts)
}

func (r *Router) appendRouted(rs []crawl.Routed, ts []crawl.Target) []crawl.Routed {
	partitions := r.opts.Holdings.Partitions()
	for i := range ts {
		t := &ts[i]
		rs = append(rs,
			crawl.Routed{Partition: ring.PartitionOf(crawl.Host(t.URL.Host()), partitions), Target: *t})
	}
	return rs
}

// Holder is the node that holds p, as far as this node knows: this one, else the one that last
// reported to hold it, else the owner. "": none is known, or this node is the owner and does not
// hold it yet.
func (r *Router) Holder(p crawl.Partition) crawl.NodeID {
	if r.opts.Holdings.Holds(p) {
		return r.opts.Self
	}
	to := r.opts.Peers.Holder(p)
	if to == "" || to == r.opts.Self {
		to = r.opts.Peers.Owner(p)
	}
	if to == r.opts.Self {
		return ""
	}
	return to
}

// Result is the result for submitted links.
type Result struct {
	Added, Known, Refused int
	// Left were not acknowledged by any node: keep them and try again.
	Left []crawl.Routed
}

func (s *Result) plus(o Result) {
	s.Added += o.Added
	s.Known += o.Known
	s.Refused += o.Refused
	s.Left = append(s.Left, o.Left...)
}

// Submit stores links on the nodes that hold their partitions: here, or over the network before ctx
// ends. It makes one attempt. Any goroutine may call it; it blocks for the disk and the peers. An
// error is one of this node's own store.
func (r *Router) Submit(ctx context.Context, links []crawl.Routed) (Result, error) {
	own, foreign := r.split(links)
	var sum Result
	if len(own) > 0 {
		s, err := r.storeOwn(ctx, own)
		if err != nil {
			return sum, err
		}
		sum.plus(s)
	}
	sum.plus(r.forward(ctx, foreign))
	return sum, nil
}

// split splits links into those whose partition is held here and the others. own is links itself,
// not a copy, when there are no others: that saves 5 KB a page.
func (r *Router) split(links []crawl.Routed) (own, foreign []crawl.Routed) {
	for i := range links {
		switch held := r.opts.Holdings.Holds(links[i].Partition); {
		case held && foreign != nil:
			own = append(own, links[i])
		case held:
		case foreign == nil:
			own = append(make([]crawl.Routed, 0, len(links)), links[:i]...)
			foreign = append(make([]crawl.Routed, 0, len(links)-i), links[i])
		default:
			foreign = append(foreign, links[i])
		}
	}
	if foreign == nil {
		own = links[:len(links):len(links)]
	}
	return own, foreign
}

// storeOwn stores links whose partitions are held here, on this node and its
// replicas.
func (r *Router) storeOwn(ctx context.Context, own []crawl.Routed) (Result, error) {
	var s Result
	t := r.newTicket(own)
	defer t.done()
	admissions, err := r.opts.Store.Add(ctx, own)
	if err != nil && ctx.Err() != nil {
		return Result{Left: own}, nil // the time is up; their state is unknown
	}
	if err != nil {
		return s, fmt.Errorf("store links: %w", err)
	}
	t.await(ctx)
	for i, a := range admissions {
		switch {
		case !t.safe(own[i].Partition), a == frontier.NotHolder:
			// Stored and not acknowledged: a retry finds it known. Or its partition moved between
			// the check and the write.
			s.Left = append(s.Left, own[i])
		case a == frontier.Added:
			s.Added++
		case a == frontier.Known:
			s.Known++
		default:
			s.Refused++
		}
	}
	return s, nil
}

// forward sends foreign links to their holders, all peers at once, and waits
// for their answers until ctx ends.
func (r *Router) forward(ctx context.Context, foreign []crawl.Routed) Result {
	var sum Result
	if len(foreign) == 0 {
		return sum
	}
	byPeer := r.byHolder(foreign, &sum)
	if len(byPeer) == 1 && len(byPeer[0].links) <= peer.MaxBatchLinks {
		s := r.forwardTo(ctx, byPeer[0].to, byPeer[0].links) // most pages that have any
		sum.plus(s)
		return sum
	}
	var mu sync.Mutex // guards sum
	var wg sync.WaitGroup
	for i := range byPeer {
		for to, links := byPeer[i].to, byPeer[i].links; len(links) > 0; {
			chunk := links[:min(len(links), peer.MaxBatchLinks)]
			links = links[len(chunk):]
			wg.Go(func() {
				s := r.forwardTo(ctx, to, chunk)
				mu.Lock()
				defer mu.Unlock()
				sum.plus(s)
			})
		}
	}
	wg.Wait()
	return sum
}

// peerLinks are links for one node.
type peerLinks struct {
	to    crawl.NodeID
	links []crawl.Routed
}

// byHolder sorts links by their holders, each in their order. Those without one are left. When all
// have the same holder they are not copied.
func (r *Router) byHolder(foreign []crawl.Routed, sum *Result) []peerLinks {
	first := r.Holder(foreign[0].Partition)
	same := 1
	for same < len(foreign) && r.Holder(foreign[same].Partition) == first {
		same++
	}
	byPeer := make([]peerLinks, 0, 2)
	if first == "" || first == r.opts.Self { // no holder is known, or this node has become it
		sum.Left = append(sum.Left, foreign[:same]...)
	} else {
		byPeer = append(byPeer, peerLinks{first, foreign[:same:same]})
	}
	for i := same; i < len(foreign); i++ {
		to := r.Holder(foreign[i].Partition)
		if to == "" || to == r.opts.Self {
			sum.Left = append(sum.Left, foreign[i])
			continue
		}
		at := slices.IndexFunc(byPeer, func(l peerLinks) bool { return l.to == to })
		if at < 0 {
			at = len(byPeer)
			byPeer = append(byPeer, peerLinks{to: to})
		}
		byPeer[at].links = append(byPeer[at].links, foreign[i])
	}
	return byPeer
}

func (r *Router) forwardTo(ctx context.Context, to crawl.NodeID, links []crawl.Routed) Result {
	all := Result{Left: links}
	verdicts, err := r.opts.Peers.Forward(ctx, to, toWire(links))
	if err != nil {
		return all
	}
	var s Result
	for i, v := range verdicts {
		switch v {
		case peer.Verdict_VERDICT_ADDED, peer.Verdict_VERDICT_KNOWN:
			r.sent.Add(links[i].Target.URL.String())
			if t := &links[i].Target; t.Anchor != "" {
				r.sent.Add(sentKey(t))
			}
			r.forwarded.Add(1)
		}
		switch v {
		case peer.Verdict_VERDICT_ADDED:
			s.Added++
		case peer.Verdict_VERDICT_KNOWN:
			s.Known++
		case peer.Verdict_VERDICT_REFUSED:
			s.Refused++
		default:
			s.Left = append(s.Left, links[i])
		}
	}
	return s
}

// submitAll submits until everything is acknowledged or ctx ends; then it returns the rest.
func (r *Router) submitAll(ctx context.Context, links []crawl.Routed) (Result, error) {
	var sum Result
	wait := 20 * time.Millisecond
	for {
		s, err := r.Submit(ctx, links)
		if err != nil {
			return sum, err
		}
		links = s.Left
		s.Left = nil
		sum.plus(s)
		if len(links) == 0 {
			return sum, nil
		}
		select {
		case <-ctx.Done():
			sum.Left = links
			return sum, nil
		case <-time.After(wait):
			wait = min(2*wait, 500*time.Millisecond)
		}
	}
}
