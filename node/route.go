package node

import (
	"context"
	"fmt"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/peer"
	"crawlnode/ring"
)

// routed names the partition of each target.
func (n *Node) routed(ts []crawl.Target) []crawl.Routed {
	rs := make([]crawl.Routed, len(ts))
	for i, t := range ts {
		rs[i] = crawl.Routed{Partition: ring.PartitionOf(crawl.Host(t.URL.Host()), n.partitions()), Target: t}
	}
	return rs
}

// submission is what became of links that were handed on.
type submission struct {
	added, known, refused int
	// left were not acknowledged by anybody: keep them and try again.
	left []crawl.Routed
}

func (s *submission) plus(o submission) {
	s.added += o.added
	s.known += o.known
	s.refused += o.refused
	s.left = append(s.left, o.left...)
}

// submit stores links with whoever holds their partitions: here, or over the
// network before ctx ends. It makes one try. Any caller; it blocks for the disk
// and the peers. The error is of this node's own store.
func (n *Node) submit(ctx context.Context, links []crawl.Routed) (submission, error) {
	own, foreign := n.split(links)
	var sum submission
	if len(own) > 0 {
		s, err := n.storeOwn(ctx, own)
		if err != nil {
			return sum, err
		}
		sum.plus(s)
	}
	sum.plus(n.forward(ctx, foreign))
	return sum, nil
}

// split parts links into those whose partition is held here and the others. own is
// links itself, not a copy, when there are no others: that saves 5 KB a page.
func (n *Node) split(links []crawl.Routed) (own, foreign []crawl.Routed) {
	for i := range links {
		switch held := n.holds(links[i].Partition); {
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
func (n *Node) storeOwn(ctx context.Context, own []crawl.Routed) (submission, error) {
	var s submission
	g := n.pledge(own)
	admissions, err := n.front.Add(ctx, own)
	if err != nil && ctx.Err() != nil {
		return submission{left: own}, nil // the time is up; nothing is known of them
	}
	if err != nil {
		return s, fmt.Errorf("store links: %w", err)
	}
	safe := g.acknowledged(ctx)
	for i, a := range admissions {
		switch {
		case !safe(own[i].Partition), a == frontier.NotHolder:
			// Stored, and not promised: another try finds it known. Or its
			// partition moved between the question and the store.
			s.left = append(s.left, own[i])
		case a == frontier.Added:
			s.added++
		case a == frontier.Known:
			s.known++
		default:
			s.refused++
		}
	}
	return s, nil
}

// forward sends foreign links to their holders, all peers at once, and waits
// for their word until ctx ends.
func (n *Node) forward(ctx context.Context, foreign []crawl.Routed) submission {
	var sum submission
	if len(foreign) == 0 {
		return sum
	}
	byPeer := map[crawl.NodeID][]crawl.Routed{}
	for _, l := range foreign {
		to := n.peers.holder(l.Partition)
		if to == "" || to == n.id {
			to = n.tableOwner(l.Partition)
		}
		if to == "" || to == n.id {
			sum.left = append(sum.left, l) // nobody known holds it now
			continue
		}
		byPeer[to] = append(byPeer[to], l)
	}
	var mu sync.Mutex // guards sum
	var wg sync.WaitGroup
	for to, links := range byPeer {
		for len(links) > 0 {
			chunk := links[:min(len(links), peer.MaxBatchLinks)]
			links = links[len(chunk):]
			wg.Go(func() {
				s := n.forwardTo(ctx, to, chunk)
				mu.Lock()
				defer mu.Unlock()
				sum.plus(s)
			})
		}
	}
	wg.Wait()
	return sum
}

func (n *Node) forwardTo(ctx context.Context, to crawl.NodeID, links []crawl.Routed) submission {
	all := submission{left: links}
	wire := make([]*peer.Link, len(links))
	for i, l := range links {
		wire[i] = toWire(l)
	}
	verdicts, err := n.pool.Forward(ctx, n.target(to), wire)
	if err != nil {
		return all
	}
	var s submission
	for i, v := range verdicts {
		switch v {
		case peer.Verdict_VERDICT_ADDED, peer.Verdict_VERDICT_KNOWN:
			n.sent.Add(links[i].Target.URL.String())
			n.links.forwarded.Add(1)
		}
		switch v {
		case peer.Verdict_VERDICT_ADDED:
			s.added++
		case peer.Verdict_VERDICT_KNOWN:
			s.known++
		case peer.Verdict_VERDICT_REFUSED:
			s.refused++
		default:
			s.left = append(s.left, links[i])
		}
	}
	return s
}

// submitAll submits until everything is acknowledged or ctx ends; then it
// returns what is left.
func (n *Node) submitAll(ctx context.Context, links []crawl.Routed) (submission, error) {
	var sum submission
	wait := 20 * time.Millisecond
	for {
		s, err := n.submit(ctx, links)
		if err != nil {
			return sum, err
		}
		links = s.left
		s.left = nil
		sum.plus(s)
		if len(links) == 0 {
			return sum, nil
		}
		select {
		case <-ctx.Done():
			sum.left = links
			return sum, nil
		case <-time.After(wait):
			wait = min(2*wait, 500*time.Millisecond)
		}
	}
}
