package node

import (
	"context"
	"slices"
	"time"

	"crawlnode/crawl"
	"crawlnode/frontier"
)

// leave is the polite end: this node is marked draining in a view, its
// partitions move to the others, and a further view goes on without it. When
// that cannot be, because nobody else is active or the time is up, the node
// stops with its data in place and stays a member: the same command resumes.
func (n *Node) leave(ctx context.Context) {
	// The time for what is open is a part of the time-out, not on top of it.
	ctx, cancel := context.WithTimeout(ctx, n.cfg.DrainTimeout-settleTime(n.cfg.DrainTimeout))
	defer cancel()
	stopped := make(chan struct{})
	go func() { // a second signal ends the wait
		select {
		case <-n.stop:
			cancel()
		case <-stopped:
		}
	}()
	defer close(stopped)
	e := n.engine.Load()
	if e == nil || !n.hasHeir() {
		n.settle(ctx)
		n.log.Info("stopping with all data in place: no other member could take it over; the same command resumes")
		return
	}
	n.log.Info("draining: partitions move to the other members", "timeout", n.cfg.DrainTimeout)
	n.members.SetDraining()
	for !n.emptied() {
		if !n.hasHeir() {
			n.settle(ctx)
			n.log.Info("stopping with all data in place: every other member is leaving or gone")
			return
		}
		select {
		case <-ctx.Done():
			n.settle(context.WithoutCancel(ctx))
			n.log.Warn("not everything could be handed over, or copied elsewhere, in time; it stays here and this node stays a member: start it again, or wait longer with --drain-timeout",
				"partitions_left", e.moves.Status().Held, "copies_left", n.copiesThatCount())
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
	if err := n.members.SetLeft(ctx); err != nil {
		n.log.Warn("the others have not confirmed the leave in time; they will see this node as failed", "error", err)
		return
	}
	n.log.Info("left the cluster; everything was handed over")
}

// copiesThatCount counts the copies on this disk that an in-sync set names: as long as
// one does, a partition has fewer copies without this node, and the loss of one more
// node could take what was acknowledged.
func (n *Node) copiesThatCount() int {
	count := 0
	for _, m := range n.front.Metas() {
		if m.State != frontier.Copy {
			continue
		}
		if set, ok := n.front.Set(m.Partition); ok && slices.Contains(set.Members, n.id) {
			count++
		}
	}
	return count
}

// hasHeir reports whether some other active member could take over: one that
// does not leave as well and that gossip has not given up. One that did not
// answer a call just now may still do it.
func (n *Node) hasHeir() bool {
	for _, m := range n.others() {
		switch n.peerState(m.ID) {
		case crawl.NodeAlive, crawl.NodeSuspect:
			if !m.Draining {
				return true
			}
		}
	}
	return false
}

// emptied reports whether nothing is left here that counts.
func (n *Node) emptied() bool {
	s := n.engine.Load().moves.Status()
	return s.Held == 0 && s.Moving == 0 && !n.listedActive() && n.copiesThatCount() == 0
}

func (n *Node) listedActive() bool {
	m, ok := n.members.Snapshot().View.Member(n.id)
	return ok && !m.Draining
}

// settleTime is the part of a drain's time-out that is left for what is open.
func settleTime(drainTimeout time.Duration) time.Duration { return min(settleGrace, drainTimeout/5) }

// settle hands out no more visits and waits for the open ones, so that a
// planned stop repeats no fetch. A page whose disk is full would wait for ever.
func (n *Node) settle(ctx context.Context) {
	e := n.engine.Load()
	if e == nil {
		return
	}
	n.settling.Store(true) // mayCrawl is false from here on
	e.dispatcher.Pause(true)
	n.awaitSettled(ctx, e.dispatcher.Busy)
}

// awaitSettled waits until no visit is open, for the part of a drain's time-out that is left
// for that.
func (n *Node) awaitSettled(ctx context.Context, open func() int) {
	ctx, cancel := context.WithTimeout(ctx, settleTime(n.cfg.DrainTimeout))
	defer cancel()
	for open() > 0 && ctx.Err() == nil && !n.stopped.Load() {
		waitFor(ctx, 10*time.Millisecond)
	}
}
